//! What clients are told of a session while something is in progress.

use std::sync::Arc;

use bowline_core::SessionTag;
use bowline_core::event::{Event, LocalEvent, ToolReport};
use bowline_core::message::{AssistantMessage, Content, Message, StopReason};
use bowline_core::stream::Update as Piece;
use bowline_core::ui::{Display, NotifyLevel};
use bowline_wire::Record;
use serde_json::{Value, json};

use super::client::Client;
use super::results::{Block, CallContent, ToolCallFields, Update};
use super::seats::{Call, Seat};
use super::{Acp, history, records, tool_calls};
use crate::json::milliseconds;

impl Acp {
    pub(super) fn session_event(&mut self, tag: SessionTag, event: &Event, records: &mut Vec<Record>) {
        match event {
            Event::Ask(ask) => self.ask(tag, ask, records),
            Event::AskResolved { id, cause, .. } => {
                self.ask_resolved(tag, *id, *cause, records);
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
                    let (id, text) = (self.messages.text(), text_of(&message.content));
                    let update = Update::UserMessageChunk { content: Block::Text { text }, message_id: &id };
                    records.push(records::update(&self.id, &update));
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
                self.call_ended(call_id, tool, result, *is_error, milliseconds(*duration), client, records);
            }
            Event::SessionNameChanged { name, .. } => {
                let update = Update::SessionInfo { title: Some(name) };
                records.push(records::update(&self.id, &update));
            }
            Event::Local(LocalEvent::Output(text)) => {
                self.messages.start();
                let (id, text) = (self.messages.text(), text.clone());
                let update = Update::AgentMessageChunk { content: Block::Text { text }, message_id: &id };
                records.push(records::update(&self.id, &update));
            }
            Event::RetryStart { attempt, max_attempts, delay, error } => {
                let seconds = delay.as_secs_f64().ceil();
                let title = format!("{error}; again in {seconds} s ({attempt} of {max_attempts})");
                self.notice("warning", &title, client, records);
            }
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
                    raw_input: Some(call.arguments.clone()),
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
        self.used = answer.usage.total_tokens;
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

    #[expect(clippy::too_many_arguments, reason = "it is what the event has")]
    fn call_ended(
        &mut self,
        id: &str,
        tool: &str,
        result: &ToolReport,
        is_error: bool,
        duration: u64,
        client: Client,
        records: &mut Vec<Record>,
    ) {
        self.call(id, tool, records);
        let Some(call) = self.calls.remove(id) else { return };
        let details = result.details.as_ref();
        let mut fields = ToolCallFields {
            tool_call_id: id.to_owned(),
            status: Some(if is_error { "failed" } else { "completed" }),
            locations: tool_calls::changed_lines(tool, &call.arguments, details, &self.folder),
            raw_output: tool_calls::raw_output(details, Some(duration)),
            ..ToolCallFields::default()
        };
        if tool == "bash" && client.shows_terminals {
            let output = text_of(&result.content);
            let mut meta = new_output(id, &call.shown, &output).unwrap_or_else(|| json!({}));
            let code = if is_error { Value::Null } else { json!(0) };
            meta["terminal_exit"] = json!({ "terminal_id": id, "exit_code": code, "signal": null });
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

/// Returns what a terminal is to show in addition. What is shown is the end of the output, so it may have lost its beginning.
fn new_output(id: &str, shown: &str, output: &str) -> Option<Value> {
    let new = output.strip_prefix(shown).unwrap_or(output);
    let data = new.replace("\r\n", "\n").replace('\n', "\r\n");
    (!new.is_empty()).then(|| json!({ "terminal_output": { "terminal_id": id, "data": data } }))
}
