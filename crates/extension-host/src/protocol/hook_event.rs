//! The events of hooks, with pi's names for their fields.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bowline_core::command::Queue;
use bowline_core::event::CompactionReason;
use bowline_core::hook::{
    Boundary, CompactionPreparation, DiscoverReason, EntryDraft, ForkPosition, HookEvent, InputSource,
    ModelSource, PromptOptions, TreePreparation,
};
use bowline_core::message::{Arguments, Content, Message};
use bowline_core::model::Model;
use bowline_core::thinking::ThinkingLevel;
use bowline_core::ui::NotifyLevel;
use bowline_core::usage::Usage;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::step::StepRecord;

/// The event of a hook. Its type is the name of the hook.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HookEvent")]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum HookEventRecord<'event> {
    /// A project has something that needs trust, and the command line does not decide about it. Only extensions of the user
    /// are asked. Dialogs are answered with their default at once.
    ProjectTrust { cwd: &'event Path },
    /// A session was started or reloaded. The extension can name further places of skills and templates.
    ResourcesDiscover {
        cwd: &'event Path,
        #[schemars(extend("enum" = ["startup", "reload"]))]
        reason: &'static str,
    },
    /// A session starts: at the start of bowline, or another one takes its place.
    SessionStart {
        #[schemars(extend("enum" = ["startup", "reload", "new", "resume", "fork"]))]
        reason: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        previous_session_file: Option<&'event Path>,
    },
    /// The session was renamed.
    SessionInfoChanged {
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'event str>,
    },
    /// The client is about to start or open another session.
    SessionBeforeSwitch {
        #[schemars(extend("enum" = ["new", "resume"]))]
        reason: &'static str,
        /// The session to open; absent for a new one.
        #[serde(skip_serializing_if = "Option::is_none")]
        target_session_file: Option<&'event Path>,
    },
    /// The client is about to fork or clone the session.
    SessionBeforeFork {
        entry_id: &'event str,
        /// `at` for a clone.
        #[schemars(extend("enum" = ["before", "at"]))]
        position: &'static str,
    },
    /// The conversation is about to be compacted.
    SessionBeforeCompact {
        preparation: CompactionPreparationRecord<'event>,
        #[serde(skip_serializing_if = "Option::is_none")]
        custom_instructions: Option<&'event str>,
        #[schemars(extend("enum" = ["manual", "threshold", "overflow"]))]
        reason: &'static str,
        /// Whether the model is called again afterwards.
        will_retry: bool,
    },
    /// The conversation was compacted.
    SessionCompact {
        /// The entry, as in the session's file.
        #[schemars(with = "BTreeMap<String, Value>")]
        compaction_entry: &'event RawValue,
        /// Whether the summary is that of an extension.
        from_extension: bool,
        #[schemars(extend("enum" = ["manual", "threshold", "overflow"]))]
        reason: &'static str,
        will_retry: bool,
    },
    /// A compaction failed or was cancelled.
    SessionCompactFailed {
        #[schemars(extend("enum" = ["manual", "threshold", "overflow"]))]
        reason: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<&'event str>,
        aborted: bool,
        will_retry: bool,
        from_extension: bool,
    },
    /// The client is about to continue from another entry.
    SessionBeforeTree { preparation: TreePreparationRecord<'event> },
    /// The conversation continues from another entry.
    SessionTree {
        new_leaf_id: Option<&'event str>,
        old_leaf_id: Option<&'event str>,
        /// The entry with a summary of the branch that was left, as in the session's file.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<BTreeMap<String, Value>>")]
        summary_entry: Option<&'event RawValue>,
        from_extension: bool,
    },
    /// The session ends.
    SessionShutdown {
        #[schemars(extend("enum" = ["quit", "reload", "new", "resume", "fork"]))]
        reason: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        target_session_file: Option<&'event Path>,
    },
    /// A message of the user arrived. Templates and skills are not expanded yet.
    Input {
        text: &'event str,
        #[serde(skip_serializing_if = "<[Content]>::is_empty")]
        images: &'event [Content],
        #[schemars(extend("enum" = ["rpc", "extension"]))]
        source: &'static str,
        /// How the message is queued; absent if nothing is in progress.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("enum" = ["steer", "followUp"]))]
        streaming_behavior: Option<&'static str>,
    },
    /// A prompt is about to start a run.
    BeforeAgentStart {
        /// The message, expanded.
        prompt: &'event str,
        #[serde(skip_serializing_if = "<[Content]>::is_empty")]
        images: &'event [Content],
        system_prompt: &'event str,
        system_prompt_options: PromptOptionsRecord<'event>,
    },
    /// A run starts, or an attempt after a retry or a compaction.
    AgentStart,
    /// A run or an attempt ended.
    AgentEnd {
        /// The messages that it added to the conversation.
        messages: &'event [Arc<Message>],
    },
    /// A turn starts: one answer of the model and the tool calls in it.
    TurnStart {
        /// Counts the turns of the run from 0.
        turn_index: u32,
        /// Milliseconds since the Unix epoch.
        timestamp: u64,
    },
    /// A turn ended.
    TurnEnd {
        turn_index: u32,
        message: &'event Message,
        tool_results: &'event [Arc<Message>],
        #[serde(skip_serializing_if = "Option::is_none")]
        message_entry_id: Option<&'event str>,
        tool_result_entry_ids: Vec<&'event str>,
        #[schemars(extend("enum" = ["completed", "aborted", "error"]))]
        outcome: &'static str,
        /// The entries that extensions have added so far.
        entries: Vec<EntryDraftRecord<'event>>,
        /// Whether an extension wants another call of the model.
        r#continue: bool,
        context: BoundaryContextRecord,
    },
    /// A run is about to end. Does not occur after an abort.
    AgentBeforeSettle {
        #[schemars(extend("enum" = ["completed", "aborted", "error"]))]
        outcome: &'static str,
        entries: Vec<EntryDraftRecord<'event>>,
        r#continue: bool,
        context: BoundaryContextRecord,
    },
    /// A run ended and nothing follows automatically.
    AgentSettled { aborted: bool },
    /// A message starts. An answer of the model is empty then.
    MessageStart { message: &'event Message },
    /// More of an answer has arrived. Never waited for.
    MessageUpdate {
        /// The usage of the answer so far.
        usage: &'event Usage,
        assistant_message_event: StepRecord<'event>,
    },
    /// A message is complete and not stored yet.
    MessageEnd { message: &'event Message },
    /// The conversation is about to be sent to the model.
    Context { messages: &'event [Arc<Message>] },
    /// The same after all hooks `context`, with the system prompt.
    ContextWithSystem { system_prompt: &'event str, messages: &'event [Arc<Message>] },
    /// The headers of a request to a provider, without those that carry keys.
    BeforeProviderHeaders { headers: &'event BTreeMap<String, String> },
    /// The body of a request to a provider.
    BeforeProviderRequest { payload: &'event Value },
    /// A provider began to answer.
    AfterProviderResponse { status: u16, headers: &'event BTreeMap<String, String> },
    /// A tool call is taken up.
    ToolExecutionStart { tool_call_id: &'event str, tool_name: &'event str, args: &'event Arguments },
    /// A running tool has new output. Never waited for.
    ToolExecutionUpdate {
        tool_call_id: &'event str,
        tool_name: &'event str,
        args: &'event Arguments,
        /// The output so far, which replaces that of earlier updates.
        partial_result: ReportRecord<'event>,
    },
    /// A tool call ended.
    ToolExecutionEnd {
        tool_call_id: &'event str,
        tool_name: &'event str,
        result: ReportRecord<'event>,
        is_error: bool,
        duration_ms: u64,
    },
    /// A tool is about to run. If the hook fails in any way, the tool does not run.
    ToolCall { tool_name: &'event str, tool_call_id: &'event str, input: &'event Arguments },
    /// A tool has run; its result is not recorded yet.
    ToolResult {
        tool_name: &'event str,
        tool_call_id: &'event str,
        input: &'event Arguments,
        content: &'event [Content],
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<&'event Value>,
        /// What the tool spent on models of its own.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<&'event Usage>,
        is_error: bool,
    },
    /// The user runs a shell command.
    UserBash { command: &'event str, exclude_from_context: bool, cwd: &'event Path },
    /// Another model was selected.
    ModelSelect {
        model: &'event Model,
        #[serde(skip_serializing_if = "Option::is_none")]
        previous_model: Option<&'event Model>,
        #[schemars(extend("enum" = ["set", "cycle", "restore"]))]
        source: &'static str,
    },
    /// Another thinking level was selected.
    ThinkingLevelSelect { level: ThinkingLevel, previous_level: ThinkingLevel },
    /// A dialog was opened. Never waited for.
    UiPromptStart {
        #[schemars(extend("const" = "ui_prompt"))]
        reason: &'static str,
        #[schemars(extend("enum" = ["select", "confirm", "input", "editor"]))]
        kind: &'static str,
        title: &'event str,
    },
    /// A dialog was closed. Never waited for.
    UiPromptEnd {
        #[schemars(extend("const" = "ui_prompt"))]
        reason: &'static str,
        #[schemars(extend("enum" = ["select", "confirm", "input", "editor"]))]
        kind: &'static str,
        title: &'event str,
    },
    /// An extension or a command hook notifies the user of something. Never waited for. Not a hook of pi.
    UiNotify {
        message: &'event str,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("enum" = ["info", "warning", "error"]))]
        level: Option<&'static str>,
    },
    /// Another extension of the session emitted something on the bus. Never waited for. Not a hook of pi.
    Bus { channel: &'event str, data: &'event Value },
}

/// A compaction that is about to be made.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CompactionPreparation")]
#[serde(rename_all = "camelCase")]
pub struct CompactionPreparationRecord<'event> {
    first_kept_entry_id: Option<&'event str>,
    messages_to_summarize: &'event [Arc<Message>],
    /// The messages of a turn whose end is kept.
    turn_prefix_messages: &'event [Arc<Message>],
    is_split_turn: bool,
    tokens_before: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_summary: Option<&'event str>,
    file_ops: FileOperationsRecord<'event>,
    settings: CompactionSettingsRecord,
}

/// The files that the summarised messages are about.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FileOperations")]
#[serde(rename_all = "camelCase")]
struct FileOperationsRecord<'event> {
    read_files: &'event [String],
    modified_files: &'event [String],
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CompactionSettings", description = "The settings of a compaction.")]
#[serde(rename_all = "camelCase")]
struct CompactionSettingsRecord {
    reserve_tokens: u64,
    keep_recent_tokens: u64,
}

/// A move to another entry that is about to be made.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TreePreparation")]
#[serde(rename_all = "camelCase")]
pub struct TreePreparationRecord<'event> {
    target_id: &'event str,
    old_leaf_id: Option<&'event str>,
    /// The messages of the branch that is left.
    messages_to_summarize: &'event [Arc<Message>],
    user_wants_summary: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_instructions: Option<&'event str>,
}

/// What the system prompt is made of.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SystemPromptOptions")]
#[serde(rename_all = "camelCase")]
pub struct PromptOptionsRecord<'event> {
    cwd: &'event Path,
    selected_tools: &'event [String],
    context_files: Vec<ContextFileRecord<'event>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ContextFile", description = "A file that the system prompt contains.")]
struct ContextFileRecord<'event> {
    path: &'event Path,
}

/// What is known of the conversation at the end of a turn. The request `session.context` returns the rest.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "BoundaryContext")]
#[serde(rename_all = "camelCase")]
pub struct BoundaryContextRecord {
    /// Whether the model can be called again.
    can_continue: bool,
}

/// The output of a tool.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ToolReport")]
pub struct ReportRecord<'event> {
    content: &'event [Content],
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'event Value>,
    /// What the tool spent on models of its own; of a tool that has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<&'event Usage>,
}

/// An entry of the session's file that an extension has added.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AddedEntry")]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum EntryDraftRecord<'event> {
    Custom {
        custom_type: &'event str,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<&'event Value>,
    },
    CustomMessage {
        custom_type: &'event str,
        content: &'event [Content],
        display: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<&'event Value>,
    },
    ContextEdit {
        target_id: &'event str,
        replacement: Option<&'event Value>,
    },
    Compaction {
        summary: &'event str,
        first_kept_entry_id: Option<&'event str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<&'event Value>,
    },
}

impl<'event> HookEventRecord<'event> {
    /// Returns the record of an event; `None` if an entry in it is not JSON, which does not happen to entries of a file.
    pub fn of(event: &'event HookEvent) -> Option<Self> {
        Some(match event {
            HookEvent::ProjectTrust { directory } => Self::ProjectTrust { cwd: directory },
            HookEvent::ResourcesDiscover { directory, reason } => Self::ResourcesDiscover {
                cwd: directory,
                reason: match reason {
                    DiscoverReason::Startup => "startup",
                    DiscoverReason::Reload => "reload",
                },
            },
            HookEvent::SessionStart { reason, previous_file } => Self::SessionStart {
                reason: reason.as_str(),
                previous_session_file: previous_file.as_deref(),
            },
            HookEvent::SessionInfoChanged { name } => Self::SessionInfoChanged { name: name.as_deref() },
            HookEvent::SessionBeforeSwitch { reason, target } => {
                Self::SessionBeforeSwitch { reason: reason.as_str(), target_session_file: target.as_deref() }
            }
            HookEvent::SessionBeforeFork { entry, position } => Self::SessionBeforeFork {
                entry_id: entry,
                position: match position {
                    ForkPosition::Before => "before",
                    ForkPosition::At => "at",
                },
            },
            HookEvent::SessionBeforeCompact(preparation) => Self::SessionBeforeCompact {
                custom_instructions: preparation.instructions.as_deref(),
                reason: preparation.reason.as_str(),
                will_retry: preparation.will_retry,
                preparation: CompactionPreparationRecord::of(preparation),
            },
            HookEvent::SessionCompact { entry, from_extension, reason, will_retry } => Self::SessionCompact {
                compaction_entry: raw(entry)?,
                from_extension: *from_extension,
                reason: CompactionReason::as_str(*reason),
                will_retry: *will_retry,
            },
            HookEvent::SessionCompactFailed { reason, error, aborted, will_retry, from_extension } => {
                Self::SessionCompactFailed {
                    reason: reason.as_str(),
                    error_message: error.as_deref(),
                    aborted: *aborted,
                    will_retry: *will_retry,
                    from_extension: *from_extension,
                }
            }
            HookEvent::SessionBeforeTree(preparation) => {
                Self::SessionBeforeTree { preparation: TreePreparationRecord::of(preparation) }
            }
            HookEvent::SessionTree { new_leaf, old_leaf, summary_entry, from_extension } => {
                Self::SessionTree {
                    new_leaf_id: new_leaf.as_deref(),
                    old_leaf_id: old_leaf.as_deref(),
                    summary_entry: summary_entry.as_deref().and_then(raw),
                    from_extension: *from_extension,
                }
            }
            HookEvent::SessionShutdown { reason, target } => {
                Self::SessionShutdown { reason: reason.as_str(), target_session_file: target.as_deref() }
            }
            HookEvent::Input { text, images, source, streaming_behavior } => Self::Input {
                text,
                images,
                source: match source {
                    InputSource::Rpc => "rpc",
                    InputSource::Extension => "extension",
                },
                streaming_behavior: streaming_behavior.map(|queue| match queue {
                    Queue::Steering => "steer",
                    Queue::FollowUp => "followUp",
                }),
            },
            HookEvent::BeforeAgentStart { prompt, images, system_prompt, options } => {
                Self::BeforeAgentStart {
                    prompt,
                    images,
                    system_prompt,
                    system_prompt_options: PromptOptionsRecord::of(options),
                }
            }
            HookEvent::AgentStart => Self::AgentStart,
            HookEvent::AgentEnd { messages } => Self::AgentEnd { messages },
            HookEvent::TurnStart { index, timestamp } => {
                Self::TurnStart { turn_index: *index, timestamp: *timestamp }
            }
            HookEvent::TurnEnd {
                index,
                message,
                tool_results,
                message_entry,
                tool_result_entries,
                outcome,
                boundary,
            } => Self::TurnEnd {
                turn_index: *index,
                message,
                tool_results,
                message_entry_id: message_entry.as_deref(),
                tool_result_entry_ids: tool_result_entries.iter().map(|entry| &**entry).collect(),
                outcome: outcome.as_str(),
                entries: drafts(boundary),
                r#continue: boundary.continues,
                context: BoundaryContextRecord { can_continue: boundary.can_continue },
            },
            HookEvent::AgentBeforeSettle { outcome, boundary } => Self::AgentBeforeSettle {
                outcome: outcome.as_str(),
                entries: drafts(boundary),
                r#continue: boundary.continues,
                context: BoundaryContextRecord { can_continue: boundary.can_continue },
            },
            HookEvent::AgentSettled { aborted } => Self::AgentSettled { aborted: *aborted },
            HookEvent::MessageStart(message) => Self::MessageStart { message },
            HookEvent::MessageUpdate { usage, update } => {
                Self::MessageUpdate { usage, assistant_message_event: update.into() }
            }
            HookEvent::MessageEnd(message) => Self::MessageEnd { message },
            HookEvent::Context(messages) => Self::Context { messages },
            HookEvent::ContextWithSystem { system_prompt, messages } => {
                Self::ContextWithSystem { system_prompt, messages }
            }
            HookEvent::BeforeProviderHeaders(headers) => Self::BeforeProviderHeaders { headers },
            HookEvent::BeforeProviderRequest(payload) => Self::BeforeProviderRequest { payload },
            HookEvent::AfterProviderResponse { status, headers } => {
                Self::AfterProviderResponse { status: *status, headers }
            }
            HookEvent::ToolExecutionStart { call_id, tool, arguments } => {
                Self::ToolExecutionStart { tool_call_id: call_id, tool_name: tool, args: arguments }
            }
            HookEvent::ToolExecutionUpdate { call_id, tool, arguments, content, details } => {
                Self::ToolExecutionUpdate {
                    tool_call_id: call_id,
                    tool_name: tool,
                    args: arguments,
                    partial_result: ReportRecord { content, details: details.as_ref(), usage: None },
                }
            }
            HookEvent::ToolExecutionEnd { call_id, tool, content, details, usage, is_error, duration } => {
                Self::ToolExecutionEnd {
                    tool_call_id: call_id,
                    tool_name: tool,
                    result: ReportRecord { content, details: details.as_ref(), usage: usage.as_deref() },
                    is_error: *is_error,
                    duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
                }
            }
            HookEvent::ToolCall { call_id, tool, arguments } => {
                Self::ToolCall { tool_name: tool, tool_call_id: call_id, input: arguments }
            }
            HookEvent::ToolResult { call_id, tool, arguments, content, details, usage, is_error } => {
                Self::ToolResult {
                    tool_name: tool,
                    tool_call_id: call_id,
                    input: arguments,
                    content,
                    details: details.as_ref(),
                    usage: usage.as_deref(),
                    is_error: *is_error,
                }
            }
            HookEvent::UserBash { command, exclude_from_context, directory } => {
                Self::UserBash { command, exclude_from_context: *exclude_from_context, cwd: directory }
            }
            HookEvent::ModelSelect { model, previous, source } => Self::ModelSelect {
                model,
                previous_model: previous.as_deref(),
                source: match source {
                    ModelSource::Set => "set",
                    ModelSource::Cycle => "cycle",
                    ModelSource::Restore => "restore",
                },
            },
            HookEvent::ThinkingLevelSelect { level, previous } => {
                Self::ThinkingLevelSelect { level: *level, previous_level: *previous }
            }
            HookEvent::UiPromptStart { kind, title } => {
                Self::UiPromptStart { reason: "ui_prompt", kind, title }
            }
            HookEvent::UiPromptEnd { kind, title } => Self::UiPromptEnd { reason: "ui_prompt", kind, title },
            HookEvent::UiNotify { message, level } => {
                Self::UiNotify { message, level: level.map(NotifyLevel::as_str) }
            }
        })
    }
}

impl<'event> CompactionPreparationRecord<'event> {
    fn of(preparation: &'event CompactionPreparation) -> Self {
        Self {
            first_kept_entry_id: Some(&preparation.first_kept),
            messages_to_summarize: &preparation.messages,
            turn_prefix_messages: &preparation.turn_prefix,
            is_split_turn: !preparation.turn_prefix.is_empty(),
            tokens_before: preparation.tokens_before,
            previous_summary: preparation.previous_summary.as_deref(),
            file_ops: FileOperationsRecord {
                read_files: &preparation.read_files,
                modified_files: &preparation.modified_files,
            },
            settings: CompactionSettingsRecord {
                reserve_tokens: preparation.reserve_tokens,
                keep_recent_tokens: preparation.keep_recent_tokens,
            },
        }
    }
}

impl<'event> TreePreparationRecord<'event> {
    fn of(preparation: &'event TreePreparation) -> Self {
        Self {
            target_id: &preparation.target,
            old_leaf_id: preparation.old_leaf.as_deref(),
            messages_to_summarize: &preparation.abandoned,
            user_wants_summary: preparation.wants_summary,
            custom_instructions: preparation.instructions.as_deref(),
        }
    }
}

impl<'event> PromptOptionsRecord<'event> {
    fn of(options: &'event PromptOptions) -> Self {
        Self {
            cwd: &options.directory,
            selected_tools: &options.selected_tools,
            context_files: options.context_files.iter().map(|path| ContextFileRecord { path }).collect(),
        }
    }
}

fn drafts(boundary: &Boundary) -> Vec<EntryDraftRecord<'_>> {
    let drafts = boundary.entries.iter().map(|draft| match draft {
        EntryDraft::Custom { custom_type, data } => {
            EntryDraftRecord::Custom { custom_type, data: data.as_ref() }
        }
        EntryDraft::Message(message) => EntryDraftRecord::CustomMessage {
            custom_type: &message.custom_type,
            content: &message.content,
            display: message.display,
            details: message.details.as_ref(),
        },
        EntryDraft::ContextEdit { target, replacement } => {
            EntryDraftRecord::ContextEdit { target_id: target, replacement: replacement.as_ref() }
        }
        EntryDraft::Compaction { summary, first_kept, details } => EntryDraftRecord::Compaction {
            summary,
            first_kept_entry_id: first_kept.as_deref(),
            details: details.as_ref(),
        },
    });
    drafts.collect()
}

/// Returns a line of the session's file as it is.
fn raw(line: &str) -> Option<&RawValue> {
    serde_json::from_str(line).ok()
}
