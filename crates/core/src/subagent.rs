//! Subagents: sessions that a tool call started to carry out a task, as clients see them.

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::event::Event;
use crate::usage::plain_number;

/// A subagent at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Subagent {
    /// The session's file; none for a session in memory.
    pub session_file: Option<PathBuf>,
    /// The tool call that started it.
    pub parent_call_id: String,
    /// When it last changed, in milliseconds since 1970.
    pub last_update: u64,
    pub progress: SubagentProgress,
}

/// What a subagent is doing and has done so far.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentProgress {
    /// Its place among the tasks of its call, starting at 0.
    pub index: usize,
    /// Unique in its session. The id of a subagent's own subagent begins with that of the former and a dot.
    pub id: String,
    /// The agent whose instructions it has.
    pub agent: String,
    pub agent_source: AgentSource,
    pub status: SubagentStatus,
    /// The beginning of its task.
    pub task: String,
    /// The tool that it runs; absent while it runs none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_tool: Option<String>,
    /// The beginning of that tool's arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_tool_args: Option<String>,
    /// When that tool was started, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_tool_start_ms: Option<u64>,
    /// The last tools that ended, newest first.
    pub recent_tools: Vec<RecentTool>,
    /// The last lines that the model wrote, newest first.
    pub recent_output: Vec<String>,
    /// How many tools were called.
    pub tool_count: u64,
    /// How many responses of the model there were.
    pub requests: u64,
    /// The tokens of all responses.
    pub tokens: u64,
    /// The tokens of the last response and of what it answered; absent before the first response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    pub context_window: u64,
    /// The cost so far in US dollars.
    #[serde(serialize_with = "plain_number")]
    #[schemars(with = "f64")]
    pub cost: f64,
    pub duration_ms: u64,
    /// The model, as `provider/id`.
    pub resolved_model: String,
    /// Why it failed; absent if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A tool that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecentTool {
    pub tool: String,
    /// The beginning of its arguments.
    pub args: String,
    /// When it ended, in milliseconds since the Unix epoch.
    pub end_ms: u64,
}

/// Where the definition of an agent comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentSource {
    /// It is part of the program.
    Bundled,
    /// The user's own folder.
    User,
    /// The project's folder.
    Project,
}

/// How far a subagent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SubagentStatus {
    /// It waits for others to end.
    Pending,
    Running,
    Completed,
    Failed,
    Aborted,
}

impl SubagentStatus {
    /// Tells whether it has ended.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Aborted)
    }
}

/// Something that happened to a subagent.
#[derive(Debug, Clone, PartialEq)]
pub enum SubagentEvent {
    Started(Arc<Subagent>),
    Progress(Arc<Subagent>),
    /// It has ended, as its status says.
    Ended(Arc<Subagent>),
    /// An event of its session.
    Inner {
        id: Arc<str>,
        event: Arc<Event>,
    },
}

/// Which events of subagents are emitted to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Subscription {
    #[default]
    Off,
    /// Starts, progress and ends.
    Progress,
    /// Also every event of their sessions.
    Events,
}

impl Subscription {
    /// The names on the wire, in ascending order.
    pub const NAMES: &[&str] = &["off", "progress", "events"];

    const ALL: [Self; 3] = [Self::Off, Self::Progress, Self::Events];

    /// Returns the level's name on the wire.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Returns the level with this name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }
}
