//! The types of the `data` of success responses as in `pi`. Their doc comments are the descriptions in the schema and the
//! reference.

use std::borrow::Cow;
use std::sync::Arc;

use bowline_core::message::Message;
use bowline_core::model::Model;
use bowline_core::sandbox::SandboxSummary;
use bowline_core::slash_command::SourceInfo;
use bowline_core::thinking::ThinkingLevel;
use bowline_core::todo::TodoPhase;
use bowline_core::usage::{Usage, plain_number};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use super::approvals::ApprovalStateRecord;
use super::commands::QUEUE_MODES;
use super::extensions::ExtensionRecord;

/// What happened to a message.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Accepted {
    /// `started` if it started a run, `queued` if it is in a queue, `handled` if an extension dealt with it and nothing
    /// follows.
    #[schemars(extend("enum" = ["started", "queued", "handled"]))]
    pub disposition: &'static str,
}

/// The messages that were removed from the queues.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Queues")]
pub(crate) struct Queues<'reply> {
    /// The texts from the steering queue.
    pub steering: &'reply [String],
    /// The texts from the follow-up queue.
    pub follow_up: &'reply [String],
}

/// The part of a state that `pi` and `omp` share.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommonState<'reply> {
    /// Absent if no model is selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Model>")]
    pub model: Option<&'reply RawValue>,
    /// The current thinking level.
    pub thinking_level: ThinkingLevel,
    /// Whether a run is in progress, including retries.
    pub is_streaming: bool,
    /// Whether a compaction is in progress.
    pub is_compacting: bool,
    /// How many messages are taken from the steering queue at a time.
    #[schemars(extend("enum" = QUEUE_MODES))]
    pub steering_mode: &'static str,
    /// How many messages are taken from the follow-up queue at a time.
    #[schemars(extend("enum" = QUEUE_MODES))]
    pub follow_up_mode: &'static str,
    /// Absent if the session is in memory only. The file may not exist yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub session_file: Option<&'reply RawValue>,
    #[schemars(with = "String")]
    pub session_id: &'reply RawValue,
    /// Absent if the session has no name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_name: Option<&'reply str>,
    pub auto_compaction_enabled: bool,
    /// The number of messages in the context.
    pub message_count: usize,
}

/// The state of the agent.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "State")]
pub(crate) struct StateRecord<'reply> {
    #[serde(flatten)]
    pub common: CommonState<'reply>,
    /// The number of messages in both queues.
    pub pending_message_count: usize,
    pub auto_retry_enabled: bool,
    /// What could not be read of the session's file. Absent if the file is undamaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_damage: Option<SessionDamageRecord>,
    /// The tools available to the model.
    #[schemars(with = "Vec<String>")]
    pub tools: &'reply RawValue,
    /// The working directory of the tools.
    #[schemars(with = "String")]
    pub cwd: &'reply RawValue,
    /// Absent if no model is selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<ContextUsageRecord>,
    /// What confines the tools; `get_sandbox` says more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxSummary>,
    /// The extensions of the session, including those that have failed. Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<ExtensionRecord<'reply>>,
    /// How the user is asked about tool calls. Absent if `ask` is `never` and the client has not failed to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvals: Option<ApprovalStateRecord>,
}

/// What could not be read of a session's file. `bowline sessions fsck --repair` mends the file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SessionDamage")]
pub(crate) struct SessionDamageRecord {
    /// The number of lines that cannot be read. They are left out.
    pub unreadable_lines: usize,
    /// The number of entries whose predecessor is missing. They follow the entry before the missing one.
    pub relinked_entries: usize,
    /// The number of messages of the conversation whose content cannot be read. They are left out.
    pub unreadable_messages: usize,
}

/// How much of the context window is used.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ContextUsage")]
pub(crate) struct ContextUsageRecord {
    /// `null` until a model has reported its usage, and directly after a compaction.
    pub tokens: Option<u64>,
    pub context_window: u64,
    /// `tokens` as a percentage of the context window.
    pub percent: Option<f64>,
}

/// The messages in the context.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Messages<'reply> {
    /// The messages, as they are sent to the model.
    pub messages: &'reply [Arc<Message>],
}

/// A page of the messages in the context.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MessagesPage<'reply> {
    /// The messages, oldest first, as they are sent to the model.
    pub messages: &'reply [Arc<Message>],
    /// The cursor of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<&'reply str>,
    /// The number of messages on all pages.
    pub total_messages: usize,
}

/// The commands that a prompt can invoke with a leading slash.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SlashCommands")]
pub(crate) struct Commands<'reply> {
    pub commands: Vec<SlashCommandRecord<'reply>>,
}

/// A command that a prompt can invoke with a leading slash.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SlashCommand")]
pub(crate) struct SlashCommandRecord<'reply> {
    pub name: &'reply str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'reply str>,
    /// `true` if `get_completions` completes what follows the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_completion: Option<bool>,
    /// What provides the command.
    #[schemars(extend("enum" = ["extension", "prompt", "skill"]))]
    pub source: &'static str,
    pub source_info: SourceInfoRecord<'reply>,
}

/// Where a command or an extension comes from.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SourceInfo")]
pub(crate) struct SourceInfoRecord<'reply> {
    /// The file.
    pub path: Cow<'reply, str>,
    /// How it was found: `auto` in a folder that is always searched, `local` by a path in the settings, `cli` by a flag,
    /// the name of a package, or `extension:` and the name of the extension that named it.
    pub source: &'reply str,
    /// Whom it belongs to; `temporary` if it is there for this process only.
    #[schemars(extend("enum" = ["user", "project", "temporary"]))]
    pub scope: &'static str,
    /// Whether it is part of a package.
    #[schemars(extend("enum" = ["top-level", "package"]))]
    pub origin: &'static str,
    /// The folder that it belongs to; absent if it was named by a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_dir: Option<Cow<'reply, str>>,
}

impl<'reply> From<&'reply SourceInfo> for SourceInfoRecord<'reply> {
    fn from(info: &'reply SourceInfo) -> Self {
        Self {
            path: info.path.to_string_lossy(),
            source: &info.source,
            scope: info.scope.as_str(),
            origin: info.packaging.as_str(),
            base_dir: info.base_folder.as_ref().map(|folder| folder.to_string_lossy()),
        }
    }
}

/// The model that was switched to.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CycledModel<'reply> {
    pub model: &'reply Model,
    pub thinking_level: ThinkingLevel,
    /// Whether the user restricted the models to cycle through.
    pub is_scoped: bool,
}

/// The available models.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Models<'reply> {
    /// The models with credentials, and the current model.
    pub models: &'reply [Arc<Model>],
}

/// The thinking level that was switched to.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Level {
    pub level: ThinkingLevel,
}

/// The thinking levels of the current model.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Levels<'reply> {
    /// The levels, in ascending order.
    pub levels: &'reply [ThinkingLevel],
}

/// The result of a shell command.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ShellResult")]
pub(crate) struct ShellResultRecord<'reply> {
    /// The end of stdout and stderr combined, without control characters.
    pub output: Cow<'reply, str>,
    /// Absent if the command was cancelled or killed by a signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub cancelled: bool,
    /// Whether `output` is only the end of the whole output.
    pub truncated: bool,
    /// The file with the whole output, if it was truncated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<&'reply str>,
}

/// The session was switched.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Switched {
    /// Always `false`: nothing can cancel this yet.
    pub cancelled: bool,
}

/// Statistics of the session over all its branches.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SessionStatistics")]
pub(crate) struct StatisticsRecord<'reply> {
    /// Absent if the session is in memory only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_file: Option<Cow<'reply, str>>,
    pub session_id: &'reply str,
    pub user_messages: u64,
    pub assistant_messages: u64,
    pub tool_calls: u64,
    pub tool_results: u64,
    pub total_messages: u64,
    pub tokens: TokensRecord,
    /// The cost in US dollars, including summaries.
    #[serde(serialize_with = "plain_number")]
    #[schemars(with = "f64")]
    pub cost: f64,
    /// Absent if no model is selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<ContextUsageRecord>,
    /// Statistics by model, in order of first use.
    pub by_model: Vec<ModelUsageRecord<'reply>>,
}

/// The statistics of one model in a session.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ModelUsage")]
pub(crate) struct ModelUsageRecord<'reply> {
    pub provider: &'reply str,
    pub model: &'reply str,
    pub assistant_messages: u64,
    pub usage: &'reply Usage,
}

/// Token counts by kind.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Tokens")]
pub(crate) struct TokensRecord {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub total: u64,
}

/// The newest model response.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LastText<'reply> {
    /// `null` if no response has text.
    pub text: Option<&'reply str>,
}

/// A session that was forked before an earlier message.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Forked<'reply> {
    /// The text of that message, for editing and resending.
    pub text: &'reply str,
    /// Always `false`: nothing can cancel this yet.
    pub cancelled: bool,
}

/// The messages that the session can be forked at.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ForkMessages<'reply> {
    pub messages: Vec<ForkMessageRecord<'reply>>,
}

/// A message that the session can be forked at.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ForkMessage")]
pub(crate) struct ForkMessageRecord<'reply> {
    pub entry_id: &'reply str,
    pub text: &'reply str,
}

/// Entries of the session file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entries<'reply> {
    /// The entries, as in the file and in its order.
    #[schemars(with = "Vec<Entry>")]
    pub entries: &'reply [Box<RawValue>],
    /// The current entry of the conversation; `null` before the first entry.
    pub leaf_id: Option<&'reply str>,
}

/// An entry of the session file. Its other fields depend on its type.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
#[expect(dead_code, reason = "entries are forwarded as raw JSON; this only describes them")]
pub(crate) struct Entry {
    /// Such as `message`, `compaction`, `model_change` or `label`.
    r#type: String,
    id: String,
    /// The entry that this one follows; `null` for the first entry.
    parent_id: Option<String>,
    /// ISO 8601.
    timestamp: String,
}

/// The session as a tree.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tree<'reply> {
    /// The entries without a parent; empty with the format `flat`.
    #[schemars(with = "Vec<TreeNode>")]
    pub tree: Roots<'reply>,
    /// Present if the tree is too deep for decoders that limit the depth. A long branch is then continued by a further
    /// element of `tree`, whose entry has a parent in an earlier element.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_split: bool,
    /// The entries, each before its descendants. Absent unless the format is `flat`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<FlatNodeRecord<'reply>>>,
    /// The current entry of the conversation; `null` before the first entry.
    pub leaf_id: Option<&'reply str>,
}

/// The entries without a parent, with their descendants.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Roots<'reply> {
    Nested(&'reply RawValue),
    None([(); 0]),
}

/// An entry in a list of all entries.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "FlatNode")]
pub(crate) struct FlatNodeRecord<'reply> {
    #[schemars(with = "Entry")]
    pub entry: &'reply RawValue,
    /// The number of its ancestors.
    pub depth: usize,
    /// Absent if the entry has no label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<&'reply str>,
    /// When the label was set, ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_timestamp: Option<&'reply str>,
}

/// An entry with the entries that follow it.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "the tree is written without recursion; this only describes it")]
pub(crate) struct TreeNode {
    entry: Entry,
    children: Vec<TreeNode>,
    /// Absent if the entry has no label.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// When the label was set, ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    label_timestamp: Option<String>,
}

/// The position that the conversation was moved to.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Navigated<'reply> {
    /// The current entry of the conversation; `null` before the first entry.
    pub leaf_id: Option<&'reply str>,
    /// The text of the user message that was navigated to, for editing and resending.
    pub text: Option<&'reply str>,
    /// The entry that holds the summary of the abandoned branch.
    pub summary_entry_id: Option<&'reply str>,
    /// Always `false`: nothing can cancel this yet.
    pub cancelled: bool,
}

/// The entry that was written.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Written<'reply> {
    pub entry_id: &'reply str,
}

/// A page of the list of sessions.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Sessions<'reply> {
    /// The sessions, most recently modified first.
    pub sessions: Vec<SessionRecord<'reply>>,
    /// The cursor of the next page; `null` on the last page.
    pub next_cursor: Option<&'reply str>,
}

/// A session in a list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Session")]
pub(crate) struct SessionRecord<'reply> {
    pub id: &'reply str,
    pub path: Cow<'reply, str>,
    /// Empty for sessions in the oldest format, which does not record it.
    pub cwd: Cow<'reply, str>,
    /// Absent if the session has no name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'reply str>,
    /// The beginning of the first user message; empty if there is none yet.
    pub first_message: &'reply str,
    /// The number of messages of all roles and branches.
    pub message_count: u64,
    /// ISO 8601.
    pub created: &'reply str,
    /// When the file was last modified, in milliseconds since the Unix epoch.
    pub modified: u64,
}

/// The exported file.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Exported<'reply> {
    pub path: Cow<'reply, str>,
}

/// The todo list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Todos<'reply> {
    pub todo_phases: &'reply [TodoPhase],
}
