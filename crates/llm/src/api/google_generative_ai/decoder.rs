//! Decodes the stream of an answer.
//!
//! The API has no blocks: it sends parts of text, some of them thinking, and complete calls. A block ends where
//! another kind starts, or with a part that carries a signature, which belongs to what came before.

use std::sync::atomic::{AtomicU64, Ordering};

use bowline_core::StreamEvent;
use bowline_core::message::StopReason;
use bowline_core::stream::{BlockKind, FailureKind, StreamError, TokenCounts};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::api::Decoder;
use crate::api::frame::{self, ErrorFrame, Few, First, Text};
use crate::blocks::Blocks;
use crate::{failure, sse};

/// The largest non-stream answer in bytes.
const LARGEST_WHOLE: usize = 1024 * 1024;

/// Distinguishes the calls of answers that have no id themselves.
static NAMELESS: AtomicU64 = AtomicU64::new(0);

/// The state of an answer.
#[derive(Debug, Default)]
pub(super) struct Contents {
    parser: sse::Parser,
    answer: Answer,
    form: Form,
}

/// The form of the bytes. Some errors are plain JSON although a stream was requested.
#[derive(Debug, Default)]
enum Form {
    #[default]
    Unknown,
    Stream,
    Whole(Vec<u8>),
}

#[derive(Debug, Default)]
struct Answer {
    started: bool,
    /// The prefix of ids for calls that have none.
    prefix: String,
    blocks: Blocks,
    /// The open block of text or thinking, and whether it is thinking.
    prose: Option<(usize, bool)>,
    /// The ids assigned to calls.
    calls: Vec<String>,
    counts: Option<TokenCounts>,
    done: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Frame<'a> {
    #[serde(borrow)]
    candidates: Option<First<Candidate<'a>>>,
    #[serde(borrow)]
    prompt_feedback: Option<Feedback<'a>>,
    usage_metadata: Option<Counts>,
    #[serde(borrow)]
    response_id: Option<Text<'a>>,
    #[serde(borrow)]
    error: Option<ErrorFrame<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Option<Content<'a>>,
    #[serde(borrow)]
    finish_reason: Option<Text<'a>>,
    #[serde(borrow)]
    finish_message: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    parts: Option<Few<Part<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    thought: Option<bool>,
    #[serde(borrow)]
    thought_signature: Option<Text<'a>>,
    #[serde(borrow)]
    function_call: Option<Call<'a>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback<'a> {
    #[serde(borrow)]
    block_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counts {
    prompt_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
}

impl Decoder for Contents {
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        if let Form::Unknown = self.form {
            let Some(first) = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) else { return Ok(()) };
            self.form = if matches!(first, b'{' | b'[') { Form::Whole(Vec::new()) } else { Form::Stream };
        }
        match &mut self.form {
            Form::Whole(whole) if whole.len() + bytes.len() > LARGEST_WHOLE => Err(StreamError::new(
                FailureKind::Protocol,
                "The provider sent something that is not a stream; the answer was abandoned.",
            )),
            Form::Whole(whole) => {
                whole.extend_from_slice(bytes);
                Ok(())
            }
            _ => self.parser.feed(bytes, |data| self.answer.take(data, out)),
        }
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        let last = match std::mem::take(&mut self.form) {
            Form::Whole(whole) => self.answer.take(&whole, out),
            _ => self.parser.finish(|data| self.answer.take(data, out)),
        };
        match (self.answer.done, last) {
            (true, _) => Ok(()),
            // An incomplete frame only shows that the rest is missing; a complete one may state why.
            (false, Err(error)) if error.kind != FailureKind::Protocol => Err(error),
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
        if data.trim_ascii_start().first() == Some(&b'[') {
            let frames: Few<Frame<'_>> = frame::read(data)?;
            return frames.into_iter().try_for_each(|frame| self.take_frame(frame, out));
        }
        self.take_frame(frame::read(data)?, out)
    }

    fn take_frame(&mut self, frame: Frame<'_>, out: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        if self.done {
            return Ok(());
        }
        if let Some(error) = frame.error {
            return Err(error.into_failure());
        }
        if !std::mem::replace(&mut self.started, true) {
            let response_id = frame.response_id.map(Text::into_string).filter(|id| !id.is_empty());
            self.prefix =
                response_id.clone().unwrap_or_else(|| NAMELESS.fetch_add(1, Ordering::Relaxed).to_string());
            out.push(StreamEvent::Started { response_id });
        }
        self.count(frame.usage_metadata, out);
        if let Some(reason) = frame.prompt_feedback.and_then(|feedback| feedback.block_reason) {
            return Err(frame::withheld(&reason.0));
        }
        let Some(candidate) = frame.candidates.and_then(|candidates| candidates.0) else {
            return Ok(());
        };
        let candidate = *candidate;
        for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
            self.add(part, out);
        }
        match candidate.finish_reason {
            Some(reason) if reason.0 != "FINISH_REASON_UNSPECIFIED" => {
                self.end(reason, candidate.finish_message, out)
            }
            _ => Ok(()),
        }
    }

    fn add(&mut self, part: Part<'_>, out: &mut Vec<StreamEvent>) {
        let signature = part.thought_signature.map(Text::into_string).filter(|text| !text.is_empty());
        if let Some(call) = part.function_call {
            self.call(call, signature, out);
        } else if let Some(text) = part.text {
            self.add_prose(text, part.thought == Some(true), signature, out);
        }
    }

    fn add_prose(
        &mut self,
        text: Text<'_>,
        thought: bool,
        signature: Option<String>,
        out: &mut Vec<StreamEvent>,
    ) {
        if !text.0.is_empty() {
            let block = match self.prose {
                Some((block, is_thinking)) if is_thinking == thought => block,
                _ => {
                    self.close_prose(out);
                    let kind = if thought { BlockKind::Thinking } else { BlockKind::Text };
                    let block = self.blocks.append(kind, out);
                    self.prose = Some((block, thought));
                    block
                }
            };
            self.blocks.extend(block, text, out);
        }
        if let (Some(signature), Some((block, _))) = (signature, self.prose) {
            self.blocks.sign(block, &signature);
            self.close_prose(out);
        }
    }

    fn call(&mut self, call: Call<'_>, signature: Option<String>, out: &mut Vec<StreamEvent>) {
        self.close_prose(out);
        let own = call.id.map(Text::into_string).filter(|id| !id.is_empty() && !self.calls.contains(id));
        let id = own.unwrap_or_else(|| format!("call_{}_{}", self.prefix, self.calls.len()));
        self.calls.push(id.clone());
        let name = call.name.map(Text::into_string).unwrap_or_default();
        let block = self.blocks.append(BlockKind::ToolCall { id, name }, out);
        self.blocks.extend(block, call.args.map_or("{}", RawValue::get), out);
        if let Some(signature) = signature {
            self.blocks.sign(block, &signature);
        }
        self.blocks.close(block, out);
    }

    fn close_prose(&mut self, out: &mut Vec<StreamEvent>) {
        if let Some((block, _)) = self.prose.take() {
            self.blocks.close(block, out);
        }
    }

    /// Updates the counts. Every frame repeats them; only changes are passed on.
    fn count(&mut self, counts: Option<Counts>, out: &mut Vec<StreamEvent>) {
        let Some(counts) = counts else { return };
        let cache_read = counts.cached_content_token_count.unwrap_or(0);
        let thoughts = counts.thoughts_token_count;
        let prompt = counts
            .prompt_token_count
            .unwrap_or(0)
            .saturating_add(counts.tool_use_prompt_token_count.unwrap_or(0));
        let counts = TokenCounts {
            input: prompt.saturating_sub(cache_read),
            output: counts.candidates_token_count.unwrap_or(0).saturating_add(thoughts.unwrap_or(0)),
            cache_read,
            cache_write: 0,
            reasoning: thoughts,
        };
        if self.counts.replace(counts) != Some(counts) {
            out.push(StreamEvent::Tokens(counts));
        }
    }

    fn end(
        &mut self,
        raw_reason: Text<'_>,
        message: Option<Text<'_>>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), StreamError> {
        self.close_prose(out);
        let reason = match &*raw_reason.0 {
            "STOP" if self.calls.is_empty() => StopReason::Stop,
            "STOP" => StopReason::ToolUse,
            "MAX_TOKENS" => StopReason::Length,
            // The model produced a malformed call; another attempt usually succeeds.
            name @ ("MALFORMED_FUNCTION_CALL" | "MALFORMED_RESPONSE" | "UNEXPECTED_TOOL_CALL" | "OTHER") => {
                let message = message.map(Text::into_string);
                let text = message.as_deref().unwrap_or("the model did not finish its answer");
                return Err(failure::in_stream(None, Some(name), text));
            }
            refusal => return Err(frame::withheld(refusal)),
        };
        self.done = true;
        out.push(StreamEvent::Done { reason, raw_reason: Some(raw_reason.into_string()) });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
