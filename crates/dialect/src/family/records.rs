//! The records of events that `pi` and `omp` share, some of them with `pi-classic`.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use bowline_core::event::{CompactionOutcome, CompactionResult, Event, ToolReport};
use bowline_core::file_changes::{RestoreReport, RunChanges};
use bowline_core::limits::{LimitScope, Limited};
use bowline_core::message::{Arguments, Content, Message};
use bowline_core::pending_changes::PendingReport;
use bowline_core::stream_rule::{RuleInterrupt, StreamRule};
use bowline_core::todo::TodoTask;
use bowline_core::ui::ExtensionError;
use bowline_core::usage::{Usage, plain_number};
use bowline_wire::Record;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::json;
use crate::json::milliseconds;

/// The record of an event that has the same form in the whole family.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum EventRecord<'event> {
    /// A run starts, or an attempt after a retry, a compaction or a queued message.
    AgentStart,
    /// A turn starts: one model response and the tool calls in it.
    TurnStart,
    /// A turn ended.
    TurnEnd {
        /// The model's response.
        message: &'event Message,
        /// The results of the tool calls, in the order of the calls.
        tool_results: &'event [Arc<Message>],
    },
    /// A message starts. A model response is empty at this point, or has only its first block.
    MessageStart { message: &'event Message },
    /// A message is complete and in the session file.
    MessageEnd {
        message: &'event Message,
        /// The message's entry in the session file; absent if the session is in memory only.
        #[serde(skip_serializing_if = "Option::is_none")]
        entry_id: Option<&'event str>,
    },
    /// A tool starts.
    ToolExecutionStart {
        tool_call_id: &'event str,
        tool_name: &'event str,
        /// The arguments of the call.
        args: &'event Arguments,
    },
    /// A running tool has new output.
    ToolExecutionUpdate {
        tool_call_id: &'event str,
        tool_name: &'event str,
        /// The arguments of the call.
        args: &'event Arguments,
        /// The output so far. It replaces that of earlier updates.
        partial_result: Report<'event>,
    },
    /// A tool finished.
    ToolExecutionEnd {
        tool_call_id: &'event str,
        tool_name: &'event str,
        result: Report<'event>,
        is_error: bool,
        duration_ms: u64,
    },
    /// A request failed with a transient error and will be retried.
    AutoRetryStart {
        /// The number of the retry, starting at 1.
        attempt: u32,
        max_attempts: u32,
        /// The delay before the retry.
        delay_ms: u64,
        /// Why the request failed.
        error_message: &'event str,
    },
    /// What the model writes breaks stream rules: the response is interrupted and requested again, or the result of the
    /// tool call that breaks them mentions them.
    TtsrTriggered { rules: Vec<RuleRecord<'event>> },
    /// The model stopped although tasks of its todo list are left. It is reminded of them and goes on.
    TodoReminder {
        /// The tasks that are left.
        todos: &'event [TodoTask],
        /// The number of the reminder since the user's prompt, starting at 1.
        attempt: u32,
        max_attempts: u32,
    },
    /// A run has spent 80 % of a limit, or the session has; the run ends with the error kind `budget` when it would go on
    /// beyond it. Emitted once per limit and run.
    LimitWarning {
        scope: LimitScope,
        /// What is limited.
        limit: Limited,
        /// What has been spent.
        #[serde(serialize_with = "plain_number")]
        #[schemars(with = "f64")]
        used: f64,
        /// The limit.
        #[serde(serialize_with = "plain_number")]
        #[schemars(with = "f64")]
        max: f64,
    },
    /// What the run changed in files; before `agent_settled`, but after it if the run was aborted. Only for clients that asked
    /// for it with `set_client_capabilities`.
    RunChanges {
        #[serde(flatten)]
        changes: &'event RunChanges,
    },
    /// Files were restored, or changed again, by `undo` or `redo`.
    FilesRestored {
        /// Whether they were changed again.
        redo: bool,
        #[serde(flatten)]
        report: &'event RestoreReport,
    },
    /// What is pending after a run that may have changed something, if bowline was started with `--workspace overlay`: before
    /// `agent_settled`, but after it if the run was aborted.
    PendingChanges {
        #[serde(flatten)]
        report: &'event PendingReport,
    },
    /// Retrying ended.
    AutoRetryEnd {
        success: bool,
        /// The number of retries.
        attempt: u32,
        /// Why the last retry failed; absent on success.
        #[serde(skip_serializing_if = "Option::is_none")]
        final_error: Option<&'event str>,
    },
    /// An extension failed. The run goes on, but for a tool call that the extension was to decide on.
    ExtensionError {
        /// The extension's path, or what stands for it: `command:NAME`, `hook:EVENT`, `<runtime>`.
        extension_path: &'event str,
        /// What the extension was doing: the name of a hook, `command`, `load`, `process`.
        event: &'event str,
        error: &'event str,
    },
    /// A command in the sandbox changed a path of the workspace that is protected, such as a git hook. The path was restored
    /// as it was.
    ProtectedPathChanged {
        /// The call that ran the command; absent for the command `bash`.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_call_id: Option<&'event str>,
        path: Cow<'event, str>,
        /// What the command had done to it.
        #[schemars(extend("enum" = ["created", "changed", "removed"]))]
        change: &'event str,
        /// Where what the command had left there is now; absent if it had left nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        quarantine: Option<Cow<'event, str>>,
    },
}

/// A stream rule.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "StreamRule")]
pub(crate) struct RuleRecord<'event> {
    /// The name of the file without its ending.
    name: &'event str,
    /// The file.
    path: String,
    /// What the model is told.
    content: &'event str,
    /// The files that tool calls must be about.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schemars(with = "Option<Vec<String>>")]
    globs: &'event [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'event str>,
    /// The regular expressions.
    condition: &'event [String],
    /// What is watched; absent for text and all tools.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schemars(with = "Option<Vec<String>>")]
    scope: &'event [String],
    /// The agents that the rule is for; absent for all.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schemars(with = "Option<Vec<String>>")]
    agents: &'event [String],
    /// When the rule interrupts; absent if as the settings say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["always", "prose-only", "tool-only", "never"]))]
    interrupt_mode: Option<&'static str>,
    #[serde(rename = "_source")]
    source: RuleSource,
}

/// Where a stream rule comes from.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RuleSource {
    /// The program whose folder holds the file.
    provider: &'static str,
    /// The same for people.
    provider_name: &'static str,
    /// The file.
    path: String,
    /// Whether the rule is the user's own or the project's.
    #[schemars(extend("enum" = ["user", "project"]))]
    level: &'static str,
}

impl<'event> From<&'event StreamRule> for RuleRecord<'event> {
    fn from(rule: &'event StreamRule) -> Self {
        let path = rule.path.display().to_string();
        Self {
            name: &rule.name,
            path: path.clone(),
            content: &rule.content,
            globs: &rule.globs,
            description: rule.description.as_deref(),
            condition: &rule.conditions,
            scope: &rule.scope,
            agents: &rule.agents,
            interrupt_mode: rule.interrupt.map(RuleInterrupt::as_str),
            source: RuleSource {
                provider: rule.origin.program,
                provider_name: rule.origin.program_name,
                path,
                level: if rule.origin.is_own { "user" } else { "project" },
            },
        }
    }
}

/// The output of a tool.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ToolReport")]
pub(crate) struct Report<'event> {
    /// The output for the model.
    content: &'event [Content],
    /// Details for the client that the model does not see; they depend on the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'event Value>,
    /// The result as data, if the tool of an extension that has ended has one. It is not stored.
    #[serde(skip_serializing_if = "Option::is_none", rename = "structuredContent")]
    structured_content: Option<&'event Value>,
    /// What the tool spent on models of its own; of a tool that has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<&'event Usage>,
    /// `true` if the tool wants the run to end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    terminate: bool,
}

impl<'event> From<&'event ToolReport> for Report<'event> {
    fn from(report: &'event ToolReport) -> Self {
        Self {
            content: &report.content,
            details: report.details.as_ref(),
            structured_content: report.structured_content.as_deref(),
            usage: report.usage.as_deref(),
            terminate: report.ends_run,
        }
    }
}

impl<'event> EventRecord<'event> {
    /// Returns the record of an event, if it has one here.
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
            Event::RulesBroken { rules } => {
                Self::TtsrTriggered { rules: rules.iter().map(|rule| RuleRecord::from(&**rule)).collect() }
            }
            Event::TodoReminder { todos, attempt, max_attempts } => {
                Self::TodoReminder { todos, attempt: *attempt, max_attempts: *max_attempts }
            }
            Event::LimitWarning(warning) => Self::LimitWarning {
                scope: warning.scope,
                limit: warning.limited,
                used: warning.used,
                max: warning.max,
            },
            Event::RunChanges(changes) => Self::RunChanges { changes },
            Event::PendingChanges(report) => Self::PendingChanges { report },
            Event::FilesRestored(restored) => {
                Self::FilesRestored { redo: restored.is_redo, report: &restored.report }
            }
            Event::RetryEnd { success, attempt, final_error } => Self::AutoRetryEnd {
                success: *success,
                attempt: *attempt,
                final_error: final_error.as_deref(),
            },
            Event::ExtensionFailed(ExtensionError { extension, event, error }) => {
                Self::ExtensionError { extension_path: extension, event, error }
            }
            Event::ProtectedPathChanged { call_id, change } => Self::ProtectedPathChanged {
                tool_call_id: call_id.as_deref(),
                path: change.path.to_string_lossy(),
                change: &change.change,
                quarantine: change.quarantine.as_deref().map(Path::to_string_lossy),
            },
            Event::RunEnd { .. }
            | Event::Settled { .. }
            | Event::OutputChecked { .. }
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
            | Event::StorageFailed { .. }
            | Event::AskResolved { .. }
            | Event::HostCall(_)
            | Event::HostCallOver { .. }
            | Event::Display { .. }
            | Event::Local(_)
            | Event::Subagent(_) => return None,
        })
    }

    /// Returns the record's type.
    pub fn name(&self) -> &'static str {
        match self {
            Self::AgentStart => "agent_start",
            Self::TurnStart => "turn_start",
            Self::TurnEnd { .. } => "turn_end",
            Self::MessageStart { .. } => "message_start",
            Self::MessageEnd { .. } => "message_end",
            Self::ToolExecutionStart { .. } => "tool_execution_start",
            Self::ToolExecutionUpdate { .. } => "tool_execution_update",
            Self::ToolExecutionEnd { .. } => "tool_execution_end",
            Self::AutoRetryStart { .. } => "auto_retry_start",
            Self::AutoRetryEnd { .. } => "auto_retry_end",
            Self::TtsrTriggered { .. } => "ttsr_triggered",
            Self::TodoReminder { .. } => "todo_reminder",
            Self::LimitWarning { .. } => "limit_warning",
            Self::RunChanges { .. } => "run_changes",
            Self::FilesRestored { .. } => "files_restored",
            Self::PendingChanges { .. } => "pending_changes",
            Self::ExtensionError { .. } => "extension_error",
            Self::ProtectedPathChanged { .. } => "protected_path_changed",
        }
    }

    pub fn encode(&self) -> Record {
        Record::Plain(json::to_line(self))
    }
}

/// The result of a compaction.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Compaction")]
pub(crate) struct CompactionRecord<'event> {
    /// The summary that replaces the messages before the first kept entry.
    summary: &'event str,
    /// The first entry that stays in the context unchanged.
    first_kept_entry_id: &'event str,
    /// The size of the context, as reported by the model or estimated.
    tokens_before: u64,
    estimated_tokens_after: u64,
    /// The usage of the request for the summary.
    usage: &'event Usage,
    details: TouchedFilesRecord<'event>,
    /// The entry that holds the summary.
    entry_id: &'event str,
}

/// The files that tools read and modified in the summarised messages.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TouchedFiles")]
struct TouchedFilesRecord<'event> {
    read_files: &'event [String],
    modified_files: &'event [String],
}

impl<'event> From<&'event CompactionResult> for CompactionRecord<'event> {
    fn from(result: &'event CompactionResult) -> Self {
        Self {
            summary: &result.summary,
            first_kept_entry_id: &result.first_kept_entry,
            tokens_before: result.tokens_before,
            estimated_tokens_after: result.estimated_tokens_after,
            usage: &result.usage,
            details: TouchedFilesRecord {
                read_files: &result.files.read,
                modified_files: &result.files.modified,
            },
            entry_id: &result.entry,
        }
    }
}

/// How a compaction ended, for the records of its end.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) struct CompactionOutcomeRecord<'event> {
    /// Absent if the compaction was aborted or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<CompactionRecord<'event>>,
    aborted: bool,
    /// Whether the request that exceeded the context window is retried.
    will_retry: bool,
    /// Why the compaction failed; absent if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<&'event str>,
}

impl<'event> CompactionOutcomeRecord<'event> {
    pub fn new(outcome: &'event CompactionOutcome, will_retry: bool) -> Self {
        let (result, error_message) = match outcome {
            CompactionOutcome::Done(result) => (Some((&**result).into()), None),
            CompactionOutcome::Failed(text) => (None, Some(text.as_str())),
            CompactionOutcome::Aborted => (None, None),
        };
        Self { result, aborted: *outcome == CompactionOutcome::Aborted, will_retry, error_message }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bowline_core::limits::LimitWarning;
    use bowline_core::reply::FilesRestored;
    use bowline_core::sandbox::ProtectedChange;

    use super::*;

    #[test]
    fn names_are_the_serialised_types() {
        let message = Arc::new(Message::user("", Vec::new(), 0));
        let (call_id, tool) = ("1".to_owned(), "bash".to_owned());
        let (arguments, report) = (Arc::new(Arguments::new()), ToolReport::default());
        let events = [
            Event::RunStart,
            Event::TurnStart,
            Event::TurnEnd { message: Arc::clone(&message), tool_results: Vec::new() },
            Event::MessageStart(Arc::clone(&message)),
            Event::MessageEnd { message, entry: None },
            Event::ToolStart {
                call_id: call_id.clone(),
                tool: tool.clone(),
                arguments: Arc::clone(&arguments),
            },
            Event::ToolProgress {
                call_id: call_id.clone(),
                tool: tool.clone(),
                arguments,
                partial: report.clone(),
            },
            Event::ToolEnd { call_id, tool, result: report, is_error: false, duration: Duration::ZERO },
            Event::RetryStart { attempt: 1, max_attempts: 2, delay: Duration::ZERO, error: String::new() },
            Event::RetryEnd { success: true, attempt: 1, final_error: None },
            Event::RulesBroken { rules: Vec::new() },
            Event::TodoReminder { todos: Vec::new(), attempt: 1, max_attempts: 3 },
            Event::ProtectedPathChanged {
                call_id: None,
                change: ProtectedChange {
                    path: "/p/.git/hooks".into(),
                    quarantine: None,
                    change: "created".to_owned(),
                },
            },
            Event::LimitWarning(LimitWarning {
                scope: LimitScope::Run,
                limited: Limited::Cost,
                used: 0.8,
                max: 1.0,
            }),
            Event::RunChanges(Arc::default()),
            Event::PendingChanges(Arc::default()),
            Event::FilesRestored(Arc::new(FilesRestored {
                is_redo: false,
                report: RestoreReport::default(),
            })),
            Event::ExtensionFailed(ExtensionError {
                extension: String::new(),
                event: String::new(),
                error: String::new(),
            }),
        ];
        for event in &events {
            let record = EventRecord::of(event).unwrap();
            let line: Value = serde_json::from_slice(&json::to_line(&record)).unwrap();
            assert_eq!(line["type"], record.name());
        }
    }
}
