//! The commands that a client can send.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::ask::ApprovalForm;
use crate::file_changes::{ChangesQuery, UndoTarget};
use crate::host::{ClientFiles, HostTool, UriScheme};
use crate::limits::LimitChange;
use crate::message::{Content, Message, UserMessage};
use crate::output::OutputRequest;
use crate::pending_changes::{PendingQuery, PendingSelection};
use crate::policy::ForkPoint;
use crate::sandbox::AskMode;
use crate::sandbox::SandboxChange;
use crate::subagent::Subscription;
use crate::thinking::ThinkingLevel;
use crate::todo::TodoPhase;
use crate::ui::{Screen, WidgetInput};

/// A command and its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub origin: Origin,
    pub command: Command,
}

/// What a reply needs so that the client can match it to its command. The engine passes it on unread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The client's id, as the JSON text that it sent.
    pub id: Option<Arc<str>>,
    /// The command's name in the client's dialect.
    pub name: &'static str,
    /// What the reply echoes of the command, as JSON text, in dialects that do so.
    pub echo: Option<Arc<str>>,
}

/// What a summary is to be about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryInstructions {
    pub text: String,
    /// Whether it takes the place of what a model is usually told instead of adding to it.
    pub replaces_usual: bool,
}

impl SummaryInstructions {
    /// Returns instructions that add to the usual ones.
    pub fn further(text: String) -> Self {
        Self { text, replaces_usual: false }
    }
}

/// Every command.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Starts a run; while one is in progress, queues the message as `when_busy` says.
    Prompt {
        message: Draft,
        when_busy: Option<Queue>,
    },
    /// Starts a run, but only in a conversation that already has messages.
    Continue {
        message: Draft,
    },
    /// Aborts the run and starts another one, atomically.
    AbortAndPrompt {
        message: Draft,
    },
    /// Queues a message.
    Enqueue {
        message: Draft,
        queue: Queue,
    },
    /// Aborts the run and everything that belongs to it.
    Abort,
    /// Removes all messages from both queues.
    ClearQueue,

    GetState,
    GetMessages,
    /// Returns some of the messages; `cursor` is where the previous page ended.
    GetMessagesPage {
        cursor: Option<String>,
        limit: usize,
    },
    GetCommands,
    /// Returns what can follow the name of a slash command, instead of `prefix`.
    GetCompletions {
        command: String,
        prefix: String,
    },
    GetLastAssistantText,
    GetSessionStatistics,

    SetModel {
        provider: String,
        id: String,
    },
    /// Selects a model by its name or a part of it, as on the command line.
    ChooseModel {
        provider: Option<String>,
        pattern: String,
    },
    CycleModel,
    GetAvailableModels,
    SetThinkingLevel {
        level: ThinkingLevel,
    },
    CycleThinkingLevel,
    GetAvailableThinkingLevels,
    SetQueueMode {
        queue: Queue,
        mode: QueueMode,
    },
    SetInterruptMode {
        mode: InterruptMode,
    },
    SetAutoCompaction {
        enabled: bool,
    },
    SetAutoRetry {
        enabled: bool,
    },
    /// Cancels a retry that waits for its delay.
    AbortRetry,

    /// Runs a user-initiated shell command.
    Shell {
        command: String,
        exclude_from_context: bool,
    },
    /// Kills every user-initiated shell command.
    AbortShell,

    NewSession {
        parent: Option<String>,
    },
    SwitchSession {
        path: PathBuf,
    },
    SetSessionName {
        name: String,
    },

    /// Replaces all but the newest messages by a summary.
    Compact {
        instructions: Option<String>,
    },
    /// Starts another session with what came before a user's message, or with everything up to an entry; which of the two,
    /// the policy says if the command does not.
    Fork {
        entry: String,
        point: Option<ForkPoint>,
    },
    /// Starts another session with the conversation as it is.
    Clone,
    GetForkMessages,
    GetEntries {
        since: Option<String>,
    },
    GetTree {
        format: TreeFormat,
    },
    /// Continues from another entry of the session; the abandoned branch may be summarised.
    NavigateTree {
        entry: String,
        summarize: bool,
        instructions: Option<SummaryInstructions>,
    },
    SetLabel {
        entry: String,
        label: Option<String>,
    },
    ListSessions {
        query: SessionQuery,
    },
    DeleteSession {
        path: PathBuf,
    },
    ExportHtml {
        path: Option<PathBuf>,
    },

    /// Returns what runs changed in files.
    GetChanges {
        query: ChangesQuery,
    },
    /// Restores files that runs changed.
    Undo {
        target: UndoTarget,
        dry_run: bool,
    },
    /// Changes files again that were restored.
    Redo {
        dry_run: bool,
    },

    /// Returns what is not in the real workspace yet, if the workspace is an overlay.
    GetPendingChanges {
        query: PendingQuery,
    },
    /// Applies pending changes to the real workspace.
    AcceptChanges {
        selection: PendingSelection,
    },
    /// Throws pending changes away.
    DiscardChanges {
        selection: PendingSelection,
    },

    /// Replaces the tools that the client supplies.
    SetHostTools {
        tools: Vec<HostTool>,
    },
    /// Replaces the schemes of the addresses that the client serves.
    SetUriSchemes {
        schemes: Vec<UriScheme>,
    },
    /// Returns the providers that a user may log in to.
    GetLoginProviders,
    /// Asks the user for the key of a provider.
    Login {
        provider: String,
    },

    /// Tries what confines the tools, and returns what holds.
    GetSandbox {
        /// Whether the last connections through the proxy are wanted, too.
        connections: bool,
    },
    /// Changes what confines the tools.
    SetSandbox {
        change: SandboxChange,
    },
    /// Changes what runs and the session may spend: all of it or nothing.
    SetLimits {
        changes: Vec<LimitChange>,
    },
    /// Returns what runs and the session may spend, and what they have spent.
    GetLimits,

    /// Replaces the list of tasks.
    SetTodos {
        phases: Vec<TodoPhase>,
    },

    /// Sets when the user is asked about tool calls.
    SetApprovals {
        ask: AskMode,
    },
    /// Says what the client can do: how it wants to be asked about tool calls, and whether it wants to know what runs changed.
    /// What is absent stays as it is.
    SetClientCapabilities {
        approvals: Option<ApprovalForm>,
        changes: Option<bool>,
        /// The place that it has for components of extensions; inner `None` if it shows them no longer.
        screen: Option<Option<Screen>>,
        /// What it does with files that it shows.
        files: Option<ClientFiles>,
    },
    /// Passes on what the user does with a component of an extension.
    WidgetInput {
        key: String,
        input: WidgetInput,
    },
    /// Answers a question about a tool call. What is neither an id nor an option is a no.
    AnswerApproval {
        approval: String,
        decision: String,
        message: Option<String>,
    },

    /// Sets which events of subagents are emitted.
    SetSubagentSubscription {
        level: Subscription,
    },
    /// Returns the subagents that are running.
    GetSubagents,
    /// Returns what a subagent's file holds from an offset on.
    GetSubagentMessages {
        subagent: SubagentName,
        from_byte: u64,
    },
}

/// How a client names a subagent, running or not: by either of these.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubagentName {
    pub id: Option<String>,
    pub session_file: Option<PathBuf>,
}

/// A user's message that is not part of the conversation yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Draft {
    pub text: String,
    /// What follows the text: images, and the texts of documents.
    pub images: Vec<Content>,
    /// The files that `images` was made from, as the client sent them.
    pub attachments: Vec<Value>,
    /// Where the message came from, if the client says.
    pub source: Option<String>,
    /// What the answer that ends its run must be, if the client says.
    pub output: Option<OutputRequest>,
}

impl Draft {
    /// Returns the message that becomes part of the conversation.
    pub fn into_message(self, timestamp: u64) -> Message {
        let mut content = vec![Content::text(self.text)];
        content.extend(self.images);
        let (attachments, source) = (self.attachments, self.source);
        Message::User(UserMessage { content, timestamp, attachments, source })
    }
}

/// The two queues of messages that wait for a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// Delivered before the next call of the model.
    Steering,
    /// Delivered when the run would otherwise end.
    FollowUp,
}

/// How a tree is returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeFormat {
    /// Nodes within nodes.
    Nested,
    /// A list, whose depth does not grow with the session.
    Flat,
}

/// Which sessions to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionQuery {
    /// Includes the sessions of all working directories.
    pub everywhere: bool,
    /// The working directory whose sessions are wanted, instead of that of the session.
    pub folder: Option<PathBuf>,
    /// Matches the name, the first message or the id.
    pub search: Option<String>,
    pub limit: Option<usize>,
    /// Where the previous page ended.
    pub cursor: Option<String>,
}

/// What a steering message does to the tool calls of a turn that have not started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InterruptMode {
    /// They are skipped. Tools then run one after the other.
    Immediate,
    /// They run before it is delivered.
    #[default]
    Wait,
}

impl InterruptMode {
    /// Returns the mode's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Immediate => "immediate",
            Self::Wait => "wait",
        }
    }
}

/// How many messages of a queue are delivered at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueueMode {
    All,
    #[default]
    OneAtATime,
}

impl QueueMode {
    /// Returns the mode's name on the wire and in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::OneAtATime => "one-at-a-time",
        }
    }

    /// Returns the mode with this name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::All, Self::OneAtATime].into_iter().find(|mode| mode.as_str() == name)
    }
}
