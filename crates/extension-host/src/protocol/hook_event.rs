//! The events of hooks, with pi's names for their fields.

mod of_engine;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bowline_core::message::{Arguments, Content, Message};
use bowline_core::model::Model;
use bowline_core::thinking::ThinkingLevel;
use bowline_core::usage::Usage;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::prompt::PromptOptionsRecord;
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
    /// A prompt, or a message of an extension, is about to start a run.
    BeforeAgentStart {
        /// The message, expanded.
        prompt: &'event str,
        #[serde(skip_serializing_if = "<[Content]>::is_empty")]
        images: &'event [Content],
        /// The message of an extension that starts the run, if none of the user does.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<&'event Message>,
        system_prompt: &'event str,
        system_prompt_options: Box<PromptOptionsRecord<'event>>,
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
    /// A provider sent an event of its answer, which is as the provider sent it. Never waited for.
    ProviderStreamEvent {
        provider: &'event str,
        api: &'event str,
        /// The id of the model.
        model: &'event str,
        data: &'event Value,
    },
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
        /// The result as data, if the tool has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        structured_content: Option<&'event Value>,
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
    /// The files that were only read.
    read_files: Vec<String>,
    /// The files that were written or edited.
    modified_files: Vec<String>,
    read: &'event [String],
    /// Written as a whole.
    written: &'event [String],
    /// Changed in places. What an earlier compaction noted as modified counts as edited.
    edited: &'event [String],
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
    /// Whether the instructions take the place of the usual ones.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replace_instructions: bool,
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
    /// The result as data, if the tool that has ended has one.
    #[serde(skip_serializing_if = "Option::is_none", rename = "structuredContent")]
    structured_content: Option<&'event Value>,
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
        replacement: Option<ReplacementRecord<'event>>,
    },
    Compaction {
        summary: &'event str,
        first_kept_entry_id: Option<&'event str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<&'event Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<&'event Usage>,
    },
}

/// What the model sees instead of the content of an entry.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ContentReplacement")]
pub struct ReplacementRecord<'event> {
    content: &'event Value,
}
