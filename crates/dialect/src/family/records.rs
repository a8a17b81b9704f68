//! The records of events that every dialect of the family has, and a few that most of them have.

use std::sync::Arc;
use std::time::Duration;

use bowline_core::event::{CompactionOutcome, CompactionResult, Event, ToolReport};
use bowline_core::message::{Arguments, Content, Message};
use bowline_core::usage::Usage;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// An event in the words of the family.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Spoken<'event> {
    /// The model is going to be asked.
    AgentStart,
    /// A turn begins: one answer of the model, and the tools that it calls.
    TurnStart,
    /// A turn is over.
    TurnEnd {
        /// The answer of the model.
        message: &'event Message,
        /// What the tools gave back, in the order of the calls.
        tool_results: &'event [Arc<Message>],
    },
    /// A message begins. An answer of the model has nothing in it yet, or its first block.
    MessageStart { message: &'event Message },
    /// A message is whole, and in the session's file.
    MessageEnd {
        message: &'event Message,
        /// Its entry in the file; absent if the session is kept in memory only.
        #[serde(skip_serializing_if = "Option::is_none")]
        entry_id: Option<&'event str>,
    },
    /// A tool begins its work.
    ToolExecutionStart {
        tool_call_id: &'event str,
        tool_name: &'event str,
        /// What the model called it with.
        args: &'event Arguments,
    },
    /// A tool has more to show.
    ToolExecutionUpdate {
        tool_call_id: &'event str,
        tool_name: &'event str,
        /// What the model called it with.
        args: &'event Arguments,
        /// All that it has to show so far: replaces what it showed before.
        partial_result: Report<'event>,
    },
    /// A tool has done its work.
    ToolExecutionEnd {
        tool_call_id: &'event str,
        tool_name: &'event str,
        result: Report<'event>,
        is_error: bool,
        duration_ms: u64,
    },
    /// A request failed for a passing reason, and is going to be made again.
    AutoRetryStart {
        /// Which retry it is, from 1 on.
        attempt: u32,
        max_attempts: u32,
        /// How long it is waited for.
        delay_ms: u64,
        /// Why the request failed.
        error_message: &'event str,
    },
    /// Retrying is over.
    AutoRetryEnd {
        success: bool,
        /// How many retries it took.
        attempt: u32,
        /// Why the last one failed, if it did.
        #[serde(skip_serializing_if = "Option::is_none")]
        final_error: Option<&'event str>,
    },
}

/// What a tool shows.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ToolReport")]
pub(crate) struct Report<'event> {
    /// What the model sees.
    content: &'event [Content],
    /// Facts for the client that the model does not see; which, depends on the tool.
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
            | Event::ShellOutput { .. }
            | Event::Ask(_)
            | Event::AskResolved { .. } => return None,
        })
    }
}

/// A compaction that was made.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Compaction")]
pub(crate) struct SpokenCompaction<'event> {
    /// What stands for all that came before.
    summary: &'event str,
    /// The first entry that the model still sees as it was.
    first_kept_entry_id: &'event str,
    /// The size of the context, as the model reported it or estimated.
    tokens_before: u64,
    estimated_tokens_after: u64,
    /// What the summary cost.
    usage: &'event Usage,
    details: SpokenFiles<'event>,
    /// The entry with the summary.
    entry_id: &'event str,
}

/// The files that tools looked at and changed in what was summarised.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TouchedFiles")]
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
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) struct SpokenOutcome<'event> {
    /// What was made; absent if it was aborted or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<SpokenCompaction<'event>>,
    aborted: bool,
    /// Whether the request that did not fit is made again.
    will_retry: bool,
    /// Why it failed, if it did.
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
