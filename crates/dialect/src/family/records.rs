//! The records of events that every dialect of the family has, and a few that most of them have.

use std::sync::Arc;
use std::time::Duration;

use bowline_core::event::{CompactionOutcome, CompactionResult, Event, ToolReport};
use bowline_core::message::{Arguments, Content, Message};
use bowline_core::usage::Usage;
use serde::Serialize;
use serde_json::Value;

/// An event in the words of the family.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Spoken<'event> {
    AgentStart,
    TurnStart,
    TurnEnd {
        message: &'event Message,
        tool_results: &'event [Arc<Message>],
    },
    MessageStart {
        message: &'event Message,
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
}

/// What a tool shows.
#[derive(Serialize)]
pub(crate) struct Report<'event> {
    content: &'event [Content],
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'event Value>,
}

impl<'event> From<&'event ToolReport> for Report<'event> {
    fn from(report: &'event ToolReport) -> Self {
        Self { content: &report.content, details: report.details.as_ref() }
    }
}

impl<'event> Spoken<'event> {
    /// Returns the record of an event, if it is one of these.
    pub fn of(event: &'event Event) -> Option<Self> {
        Some(match event {
            Event::RunStart => Self::AgentStart,
            Event::TurnStart => Self::TurnStart,
            Event::TurnEnd { message, tool_results } => Self::TurnEnd { message, tool_results },
            Event::MessageStart(message) => Self::MessageStart { message },
            Event::MessageEnd { message, entry } => Self::MessageEnd { message, entry_id: entry.as_deref() },
            Event::ToolStart { call_id, tool, arguments } => {
                Self::ToolExecutionStart { tool_call_id: call_id, tool_name: tool, args: arguments }
            }
            Event::ToolProgress { call_id, tool, arguments, partial } => Self::ToolExecutionUpdate {
                tool_call_id: call_id,
                tool_name: tool,
                args: arguments,
                partial_result: partial.into(),
            },
            Event::ToolEnd { call_id, tool, result, is_error, duration } => Self::ToolExecutionEnd {
                tool_call_id: call_id,
                tool_name: tool,
                result: result.into(),
                is_error: *is_error,
                duration_ms: milliseconds(*duration),
            },
            Event::RetryStart { attempt, max_attempts, delay, error } => Self::AutoRetryStart {
                attempt: *attempt,
                max_attempts: *max_attempts,
                delay_ms: milliseconds(*delay),
                error_message: error,
            },
            Event::RetryEnd { success, attempt, final_error } => Self::AutoRetryEnd {
                success: *success,
                attempt: *attempt,
                final_error: final_error.as_deref(),
            },
            Event::RunEnd { .. }
            | Event::Settled(_)
            | Event::MessageUpdate { .. }
            | Event::QueueChanged { .. }
            | Event::Delivering { .. }
            | Event::CompactionStart { .. }
            | Event::CompactionEnd { .. }
            | Event::SummaryRetryScheduled { .. }
            | Event::SummaryRetryStart(_)
            | Event::SummaryRetryEnd
            | Event::EntryAppended { .. }
            | Event::ThinkingLevelChanged { .. }
            | Event::SessionNameChanged { .. }
            | Event::ShellOutput { .. } => return None,
        })
    }
}

/// A compaction that was made.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SpokenCompaction<'event> {
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

/// What came of a compaction, as the records of its end have it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SpokenOutcome<'event> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<SpokenCompaction<'event>>,
    aborted: bool,
    will_retry: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<&'event str>,
}

impl<'event> SpokenOutcome<'event> {
    pub fn new(outcome: &'event CompactionOutcome, will_retry: bool) -> Self {
        let (result, error_message) = match outcome {
            CompactionOutcome::Done(result) => (Some((&**result).into()), None),
            CompactionOutcome::Failed(text) => (None, Some(text.as_str())),
            CompactionOutcome::Aborted => (None, None),
        };
        Self { result, aborted: *outcome == CompactionOutcome::Aborted, will_retry, error_message }
    }
}

pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
