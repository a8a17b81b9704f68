//! Decodes the stream of an answer.

use bowline_core::StreamEvent;
use bowline_core::message::StopReason;
use bowline_core::stream::{BlockKind, StreamError, TokenCounts};
use serde::Deserialize;

use crate::api::Decoder;
use crate::api::frame::{self, ErrorFrame, Text};
use crate::blocks::Blocks;
use crate::{failure, sse};

/// The state of an answer.
#[derive(Debug, Default)]
pub(super) struct Messages {
    parser: sse::Parser,
    answer: Answer,
}

#[derive(Debug, Default)]
struct Answer {
    blocks: Blocks,
    counts: TokenCounts,
    stop: Option<String>,
    done: bool,
}

/// What deltas do not have is in boxes, because a frame is moved several times.
#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(default)]
    index: usize,
    #[serde(borrow)]
    message: Option<Box<Start<'a>>>,
    #[serde(borrow)]
    content_block: Option<Box<Block<'a>>>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    usage: Option<Box<Counts>>,
    #[serde(borrow)]
    error: Option<ErrorFrame<'a>>,
}

#[derive(Deserialize)]
struct Start<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    usage: Option<Counts>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    thinking: Option<Text<'a>>,
    #[serde(borrow)]
    signature: Option<Text<'a>>,
    /// The payload of encrypted thinking.
    #[serde(borrow)]
    data: Option<Text<'a>>,
    /// Empty from Anthropic, complete from servers that do not stream arguments.
    #[serde(borrow)]
    input: Option<&'a serde_json::value::RawValue>,
}

/// The payload of a delta of any kind: each kind has its own field.
#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    thinking: Option<Text<'a>>,
    #[serde(borrow)]
    partial_json: Option<Text<'a>>,
    #[serde(borrow)]
    signature: Option<Text<'a>>,
    #[serde(borrow)]
    stop_reason: Option<Text<'a>>,
}

#[derive(Deserialize, Clone, Copy)]
struct Counts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl Decoder for Messages {
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        self.parser.feed(bytes, |data| self.answer.take(data, out))
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        let last = self.parser.finish(|data| self.answer.take(data, out));
        if self.answer.done {
            return Ok(());
        }
        // Some compatible servers end with the stop reason, without the closing event.
        if last.is_ok() && self.answer.stop.is_some() {
            return self.answer.end(out);
        }
        Err(frame::cut())
    }

    fn check(&self) -> Result<(), StreamError> {
        self.answer.blocks.check()
    }
}

impl Answer {
    fn take(&mut self, data: &[u8], out: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        if self.done || data == b"[DONE]" {
            return Ok(());
        }
        let frame: Frame<'_> = frame::read(data)?;
        match &*frame.kind.0 {
            "content_block_delta" => self.extend(frame.index, frame.delta, out),
            "content_block_start" => self.start(frame.index, frame.content_block, out),
            "content_block_stop" => self.blocks.close(frame.index, out),
            "message_start" => {
                let (id, usage) = frame.message.map_or((None, None), |start| (start.id, start.usage));
                out.push(StreamEvent::Started { response_id: id.map(Text::into_string) });
                self.count(usage, out);
            }
            "message_delta" => {
                self.count(frame.usage.map(|usage| *usage), out);
                if let Some(reason) = frame.delta.and_then(|delta| delta.stop_reason) {
                    self.stop = Some(reason.into_string());
                }
            }
            "message_stop" => return self.end(out),
            "error" => {
                let unnamed = || failure::in_stream(None, None, "");
                return Err(frame.error.map_or_else(unnamed, ErrorFrame::into_failure));
            }
            // Among them `ping`, which only shows that the provider is alive.
            _ => {}
        }
        Ok(())
    }

    fn start(&mut self, number: usize, block: Option<Box<Block<'_>>>, out: &mut Vec<StreamEvent>) {
        let Some(block) = block.map(|block| *block) else { return };
        let mut signature = block.signature.filter(|signature| !signature.0.is_empty());
        let kind = match &*block.kind.0 {
            "text" => BlockKind::Text,
            "thinking" => BlockKind::Thinking,
            "redacted_thinking" => {
                signature = block.data;
                BlockKind::RedactedThinking
            }
            "tool_use" => BlockKind::ToolCall {
                id: block.id.map(Text::into_string).unwrap_or_default(),
                name: block.name.map(Text::into_string).unwrap_or_default(),
            },
            _ => return,
        };
        self.blocks.start(number, kind, out);
        if let Some(signature) = signature {
            self.blocks.sign(number, &signature.0);
        }
        let input = block.input.map(serde_json::value::RawValue::get).filter(|input| *input != "{}");
        let first = block.text.or(block.thinking).map(Text::into_string).or(input.map(str::to_owned));
        self.blocks.extend(number, first.unwrap_or_default(), out);
    }

    fn extend(&mut self, number: usize, delta: Option<Delta<'_>>, out: &mut Vec<StreamEvent>) {
        let Some(delta) = delta else { return };
        if let Some(text) = delta.text.or(delta.thinking).or(delta.partial_json) {
            self.blocks.extend(number, text, out);
        }
        if let Some(signature) = delta.signature {
            self.blocks.sign(number, &signature.0);
        }
    }

    /// Updates the counts. A count missing from a frame is unchanged.
    fn count(&mut self, counts: Option<Counts>, out: &mut Vec<StreamEvent>) {
        let Some(counts) = counts else { return };
        let before = self.counts;
        self.counts = TokenCounts {
            input: counts.input_tokens.unwrap_or(before.input),
            output: counts.output_tokens.unwrap_or(before.output),
            cache_read: counts.cache_read_input_tokens.unwrap_or(before.cache_read),
            cache_write: counts.cache_creation_input_tokens.unwrap_or(before.cache_write),
            reasoning: None,
        };
        out.push(StreamEvent::Tokens(self.counts));
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        self.blocks.close_all(out);
        let raw_reason = self.stop.take();
        let reason = match raw_reason.as_deref() {
            Some("max_tokens" | "model_context_window_exceeded") => StopReason::Length,
            Some("tool_use") => StopReason::ToolUse,
            Some(refusal @ ("refusal" | "sensitive")) => return Err(frame::withheld(refusal)),
            _ => StopReason::Stop,
        };
        self.done = true;
        out.push(StreamEvent::Done { reason, raw_reason });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_core::stream::FailureKind;

    const ANSWER: &str = include_str!("fixtures/answer.sse");

    fn decode(pieces: &[&[u8]]) -> Result<Vec<StreamEvent>, StreamError> {
        let mut decoder = Messages::default();
        let mut out = Vec::new();
        for piece in pieces {
            decoder.feed(piece, &mut out)?;
        }
        decoder.finish(&mut out)?;
        Ok(out)
    }

    #[test]
    fn answer_is_decoded() {
        let counts = TokenCounts { input: 25, output: 1, cache_read: 7, cache_write: 3, reasoning: None };
        let call = BlockKind::ToolCall { id: "toolu_1".into(), name: "bash".into() };
        let expected = [
            StreamEvent::Started { response_id: Some("msg_1".into()) },
            StreamEvent::Tokens(counts),
            StreamEvent::BlockStart { index: 0, kind: BlockKind::Thinking },
            StreamEvent::Delta { index: 0, text: "Hm \"é\" 😀".into() },
            StreamEvent::BlockEnd { index: 0, signature: Some("c2ln".into()) },
            StreamEvent::BlockStart { index: 1, kind: BlockKind::RedactedThinking },
            StreamEvent::BlockEnd { index: 1, signature: Some("ZW5j".into()) },
            StreamEvent::BlockStart { index: 2, kind: call },
            StreamEvent::Delta { index: 2, text: r#"{"command": "ls"}"#.into() },
            StreamEvent::BlockEnd { index: 2, signature: None },
            StreamEvent::Tokens(TokenCounts { output: 89, ..counts }),
            StreamEvent::Done { reason: StopReason::ToolUse, raw_reason: Some("tool_use".into()) },
        ];
        assert_eq!(decode(&[ANSWER.as_bytes()]).unwrap(), expected);
    }

    #[test]
    fn errors_in_the_stream_are_failures() {
        let decode = |text: &str| decode(&[text.as_bytes()]).unwrap_err();
        let overloaded = decode(
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
        );
        assert_eq!(overloaded.kind, FailureKind::Unavailable);
        assert_eq!(overloaded.message, "overloaded_error: Overloaded");
        assert_eq!(decode("data: {\"type\":7}\n\n").kind, FailureKind::Protocol);
        assert_eq!(decode("data: hello\n\n").kind, FailureKind::Protocol);
    }

    #[test]
    fn decoding_is_fast() {
        let mut text = ANSWER[..ANSWER.find("data: {\"type\":\"message_delta\"").unwrap()].to_owned();
        text.push_str("data: {\"type\":\"content_block_start\",\"index\":4,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n");
        for _ in 0..8000 {
            text.push_str("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":4,\"delta\":{\"type\":\"text_delta\",\"text\":\"alpha bravo\\n cable\"}}\n\n");
        }
        let mut decoder = Messages::default();
        let mut out = Vec::new();
        let started = std::time::Instant::now();
        for chunk in text.as_bytes().chunks(4096) {
            decoder.feed(chunk, &mut out).unwrap();
        }
        // Loose enough for a debug build on a busy machine; quadratic work would still be caught.
        assert!(started.elapsed().as_millis() < 2000, "{:?}", started.elapsed());
        assert_eq!(
            out.iter().filter(|event| matches!(event, StreamEvent::Delta { index: 3, .. })).count(),
            8000
        );
    }
}
