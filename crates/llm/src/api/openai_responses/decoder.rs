//! Decodes the stream of an answer.

use bowline_core::StreamEvent;
use bowline_core::message::StopReason;
use bowline_core::stream::{BlockKind, StreamError, TokenCounts};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::item::Item;
use crate::api::Decoder;
use crate::api::frame::{self, ErrorFrame, Few, Text};
use crate::blocks::Blocks;
use crate::{failure, sse};

/// The state of an answer.
#[derive(Debug, Default)]
pub(super) struct Responses {
    parser: sse::Parser,
    answer: Answer,
}

#[derive(Debug, Default)]
struct Answer {
    started: bool,
    /// The provider's number of a block is the index of its item in the output.
    blocks: Blocks,
    calls: bool,
    done: bool,
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(default)]
    output_index: usize,
    #[serde(default)]
    summary_index: usize,
    #[serde(borrow)]
    delta: Option<Text<'a>>,
    #[serde(borrow)]
    arguments: Option<Text<'a>>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<ErrorFrame<'a>>,
    #[serde(borrow)]
    code: Option<Text<'a>>,
    #[serde(borrow)]
    message: Option<Text<'a>>,
}

/// Only the type of a frame, for frames with unexpected fields.
#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    status: Option<Text<'a>>,
    #[serde(borrow)]
    error: Option<ErrorFrame<'a>>,
    #[serde(borrow)]
    incomplete_details: Option<Incomplete<'a>>,
    #[serde(borrow)]
    output: Option<Few<&'a RawValue>>,
    usage: Option<Counts>,
}

#[derive(Deserialize)]
struct Incomplete<'a> {
    #[serde(borrow)]
    reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Counts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    input_tokens_details: Option<InputDetails>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct OutputDetails {
    reasoning_tokens: Option<u64>,
}

impl Decoder for Responses {
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        self.parser.feed(bytes, |data| self.answer.take(data, out))
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        let last = self.parser.finish(|data| self.answer.take(data, out));
        match (self.answer.done, last) {
            (true, _) => Ok(()),
            // An incomplete frame only shows that the rest is missing; a complete one may state why.
            (false, Err(error)) if error.kind != bowline_core::stream::FailureKind::Protocol => Err(error),
            (false, _) => Err(frame::cut()),
        }
    }

    fn check(&self) -> Result<(), StreamError> {
        self.answer.blocks.check()
    }
}

impl Answer {
    fn take(&mut self, data: &[u8], out: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        if self.done || data.trim_ascii() == b"[DONE]" {
            return Ok(());
        }
        let frame: Frame<'_> = match frame::read(data) {
            Ok(frame) => frame,
            Err(error) => return if is_foreign(data) { Ok(()) } else { Err(error) },
        };
        match &*frame.kind.0 {
            "response.output_text.delta"
            | "response.reasoning_summary_text.delta"
            | "response.reasoning_text.delta"
            | "response.refusal.delta"
            | "response.function_call_arguments.delta" => self.extend(frame.output_index, frame.delta, out),
            "response.reasoning_summary_part.added" if frame.summary_index > 0 => {
                self.separate(frame.output_index, out);
            }
            "response.function_call_arguments.done" => {
                self.complete(frame.output_index, frame.arguments, out);
            }
            "response.output_item.added" => {
                if let Some(raw) = frame.item {
                    self.start(frame.output_index, &frame::read(raw.get().as_bytes())?, out);
                }
            }
            "response.output_item.done" => {
                if let Some(raw) = frame.item {
                    self.close(frame.output_index, raw, out)?;
                }
            }
            "response.created" | "response.in_progress" => {
                if let Some(raw) = frame.response {
                    self.begin(frame::read::<Response<'_>>(raw.get().as_bytes())?.id, out);
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                let Some(raw) = frame.response else { return Err(frame::cut()) };
                return self.end(frame::read(raw.get().as_bytes())?, out);
            }
            "error" => return Err(failure_of(frame)),
            // Among them the ends of parts, which the ends of their items repeat.
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, id: Option<Text<'_>>, out: &mut Vec<StreamEvent>) {
        if !std::mem::replace(&mut self.started, true) {
            out.push(StreamEvent::Started { response_id: id.map(Text::into_string) });
        }
    }

    fn start(&mut self, number: usize, item: &Item<'_>, out: &mut Vec<StreamEvent>) {
        let kind = match &*item.kind.0 {
            "reasoning" => BlockKind::Thinking,
            "message" => BlockKind::Text,
            "function_call" => {
                self.calls = true;
                let name = item.name.as_ref().map(|name| name.0.to_string()).unwrap_or_default();
                BlockKind::ToolCall { id: item.joined_id(), name }
            }
            _ => return,
        };
        self.blocks.start(number, kind, out);
        if let Some(arguments) = &item.arguments {
            self.blocks.extend(number, &*arguments.0, out);
        }
    }

    fn extend(&mut self, number: usize, delta: Option<Text<'_>>, out: &mut Vec<StreamEvent>) {
        if let Some(text) = delta {
            self.blocks.extend(number, text, out);
        }
    }

    /// Puts a blank line between the parts of a summary.
    fn separate(&mut self, number: usize, out: &mut Vec<StreamEvent>) {
        if self.blocks.has_text(number) {
            self.blocks.extend(number, "\n\n", out);
        }
    }

    /// Adds a complete text, unless it was streamed.
    fn complete(&mut self, number: usize, text: Option<Text<'_>>, out: &mut Vec<StreamEvent>) {
        if !self.blocks.has_text(number) {
            self.extend(number, text, out);
        }
    }

    fn close(
        &mut self,
        number: usize,
        raw: &RawValue,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), StreamError> {
        let item: Item<'_> = frame::read(raw.get().as_bytes())?;
        if !self.blocks.is_open(number) {
            self.start(number, &item, out);
        }
        if !self.blocks.has_text(number) {
            self.blocks.extend(number, item.whole_text(), out);
        }
        if let Some(signature) = item.signature(raw) {
            self.blocks.sign(number, &signature);
        }
        self.blocks.close(number, out);
        Ok(())
    }

    fn end(&mut self, response: Response<'_>, out: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        self.begin(response.id, out);
        // Some servers send the answer only at the end.
        if self.blocks.is_empty() {
            for (number, raw) in response.output.iter().flat_map(Few::iter).enumerate() {
                self.close(number, raw, out)?;
            }
        }
        self.blocks.close_all(out);
        count(response.usage, out);
        if let Some(error) = response.error {
            return Err(error.into_failure());
        }
        let status = response.status.map(Text::into_string);
        let detail = response.incomplete_details.and_then(|details| details.reason).map(Text::into_string);
        let reason = match (status.as_deref(), detail.as_deref()) {
            (Some(status @ ("failed" | "cancelled")), _) => {
                return Err(failure::in_stream(None, None, &format!("the response was {status}")));
            }
            (Some("incomplete"), Some(reason @ "content_filter")) => return Err(frame::withheld(reason)),
            (Some("incomplete"), _) => StopReason::Length,
            _ if self.calls => StopReason::ToolUse,
            _ => StopReason::Stop,
        };
        self.done = true;
        out.push(StreamEvent::Done { reason, raw_reason: detail.or(status) });
        Ok(())
    }
}

fn count(counts: Option<Counts>, out: &mut Vec<StreamEvent>) {
    let Some(counts) = counts else { return };
    let cache_read = counts.input_tokens_details.and_then(|details| details.cached_tokens).unwrap_or(0);
    out.push(StreamEvent::Tokens(TokenCounts {
        input: counts.input_tokens.unwrap_or(0).saturating_sub(cache_read),
        output: counts.output_tokens.unwrap_or(0),
        cache_read,
        cache_write: 0,
        reasoning: counts.output_tokens_details.and_then(|details| details.reasoning_tokens),
    }));
}

/// Returns the failure of an `error` event, whose fields are at the top level or in an object.
fn failure_of(frame: Frame<'_>) -> StreamError {
    if let Some(error) = frame.error {
        return error.into_failure();
    }
    let message = frame.message.map(Text::into_string).unwrap_or_default();
    failure::in_stream(None, frame.code.map(Text::into_string).as_deref(), &message)
}

/// Returns whether a frame is of a type that we ignore, whatever its fields.
fn is_foreign(data: &[u8]) -> bool {
    let read = [
        "response.output_text.delta",
        "response.reasoning_summary_text.delta",
        "response.reasoning_text.delta",
        "response.refusal.delta",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.added",
        "response.output_item.done",
        "response.created",
        "response.completed",
        "response.incomplete",
        "response.failed",
        "error",
    ];
    serde_json::from_slice::<Kind<'_>>(data).is_ok_and(|frame| !read.contains(&&*frame.kind.0))
}

#[cfg(test)]
mod tests;
