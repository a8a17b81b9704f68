//! Decodes the stream of an answer.

use bowline_core::StreamEvent;
use bowline_core::message::StopReason;
use bowline_core::stream::{BlockKind, FailureKind, StreamError, TokenCounts};
use serde::Deserialize;

use super::event_stream::{self, Message};
use crate::api::Decoder;
use crate::api::frame::{self, Text};
use crate::blocks::Blocks;
use crate::{failure, lone_surrogates};

/// The state of an answer.
#[derive(Debug, Default)]
pub(super) struct Converse {
    parser: event_stream::Parser,
    answer: Answer,
}

#[derive(Debug, Default)]
struct Answer {
    blocks: Blocks,
    stop: Option<String>,
    done: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Frame<'a> {
    #[serde(default)]
    content_block_index: usize,
    #[serde(borrow)]
    start: Option<Start<'a>>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    stop_reason: Option<Text<'a>>,
    usage: Option<Counts>,
    #[serde(borrow, alias = "Message")]
    message: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Start<'a> {
    #[serde(borrow)]
    tool_use: Option<ToolStart<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolStart<'a> {
    #[serde(borrow)]
    tool_use_id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    tool_use: Option<ToolDelta<'a>>,
    #[serde(borrow)]
    reasoning_content: Option<Reasoning<'a>>,
}

#[derive(Deserialize)]
struct ToolDelta<'a> {
    #[serde(borrow)]
    input: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reasoning<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    signature: Option<Text<'a>>,
    /// Thinking that the provider encrypted, as base64.
    #[serde(borrow)]
    redacted_content: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_write_input_tokens: Option<u64>,
}

impl Decoder for Converse {
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        if self.answer.done {
            return Ok(());
        }
        self.parser.feed(bytes, |message| match self.answer.take(message, out) {
            // A payload that cannot be read may only have half of a character.
            Err(error) if error.kind == FailureKind::Protocol => {
                let repaired = lone_surrogates::replaced(message.payload);
                let retry =
                    |payload: Vec<u8>| self.answer.take(Message { payload: &payload, ..message }, out);
                repaired.map_or(Err(error), retry)
            }
            outcome => outcome,
        })
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        match (self.answer.done, self.answer.stop.is_some()) {
            (true, _) => Ok(()),
            // Only the token counts, which come last, are missing; the answer itself is complete.
            (false, true) => self.answer.end(out),
            (false, false) => Err(frame::cut()),
        }
    }

    fn check(&self) -> Result<(), StreamError> {
        self.answer.blocks.check()
    }
}

impl Answer {
    fn take(&mut self, message: Message<'_>, out: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        if self.done {
            return Ok(());
        }
        if message.kind != "event" {
            return Err(failure_of(message));
        }
        match message.name {
            "contentBlockDelta" => {
                let frame: Frame<'_> = frame::read(message.payload)?;
                if let Some(delta) = frame.delta {
                    self.extend(frame.content_block_index, delta, out);
                }
            }
            "contentBlockStart" => {
                let frame: Frame<'_> = frame::read(message.payload)?;
                // Only calls have a meaningful start; other blocks start with their first delta.
                if let Some(tool) = frame.start.and_then(|start| start.tool_use) {
                    let id = tool.tool_use_id.map(Text::into_string).unwrap_or_default();
                    let name = tool.name.map(Text::into_string).unwrap_or_default();
                    self.blocks.start(frame.content_block_index, BlockKind::ToolCall { id, name }, out);
                }
            }
            "contentBlockStop" => {
                let frame: Frame<'_> = frame::read(message.payload)?;
                self.blocks.close(frame.content_block_index, out);
            }
            "messageStart" => out.push(StreamEvent::Started { response_id: None }),
            "messageStop" => {
                let frame: Frame<'_> = frame::read(message.payload)?;
                let reason = frame.stop_reason.map(Text::into_string);
                self.stop = Some(reason.unwrap_or_else(|| "end_turn".to_owned()));
            }
            "metadata" => {
                count(frame::read::<Frame<'_>>(message.payload)?.usage, out);
                if self.stop.is_some() {
                    return self.end(out);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn extend(&mut self, number: usize, delta: Delta<'_>, out: &mut Vec<StreamEvent>) {
        let Delta { text, tool_use, reasoning_content } = delta;
        if let Some(reasoning) = reasoning_content {
            return self.think(number, reasoning, out);
        }
        let is_call = tool_use.is_some();
        let Some(text) = text.or(tool_use.and_then(|tool| tool.input)) else { return };
        if !is_call && !self.blocks.is_open(number) {
            self.blocks.start(number, BlockKind::Text, out);
        }
        self.blocks.extend(number, text, out);
    }

    fn think(&mut self, number: usize, reasoning: Reasoning<'_>, out: &mut Vec<StreamEvent>) {
        let Reasoning { text, signature, redacted_content } = reasoning;
        if !self.blocks.is_open(number) {
            let redacted = redacted_content.is_some();
            let kind = if redacted { BlockKind::RedactedThinking } else { BlockKind::Thinking };
            self.blocks.start(number, kind, out);
        }
        if let Some(text) = text {
            self.blocks.extend(number, text, out);
        }
        if let Some(more) = signature.or(redacted_content) {
            self.blocks.sign(number, &more.0);
        }
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        self.blocks.close_all(out);
        let raw_reason = self.stop.take();
        let reason = match raw_reason.as_deref() {
            Some("max_tokens" | "model_context_window_exceeded") => StopReason::Length,
            Some("tool_use") => StopReason::ToolUse,
            Some(refusal @ ("guardrail_intervened" | "content_filtered" | "refusal")) => {
                return Err(frame::withheld(refusal));
            }
            Some(stumble @ ("malformed_model_output" | "malformed_tool_use")) => {
                let text = "the model did not finish its answer";
                return Err(failure::in_stream(None, Some(stumble), text));
            }
            _ => StopReason::Stop,
        };
        self.done = true;
        out.push(StreamEvent::Done { reason, raw_reason });
        Ok(())
    }
}

fn count(counts: Option<Counts>, out: &mut Vec<StreamEvent>) {
    let Some(counts) = counts else { return };
    // This API's input count excludes cache reads and writes.
    out.push(StreamEvent::Tokens(TokenCounts {
        input: counts.input_tokens.unwrap_or(0),
        output: counts.output_tokens.unwrap_or(0),
        cache_read: counts.cache_read_input_tokens.unwrap_or(0),
        cache_write: counts.cache_write_input_tokens.unwrap_or(0),
        reasoning: None,
    }));
}

/// Returns the failure that an exception in the stream means.
fn failure_of(message: Message<'_>) -> StreamError {
    let reported = serde_json::from_slice::<Frame<'_>>(message.payload).ok().and_then(|frame| frame.message);
    let text = reported.map_or_else(|| message.text.to_owned(), Text::into_string);
    let status = match message.name {
        "throttlingException" => Some(429),
        "validationException" => Some(400),
        "accessDeniedException" => Some(403),
        "modelTimeoutException" => Some(408),
        "internalServerException" => Some(500),
        "serviceUnavailableException" => Some(503),
        _ => None,
    };
    failure::in_stream(status, Some(message.name).filter(|name| !name.is_empty()), &text)
}

/// Returns an answer for the tests of all decoders.
#[cfg(test)]
pub(in crate::api) fn fixture() -> Vec<u8> {
    tests::ANSWER.iter().flat_map(|(name, payload)| tests::event(name, payload)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const ANSWER: &[(&str, &str)] = &[
        ("messageStart", r#"{"p":"abcdefgh","role":"assistant"}"#),
        (
            "contentBlockDelta",
            r#"{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"Hm “é” 😀"}},"p":"ab"}"#,
        ),
        ("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"c2ln"}}}"#),
        ("contentBlockStop", r#"{"contentBlockIndex":0}"#),
        (
            "contentBlockDelta",
            r#"{"contentBlockIndex":1,"delta":{"reasoningContent":{"redactedContent":"ZW5j"}}}"#,
        ),
        ("contentBlockStop", r#"{"contentBlockIndex":1}"#),
        ("contentBlockDelta", r#"{"contentBlockIndex":2,"delta":{"text":"I will "}}"#),
        ("contentBlockDelta", r#"{"contentBlockIndex":2,"delta":{"text":"look."}}"#),
        ("contentBlockStop", r#"{"contentBlockIndex":2}"#),
        (
            "contentBlockStart",
            r#"{"contentBlockIndex":3,"start":{"toolUse":{"name":"ls","toolUseId":"tooluse_1"}}}"#,
        ),
        ("contentBlockDelta", r#"{"contentBlockIndex":3,"delta":{"toolUse":{"input":""}}}"#),
        ("contentBlockDelta", r#"{"contentBlockIndex":3,"delta":{"toolUse":{"input":"{\"path\":\"x\"}"}}}"#),
        ("contentBlockStop", r#"{"contentBlockIndex":3}"#),
        ("unheardOf", r#"{"contentBlockIndex":"four"}"#),
        ("messageStop", r#"{"stopReason":"tool_use"}"#),
        (
            "metadata",
            r#"{"metrics":{"latencyMs":9},"usage":{"inputTokens":5,"outputTokens":7,"totalTokens":12,"cacheReadInputTokens":3}}"#,
        ),
    ];

    pub(super) fn event(name: &str, payload: &str) -> Vec<u8> {
        let headers =
            [(":event-type", name), (":content-type", "application/json"), (":message-type", "event")];
        event_stream::tests::write(&headers, payload)
    }

    fn decode(bytes: &[u8]) -> Result<Vec<StreamEvent>, StreamError> {
        let mut decoder = Converse::default();
        let mut out = Vec::new();
        decoder.feed(bytes, &mut out)?;
        decoder.finish(&mut out)?;
        Ok(out)
    }

    #[test]
    fn answer_is_decoded() {
        let delta = |index: usize, text: &str| StreamEvent::Delta { index, text: text.into() };
        let call = BlockKind::ToolCall { id: "tooluse_1".into(), name: "ls".into() };
        let expected = [
            StreamEvent::Started { response_id: None },
            StreamEvent::BlockStart { index: 0, kind: BlockKind::Thinking },
            delta(0, "Hm “é” 😀"),
            StreamEvent::BlockEnd { index: 0, signature: Some("c2ln".into()) },
            StreamEvent::BlockStart { index: 1, kind: BlockKind::RedactedThinking },
            StreamEvent::BlockEnd { index: 1, signature: Some("ZW5j".into()) },
            StreamEvent::BlockStart { index: 2, kind: BlockKind::Text },
            delta(2, "I will "),
            delta(2, "look."),
            StreamEvent::BlockEnd { index: 2, signature: None },
            StreamEvent::BlockStart { index: 3, kind: call },
            delta(3, r#"{"path":"x"}"#),
            StreamEvent::BlockEnd { index: 3, signature: None },
            StreamEvent::Tokens(TokenCounts { input: 5, output: 7, cache_read: 3, ..TokenCounts::default() }),
            StreamEvent::Done { reason: StopReason::ToolUse, raw_reason: Some("tool_use".into()) },
        ];
        assert_eq!(decode(&fixture()).unwrap(), expected);
    }

    #[test]
    fn exceptions_are_failures() {
        let fail = |name: &str| {
            let headers = [(":exception-type", name), (":message-type", "exception")];
            let error = decode(&event_stream::tests::write(&headers, r#"{"message":"no"}"#)).unwrap_err();
            (error.kind, error.message)
        };
        let expected = (FailureKind::RateLimited, "429 throttlingException: no".to_owned());
        assert_eq!(fail("throttlingException"), expected);
        assert_eq!(fail("validationException").0, FailureKind::Rejected);
        assert_eq!(fail("internalServerException").0, FailureKind::Unavailable);
        let headers =
            [(":message-type", "error"), (":error-code", "InternalError"), (":error-message", "gone")];
        let error = decode(&event_stream::tests::write(&headers, "")).unwrap_err();
        assert_eq!(error.message, "InternalError: gone");
        let refused = event("messageStop", r#"{"stopReason":"guardrail_intervened"}"#);
        assert_eq!(decode(&refused).unwrap_err().kind, FailureKind::Rejected);
    }
}
