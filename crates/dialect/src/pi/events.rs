//! What events look like on the wire.

use std::sync::Arc;
use std::time::Duration;

use bowline_core::event::{CompactionOutcome, CompactionResult, Event, RunOutcome, ToolReport};
use bowline_core::message::{Arguments, Content, Message, ToolCall};
use bowline_core::stream::Update;
use bowline_core::thinking::ThinkingLevel;
use bowline_core::usage::Usage;
use bowline_wire::Record;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json;

/// Room for the blocks of one message in the keys by which deltas join.
const BLOCKS_PER_MESSAGE: u64 = 1 << 20;

/// Encodes events, and remembers what spares work between the deltas of one answer.
#[derive(Debug, Default)]
pub(super) struct Updates {
    /// Counts messages, so that deltas of different messages never join.
    messages: u64,
    usage: Usage,
    usage_json: Vec<u8>,
}

/// An event in the words of pi.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Spoken<'event> {
    AgentStart,
    AgentEnd {
        messages: &'event [Arc<Message>],
        will_retry: bool,
    },
    AgentSettled {
        aborted: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'event str>,
    },
    TurnStart,
    TurnEnd {
        message: &'event Message,
        tool_results: &'event [Arc<Message>],
    },
    MessageStart {
        message: &'event Message,
    },
    MessageUpdate {
        usage: &'event Usage,
        assistant_message_event: Step<'event>,
    },
    MessageEnd {
        message: &'event Message,
        #[serde(skip_serializing_if = "Option::is_none")]
        entry_id: Option<&'event str>,
    },
    ToolExecutionStart {
        tool_call_id: &'event str,
        tool_name: &'event str,
        args: &'event Arguments,
    },
    ToolExecutionUpdate {
        tool_call_id: &'event str,
        tool_name: &'event str,
        args: &'event Arguments,
        partial_result: Report<'event>,
    },
    ToolExecutionEnd {
        tool_call_id: &'event str,
        tool_name: &'event str,
        result: Report<'event>,
        is_error: bool,
        duration_ms: u64,
    },
    QueueUpdate {
        steering: &'event [String],
        follow_up: &'event [String],
    },
    AutoRetryStart {
        attempt: u32,
        max_attempts: u32,
        delay_ms: u64,
        error_message: &'event str,
    },
    AutoRetryEnd {
        success: bool,
        attempt: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        final_error: Option<&'event str>,
    },
    CompactionStart {
        reason: &'static str,
    },
    CompactionEnd {
        reason: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<SpokenCompaction<'event>>,
        aborted: bool,
        will_retry: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<&'event str>,
    },
    ThinkingLevelChanged {
        level: ThinkingLevel,
        #[serde(skip_serializing_if = "Option::is_none")]
        entry_id: Option<&'event str>,
    },
    SessionInfoChanged {
        name: &'event str,
        #[serde(skip_serializing_if = "Option::is_none")]
        entry_id: Option<&'event str>,
    },
    BashExecutionUpdate {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'event RawValue>,
        delta: &'event str,
    },
}

/// A step of a streamed answer that is not a delta.
#[derive(Serialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
enum Step<'event> {
    #[serde(rename = "text_start")]
    TextStart { content_index: usize },
    #[serde(rename = "text_end")]
    TextEnd { content_index: usize, content: &'event str },
    #[serde(rename = "thinking_start")]
    ThinkingStart { content_index: usize },
    #[serde(rename = "thinking_end")]
    ThinkingEnd { content_index: usize, content: &'event str },
    #[serde(rename = "toolcall_start")]
    ToolCallStart { content_index: usize, id: &'event str, tool_name: &'event str },
    #[serde(rename = "toolcall_end")]
    ToolCallEnd { content_index: usize, tool_call: TypedCall<'event> },
}

/// A tool call with the tag that it has as a block of a message.
#[derive(Serialize)]
#[serde(tag = "type", rename = "toolCall")]
struct TypedCall<'event> {
    #[serde(flatten)]
    call: &'event ToolCall,
}

/// A compaction that was made.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SpokenCompaction<'event> {
    summary: &'event str,
    first_kept_entry_id: &'event str,
    tokens_before: u64,
    estimated_tokens_after: u64,
    usage: &'event Usage,
    details: SpokenFiles<'event>,
    entry_id: &'event str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SpokenFiles<'event> {
    read_files: &'event [String],
    modified_files: &'event [String],
}

impl<'event> From<&'event CompactionResult> for SpokenCompaction<'event> {
    fn from(result: &'event CompactionResult) -> Self {
        Self {
            summary: &result.summary,
            first_kept_entry_id: &result.first_kept_entry,
            tokens_before: result.tokens_before,
            estimated_tokens_after: result.estimated_tokens_after,
            usage: &result.usage,
            details: SpokenFiles { read_files: &result.files.read, modified_files: &result.files.modified },
            entry_id: &result.entry,
        }
    }
}

#[derive(Serialize)]
struct Report<'event> {
    content: &'event [Content],
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'event Value>,
}

impl<'event> From<&'event ToolReport> for Report<'event> {
    fn from(report: &'event ToolReport) -> Self {
        Self { content: &report.content, details: report.details.as_ref() }
    }
}

impl Updates {
    pub fn encode(&mut self, event: &Event) -> Option<Record> {
        if let Event::MessageStart(_) = event {
            self.messages += 1;
        }
        if let Event::MessageUpdate { usage, update } = event {
            return Some(self.update(usage, update));
        }
        plain(event)
    }

    fn update(&mut self, usage: &Usage, update: &Update) -> Record {
        let step = match update {
            Update::TextDelta { content_index, delta } => {
                return self.delta(usage, "text_delta", *content_index, delta);
            }
            Update::ThinkingDelta { content_index, delta } => {
                return self.delta(usage, "thinking_delta", *content_index, delta);
            }
            Update::ToolCallDelta { content_index, delta } => {
                return self.delta(usage, "toolcall_delta", *content_index, delta);
            }
            Update::TextStart { content_index } => Step::TextStart { content_index: *content_index },
            Update::TextEnd { content_index, content } => {
                Step::TextEnd { content_index: *content_index, content }
            }
            Update::ThinkingStart { content_index } => Step::ThinkingStart { content_index: *content_index },
            Update::ThinkingEnd { content_index, content } => {
                Step::ThinkingEnd { content_index: *content_index, content }
            }
            Update::ToolCallStart { content_index, id, name } => {
                Step::ToolCallStart { content_index: *content_index, id, tool_name: name }
            }
            Update::ToolCallEnd { content_index, call } => {
                Step::ToolCallEnd { content_index: *content_index, tool_call: TypedCall { call } }
            }
        };
        let spoken = Spoken::MessageUpdate { usage, assistant_message_event: step };
        Record::Plain(json::to_line(&spoken))
    }

    /// Puts a delta together by hand: it is by far the most frequent record, and the outbox joins such records by
    /// their bodies when the client lags.
    fn delta(&mut self, usage: &Usage, kind: &str, content_index: usize, delta: &str) -> Record {
        if self.usage_json.is_empty() || self.usage != *usage {
            self.usage = *usage;
            self.usage_json.clear();
            json::write(&mut self.usage_json, usage);
        }
        let mut prefix = Vec::with_capacity(self.usage_json.len() + 128);
        prefix.extend_from_slice(br#"{"type":"message_update","usage":"#);
        prefix.extend_from_slice(&self.usage_json);
        prefix.extend_from_slice(br#","assistantMessageEvent":{"type":""#);
        prefix.extend_from_slice(kind.as_bytes());
        prefix.extend_from_slice(br#"","contentIndex":"#);
        json::write(&mut prefix, &content_index);
        prefix.extend_from_slice(br#","delta":""#);
        let key = self.messages * BLOCKS_PER_MESSAGE + content_index as u64;
        Record::Delta { key, prefix, body: json::string_body(delta), suffix: br#""}}"#.to_vec() }
    }
}

/// Encodes every event but updates, which need to know what came before.
fn plain(event: &Event) -> Option<Record> {
    let spoken = match event {
        Event::RunStart => Spoken::AgentStart,
        Event::RunEnd { messages, will_retry, .. } => Spoken::AgentEnd { messages, will_retry: *will_retry },
        Event::Settled(outcome) => Spoken::AgentSettled {
            aborted: *outcome == RunOutcome::Aborted,
            error: if let RunOutcome::Failed(text) = outcome { Some(text) } else { None },
        },
        Event::TurnStart => Spoken::TurnStart,
        Event::TurnEnd { message, tool_results } => Spoken::TurnEnd { message, tool_results },
        Event::MessageStart(message) => Spoken::MessageStart { message },
        Event::MessageEnd { message, entry } => Spoken::MessageEnd { message, entry_id: entry.as_deref() },
        // Handled by the caller; an update without what came before is still an update.
        Event::MessageUpdate { usage, update } => return Some(Updates::default().update(usage, update)),
        Event::ToolStart { call_id, tool, arguments } => {
            Spoken::ToolExecutionStart { tool_call_id: call_id, tool_name: tool, args: arguments }
        }
        Event::ToolProgress { call_id, tool, arguments, partial } => Spoken::ToolExecutionUpdate {
            tool_call_id: call_id,
            tool_name: tool,
            args: arguments,
            partial_result: partial.into(),
        },
        Event::ToolEnd { call_id, tool, result, is_error, duration } => Spoken::ToolExecutionEnd {
            tool_call_id: call_id,
            tool_name: tool,
            result: result.into(),
            is_error: *is_error,
            duration_ms: milliseconds(*duration),
        },
        // The change of the queue that follows says the same.
        Event::Delivering { .. } => return None,
        Event::QueueChanged { steering, follow_up, .. } => Spoken::QueueUpdate { steering, follow_up },
        Event::RetryStart { attempt, max_attempts, delay, error } => Spoken::AutoRetryStart {
            attempt: *attempt,
            max_attempts: *max_attempts,
            delay_ms: milliseconds(*delay),
            error_message: error,
        },
        Event::RetryEnd { success, attempt, final_error } => {
            Spoken::AutoRetryEnd { success: *success, attempt: *attempt, final_error: final_error.as_deref() }
        }
        Event::CompactionStart { reason } => Spoken::CompactionStart { reason: reason.as_str() },
        Event::CompactionEnd { reason, outcome, will_retry } => Spoken::CompactionEnd {
            reason: reason.as_str(),
            result: if let CompactionOutcome::Done(result) = outcome {
                Some((&**result).into())
            } else {
                None
            },
            aborted: *outcome == CompactionOutcome::Aborted,
            will_retry: *will_retry,
            error_message: if let CompactionOutcome::Failed(text) = outcome { Some(text) } else { None },
        },
        Event::ThinkingLevelChanged { level, entry } => {
            Spoken::ThinkingLevelChanged { level: *level, entry_id: entry.as_deref() }
        }
        Event::SessionNameChanged { name, entry } => {
            Spoken::SessionInfoChanged { name, entry_id: entry.as_deref() }
        }
        Event::ShellOutput { origin, delta } => {
            let id = origin.id.as_deref().and_then(|id| serde_json::from_str(id).ok());
            Spoken::BashExecutionUpdate { id, delta }
        }
    };
    Some(Record::Plain(json::to_line(&spoken)))
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
