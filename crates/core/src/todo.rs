//! The list of tasks that the model keeps while it works, in the JSON form of session files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A group of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TodoPhase {
    pub name: String,
    pub tasks: Vec<TodoTask>,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TodoTask {
    /// What is to be done; it also identifies the task.
    pub content: String,
    pub status: TodoStatus,
    /// Why the task is blocked, if somebody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocker: Option<String>,
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
    /// It will not be done.
    Abandoned,
    /// It cannot go on for now.
    Blocked,
}

impl TodoStatus {
    /// The names on the wire.
    pub const NAMES: [&'static str; 5] = ["pending", "in_progress", "completed", "abandoned", "blocked"];

    /// Tells whether the model can work on the task.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::InProgress)
    }
}
