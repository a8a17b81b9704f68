//! What a child is doing and has used, from the events of its session.

use std::sync::Arc;
use std::time::Instant;

use bowline_core::event::{CompactionOutcome, Event};
use bowline_core::message::{Arguments, AssistantMessage};
use bowline_core::subagent::{RecentTool, SubagentProgress, SubagentStatus};
use bowline_core::usage::Usage;
use bowline_session::Clock;
use serde_json::Value;

use super::tool::TASK_TOOL;

/// How many of the last tools and lines are shown.
const RECENT_TOOLS: usize = 5;
const RECENT_LINES: usize = 5;

/// How much is shown of a tool's arguments, a line and a task, in characters.
const SHOWN_ARGUMENTS: usize = 200;
const SHOWN_ARGUMENT: usize = 100;
const SHOWN_LINE: usize = 200;
pub(super) const SHOWN_TASK: usize = 500;

/// Follows a child.
#[derive(Debug)]
pub(super) struct Observer {
    progress: SubagentProgress,
    usage: Usage,
    clock: Clock,
    started: Instant,
    running: Vec<RunningTool>,
    /// The text of the last answer that has any.
    text: String,
}

/// A tool that the child runs.
#[derive(Debug)]
struct RunningTool {
    call_id: String,
    tool: String,
    arguments: String,
    started: u64,
}

impl Observer {
    pub fn new(progress: SubagentProgress, clock: Clock) -> Self {
        Self {
            progress,
            usage: Usage::default(),
            clock,
            started: Instant::now(),
            running: Vec::new(),
            text: String::new(),
        }
    }

    /// Returns what the child is doing.
    pub fn progress(&mut self) -> &SubagentProgress {
        let elapsed = self.clock.since(self.started).as_millis();
        self.progress.duration_ms = u64::try_from(elapsed).unwrap_or(u64::MAX);
        &self.progress
    }

    /// Returns what the child and its own subagents have used.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Returns the text of the last answer that has any.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn set_status(&mut self, status: SubagentStatus, error: Option<String>) {
        self.progress.status = status;
        self.progress.error = error;
    }

    /// Forgets the text of earlier answers, because another one is asked for.
    pub fn forget_text(&mut self) {
        self.text.clear();
    }

    /// Takes an event in. Returns whether it changed what is shown.
    pub fn observe(&mut self, event: &Event) -> bool {
        match event {
            Event::MessageEnd { message, .. } => {
                let Some(answer) = message.as_assistant() else { return false };
                self.answered(answer);
            }
            Event::ToolStart { call_id, tool, arguments } => self.running.push(RunningTool {
                call_id: call_id.clone(),
                tool: tool.clone(),
                arguments: preview(arguments),
                started: self.clock.milliseconds(),
            }),
            Event::ToolEnd { call_id, tool, result, .. } => {
                self.tool_ended(call_id);
                if tool == TASK_TOOL
                    && let Some(usage) = usage_in(result.details.as_ref())
                {
                    self.add_usage(&usage);
                }
            }
            Event::CompactionEnd { outcome: CompactionOutcome::Done(result), .. } => {
                let usage = result.usage;
                self.add_usage(&usage);
            }
            _ => return false,
        }
        let newest = self.running.last();
        self.progress.current_tool = newest.map(|running| running.tool.clone());
        self.progress.current_tool_args = newest.map(|running| running.arguments.clone());
        self.progress.current_tool_start_ms = newest.map(|running| running.started);
        true
    }

    fn answered(&mut self, answer: &AssistantMessage) {
        self.progress.requests += 1;
        self.add_usage(&answer.usage);
        if answer.usage.total_tokens > 0 {
            self.progress.context_tokens = Some(answer.usage.total_tokens);
        }
        let text = answer.text();
        let lines = text.lines().rev().filter(|line| !line.trim().is_empty()).take(RECENT_LINES);
        let lines: Vec<_> = lines.map(|line| beginning(line.trim(), SHOWN_LINE)).collect();
        if !lines.is_empty() {
            self.progress.recent_output = lines;
            self.text = text;
        }
    }

    fn tool_ended(&mut self, call_id: &str) {
        let Some(index) = self.running.iter().position(|running| running.call_id == call_id) else { return };
        let RunningTool { tool, arguments, .. } = self.running.remove(index);
        self.progress.tool_count += 1;
        let ended = RecentTool { tool, args: arguments, end_ms: self.clock.milliseconds() };
        self.progress.recent_tools.insert(0, ended);
        self.progress.recent_tools.truncate(RECENT_TOOLS);
    }

    fn add_usage(&mut self, usage: &Usage) {
        self.usage.add(usage);
        self.progress.tokens = self.usage.total_tokens;
        self.progress.cost = self.usage.cost.total;
    }
}

/// Returns the usage in the details of a call of `task`.
fn usage_in(details: Option<&Value>) -> Option<Usage> {
    serde_json::from_value(details?.get("usage")?.clone()).ok()
}

/// Returns arguments as one short line, whatever their size.
fn preview(arguments: &Arc<Arguments>) -> String {
    let mut line = String::new();
    for (name, value) in arguments.iter() {
        let value = match value {
            Value::String(text) => beginning(text.lines().next().unwrap_or_default(), SHOWN_ARGUMENT),
            Value::Array(_) => "[…]".to_owned(),
            Value::Object(_) => "{…}".to_owned(),
            plain => plain.to_string(),
        };
        if !line.is_empty() {
            line.push_str(", ");
        }
        line.push_str(name);
        line.push_str(": ");
        line.push_str(&value);
        if line.len() > SHOWN_ARGUMENTS {
            break;
        }
    }
    beginning(&line, SHOWN_ARGUMENTS)
}

/// Returns the first characters of a text.
pub(super) fn beginning(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
