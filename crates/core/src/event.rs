//! What the engine tells a client without being asked.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::ask::{Ask, AskId, Decision};
use crate::command::{Origin, Queue};
use crate::message::{Arguments, Content, Message};
use crate::stream::Update;
use crate::thinking::ThinkingLevel;
use crate::usage::Usage;

/// Something that happened.
///
/// A run is everything between `RunStart` and `Settled`. A retry closes the stretch so far with `RunEnd` and opens
/// another with `RunStart`; `Settled` comes exactly once for each prompt that started a run, and nothing automatic
/// follows it.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    RunStart,
    /// The end of a stretch of a run, with the messages that it added, and the whole conversation they are part of.
    RunEnd {
        messages: Vec<Arc<Message>>,
        conversation: Vec<Arc<Message>>,
        will_retry: bool,
    },
    Settled(RunOutcome),
    /// One call of the model and the tools it asked for.
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
    /// A message is complete, and on disk as `entry` if there is one.
    MessageEnd {
        message: Arc<Message>,
        entry: Option<EntryName>,
    },
    ToolStart {
        call_id: String,
        tool: String,
        arguments: Arc<Arguments>,
    },
    /// All that a tool has to show so far; replaces what it showed before.
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
    /// Messages that waited in a queue go into the turn that begins next.
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
    /// A request for a summary failed and is made again after `delay`.
    SummaryRetryScheduled {
        attempt: u32,
        max_attempts: u32,
        delay: Duration,
        error: String,
    },
    SummaryRetryStart(SummaryPurpose),
    /// The request succeeded in the end, or is given up. What came of it is told by what it was for.
    SummaryRetryEnd,
    /// An answer was taken out of the context, or put back, by an entry that no other event tells of. It is told as it
    /// stands in the file.
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
    /// More output of a shell command that was started by hand.
    ShellOutput {
        origin: Origin,
        delta: String,
    },
    /// A question to the user; whatever depends on the answer waits for it.
    Ask(Ask),
    /// A question was decided: by the user, or because nobody can answer it any more.
    AskResolved {
        id: AskId,
        decision: Decision,
    },
}

/// The id of an entry of the session's file.
pub type EntryName = Arc<str>;

/// Why the queues are no longer what they were.
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

/// What a summary is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryPurpose {
    Compaction(CompactionReason),
    /// It stands for a branch that the conversation leaves.
    Branch,
}

/// What came of a compaction.
#[derive(Debug, Clone, PartialEq)]
pub enum CompactionOutcome {
    Done(Arc<CompactionResult>),
    Aborted,
    Failed(String),
}

/// A compaction that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionResult {
    pub summary: String,
    /// The first entry that the model still sees as it was.
    pub first_kept_entry: EntryName,
    /// The entry that holds the summary.
    pub entry: EntryName,
    pub tokens_before: u64,
    pub estimated_tokens_after: u64,
    /// What the summary cost.
    pub usage: Usage,
    pub files: TouchedFiles,
}

/// The files that tools looked at and changed in what was summarised.
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
    Failed(String),
}

/// What a tool shows: for the model, and facts for the client.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolReport {
    pub content: Vec<Content>,
    pub details: Option<Value>,
}
