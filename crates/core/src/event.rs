//! What the engine tells a client without being asked.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::command::Origin;
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
    /// The end of a stretch of a run, with the messages that it added.
    RunEnd {
        messages: Vec<Arc<Message>>,
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
    MessageEnd(Arc<Message>),
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
    QueueChanged {
        steering: Vec<String>,
        follow_up: Vec<String>,
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
    ThinkingLevelChanged(ThinkingLevel),
    SessionNameChanged(String),
    /// More output of a shell command that was started by hand.
    ShellOutput {
        origin: Origin,
        delta: String,
    },
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
