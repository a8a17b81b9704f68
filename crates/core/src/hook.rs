//! The moments of a session at which extensions are called, and what they may change.
//!
//! The names and the meaning of hooks, events and results are those of pi's extension API, so that its documentation
//! applies. The types here are what the engine speaks; whoever talks to an extension gives them their form.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::event::{CompactionReason, EntryName};
use crate::message::{Arguments, Content, CustomMessage, Message};
use crate::model::Model;
use crate::stream::Update;
use crate::thinking::ThinkingLevel;
use crate::tool::ToolDefinition;
use crate::ui::NotifyLevel;
use crate::usage::Usage;

/// Defines the hooks with their names and what they can do in one table.
macro_rules! hooks {
    ($($(#[$about:meta])* $hook:ident => $name:literal, $role:ident;)*) => {
        /// A moment at which extensions are called.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum HookKind {
            $($(#[$about])* $hook,)*
        }

        impl HookKind {
            /// Every hook.
            pub const ALL: &[Self] = &[$(Self::$hook,)*];

            /// Returns the hook's name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$hook => $name,)*
                }
            }

            /// Returns what an extension can do in the hook.
            pub fn role(self) -> HookRole {
                match self {
                    $(Self::$hook => HookRole::$role,)*
                }
            }
        }
    };
}

hooks! {
    /// A project has resources that need trust.
    ProjectTrust => "project_trust", Decides;
    /// A session was started or reloaded: further resources can be named.
    ResourcesDiscover => "resources_discover", Decides;
    SessionStart => "session_start", Observes;
    SessionInfoChanged => "session_info_changed", Observes;
    /// The client is about to start or open another session.
    SessionBeforeSwitch => "session_before_switch", Decides;
    SessionBeforeFork => "session_before_fork", Decides;
    SessionBeforeCompact => "session_before_compact", Decides;
    SessionCompact => "session_compact", Observes;
    SessionCompactFailed => "session_compact_failed", Observes;
    SessionBeforeTree => "session_before_tree", Decides;
    SessionTree => "session_tree", Observes;
    SessionShutdown => "session_shutdown", Observes;
    /// A message of the user arrived, before templates and skills are expanded.
    Input => "input", Decides;
    /// A prompt is about to start a run.
    BeforeAgentStart => "before_agent_start", Decides;
    AgentStart => "agent_start", Observes;
    AgentEnd => "agent_end", Observes;
    TurnStart => "turn_start", Observes;
    TurnEnd => "turn_end", Decides;
    /// A run is about to end, unless it was aborted.
    AgentBeforeSettle => "agent_before_settle", Decides;
    AgentSettled => "agent_settled", Observes;
    MessageStart => "message_start", Observes;
    MessageUpdate => "message_update", Streams;
    MessageEnd => "message_end", Decides;
    /// The conversation as it is sent to the model.
    Context => "context", Decides;
    ContextWithSystem => "context_with_system", Decides;
    BeforeProviderHeaders => "before_provider_headers", Decides;
    BeforeProviderRequest => "before_provider_request", Decides;
    AfterProviderResponse => "after_provider_response", Observes;
    ToolExecutionStart => "tool_execution_start", Observes;
    ToolExecutionUpdate => "tool_execution_update", Streams;
    ToolExecutionEnd => "tool_execution_end", Observes;
    /// A tool is about to run. A failure of the hook blocks the call.
    ToolCall => "tool_call", Decides;
    /// A tool has run; its result is not recorded yet.
    ToolResult => "tool_result", Decides;
    /// The user runs a shell command.
    UserBash => "user_bash", Decides;
    ModelSelect => "model_select", Observes;
    ThinkingLevelSelect => "thinking_level_select", Observes;
    UiPromptStart => "ui_prompt_start", Streams;
    UiPromptEnd => "ui_prompt_end", Streams;
    /// An extension notifies the user of something. Not in pi.
    UiNotify => "ui_notify", Streams;
}

/// What an extension can do in a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookRole {
    /// It may return a result that changes what happens.
    Decides,
    /// It may hold up what follows, but not change it.
    Observes,
    /// It is only told, never waited for.
    Streams,
}

impl HookKind {
    /// Returns the hook with this name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|hook| hook.as_str() == name)
    }

    /// Returns how long an extension may take, not counting the time that it waits for the user or a model.
    pub fn limit(self) -> Duration {
        Duration::from_secs(match self {
            Self::SessionStart | Self::ResourcesDiscover => 10,
            Self::SessionShutdown => 3,
            _ => 30,
        })
    }
}

/// How an extension takes part in a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Subscription {
    #[default]
    None,
    /// It is told and not waited for.
    Told,
    /// It is called, and what follows waits for its answer.
    Awaited,
}

/// What a hook is about.
#[derive(Debug, Clone, PartialEq)]
pub enum HookEvent {
    ResourcesDiscover {
        directory: PathBuf,
        reason: DiscoverReason,
    },
    SessionStart {
        reason: SessionReason,
        previous_file: Option<PathBuf>,
    },
    SessionInfoChanged {
        name: Option<String>,
    },
    SessionBeforeSwitch {
        reason: SessionReason,
        target: Option<PathBuf>,
    },
    SessionBeforeFork {
        entry: String,
        position: ForkPosition,
    },
    SessionBeforeCompact(Box<CompactionPreparation>),
    SessionCompact {
        /// The entry as it is in the file.
        entry: Arc<str>,
        from_extension: bool,
        reason: CompactionReason,
        will_retry: bool,
    },
    SessionCompactFailed {
        reason: CompactionReason,
        error: Option<String>,
        aborted: bool,
        will_retry: bool,
        from_extension: bool,
    },
    SessionBeforeTree(Box<TreePreparation>),
    SessionTree {
        new_leaf: Option<EntryName>,
        old_leaf: Option<EntryName>,
        /// The entry with a summary, as it is in the file.
        summary_entry: Option<Arc<str>>,
        from_extension: bool,
    },
    SessionShutdown {
        reason: SessionReason,
        target: Option<PathBuf>,
    },
    Input {
        text: String,
        images: Vec<Content>,
        source: InputSource,
        /// How the message is queued, while a run is in progress.
        streaming_behavior: Option<crate::command::Queue>,
    },
    BeforeAgentStart {
        prompt: String,
        images: Vec<Content>,
        system_prompt: Arc<str>,
        options: PromptOptions,
    },
    AgentStart,
    AgentEnd {
        messages: Vec<Arc<Message>>,
    },
    TurnStart {
        index: u32,
        timestamp: u64,
    },
    TurnEnd {
        index: u32,
        message: Arc<Message>,
        tool_results: Vec<Arc<Message>>,
        message_entry: Option<EntryName>,
        tool_result_entries: Vec<EntryName>,
        outcome: TurnOutcome,
        boundary: Boundary,
    },
    AgentBeforeSettle {
        outcome: TurnOutcome,
        boundary: Boundary,
    },
    AgentSettled {
        aborted: bool,
    },
    MessageStart(Arc<Message>),
    MessageUpdate {
        usage: Usage,
        update: Update,
    },
    MessageEnd(Arc<Message>),
    Context(Vec<Arc<Message>>),
    ContextWithSystem {
        system_prompt: Arc<str>,
        messages: Vec<Arc<Message>>,
    },
    BeforeProviderHeaders(BTreeMap<String, String>),
    BeforeProviderRequest(Value),
    AfterProviderResponse {
        status: u16,
        headers: BTreeMap<String, String>,
    },
    ToolExecutionStart {
        call_id: String,
        tool: String,
        arguments: Arc<Arguments>,
    },
    ToolExecutionUpdate {
        call_id: String,
        tool: String,
        arguments: Arc<Arguments>,
        content: Vec<Content>,
        details: Option<Value>,
    },
    ToolExecutionEnd {
        call_id: String,
        tool: String,
        content: Vec<Content>,
        details: Option<Value>,
        is_error: bool,
        duration: Duration,
    },
    ToolCall {
        call_id: String,
        tool: String,
        arguments: Arc<Arguments>,
    },
    ToolResult {
        call_id: String,
        tool: String,
        arguments: Arc<Arguments>,
        content: Vec<Content>,
        details: Option<Value>,
        is_error: bool,
    },
    UserBash {
        command: String,
        exclude_from_context: bool,
        directory: PathBuf,
    },
    ModelSelect {
        model: Arc<Model>,
        previous: Option<Arc<Model>>,
        source: ModelSource,
    },
    ThinkingLevelSelect {
        level: ThinkingLevel,
        previous: ThinkingLevel,
    },
    UiPromptStart {
        kind: &'static str,
        title: String,
    },
    UiPromptEnd {
        kind: &'static str,
        title: String,
    },
    UiNotify {
        message: String,
        level: Option<NotifyLevel>,
    },
}

impl HookEvent {
    /// Returns the hook that the event is for.
    pub fn kind(&self) -> HookKind {
        match self {
            Self::ResourcesDiscover { .. } => HookKind::ResourcesDiscover,
            Self::SessionStart { .. } => HookKind::SessionStart,
            Self::SessionInfoChanged { .. } => HookKind::SessionInfoChanged,
            Self::SessionBeforeSwitch { .. } => HookKind::SessionBeforeSwitch,
            Self::SessionBeforeFork { .. } => HookKind::SessionBeforeFork,
            Self::SessionBeforeCompact(_) => HookKind::SessionBeforeCompact,
            Self::SessionCompact { .. } => HookKind::SessionCompact,
            Self::SessionCompactFailed { .. } => HookKind::SessionCompactFailed,
            Self::SessionBeforeTree(_) => HookKind::SessionBeforeTree,
            Self::SessionTree { .. } => HookKind::SessionTree,
            Self::SessionShutdown { .. } => HookKind::SessionShutdown,
            Self::Input { .. } => HookKind::Input,
            Self::BeforeAgentStart { .. } => HookKind::BeforeAgentStart,
            Self::AgentStart => HookKind::AgentStart,
            Self::AgentEnd { .. } => HookKind::AgentEnd,
            Self::TurnStart { .. } => HookKind::TurnStart,
            Self::TurnEnd { .. } => HookKind::TurnEnd,
            Self::AgentBeforeSettle { .. } => HookKind::AgentBeforeSettle,
            Self::AgentSettled { .. } => HookKind::AgentSettled,
            Self::MessageStart(_) => HookKind::MessageStart,
            Self::MessageUpdate { .. } => HookKind::MessageUpdate,
            Self::MessageEnd(_) => HookKind::MessageEnd,
            Self::Context(_) => HookKind::Context,
            Self::ContextWithSystem { .. } => HookKind::ContextWithSystem,
            Self::BeforeProviderHeaders(_) => HookKind::BeforeProviderHeaders,
            Self::BeforeProviderRequest(_) => HookKind::BeforeProviderRequest,
            Self::AfterProviderResponse { .. } => HookKind::AfterProviderResponse,
            Self::ToolExecutionStart { .. } => HookKind::ToolExecutionStart,
            Self::ToolExecutionUpdate { .. } => HookKind::ToolExecutionUpdate,
            Self::ToolExecutionEnd { .. } => HookKind::ToolExecutionEnd,
            Self::ToolCall { .. } => HookKind::ToolCall,
            Self::ToolResult { .. } => HookKind::ToolResult,
            Self::UserBash { .. } => HookKind::UserBash,
            Self::ModelSelect { .. } => HookKind::ModelSelect,
            Self::ThinkingLevelSelect { .. } => HookKind::ThinkingLevelSelect,
            Self::UiPromptStart { .. } => HookKind::UiPromptStart,
            Self::UiPromptEnd { .. } => HookKind::UiPromptEnd,
            Self::UiNotify { .. } => HookKind::UiNotify,
        }
    }

    /// Returns the tool that the event is about, if it is about one.
    pub fn tool(&self) -> Option<&str> {
        match self {
            Self::ToolExecutionStart { tool, .. }
            | Self::ToolExecutionUpdate { tool, .. }
            | Self::ToolExecutionEnd { tool, .. }
            | Self::ToolCall { tool, .. }
            | Self::ToolResult { tool, .. } => Some(tool),
            _ => None,
        }
    }
}

/// What an extension returns from a hook. A result that the hook does not have is an error of the extension.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum HookResult {
    /// Nothing changes.
    #[default]
    None,
    /// The action is not carried out: of the hooks named `…_before_…`.
    Cancel,
    Resources(DiscoveredPaths),
    /// A message that replaces the user's.
    Transform {
        text: String,
        images: Option<Vec<Content>>,
    },
    /// The extension has dealt with the user's message.
    Handled,
    /// What is added to a prompt.
    Start(StartAdditions),
    /// What is added at the end of a turn or a run.
    Boundary {
        entries: Vec<EntryDraft>,
        continues: Option<bool>,
    },
    /// A message of the same role that replaces the one at its end.
    Message(Arc<Message>),
    /// The conversation to send instead.
    Messages(Vec<Arc<Message>>),
    Headers(BTreeMap<String, Option<String>>),
    Payload(Value),
    /// Arguments that replace those of a tool call. They are not checked against the tool's schema, unless
    /// `validate` says so.
    Arguments {
        arguments: Arguments,
        validate: bool,
    },
    /// The tool is not run.
    Block {
        reason: Option<String>,
        /// Whether the run ends once every call of the answer was ended in this way.
        terminate: bool,
    },
    /// The user decides whether the tool runs; the reason is shown to them.
    Ask {
        reason: String,
    },
    ToolResult(ToolResultChange),
    /// The result of a shell command that was not run.
    Shell(ShellAnswer),
    /// A summary that replaces that of a model.
    Compaction(SummaryDraft),
    Tree(TreeChange),
    /// The run ends after this turn, for this reason.
    Stop {
        reason: Option<String>,
    },
    /// Several results at once, applied in order.
    All(Vec<HookResult>),
}

/// Where a session comes from or goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionReason {
    Startup,
    Reload,
    New,
    Resume,
    Fork,
    Quit,
}

impl SessionReason {
    /// Returns the reason's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Reload => "reload",
            Self::New => "new",
            Self::Resume => "resume",
            Self::Fork => "fork",
            Self::Quit => "quit",
        }
    }
}

/// Why resources are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiscoverReason {
    Startup,
    Reload,
}

/// Where a fork ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkPosition {
    Before,
    At,
}

/// Where a message comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputSource {
    Rpc,
    Extension,
}

/// How a model was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelSource {
    Set,
    Cycle,
    Restore,
}

/// How a turn or a run went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnOutcome {
    Completed,
    Aborted,
    Error,
}

impl TurnOutcome {
    /// Returns the outcome's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Aborted => "aborted",
            Self::Error => "error",
        }
    }
}

/// What extensions have already decided for the end of a turn or a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Boundary {
    pub entries: Vec<EntryDraft>,
    pub continues: bool,
    pub can_continue: bool,
}

/// What a system prompt is made of, as extensions see and change it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PromptOptions {
    pub directory: PathBuf,
    pub tools: Arc<[ToolDefinition]>,
    pub selected_tools: Vec<String>,
    pub context_files: Vec<PathBuf>,
}

/// What an extension adds to a prompt.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StartAdditions {
    /// Follows the user's message.
    pub message: Option<CustomMessageDraft>,
    /// Replaces the system prompt for this run.
    pub system_prompt: Option<String>,
    /// Sections that are appended to the system prompt for this run, with their names.
    pub sections: Vec<(String, String)>,
    /// Rules that are appended to the system prompt for this run.
    pub guidelines: Vec<String>,
    /// Text that is appended to the system prompt for this run.
    pub append: Option<String>,
    /// The tools of this run.
    pub selected_tools: Option<Vec<String>>,
}

/// A message of an extension that is not part of the conversation yet.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomMessageDraft {
    pub custom_type: String,
    pub content: Vec<Content>,
    pub display: bool,
    pub details: Option<Value>,
}

impl CustomMessageDraft {
    /// Returns the message that becomes part of the conversation.
    pub fn into_message(self, timestamp: u64) -> Message {
        let Self { custom_type, content, display, details } = self;
        Message::Custom(CustomMessage { custom_type, content, display, details, timestamp })
    }
}

/// An entry of the session's file that an extension wants to add.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryDraft {
    Custom { custom_type: String, data: Option<Value> },
    Message(CustomMessageDraft),
    ContextEdit { target: String, replacement: Option<Value> },
    Compaction { summary: String, first_kept: Option<String>, details: Option<Value> },
}

/// What a tool's result becomes; what is absent stays.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolResultChange {
    pub content: Option<Vec<Content>>,
    pub details: Option<Value>,
    pub is_error: Option<bool>,
}

/// The result of a shell command that an extension carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellAnswer {
    pub output: String,
    pub exit_code: Option<i32>,
    pub cancelled: bool,
    pub truncated: bool,
    pub full_output_path: Option<PathBuf>,
}

/// A compaction that is about to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionPreparation {
    pub first_kept: EntryName,
    pub messages: Vec<Arc<Message>>,
    pub turn_prefix: Vec<Arc<Message>>,
    pub tokens_before: u64,
    pub previous_summary: Option<String>,
    pub read_files: Vec<String>,
    pub modified_files: Vec<String>,
    pub reserve_tokens: u64,
    pub keep_recent_tokens: u64,
    pub instructions: Option<String>,
    pub reason: CompactionReason,
    pub will_retry: bool,
}

/// A summary that an extension wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryDraft {
    pub summary: String,
    /// The first entry that is kept; that of the preparation when absent.
    pub first_kept: Option<String>,
    pub tokens_before: Option<u64>,
    pub details: Option<Value>,
    pub usage: Option<Usage>,
}

/// A move to another entry that is about to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct TreePreparation {
    pub target: String,
    pub old_leaf: Option<EntryName>,
    /// The messages of the branch that is left.
    pub abandoned: Vec<Arc<Message>>,
    pub wants_summary: bool,
    pub instructions: Option<String>,
}

/// What an extension changes about a move to another entry.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TreeChange {
    pub summary: Option<SummaryDraft>,
    pub instructions: Option<String>,
    pub label: Option<String>,
}

/// Further places of skills and templates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DiscoveredPaths {
    /// The name of the extension that named them.
    pub extension: String,
    pub skills: Vec<PathBuf>,
    pub prompts: Vec<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_hooks_are_distinct_and_parse() {
        for hook in HookKind::ALL {
            assert_eq!(HookKind::parse(hook.as_str()), Some(*hook));
        }
        assert_eq!(HookKind::parse("session_switch"), None);
    }
}
