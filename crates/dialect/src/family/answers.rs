//! What goes along with answers, as `pi` has it: the form of it. The comments are what clients read in the schema and in
//! the reference.

use std::borrow::Cow;
use std::sync::Arc;

use bowline_core::message::Message;
use bowline_core::model::Model;
use bowline_core::thinking::ThinkingLevel;
use bowline_core::usage::{Usage, plain_number};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

/// What became of a message.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Accepted {
    /// `started` if it opened a run, `queued` if it waits in a queue.
    #[schemars(extend("enum" = ["started", "queued"]))]
    pub disposition: &'static str,
}

/// What was taken out of the queues.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Queues")]
pub(crate) struct Queues<'reply> {
    /// The texts of the messages that would have gone into the run.
    pub steering: &'reply [String],
    /// The texts of the messages that would have followed it.
    pub follow_up: &'reply [String],
}

/// What every dialect tells of the state.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommonState<'reply> {
    /// Absent if none is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Model>")]
    pub model: Option<&'reply RawValue>,
    /// The level in use.
    pub thinking_level: ThinkingLevel,
    /// Whether a run is under way, retries included.
    pub is_streaming: bool,
    /// Whether a summary is being made.
    pub is_compacting: bool,
    /// How many messages leave the steering queue at a time.
    #[schemars(extend("enum" = ["all", "one-at-a-time"]))]
    pub steering_mode: &'static str,
    /// How many messages leave the follow-up queue at a time.
    #[schemars(extend("enum" = ["all", "one-at-a-time"]))]
    pub follow_up_mode: &'static str,
    /// Absent if the session is kept in memory only. The file may not exist yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub session_file: Option<&'reply RawValue>,
    pub session_id: &'reply str,
    /// Absent if the session was given none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_name: Option<&'reply str>,
    pub auto_compaction_enabled: bool,
    /// Messages in the context.
    pub message_count: usize,
}

/// The state of the agent.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "State")]
pub(crate) struct SpokenState<'reply> {
    #[serde(flatten)]
    pub common: CommonState<'reply>,
    /// Messages in both queues.
    pub pending_message_count: usize,
    pub auto_retry_enabled: bool,
    /// The tools that the model may call.
    #[schemars(with = "Vec<String>")]
    pub tools: &'reply RawValue,
    /// Where the tools work.
    #[schemars(with = "String")]
    pub cwd: &'reply RawValue,
    /// Absent without a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<SpokenContext>,
}

/// How full the model's window is.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ContextUsage")]
pub(crate) struct SpokenContext {
    /// Unknown until a model has reported its usage, and right after a compaction.
    pub tokens: Option<u64>,
    pub context_window: u64,
    /// `tokens` in percent of the window.
    pub percent: Option<f64>,
}

/// The messages of the context.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Messages<'reply> {
    /// As the model is given them.
    pub messages: &'reply [Arc<Message>],
}

/// What a prompt can name with a leading slash.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SlashCommands")]
pub(crate) struct Commands<'reply> {
    pub commands: Vec<SpokenCommand<'reply>>,
}

/// A command that a prompt can name with a leading slash.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SlashCommand")]
pub(crate) struct SpokenCommand<'reply> {
    pub name: &'reply str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'reply str>,
    /// What provides it.
    #[schemars(extend("enum" = ["extension", "prompt", "skill"]))]
    pub source: &'static str,
}

/// A model that was cycled to.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CycledModel<'reply> {
    pub model: &'reply Model,
    pub thinking_level: ThinkingLevel,
    /// Whether the user limited the models that are cycled through.
    pub is_scoped: bool,
}

/// The models that can be used.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Models<'reply> {
    /// Those with a key, and the current one.
    pub models: &'reply [Arc<Model>],
}

/// A thinking level that was cycled to.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Level {
    pub level: ThinkingLevel,
}

/// The thinking levels of the current model.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Levels<'reply> {
    /// In rising order.
    pub levels: &'reply [ThinkingLevel],
}

/// What came of a command in the shell.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ShellResult")]
pub(crate) struct SpokenShell<'reply> {
    /// The end of what it wrote, to stdout and stderr alike, without control characters.
    pub output: Cow<'reply, str>,
    /// Absent if it was cancelled or died of a signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub cancelled: bool,
    /// Whether `output` is not all of it.
    pub truncated: bool,
    /// The file with all of it, if it was truncated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<&'reply str>,
}

/// Another session is in use.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Switched {
    /// Always `false`: there is nothing yet that could object.
    pub cancelled: bool,
}

/// Figures of the session, over all its branches.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SessionStatistics")]
pub(crate) struct SpokenStatistics<'reply> {
    /// Absent if the session is kept in memory only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_file: Option<Cow<'reply, str>>,
    pub session_id: &'reply str,
    pub user_messages: u64,
    pub assistant_messages: u64,
    pub tool_calls: u64,
    pub tool_results: u64,
    pub total_messages: u64,
    pub tokens: SpokenTokens,
    /// Dollars, summaries included.
    #[serde(serialize_with = "plain_number")]
    #[schemars(with = "f64")]
    pub cost: f64,
    /// Absent without a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<SpokenContext>,
    /// The same for each model, in the order of first use.
    pub by_model: Vec<SpokenModelUsage<'reply>>,
}

/// What one model did in a session.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ModelUsage")]
pub(crate) struct SpokenModelUsage<'reply> {
    pub provider: &'reply str,
    pub model: &'reply str,
    pub assistant_messages: u64,
    pub usage: &'reply Usage,
}

/// Tokens by kind.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Tokens")]
pub(crate) struct SpokenTokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub total: u64,
}

/// The newest answer of the model.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LastText<'reply> {
    /// `null` if there is none with any text.
    pub text: Option<&'reply str>,
}

/// A session that begins before an earlier message.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Forked<'reply> {
    /// The text of that message, to be edited and sent again.
    pub text: &'reply str,
    /// Always `false`: there is nothing yet that could object.
    pub cancelled: bool,
}

/// The messages that a session can begin before.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ForkMessages<'reply> {
    pub messages: Vec<SpokenForkMessage<'reply>>,
}

/// A message that a session can begin before.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ForkMessage")]
pub(crate) struct SpokenForkMessage<'reply> {
    pub entry_id: &'reply str,
    pub text: &'reply str,
}

/// Entries of the session's file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entries<'reply> {
    /// As they stand in the file, in its order.
    #[schemars(with = "Vec<Entry>")]
    pub entries: &'reply [Box<RawValue>],
    /// The entry that the conversation stands at; `null` before the first.
    pub leaf_id: Option<&'reply str>,
}

/// An entry of the session's file. What else it has depends on its type.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
#[expect(dead_code, reason = "entries are passed on as the file has them; this describes them")]
pub(crate) struct Entry {
    /// Such as `message`, `compaction`, `model_change` or `label`.
    r#type: String,
    id: String,
    /// The entry that it follows; `null` for the first.
    parent_id: Option<String>,
    /// ISO 8601.
    timestamp: String,
}

/// The session as a tree.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tree<'reply> {
    /// The entries that follow none.
    #[schemars(with = "Vec<TreeNode>")]
    pub tree: &'reply RawValue,
    /// The entry that the conversation stands at; `null` before the first.
    pub leaf_id: Option<&'reply str>,
}

/// An entry with what follows it.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "the tree is written without recursion; this describes it")]
pub(crate) struct TreeNode {
    entry: Entry,
    children: Vec<TreeNode>,
    /// Absent if it was given none.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// When it was given, ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    label_timestamp: Option<String>,
}

/// Where the conversation was moved to.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Navigated<'reply> {
    /// The entry that the conversation stands at; `null` before the first.
    pub leaf_id: Option<&'reply str>,
    /// The text of the user's message that was navigated to, to be edited and sent again.
    pub text: Option<&'reply str>,
    /// The entry with the summary of the branch that was left.
    pub summary_entry_id: Option<&'reply str>,
    /// Always `false`: there is nothing yet that could object.
    pub cancelled: bool,
}

/// An entry was written.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Written<'reply> {
    pub entry_id: &'reply str,
}

/// A part of the list of sessions.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Sessions<'reply> {
    /// Those last written to come first.
    pub sessions: Vec<SpokenSession<'reply>>,
    /// Asks for what follows; `null` at the end.
    pub next_cursor: Option<&'reply str>,
}

/// A session in a list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Session")]
pub(crate) struct SpokenSession<'reply> {
    pub id: &'reply str,
    pub path: Cow<'reply, str>,
    /// Empty for the oldest sessions, which do not say where they work.
    pub cwd: Cow<'reply, str>,
    /// Absent if it was given none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'reply str>,
    /// The beginning of what the user said first; empty if nothing was said yet.
    pub first_message: &'reply str,
    /// Messages of all roles and branches.
    pub message_count: u64,
    /// ISO 8601.
    pub created: &'reply str,
    /// When the file was last written to, in milliseconds since 1970.
    pub modified: u64,
}

/// A page was written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Exported<'reply> {
    pub path: Cow<'reply, str>,
}
