//! Decodes the stream of an answer.
//!
//! The API has no blocks: it sends pieces of text, thinking and calls. A block of text or thinking ends where another
//! kind starts; calls stay open to the end, because servers may stream several of them at once.

use std::borrow::Cow;

use bowline_core::StreamEvent;
use bowline_core::message::StopReason;
use bowline_core::stream::{BlockKind, StreamError, TokenCounts};
use serde::Deserialize;

use super::messages::TYPED;
use super::prose::Prose;
use crate::api::Decoder;
use crate::api::frame::{self, ErrorFrame, Few, First, Text};
use crate::blocks::Blocks;
use crate::sse;

/// The state of an answer.
#[derive(Debug, Default)]
pub(super) struct Completions {
    parser: sse::Parser,
    answer: Answer,
}

#[derive(Debug, Default)]
struct Answer {
    started: bool,
    response_id: String,
    blocks: Blocks,
    /// The open block of text or thinking, and whether it is thinking.
    prose: Option<(usize, bool)>,
    calls: Vec<Call>,
    stop: Option<String>,
    done: bool,
}

#[derive(Debug)]
struct Call {
    block: usize,
    /// The server's index of the call, if it sends one.
    number: Option<usize>,
    id: String,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    choices: Option<First<Choice<'a>>>,
    usage: Option<Counts>,
    #[serde(borrow)]
    error: Option<ErrorFrame<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    finish_reason: Option<Text<'a>>,
    /// Some servers report usage here instead of in the chunk.
    usage: Option<Counts>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<Prose<'a>>,
    #[serde(borrow)]
    reasoning_content: Option<Text<'a>>,
    #[serde(borrow)]
    reasoning: Option<Text<'a>>,
    #[serde(borrow)]
    reasoning_text: Option<Text<'a>>,
    #[serde(borrow)]
    tool_calls: Option<Few<CallPiece<'a>>>,
}

#[derive(Deserialize)]
struct CallPiece<'a> {
    index: Option<usize>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    function: Option<FunctionPiece<'a>>,
}

#[derive(Deserialize)]
struct FunctionPiece<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    arguments: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Counts {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek's count of cached tokens.
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

impl Decoder for Completions {
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        self.parser.feed(bytes, |data| self.answer.take(data, out))
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        let last = self.parser.finish(|data| self.answer.take(data, out));
        if self.answer.done {
            return Ok(());
        }
        // Many servers close the connection instead of sending `[DONE]`.
        if self.answer.stop.is_some() && last.is_ok() {
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
        if self.done {
            return Ok(());
        }
        if data.trim_ascii() == b"[DONE]" {
            // Without a stop reason, the server gave up without reporting it.
            return if self.stop.is_some() { self.end(out) } else { Err(frame::cut()) };
        }
        let chunk: Chunk<'_> = frame::read(data)?;
        if let Some(error) = chunk.error {
            return Err(error.into_failure());
        }
        if !self.started {
            self.started = true;
            self.response_id = chunk.id.map(Text::into_string).unwrap_or_default();
            let response_id = Some(self.response_id.clone()).filter(|id| !id.is_empty());
            out.push(StreamEvent::Started { response_id });
        }
        self.count(chunk.usage, out);
        let Some(choice) = chunk.choices.and_then(|choices| choices.0) else {
            return Ok(());
        };
        self.count(choice.usage, out);
        if let Some(delta) = choice.delta {
            self.extend(delta, out);
        }
        if let Some(reason) = choice.finish_reason {
            self.stop = Some(reason.into_string());
        }
        Ok(())
    }

    fn extend(&mut self, delta: Delta<'_>, out: &mut Vec<StreamEvent>) {
        // Some servers repeat the same thinking in two fields.
        let thinking = [
            ("reasoning_content", delta.reasoning_content),
            ("reasoning", delta.reasoning),
            ("reasoning_text", delta.reasoning_text),
        ];
        let has_text = |text: &Text<'_>| !text.0.is_empty();
        let found = thinking.into_iter().find_map(|(field, text)| Some((field, text.filter(has_text)?)));
        if let Some((field, text)) = found {
            self.add_prose(Some(field), text.0, out);
        }
        if let Some(prose) = delta.content {
            prose.each(false, &mut |text, thinking| self.add_prose(thinking.then_some(TYPED), text, out));
        }
        for piece in delta.tool_calls.into_iter().flatten() {
            self.call(piece, out);
        }
    }

    /// Adds to the open text or thinking, or starts a new block. Thinking is sent back in the `field` that it came in.
    fn add_prose(&mut self, field: Option<&'static str>, text: Cow<'_, str>, out: &mut Vec<StreamEvent>) {
        if text.is_empty() {
            return;
        }
        let block = match self.prose {
            Some((block, is_thinking)) if is_thinking == field.is_some() => block,
            _ => {
                self.close_prose(out);
                let kind = if field.is_some() { BlockKind::Thinking } else { BlockKind::Text };
                let block = self.blocks.append(kind, out);
                if let Some(field) = field {
                    self.blocks.sign(block, field);
                }
                self.prose = Some((block, field.is_some()));
                block
            }
        };
        self.blocks.extend(block, text, out);
    }

    fn call(&mut self, piece: CallPiece<'_>, out: &mut Vec<StreamEvent>) {
        let id = piece.id.map(Text::into_string).unwrap_or_default();
        let (name, arguments) = match piece.function {
            Some(function) => (function.name, function.arguments),
            None => (None, None),
        };
        let name = name.map(Text::into_string).unwrap_or_default();
        let block = match self.known_call(piece.index, &id, &name) {
            Some(block) => block,
            None => {
                self.close_prose(out);
                let place = self.calls.len();
                // Results need an id to refer to; few servers omit it.
                let id = if id.is_empty() { format!("call_{}_{place}", self.response_id) } else { id };
                let block = self.blocks.append(BlockKind::ToolCall { id: id.clone(), name }, out);
                self.calls.push(Call { block, number: piece.index, id });
                block
            }
        };
        if let Some(text) = arguments {
            self.blocks.extend(block, text, out);
        }
    }

    /// Returns the call that a piece belongs to; `None` if it starts a new one. A server that gives all calls the same
    /// index still gives each its own id and name.
    fn known_call(&self, number: Option<usize>, id: &str, name: &str) -> Option<usize> {
        let mut calls = self.calls.iter().rev();
        let found = match number {
            Some(_) => calls.find(|call| call.number == number),
            None if id.is_empty() => calls.next().filter(|_| name.is_empty()),
            None => calls.find(|call| call.id == id),
        };
        found.filter(|call| id.is_empty() || name.is_empty() || call.id == id).map(|call| call.block)
    }

    fn close_prose(&mut self, out: &mut Vec<StreamEvent>) {
        if let Some((block, _)) = self.prose.take() {
            self.blocks.close(block, out);
        }
    }

    fn count(&mut self, counts: Option<Counts>, out: &mut Vec<StreamEvent>) {
        let Some(counts) = counts else { return };
        let (cached, cache_write) = match counts.prompt_tokens_details {
            Some(details) => (details.cached_tokens, details.cache_write_tokens.unwrap_or(0)),
            None => (None, 0),
        };
        let cache_read = cached.or(counts.prompt_cache_hit_tokens).unwrap_or(0);
        let prompt = counts.prompt_tokens.unwrap_or(0);
        out.push(StreamEvent::Tokens(TokenCounts {
            input: prompt.saturating_sub(cache_read).saturating_sub(cache_write),
            output: counts.completion_tokens.unwrap_or(0),
            cache_read,
            cache_write,
            reasoning: counts.completion_tokens_details.and_then(|details| details.reasoning_tokens),
        }));
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        self.close_prose(out);
        self.blocks.close_all(out);
        let raw_reason = self.stop.take();
        let reason = match raw_reason.as_deref() {
            Some("length" | "model_length") => StopReason::Length,
            Some(refusal @ "content_filter") => return Err(frame::withheld(refusal)),
            Some(failure @ ("error" | "network_error")) => {
                return Err(crate::failure::in_stream(None, None, failure));
            }
            // Some servers report `stop` after calls too; the presence of calls decides.
            _ if !self.calls.is_empty() => StopReason::ToolUse,
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
        let mut decoder = Completions::default();
        let mut out = Vec::new();
        for piece in pieces {
            decoder.feed(piece, &mut out)?;
        }
        decoder.finish(&mut out)?;
        Ok(out)
    }

    fn delta(index: usize, text: &str) -> StreamEvent {
        StreamEvent::Delta { index, text: text.into() }
    }

    fn expected() -> Vec<StreamEvent> {
        let call = |id: &str, name: &str| BlockKind::ToolCall { id: id.into(), name: name.into() };
        let counts =
            TokenCounts { input: 36, output: 20, cache_read: 64, cache_write: 0, reasoning: Some(5) };
        vec![
            StreamEvent::Started { response_id: Some("c1".into()) },
            StreamEvent::BlockStart { index: 0, kind: BlockKind::Thinking },
            delta(0, "Hm"),
            StreamEvent::BlockEnd { index: 0, signature: Some("reasoning_content".into()) },
            StreamEvent::BlockStart { index: 1, kind: BlockKind::Text },
            delta(1, "I ✓ "),
            delta(1, "look"),
            StreamEvent::BlockEnd { index: 1, signature: None },
            StreamEvent::BlockStart { index: 2, kind: call("a", "ls") },
            StreamEvent::BlockStart { index: 3, kind: call("b", "read") },
            delta(3, "{\"path\""),
            delta(2, "{}"),
            delta(3, ":\"x\"}"),
            StreamEvent::Tokens(counts),
            StreamEvent::BlockEnd { index: 2, signature: None },
            StreamEvent::BlockEnd { index: 3, signature: None },
            StreamEvent::Done { reason: StopReason::ToolUse, raw_reason: Some("tool_calls".into()) },
        ]
    }

    #[test]
    fn answer_is_decoded() {
        assert_eq!(decode(&[ANSWER.as_bytes()]).unwrap(), expected());
    }

    #[test]
    fn answer_is_complete_once_its_stop_reason_is_known() {
        let reason = ANSWER.find(",\"finish_reason\":\"tool_calls\"").unwrap();
        let after = reason + ANSWER[reason..].find("\n\n").unwrap();
        for length in 0..reason {
            let error = decode(&[&ANSWER.as_bytes()[..length]]).unwrap_err();
            assert_eq!(error.kind, FailureKind::Incomplete, "after {length} bytes");
        }
        let done = decode(&[&ANSWER.as_bytes()[..after]]).unwrap();
        assert!(matches!(done.last(), Some(StreamEvent::Done { .. })));
    }

    #[test]
    fn calls_without_an_index_are_told_apart() {
        let text = concat!(
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"ls\",\"arguments\":\"{}\"}}]}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"b\",\"function\":{\"name\":\"ls\",\"arguments\":\"{}\"}}]}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"pwd\",\"arguments\":\"{\"}},{\"function\":{\"arguments\":\"}\"}}]}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        );
        let events = decode(&[text.as_bytes()]).unwrap();
        let starts = events.iter().filter(|event| matches!(event, StreamEvent::BlockStart { .. })).count();
        assert_eq!(starts, 3);
        assert_eq!(
            events.last(),
            Some(&StreamEvent::Done { reason: StopReason::ToolUse, raw_reason: Some("stop".into()) })
        );
    }

    #[test]
    fn typed_chunks_are_text_and_thinking() {
        let text = concat!(
            "data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"H\"}]}]}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"m\"}]},{\"type\":\"text\",\"text\":\"Yes\"},{\"type\":\"reference\",\"reference_ids\":[1]}]}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"content\":\".\"},\"finish_reason\":\"stop\"}]}\n\n",
        );
        let expected = [
            StreamEvent::Started { response_id: None },
            StreamEvent::BlockStart { index: 0, kind: BlockKind::Thinking },
            delta(0, "H"),
            delta(0, "m"),
            StreamEvent::BlockEnd { index: 0, signature: Some("thinking".into()) },
            StreamEvent::BlockStart { index: 1, kind: BlockKind::Text },
            delta(1, "Yes"),
            delta(1, "."),
            StreamEvent::BlockEnd { index: 1, signature: None },
            StreamEvent::Done { reason: StopReason::Stop, raw_reason: Some("stop".into()) },
        ];
        assert_eq!(decode(&[text.as_bytes()]).unwrap(), expected);
    }

    #[test]
    fn failures_in_the_stream_are_reported() {
        let fail = |text: &str| decode(&[text.as_bytes()]).unwrap_err();
        let error = fail("data: {\"error\":{\"message\":\"Provider returned error\",\"code\":502}}\n\n");
        assert_eq!((error.kind, error.status), (FailureKind::Unavailable, Some(502)));
        let error = fail(
            "data: {\"error\":{\"message\":\"Rate limit reached\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}\n\n",
        );
        assert_eq!(error.kind, FailureKind::RateLimited);
        assert_eq!(fail("data: {\"error\":\"overloaded\"}\n\n").kind, FailureKind::Unavailable);
        let filtered = fail("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"content_filter\"}]}\n\n");
        assert_eq!(filtered.kind, FailureKind::Rejected);
        assert_eq!(fail("data: [DONE]\n\n").kind, FailureKind::Incomplete);
    }
}
