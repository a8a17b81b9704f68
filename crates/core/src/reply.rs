//! Replies to commands.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::command::{InterruptMode, Origin, QueueMode};
use crate::completion::Completion;
use crate::event::{CompactionResult, EntryName, RunOutcome};
use crate::extension_info::ExtensionInfo;
use crate::file_changes::{ChangesReport, RestoreReport};
use crate::limits::LimitsReport;
use crate::login::LoginProvider;
use crate::message::Message;
use crate::model::Model;
use crate::pending_changes::{AcceptReport, DiscardReport, PendingReport};
use crate::sandbox::AskMode;
use crate::sandbox::{SandboxReport, SandboxSummary};
pub use crate::slash_command::SlashCommand;
use crate::subagent::{Subagent, Subscription};
use crate::thinking::ThinkingLevel;
use crate::todo::TodoPhase;
use crate::tool::ToolDefinition;
use crate::usage::Usage;

/// The reply to a command.
#[derive(Debug, Clone)]
pub struct Reply {
    pub origin: Origin,
    pub result: Result<Answer, Refusal>,
}

/// The result of a successful command.
#[derive(Debug, Clone)]
pub enum Answer {
    Done,
    Accepted(Disposition),
    /// The run that the prompt started is over, in dialects that reply to prompts at the end of their run.
    RunOver(RunOutcome),
    /// A session was opened on this connection.
    SessionOpened {
        id: String,
        file: Option<PathBuf>,
    },
    /// The texts that were removed from the queues.
    Cleared {
        steering: Vec<String>,
        follow_up: Vec<String>,
    },
    State(Box<State>),
    Messages(Vec<Arc<Message>>),
    MessagesPage(MessagesPage),
    Commands(Vec<SlashCommand>),
    /// What can follow the name of a slash command.
    Completions(Vec<Completion>),
    Model(Arc<Model>),
    /// `None` when there is nothing to cycle through.
    CycledModel(Option<CycledModel>),
    Models(Vec<Arc<Model>>),
    /// `None` when the model does not support thinking.
    CycledThinkingLevel(Option<ThinkingLevel>),
    ThinkingLevels(Vec<ThinkingLevel>),
    /// A level was set.
    ThinkingLevelSet(ThinkingState),
    Shell(ShellResult),
    SessionSwitched,
    /// An extension cancelled a change of session or a move to another entry.
    Cancelled(CancelledChange),
    Statistics(Box<SessionStatistics>),
    LastAssistantText(Option<String>),
    Compacted(Arc<CompactionResult>),
    /// Another session was started before this message of the user, whose text can be edited and sent again.
    Forked {
        text: String,
    },
    ForkMessages(Vec<ForkMessage>),
    /// Entries as they are in the file.
    Entries {
        entries: Vec<Box<RawValue>>,
        leaf: Option<EntryName>,
    },
    /// The tree as nested nodes, already serialised: it can be too deep for recursion.
    Tree {
        roots: Box<RawValue>,
        /// Whether some of `roots` continue others, because the tree would be too deep for most decoders.
        is_split: bool,
        leaf: Option<EntryName>,
    },
    /// The tree as a list, each entry before its descendants.
    FlatTree {
        nodes: Vec<FlatNode>,
        leaf: Option<EntryName>,
    },
    Navigated(Navigated),
    /// An entry was written.
    Written {
        entry: EntryName,
    },
    Sessions(SessionPage),
    Exported {
        path: PathBuf,
    },
    /// The names of the tools that the client supplies from now on.
    HostTools(Vec<String>),
    /// The schemes of the addresses that the client serves from now on.
    UriSchemes(Vec<String>),
    /// The providers that a user may log in to.
    LoginProviders(Vec<LoginProvider>),
    /// The user has logged in to a provider.
    LoggedIn {
        provider: String,
    },
    /// What holds for the tools.
    Sandbox(Box<SandboxReport>),
    /// What confines the tools was changed to this.
    SandboxChanged(SandboxSummary),
    /// What runs and the session may spend, and what they have spent.
    Limits(Box<LimitsReport>),
    /// The list of tasks.
    Todos(Arc<[TodoPhase]>),
    SubagentSubscription(Subscription),
    /// The subagents that are running.
    Subagents(Vec<Arc<Subagent>>),
    SubagentMessages(SubagentMessages),
    /// What runs changed in files.
    Changes(Box<ChangesReport>),
    /// Files were restored, or changed again.
    FilesRestored(Box<FilesRestored>),
    /// What is not in the real workspace yet.
    PendingChanges(Box<PendingReport>),
    /// Pending changes were applied.
    ChangesAccepted(Box<AcceptReport>),
    /// Pending changes were thrown away.
    ChangesDiscarded(Box<DiscardReport>),
}

/// What `undo` or `redo` did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesRestored {
    pub is_redo: bool,
    pub report: RestoreReport,
}

/// A part of a subagent's file.
#[derive(Debug, Clone)]
pub struct SubagentMessages {
    pub session_file: PathBuf,
    /// Where the part begins, in bytes.
    pub from_byte: u64,
    /// Where the next part begins.
    pub next_byte: u64,
    /// Whether the file is shorter than the client believed, so that the part begins at the start.
    pub is_reset: bool,
    /// The entries, as in the file.
    pub entries: Vec<Box<RawValue>>,
    /// The messages among them.
    pub messages: Vec<Box<RawValue>>,
}

impl Answer {
    /// Tells whether it only shows what is there, so that nothing needs to come before it.
    pub fn is_snapshot(&self) -> bool {
        matches!(
            self,
            Self::State(_)
                | Self::Messages(_)
                | Self::MessagesPage(_)
                | Self::Commands(_)
                | Self::Completions(_)
                | Self::Models(_)
                | Self::Statistics(_)
                | Self::Limits(_)
                | Self::LastAssistantText(_)
                | Self::Sandbox(_)
        )
    }
}

/// Some of the messages of a conversation.
#[derive(Debug, Clone)]
pub struct MessagesPage {
    pub messages: Vec<Arc<Message>>,
    /// Requests the next page; absent on the last one.
    pub next_cursor: Option<String>,
    /// The number of messages on all pages.
    pub total: usize,
}

/// A user's message that a session can be forked before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkMessage {
    pub entry: EntryName,
    pub text: String,
}

/// Where the conversation continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Navigated {
    pub leaf: Option<EntryName>,
    /// The text of the user's message that was navigated to, to be edited and sent again.
    pub text: Option<String>,
    /// The entry with the summary of the abandoned branch.
    pub summary_entry: Option<EntryName>,
}

/// A page of the list of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPage {
    pub sessions: Vec<SessionSummary>,
    /// Requests the next page; absent on the last one.
    pub next_cursor: Option<String>,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    pub id: String,
    pub path: PathBuf,
    /// Empty for the oldest sessions, which do not record it.
    pub working_directory: PathBuf,
    pub name: Option<String>,
    /// The beginning of the user's first message; empty if there is none.
    pub first_message: String,
    /// Messages of all roles and branches, as the statistics count them.
    pub message_count: u64,
    /// When it was created, in ISO 8601 as in the file.
    pub created: String,
    /// When the file was last written to, in milliseconds since 1970.
    pub modified: u64,
}

/// What an extension cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelledChange {
    Switch,
    Fork,
    Navigation,
}

/// How a message was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// It started a run.
    Started,
    /// It waits in a queue.
    Queued,
    /// An extension or a command dealt with it; nothing follows.
    Handled,
}

/// The state of the agent between two inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    pub model: Option<Arc<Model>>,
    pub thinking_level: ThinkingLevel,
    pub is_streaming: bool,
    pub is_compacting: bool,
    pub steering_mode: QueueMode,
    pub follow_up_mode: QueueMode,
    pub interrupt_mode: InterruptMode,
    pub session_file: Option<PathBuf>,
    pub session_id: String,
    pub session_name: Option<String>,
    pub session_damage: Option<SessionDamage>,
    pub auto_compaction: bool,
    pub auto_retry: bool,
    pub message_count: usize,
    pub pending_message_count: usize,
    /// The names of the tools that the model may call.
    pub tools: Arc<[String]>,
    pub working_directory: PathBuf,
    pub context: Option<ContextUsage>,
    pub instructions: Option<Instructions>,
    /// The list of tasks.
    pub todos: Arc<[TodoPhase]>,
    pub extensions: Vec<ExtensionInfo>,
    /// What confines the tools.
    pub sandbox: SandboxSummary,
    /// How the user is asked about calls; absent if that is as usual.
    pub approvals: Option<ApprovalState>,
}

/// An entry in a list of the entries of a tree.
#[derive(Debug, Clone)]
pub struct FlatNode {
    pub entry: Box<RawValue>,
    /// The number of its ancestors.
    pub depth: usize,
    pub label: Option<String>,
    /// When the label was set.
    pub label_timestamp: Option<String>,
}

/// What could not be read of a session's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionDamage {
    pub unreadable_lines: usize,
    /// Entries whose predecessor is missing, which follow the entry before it instead.
    pub relinked_entries: usize,
    /// Messages of the conversation whose content cannot be read.
    pub unreadable_messages: usize,
}

/// How the user is asked about tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalState {
    pub ask: AskMode,
    /// Whether the client is asked: it is not if it never answered.
    pub client_answers: bool,
}

/// The system prompt and the tools.
#[derive(Debug, Clone, PartialEq)]
pub struct Instructions {
    pub system_prompt: Arc<str>,
    /// The files that the system prompt contains.
    pub context_files: Arc<[PathBuf]>,
    pub tools: Arc<[ToolDefinition]>,
}

/// How hard the model thinks from the next call on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThinkingState {
    /// The level in effect: the one that was set, or the nearest that the model has.
    pub level: ThinkingLevel,
    /// The tokens that requests allow for thinking, if they state them.
    pub budget_tokens: Option<u64>,
}

/// The model that was selected by cycling.
#[derive(Debug, Clone, PartialEq)]
pub struct CycledModel {
    pub model: Arc<Model>,
    pub thinking_level: ThinkingLevel,
    /// Whether the candidates were limited by the user.
    pub is_scoped: bool,
}

/// The outcome of a user-initiated shell command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellResult {
    pub output: String,
    pub exit_code: Option<i32>,
    pub cancelled: bool,
    pub truncated: bool,
    pub full_output_path: Option<String>,
}

/// Statistics of a session, over all its branches.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionStatistics {
    pub session_file: Option<PathBuf>,
    pub session_id: String,
    pub user_messages: u64,
    pub assistant_messages: u64,
    pub tool_calls: u64,
    pub tool_results: u64,
    pub total_messages: u64,
    pub usage: Usage,
    pub context: Option<ContextUsage>,
    pub by_model: Vec<ModelUsage>,
}

/// The usage of one model in a session.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelUsage {
    pub provider: String,
    pub model: String,
    pub answers: u64,
    pub usage: Usage,
}

/// How much of the model's window is used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContextUsage {
    /// Unknown until the model has reported its usage.
    pub tokens: Option<u64>,
    pub window: u64,
}

/// Why a command was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// A stable code for programs.
    pub code: RefusalCode,
    /// A message for users.
    pub message: String,
}

/// Defines the codes and their names in one table, so that a schema can list every one of them.
macro_rules! refusal_codes {
    ($($(#[$about:meta])* $code:ident => $name:literal,)*) => {
        /// The stable codes of refusals.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum RefusalCode {
            $($(#[$about])* $code,)*
        }

        impl RefusalCode {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$code,)*];

            /// Returns the name on the wire.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$code => $name,)*
                }
            }
        }
    };
}

refusal_codes! {
    Busy => "busy",
    /// A conversation is being compacted.
    Compacting => "compacting",
    /// There is nothing to do.
    NothingToDo => "nothing_to_do",
    /// It was aborted.
    Cancelled => "cancelled",
    NoModel => "no_model",
    NoCredentials => "no_credentials",
    ModelNotFound => "model_not_found",
    InvalidArgument => "invalid_argument",
    SessionUnavailable => "session_unavailable",
    /// The session is changing, so that nothing stable can be returned.
    SessionBusy => "session_busy",
    /// The conversation has changed since the cursor was returned.
    StaleCursor => "stale_cursor",
    StorageFailed => "storage_failed",
    /// The user's settings do not allow it.
    Forbidden => "forbidden",
    /// The tools cannot be confined as they are to be.
    SandboxUnavailable => "sandbox_unavailable",
    /// The model failed.
    ModelFailed => "model_failed",
    /// What the session may spend is used up.
    Budget => "budget",
    ShuttingDown => "shutting_down",
    /// bowline itself failed.
    Internal => "internal",
}

impl Refusal {
    /// Returns a refusal with a code and a text.
    pub fn new(code: RefusalCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}
