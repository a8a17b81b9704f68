//! What the agent is doing: the row above the line that the user types, and the rows that answers and tool calls leave.

use std::time::{Duration, Instant};

use bowline_client::{CompactionReason, Content, Event, Message, Step, ToolReport};

use unicode_width::UnicodeWidthStr as _;

use super::markdown::Markdown;
use super::screen::Screen;
use super::style::Style;
use super::tool_rows;
use crate::terminal::{plain, plain_line};

/// The row above the line is no shorter than this, if the terminal has room.
const NARROWEST_STATUS: usize = 36;

const STOP_HINT: &str = " · Ctrl-C stops it";

const SPINNER: [&str; 8] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// A tool call that is running.
#[derive(Debug)]
struct Call {
    id: String,
    summary: String,
    started: Instant,
}

/// Follows the events.
#[derive(Debug)]
pub(super) struct Activity {
    screen: Screen,
    markdown: Markdown,
    calls: Vec<Call>,
    /// When the run in progress started.
    running_since: Option<Instant>,
    /// What the model is doing, if no tool runs.
    doing: &'static str,
    is_compacting: bool,
    /// Whether the user is asked something.
    is_asking: bool,
    /// How many messages were sent and not accepted yet.
    sending: usize,
    /// How many messages wait for the run.
    queued: usize,
    /// What is shown when nothing is in progress.
    at_rest: String,
    frame: usize,
    /// Whether the answer has shown anything yet.
    has_shown_text: bool,
}

impl Activity {
    pub fn new(screen: Screen) -> Self {
        let markdown = Markdown::new(screen.palette, screen.width());
        Self {
            screen,
            markdown,
            calls: Vec::new(),
            running_since: None,
            doing: "waiting for the model",
            is_compacting: false,
            is_asking: false,
            sending: 0,
            queued: 0,
            at_rest: String::new(),
            frame: 0,
            has_shown_text: false,
        }
    }

    /// Tells whether anything is in progress that can be stopped.
    pub fn is_busy(&self) -> bool {
        self.running_since.is_some() || self.is_compacting || self.sending > 0
    }

    /// Says that the next line answers a question, or does not any more.
    pub fn set_asking(&mut self, is_asking: bool) {
        self.is_asking = is_asking;
        self.draw();
    }

    /// Takes note of a message that is sent, or of one that was accepted or refused.
    pub fn set_sending(&mut self, is_sent: bool) {
        self.sending = if is_sent { self.sending + 1 } else { self.sending.saturating_sub(1) };
        self.draw();
    }

    pub fn is_running(&self) -> bool {
        self.running_since.is_some()
    }

    /// Shows this above the line when nothing is in progress.
    pub fn set_at_rest(&mut self, text: &str) {
        self.at_rest = plain_line(text);
        self.draw();
    }

    /// Draws the row above the line.
    pub fn draw(&mut self) {
        // Where a terminal that becomes narrower wraps the row, the line editor does not know and leaves a part of it. So there
        // is room for half of the terminal to go.
        let width = self.screen.width().saturating_sub(1);
        let width = width.min((width / 2).max(NARROWEST_STATUS));
        let busy_row = || {
            let row = self.busy_row();
            let hinted = format!("{row}{STOP_HINT}");
            if !self.is_compacting && self.calls.is_empty() && hinted.width() <= width { hinted } else { row }
        };
        let row = if self.is_asking {
            "your answer · Ctrl-C refuses".to_owned()
        } else if self.is_busy() {
            busy_row()
        } else {
            self.at_rest.clone()
        };
        let shown = tool_rows::cut(&row, width);
        self.screen.set_status(self.screen.palette.paint(Style::Faint, &shown));
    }

    /// Turns the spinner and draws the row.
    pub fn tick(&mut self) {
        self.frame = (self.frame + 1) % SPINNER.len();
        self.draw();
    }

    fn busy_row(&self) -> String {
        let spinner = SPINNER[self.frame];
        let waiting = if self.queued > 0 { format!(" · {} queued", self.queued) } else { String::new() };
        match (&self.calls[..], self.is_compacting) {
            (_, true) => format!("{spinner} compacting the conversation{waiting}"),
            ([], _) if self.running_since.is_none() => format!("{spinner} sending"),
            ([], _) => {
                let since = self.running_since.map(|since| since.elapsed()).unwrap_or_default();
                format!("{spinner} {} · {}{waiting}", self.doing, short(since))
            }
            ([call, others @ ..], _) => {
                let others =
                    if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
                // The time comes first, because a long command is cut off at its end.
                format!("{spinner} {} {}{others}{waiting}", short(call.started.elapsed()), call.summary)
            }
        }
    }

    /// Shows what an event says.
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::AgentStart(_) => {
                self.running_since.get_or_insert_with(Instant::now);
                self.doing = "waiting for the model";
            }
            Event::AgentSettled(record) => {
                self.end_answer();
                self.running_since = None;
                self.calls.clear();
                match &record.error {
                    Some(error) => self.show_error(error),
                    None if record.aborted => self.show(Style::Bad, "stopped"),
                    None => {}
                }
            }
            Event::MessageStart(record) => {
                if let Message::Assistant(_) = &record.message {
                    self.has_shown_text = false;
                }
            }
            Event::MessageUpdate(record) => self.step(&record.assistant_message_event),
            Event::MessageEnd(record) => self.message_ended(&record.message),
            Event::ToolExecutionStart(record) => {
                let summary = tool_rows::summary(&record.tool_name, &record.args);
                let id = record.tool_call_id.clone();
                self.calls.push(Call { id, summary, started: Instant::now() });
            }
            Event::ToolExecutionEnd(record) => {
                let took = Duration::from_millis(u64::try_from(record.duration_ms).unwrap_or_default());
                self.call_ended(&record.tool_call_id, &record.result, record.is_error, took);
            }
            Event::QueueUpdate(record) => self.queued = record.steering.len() + record.follow_up.len(),
            Event::AutoRetryStart(record) => {
                let text = format!(
                    "{} · trying again ({} of {})",
                    record.error_message, record.attempt, record.max_attempts
                );
                self.show(Style::Question, &text);
            }
            Event::CompactionStart(_) => self.is_compacting = true,
            Event::CompactionEnd(record) => {
                self.is_compacting = false;
                let is_manual = record.reason == CompactionReason::Manual;
                // Who has asked for it gets the error as the answer.
                if let Some(error) = record.error_message.as_ref().filter(|_| !is_manual) {
                    self.show(Style::Bad, &format!("not compacted: {error}"));
                }
            }
            Event::ExtensionError(record) => {
                self.show(Style::Bad, &format!("{}: {}", record.extension_path, record.error));
            }
            Event::ProtectedPathChanged(record) => {
                self.show(Style::Bad, &format!("{} is protected and was restored", record.path));
            }
            Event::LimitWarning(record) => {
                let text = format!(
                    "nearly at the limit of {}: {} of {}",
                    record.limit.as_str(),
                    record.used,
                    record.max
                );
                self.show(Style::Question, &text);
            }
            _ => return,
        }
        self.draw();
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::TextDelta(step) => {
                self.doing = "answering";
                self.markdown.set_width(self.screen.width());
                let rows = self.markdown.feed(&step.delta);
                self.show_answer(&rows);
            }
            Step::TextEnd(_) => self.end_answer(),
            Step::ThinkingDelta(_) => self.doing = "thinking",
            Step::ToolcallDelta(_) => self.doing = "calling a tool",
            _ => {}
        }
    }

    fn show_answer(&mut self, rows: &[String]) {
        if !rows.is_empty() && !self.has_shown_text {
            self.has_shown_text = true;
            self.screen.show_row("");
        }
        self.screen.show(rows);
    }

    fn end_answer(&mut self) {
        let rows = self.markdown.finish();
        self.show_answer(&rows);
    }

    fn message_ended(&mut self, message: &Message) {
        match message {
            Message::Assistant(_) => {
                self.end_answer();
                self.doing = "waiting for the model";
            }
            Message::Custom(message) if message.display => {
                let value = serde_json::to_value(&message.content).unwrap_or_default();
                let text = match value.as_str() {
                    Some(text) => text.to_owned(),
                    None => value
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(|block| block["text"].as_str())
                        .collect(),
                };
                self.show(Style::Plain, &text);
            }
            _ => {}
        }
    }

    fn call_ended(&mut self, id: &str, result: &ToolReport, is_error: bool, took: Duration) {
        let place = self.calls.iter().position(|call| call.id == id);
        let summary = place.map(|place| self.calls.remove(place).summary).unwrap_or_default();
        let (palette, width) = (self.screen.palette, self.screen.width());
        let mut rows = vec![tool_rows::ended(palette, &summary, is_error, took, width)];
        if is_error {
            let text: Vec<_> = result.content.iter().filter_map(text_of).collect();
            rows.extend(tool_rows::error(palette, &text.join("\n"), width));
        } else if let Some(details) = &result.details {
            rows.extend(tool_rows::change(palette, details, width));
        }
        self.screen.show(&rows);
    }

    fn show_error(&self, error: &str) {
        self.show(Style::Bad, error);
    }

    /// Shows a text that is not the model's.
    pub fn show(&self, style: Style, text: &str) {
        let text = plain(text);
        let rows: Vec<_> = text.lines().map(|line| self.screen.palette.paint(style, line)).collect();
        self.screen.show(&rows);
    }
}

fn text_of(content: &Content) -> Option<&str> {
    match content {
        Content::Text(block) => Some(block.text.as_str()),
        _ => None,
    }
}

/// Returns a time in whole seconds, which changes no more often than it is worth.
fn short(time: Duration) -> String {
    tool_rows::seconds(Duration::from_secs(time.as_secs().max(1))).replace(".0s", "s")
}
