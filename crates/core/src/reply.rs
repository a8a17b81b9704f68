//! How the engine answers a command.

use std::path::PathBuf;
use std::sync::Arc;

use crate::command::{Origin, QueueMode};
use crate::message::Message;
use crate::model::Model;
use crate::thinking::ThinkingLevel;
use crate::usage::Usage;

/// The one answer to a command.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub origin: Origin,
    pub result: Result<Answer, Refusal>,
}

/// What a command that succeeded gives back.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Done,
    Accepted(Disposition),
    /// The texts that were taken out of the queues.
    Cleared {
        steering: Vec<String>,
        follow_up: Vec<String>,
    },
    State(Box<State>),
    Messages(Vec<Arc<Message>>),
    Commands(Vec<SlashCommand>),
    Model(Arc<Model>),
    /// `None` when there is nothing to cycle through.
    CycledModel(Option<CycledModel>),
    Models(Vec<Arc<Model>>),
    /// `None` when the model does not think.
    CycledThinkingLevel(Option<ThinkingLevel>),
    ThinkingLevels(Vec<ThinkingLevel>),
    Shell(ShellResult),
    SessionSwitched,
    Statistics(Box<SessionStatistics>),
    LastAssistantText(Option<String>),
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// It started a run.
    Started,
    /// It waits in a queue.
    Queued,
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
    pub session_file: Option<PathBuf>,
    pub session_id: String,
    pub session_name: Option<String>,
    pub auto_compaction: bool,
    pub auto_retry: bool,
    pub message_count: usize,
    pub pending_message_count: usize,
    /// The names of the tools that the model may call.
    pub tools: Vec<String>,
    pub working_directory: PathBuf,
}

/// A model that was cycled to.
#[derive(Debug, Clone, PartialEq)]
pub struct CycledModel {
    pub model: Arc<Model>,
    pub thinking_level: ThinkingLevel,
    /// Whether the candidates were limited by the user.
    pub is_scoped: bool,
}

/// A command that a prompt can name with a leading slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlashCommand {
    pub name: String,
    pub description: Option<String>,
    /// What kind of thing provides it: `extension`, `prompt` or `skill`.
    pub source: &'static str,
}

/// The outcome of a shell command that was started by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellResult {
    pub output: String,
    pub exit_code: Option<i32>,
    pub cancelled: bool,
    pub truncated: bool,
    pub full_output_path: Option<String>,
}

/// Figures of a session, over all its branches.
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
}

/// How full the model's window is.
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
    /// A stable name for programs.
    pub code: RefusalCode,
    /// A sentence for people.
    pub message: String,
}

/// The stable names of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalCode {
    Busy,
    NoModel,
    NoCredentials,
    ModelNotFound,
    InvalidArgument,
    SessionUnavailable,
    StorageFailed,
    NotImplemented,
    ShuttingDown,
}

impl RefusalCode {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::NoModel => "no_model",
            Self::NoCredentials => "no_credentials",
            Self::ModelNotFound => "model_not_found",
            Self::InvalidArgument => "invalid_argument",
            Self::SessionUnavailable => "session_unavailable",
            Self::StorageFailed => "storage_failed",
            Self::NotImplemented => "not_implemented",
            Self::ShuttingDown => "shutting_down",
        }
    }
}

impl Refusal {
    /// Returns a refusal with a code and a text.
    pub fn new(code: RefusalCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}
