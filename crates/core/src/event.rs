//! The events that a session emits.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::ask::{Ask, AskId, Decision};
use crate::command::{Origin, Queue};
use crate::error_kind::ErrorKind;
use crate::file_changes::RunChanges;
use crate::host::{HostCall, HostCallId};
use crate::limits::LimitWarning;
use crate::message::{Arguments, Content, Message};
use crate::model::Model;
use crate::output::OutputProblem;
use crate::pending_changes::PendingReport;
use crate::reply::FilesRestored;
use crate::sandbox::ProtectedChange;
use crate::stream::{StreamError, Update};
use crate::stream_rule::StreamRule;
use crate::subagent::SubagentEvent;
use crate::thinking::ThinkingLevel;
use crate::todo::TodoTask;
use crate::ui::{Display, ExtensionError, UiToken};
use crate::usage::Usage;

/// Something that happened in a session.
///
/// A run is everything between `RunStart` and `Settled`. A retry ends the current attempt with `RunEnd` and starts
/// another with `RunStart`; `Settled` is emitted exactly once for each prompt that started a run, and nothing automatic
/// follows it.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    RunStart,
    /// The end of an attempt, with the messages that it added and the whole conversation.
    RunEnd {
        messages: Vec<Arc<Message>>,
        conversation: Vec<Arc<Message>>,
        will_retry: bool,
    },
    Settled {
        outcome: RunOutcome,
        /// The value that the last prompt of the run asked for.
        output: Option<Arc<Value>>,
    },
    /// An answer was checked against the schema of its prompt. If there are problems and attempts are left, the model is
    /// told of them and goes on.
    OutputChecked {
        attempt: u32,
        max_attempts: u32,
        result: Result<Arc<Value>, Vec<OutputProblem>>,
    },
    /// A turn is one call of the model and the tools that it called.
    TurnStart,
    TurnEnd {
        message: Arc<Message>,
        tool_results: Vec<Arc<Message>>,
    },
    MessageStart(Arc<Message>),
    MessageUpdate {
        usage: Usage,
        update: Update,
    },
    /// A message is complete; `entry` is where it is stored, if it could be.
    MessageEnd {
        message: Arc<Message>,
        entry: Option<EntryName>,
    },
    ToolStart {
        call_id: String,
        tool: String,
        arguments: Arc<Arguments>,
    },
    /// The output of a running tool so far; replaces the previous report.
    ToolProgress {
        call_id: String,
        tool: String,
        arguments: Arc<Arguments>,
        partial: ToolReport,
    },
    ToolEnd {
        call_id: String,
        tool: String,
        result: ToolReport,
        is_error: bool,
        duration: Duration,
    },
    /// Queued messages are delivered in the turn that starts next.
    Delivering {
        queue: Queue,
        texts: Vec<String>,
    },
    QueueChanged {
        steering: Vec<String>,
        follow_up: Vec<String>,
        cause: QueueCause,
    },
    RetryStart {
        attempt: u32,
        max_attempts: u32,
        delay: Duration,
        error: String,
    },
    RetryEnd {
        success: bool,
        attempt: u32,
        final_error: Option<String>,
    },
    CompactionStart {
        reason: CompactionReason,
    },
    CompactionEnd {
        reason: CompactionReason,
        outcome: CompactionOutcome,
        will_retry: bool,
    },
    /// A request for a summary failed and is retried after `delay`.
    SummaryRetryScheduled {
        attempt: u32,
        max_attempts: u32,
        delay: Duration,
        error: String,
    },
    SummaryRetryStart(SummaryPurpose),
    /// The retries are over. Whatever the summary was for reports the outcome.
    SummaryRetryEnd,
    /// A message of the run could not be written. The run ends at its next decision.
    StorageFailed {
        error: String,
    },
    /// An answer was removed from the context, or restored, by an entry that no other event announces. The entry is the
    /// line of the file.
    EntryAppended {
        entry: Arc<str>,
    },
    ThinkingLevelChanged {
        level: ThinkingLevel,
        entry: Option<EntryName>,
    },
    SessionNameChanged {
        name: String,
        entry: Option<EntryName>,
    },
    /// What the model writes breaks these stream rules. The answer is interrupted and asked for again, or, if it goes on,
    /// the result of the call that breaks them mentions them.
    RulesBroken {
        rules: Vec<Arc<StreamRule>>,
    },
    /// The model stopped although tasks are left. It is reminded of them and goes on.
    TodoReminder {
        todos: Vec<TodoTask>,
        attempt: u32,
        max_attempts: u32,
    },
    /// Most of what a run or a session may spend is spent.
    LimitWarning(LimitWarning),
    /// What a run changed in files, for clients that want to know.
    RunChanges(Arc<RunChanges>),
    /// Files were restored, or changed again.
    FilesRestored(Arc<FilesRestored>),
    /// What is pending after a run that may have changed something, if the workspace is an overlay.
    PendingChanges(Arc<PendingReport>),
    /// More output of a user-initiated shell command.
    ShellOutput {
        origin: Origin,
        delta: String,
    },
    /// A question to the user; whatever depends on the answer waits for it.
    Ask(Ask),
    /// Something that a command did which a prompt named.
    Local(LocalEvent),
    /// A question was decided: by the user, or because it can no longer be answered.
    AskResolved {
        id: AskId,
        decision: Decision,
        cause: AskEnd,
    },
    /// An extension shows something that is not answered.
    Display {
        token: UiToken,
        display: Display,
    },
    ExtensionFailed(ExtensionError),
    /// A call, or a user-initiated command, changed a protected path of the workspace, which was restored.
    ProtectedPathChanged {
        call_id: Option<String>,
        change: ProtectedChange,
    },
    /// Something happened to a subagent.
    Subagent(SubagentEvent),
    /// The client is to run one of its tools, or to read or write one of its addresses.
    HostCall(HostCall),
    /// A call of the client is over. Where the client did not end it, it is to stop, with this random part of an id.
    HostCallOver {
        id: HostCallId,
        cancel: Option<UiToken>,
    },
}

/// Why a question is no longer open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskEnd {
    /// The user answered it.
    Answered,
    TimedOut,
    /// It was withdrawn: its run was aborted, its session is left, or whoever asked does not need it any more.
    Withdrawn,
}

/// Something that a command did which a prompt named, such as `/model`.
#[derive(Debug, Clone, PartialEq)]
pub enum LocalEvent {
    /// What the user reads of it.
    Output(String),
    /// The session has another name, or is another one.
    SessionInfo { id: String, name: Option<String> },
    /// The model was chosen.
    Configuration { model: Arc<Model>, thinking_level: ThinkingLevel },
    /// A prompt that was replied to on receipt has turned out to start no run: an extension took it.
    Handled { origin: Origin },
}

/// The id of an entry of the session's file.
pub type EntryName = Arc<str>;

/// Why the queues changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueCause {
    Queued,
    Delivered,
    Cleared,
}

/// Why a conversation is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionReason {
    /// The user asked for it.
    Manual,
    /// The model's window is nearly full.
    Threshold,
    /// The provider refused the conversation as too long.
    Overflow,
}

impl CompactionReason {
    /// Returns the reason's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Threshold => "threshold",
            Self::Overflow => "overflow",
        }
    }
}

/// What a summary is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryPurpose {
    Compaction(CompactionReason),
    /// It replaces a branch that the conversation leaves.
    Branch,
}

/// How a compaction ended.
#[derive(Debug, Clone, PartialEq)]
pub enum CompactionOutcome {
    Done(Arc<CompactionResult>),
    Aborted,
    Failed(String),
}

/// A finished compaction.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionResult {
    pub summary: String,
    /// The first entry that was kept.
    pub first_kept_entry: EntryName,
    /// The entry that holds the summary.
    pub entry: EntryName,
    pub tokens_before: u64,
    pub estimated_tokens_after: u64,
    /// What the summary cost.
    pub usage: Usage,
    pub files: TouchedFiles,
    /// Whether an extension wrote the summary.
    pub from_extension: bool,
}

/// What tools did with files, each file once in each list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileOperations {
    pub read: Vec<String>,
    /// Written as a whole.
    pub written: Vec<String>,
    /// Changed in places. Files that an earlier compaction noted as modified count as edited.
    pub edited: Vec<String>,
}

impl FileOperations {
    /// Returns the files that were modified, and those that were only read.
    pub fn touched(&self) -> TouchedFiles {
        let is_new = |path: &&String| !self.edited.contains(path);
        let modified: Vec<_> =
            self.edited.iter().chain(self.written.iter().filter(is_new)).cloned().collect();
        let read = self.read.iter().filter(|path| !modified.contains(path)).cloned().collect();
        TouchedFiles { read, modified }
    }
}

/// The files that tools read and modified in the summarised part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TouchedFiles {
    pub read: Vec<String>,
    pub modified: Vec<String>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunOutcome {
    Done,
    Aborted,
    Failed(Failure),
}

impl RunOutcome {
    /// Returns why the run did not end well, if so.
    pub fn error_kind(&self) -> Option<ErrorKind> {
        match self {
            Self::Done => None,
            Self::Aborted => Some(ErrorKind::Aborted),
            Self::Failed(failure) => Some(failure.kind),
        }
    }

    /// Returns what users read of a failure.
    pub fn error_text(&self) -> Option<&str> {
        if let Self::Failed(failure) = self { Some(&failure.text) } else { None }
    }
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// For programs.
    pub kind: ErrorKind,
    /// For users.
    pub text: String,
}

impl Failure {
    pub fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}

impl From<&StreamError> for Failure {
    fn from(error: &StreamError) -> Self {
        Self::new(error.kind.error_kind(), &error.message)
    }
}

/// The output of a tool: content for the model, details for the client, and what it spent on models of its own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolReport {
    pub content: Vec<Content>,
    pub details: Option<Value>,
    /// The result as data, for programs. Rare, so it takes little room.
    pub structured_content: Option<Box<Value>>,
    /// Rare, so it takes little room.
    pub usage: Option<Box<Usage>>,
    /// Whether the tool wants the run to end.
    pub ends_run: bool,
}
