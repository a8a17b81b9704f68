//! What clients are told of a session while something is in progress.

use std::sync::Arc;
use std::time::Duration;

use bowline_core::SessionTag;
use bowline_core::event::{CompactionOutcome, Event, LocalEvent, ToolReport};
use bowline_core::message::{AssistantMessage, Content, Message, StopReason};
use bowline_core::stream::Update as Piece;
use bowline_core::ui::{Display, NotifyLevel};
use bowline_wire::Record;
use serde_json::{Value, json};

use super::client::Client;
use super::results::{Block, CallContent, ToolCallFields, Update};
use super::seats::{Call, Seat};
use super::{Acp, fitting, history, records, tool_calls};
use crate::json::milliseconds;

/// The shortest wait before a retry that clients without notices are told of.
const LONG_WAIT: Duration = Duration::from_secs(5);

impl Acp {
    pub(super) fn session_event(&mut self, tag: SessionTag, event: &Event, records: &mut Vec<Record>) {
        match event {
            Event::Ask(ask) => self.ask(tag, ask, records),
            Event::AskResolved { id, decision, cause } => {
                self.ask_resolved(tag, *id, decision, *cause, records);
            }
            Event::HostCall(call) => self.call_client(tag, call, records),
            Event::HostCallOver { id, .. } => self.client_call_over(tag, *id, records),
            Event::RunStart | Event::Settled { .. } => {
                let Some(seat) = self.seats.get_mut(tag) else { return };
                seat.has_run = matches!(event, Event::RunStart);
                seat.sent = None;
                if !seat.is_busy() {
                    seat.end_calls(records);
                    seat.show_time(records);
                    self.next_prompt(tag, records);
                }
            }
            _ => {
                let client = self.client.unwrap_or_default();
                if let Some(seat) = self.seats.get_mut(tag) {
                    seat.event(event, client, records);
                }
            }
        }
    }
}

/// The end of a call.
struct CallEnd<'event> {
    tool: &'event str,
    result: &'event ToolReport,
    is_error: bool,
    /// In milliseconds.
    duration: u64,
}

impl Seat {
    fn event(&mut self, event: &Event, client: Client, records: &mut Vec<Record>) {
        match event {
            Event::MessageStart(message) if matches!(**message, Message::Assistant(_)) => {
                self.messages.start();
            }
            Event::MessageUpdate { update, .. } => self.piece(update, client, records),
            Event::MessageEnd { message, .. } => match &**message {
                Message::Assistant(answer) => self.answer_ended(answer, records),
                Message::Custom(message) if message.display => {
                    self.messages.start();
                    let id = self.messages.text();
                    history::show_blocks(self, &id, &message.content, records);
                }
                _ => {}
            },
            Event::ToolStart { call_id, tool, arguments } => {
                self.call(call_id, tool, records).arguments = Arc::clone(arguments);
            }
            Event::ToolProgress { call_id, tool, partial, .. } => {
                self.call_runs(call_id, tool, partial, client, records);
            }
            Event::ToolEnd { call_id, tool, result, is_error, duration } => {
                let end = CallEnd { tool, result, is_error: *is_error, duration: milliseconds(*duration) };
                self.call_ended(call_id, &end, client, records);
            }
            Event::SessionNameChanged { name, .. } => {
                self.has_title = true;
                let update = Update::SessionInfo { title: Some(name), updated_at: None };
                records.push(records::update(&self.id, &update));
            }
            Event::ThinkingLevelChanged { level, .. } => {
                self.level = *level;
                Acp::show_options(self, records);
            }
            Event::Local(LocalEvent::Configuration { model, thinking_level }) => {
                (self.model, self.level) = (Some(Arc::clone(model)), *thinking_level);
                Acp::show_options(self, records);
            }
            Event::Local(LocalEvent::Output(text)) => self.say(text, records),
            Event::RetryStart { attempt, max_attempts, delay, error } => {
                let seconds = delay.as_secs_f64().ceil();
                let title = format!("{error}; again in {seconds} s ({attempt} of {max_attempts})");
                self.notice("warning", &title, client, records);
                if !client.shows_notices && *delay > LONG_WAIT {
                    self.messages.start();
                    let (message_id, text) = (self.messages.thinking(), title);
                    let content = Block::Text { text };
                    let update = Update::AgentThoughtChunk { content, message_id: &message_id };
                    records.push(records::update(&self.id, &update));
                }
            }
            Event::CompactionStart { .. } => {
                self.compactions += 1;
                self.compaction("in_progress", None, None, client, records);
            }
            Event::CompactionEnd { outcome, .. } => self.compacted(outcome, client, records),
            Event::ExtensionFailed(error) => self.notice("warning", &error.error, client, records),
            Event::Display { display: Display::Notify { message, level }, .. } => {
                let severity = match level {
                    Some(NotifyLevel::Error) => "error",
                    Some(NotifyLevel::Warning) => "warning",
                    _ => "info",
                };
                self.notice(severity, message, client, records);
            }
            _ => {}
        }
    }

    /// Shows a text of bowline itself as an answer.
    fn say(&mut self, text: &str, records: &mut Vec<Record>) {
        self.messages.start();
        let id = self.messages.text();
        for piece in fitting::pieces(text, fitting::LONGEST_TEXT) {
            let content = Block::Text { text: piece.to_owned() };
            let update = Update::AgentMessageChunk { content, message_id: &id };
            records.push(records::update(&self.id, &update));
        }
    }

    /// Tells clients that show compactions how far the last one is.
    fn compaction(
        &self,
        status: &'static str,
        summary: Option<&str>,
        error: Option<&str>,
        client: Client,
        records: &mut Vec<Record>,
    ) {
        if !client.shows_compactions {
            return;
        }
        let text = |text| Block::Text { text: fitting::end_of(text, fitting::LONGEST_TEXT) };
        let compaction_id = format!("{}-{}", self.messages.seat_name(), self.compactions);
        let summary = summary.map(|summary| vec![text(summary)]);
        let update = Update::Compaction { compaction_id, status, summary, error };
        records.push(records::update(&self.id, &update));
    }

    fn compacted(&mut self, outcome: &CompactionOutcome, client: Client, records: &mut Vec<Record>) {
        match outcome {
            CompactionOutcome::Done(result) => {
                self.compaction("completed", Some(&result.summary), None, client, records);
                self.cost += result.usage.cost.total;
                self.turn_usage.add(&result.usage);
                self.used = result.estimated_tokens_after;
                self.show_usage(records);
            }
            CompactionOutcome::Aborted => self.compaction("cancelled", None, None, client, records),
            CompactionOutcome::Failed(error) => {
                self.compaction("failed", None, Some(error), client, records);
            }
        }
    }

    fn notice(&self, severity: &'static str, title: &str, client: Client, records: &mut Vec<Record>) {
        if client.shows_notices {
            let update = Update::Notice { severity, title, description: None };
            records.push(records::update(&self.id, &update));
        }
    }

    /// A piece of an answer arrived.
    fn piece(&mut self, piece: &Piece, client: Client, records: &mut Vec<Record>) {
        let (kind, name, index, text) = match piece {
            Piece::TextDelta { content_index, delta } => {
                ("agent_message_chunk", self.messages.text(), content_index, delta)
            }
            Piece::ThinkingDelta { content_index, delta } => {
                ("agent_thought_chunk", self.messages.thinking(), content_index, delta)
            }
            Piece::ToolCallStart { id, name, .. } => {
                self.call(id, name, records);
                return;
            }
            Piece::ToolCallEnd { call, .. } => {
                let folder = self.folder.clone();
                let known = self.call(&call.id, &call.name, records);
                known.arguments = Arc::new(call.arguments.clone());
                let shown = tool_calls::shown(&call.name, &call.arguments, &folder);
                let has_terminal = call.name == "bash" && client.shows_terminals;
                let content = if has_terminal {
                    Some(vec![CallContent::Terminal { terminal_id: call.id.clone() }])
                } else {
                    tool_calls::planned_change(&call.name, &call.arguments, &folder)
                };
                let meta = has_terminal.then(|| {
                    json!({ "terminal_info": { "terminal_id": call.id, "cwd": folder.to_string_lossy() } })
                });
                let fields = ToolCallFields {
                    tool_call_id: call.id.clone(),
                    title: Some(shown.title),
                    content,
                    locations: Some(shown.locations).filter(|places| !places.is_empty()),
                    raw_input: Some(fitting::arguments(&call.arguments)),
                    meta,
                    ..ToolCallFields::default()
                };
                return records.push(records::update(&self.id, &Update::ToolCallChange(Box::new(fields))));
            }
            _ => return,
        };
        records.push(records::chunk(&self.id, kind, &name, text, self.messages.key(*index)));
    }

    fn answer_ended(&mut self, answer: &AssistantMessage, records: &mut Vec<Record>) {
        self.is_cut_off = answer.stop_reason == StopReason::Length;
        self.cost += answer.usage.cost.total;
        self.turn_usage.add(&answer.usage);
        self.last_answer = answer.timestamp;
        if answer.usage.total_tokens > 0 {
            self.used = answer.usage.total_tokens;
        }
        self.show_usage(records);
    }

    /// Returns a call, of which the client is told if it does not know it yet.
    fn call(&mut self, id: &str, tool: &str, records: &mut Vec<Record>) -> &mut Call {
        if !self.calls.contains_key(id) {
            let fields = ToolCallFields {
                tool_call_id: id.to_owned(),
                title: Some(tool.to_owned()),
                name: Some(tool.to_owned()),
                kind: Some(tool_calls::kind(tool)),
                status: Some("pending"),
                ..ToolCallFields::default()
            };
            records.push(records::update(&self.id, &Update::ToolCall(Box::new(fields))));
        }
        self.calls.entry(id.to_owned()).or_default()
    }

    /// The user has agreed to a call, so it runs now.
    pub(super) fn call_begins(&mut self, id: &str, records: &mut Vec<Record>) {
        let Some(call) = self.calls.get_mut(id) else { return };
        if !std::mem::replace(&mut call.is_running, true) {
            let status = Some("in_progress");
            let fields = ToolCallFields { tool_call_id: id.to_owned(), status, ..ToolCallFields::default() };
            records.push(records::update(&self.id, &Update::ToolCallChange(Box::new(fields))));
        }
    }

    /// A call that runs has written something. The first report shows that it has begun.
    fn call_runs(
        &mut self,
        id: &str,
        tool: &str,
        partial: &ToolReport,
        client: Client,
        records: &mut Vec<Record>,
    ) {
        self.call(id, tool, records);
        let Some(call) = self.calls.get_mut(id) else { return };
        let has_begun = std::mem::replace(&mut call.is_running, true);
        let output = text_of(&partial.content);
        if has_begun && output == call.shown {
            return;
        }
        let mut fields = ToolCallFields { tool_call_id: id.to_owned(), ..ToolCallFields::default() };
        fields.status = (!has_begun).then_some("in_progress");
        if tool == "bash" && client.shows_terminals {
            fields.meta = new_output(id, &call.shown, &output);
        } else if !output.is_empty() {
            fields.content =
                Some(tool_calls::content(tool, &call.arguments, &partial.content, None, true, &self.folder));
        }
        call.shown = output;
        records.push(records::update(&self.id, &Update::ToolCallChange(Box::new(fields))));
    }

    fn call_ended(&mut self, id: &str, end: &CallEnd<'_>, client: Client, records: &mut Vec<Record>) {
        let &CallEnd { tool, result, is_error, duration } = end;
        self.call(id, tool, records);
        let Some(call) = self.calls.remove(id) else { return };
        let details = result.details.as_ref();
        let output = text_of(&result.content);
        let mut facts = tool_calls::raw_output(details, Some(duration));
        let exit_code = tool_calls::exit_code(tool, &output, is_error);
        if let (Some(facts), Some(code)) = (&mut facts, exit_code) {
            facts["exitCode"] = json!(code);
        }
        let mut fields = ToolCallFields {
            tool_call_id: id.to_owned(),
            title: tool_calls::final_title(tool, details),
            status: Some(if is_error { "failed" } else { "completed" }),
            locations: tool_calls::found_places(tool, &call.arguments, details, &output, &self.folder),
            raw_output: facts,
            ..ToolCallFields::default()
        };
        if tool == "bash" && client.shows_terminals {
            let mut meta = new_output(id, &call.shown, &output).unwrap_or_else(|| json!({}));
            meta["terminal_exit"] = json!({ "terminal_id": id, "exit_code": exit_code, "signal": null });
            fields.meta = Some(meta);
        } else {
            let content = &result.content;
            fields.content =
                Some(tool_calls::content(tool, &call.arguments, content, details, is_error, &self.folder));
        }
        records.push(records::update(&self.id, &Update::ToolCallChange(Box::new(fields))));
        if tool == "todo"
            && let Some(details) = details
        {
            records.extend(history::plan(details).map(|plan| records::update(&self.id, &plan)));
        }
    }

    /// Ends the calls that have no result.
    pub(super) fn end_calls(&mut self, records: &mut Vec<Record>) {
        for (id, _) in self.calls.drain() {
            let fields =
                ToolCallFields { tool_call_id: id, status: Some("failed"), ..ToolCallFields::default() };
            records.push(records::update(&self.id, &Update::ToolCallChange(Box::new(fields))));
        }
    }
}

fn text_of(content: &[Content]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        Content::Text { text } => Some(text.as_str()),
        Content::Image { .. } => None,
    });
    texts.collect()
}

/// The longest part of what a terminal shows by which the place is found where it goes on.
const LONGEST_OVERLAP: usize = 2 * 1024;

/// Returns what a terminal is to show in addition. What is reported is the end of the output, so it may have lost its
/// beginning.
fn new_output(id: &str, shown: &str, output: &str) -> Option<Value> {
    let new = output.strip_prefix(shown).unwrap_or_else(|| {
        let last = &shown[shown.ceil_char_boundary(shown.len().saturating_sub(LONGEST_OVERLAP))..];
        output.rfind(last).map_or(output, |at| &output[at + last.len()..])
    });
    let data = fitting::end_of(new, fitting::LONGEST_TEXT).replace("\r\n", "\n").replace('\n', "\r\n");
    (!new.is_empty()).then(|| json!({ "terminal_output": { "terminal_id": id, "data": data } }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(shown: &str, output: &str, expected: Option<&str>) {
        let found = new_output("c", shown, output);
        let data = found.as_ref().map(|meta| meta["terminal_output"]["data"].as_str().unwrap());
        assert_eq!(data, expected);
    }

    #[test]
    fn terminal_is_sent_only_what_it_does_not_show() {
        check("", "a\n", Some("a\r\n"));
        check("a\n", "a\nb\r\n", Some("b\r\n"));
        check("a\n", "a\n", None);
        // The beginning was dropped.
        check("one\ntwo\n", "two\nthree\n", Some("two\r\nthree\r\n"));
        let long: String = (0..2000).map(|number| format!("{number}\n")).collect();
        let later = format!("{}end\n", &long[500..]);
        check(&long, &later, Some("end\r\n"));
    }
}
