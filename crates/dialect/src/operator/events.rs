//! The records of events.

use std::sync::Arc;

use bowline_core::event::{
    CompactionOutcome, CompactionReason, EntryName, Event, Failure, QueueCause, RunOutcome, ToolReport,
};
use bowline_core::message::{Arguments, Message, join_text};
use bowline_core::stream::Update;
use bowline_core::usage::Usage;
use bowline_wire::{self as wire, Record};

use super::Form;
use super::message_ids::MessageIds;
use super::messages::{self, Block};
use super::records::EventRecord;
use super::run_memory::RunMemory;
use super::streamed_answer::StreamedAnswer;
use crate::json;

/// Encodes events.
#[derive(Debug)]
pub(super) struct Events {
    wrapper: Wrapper,
    memory: RunMemory,
    ids: MessageIds,
    answer: StreamedAnswer,
}

/// What precedes and follows each event in its record.
#[derive(Debug)]
struct Wrapper {
    before: &'static [u8],
    after: &'static [u8],
}

impl Events {
    pub fn new(form: Form) -> Self {
        let wrapper = match form {
            Form::Document => Wrapper { before: br#"{"type":"event","event":"#, after: b"}" },
            Form::Code => Wrapper { before: b"", after: b"" },
        };
        Self {
            wrapper,
            memory: RunMemory::default(),
            ids: MessageIds::default(),
            answer: StreamedAnswer::default(),
        }
    }

    /// Forgets the messages of the session that was left.
    pub fn change_session(&mut self) {
        self.ids = MessageIds::default();
    }

    pub fn encode(&mut self, event: &Event, records: &mut Vec<Record>) {
        match event {
            Event::RunStart => {
                if self.memory.start_run() {
                    self.write(&EventRecord::AgentStart, records);
                }
            }
            Event::RunEnd { messages, will_retry, .. } => {
                self.memory.add_messages(self.ids.end_attempt(messages), *will_retry);
            }
            Event::Settled { outcome, .. } => self.settle(outcome, records),
            Event::TurnStart => {
                let (turn_index, timestamp) = (self.memory.turn(), 0.0);
                self.write(&EventRecord::TurnStart { turn_index, timestamp }, records);
            }
            Event::TurnEnd { message, tool_results } => self.end_turn(message, tool_results, records),
            Event::MessageStart(message) => self.start_message(message, records),
            Event::MessageUpdate { usage, update } => self.update(usage, update, records),
            Event::MessageEnd { message, entry } => self.end_message(message, entry.as_ref(), records),
            Event::ToolStart { call_id, tool, arguments } => {
                self.start_tool(call_id, tool, arguments, records);
            }
            Event::ToolProgress { call_id, partial, .. } => {
                let partial_tool_result = messages::partial_result(call_id, partial);
                self.write(&EventRecord::ToolExecutionUpdate { partial_tool_result }, records);
            }
            Event::ToolEnd { call_id, tool, result, is_error, .. } => {
                self.end_tool(call_id, tool, result, *is_error, records);
            }
            Event::QueueChanged { steering, follow_up, cause } => {
                self.change_queue(steering, follow_up, *cause, records);
            }
            Event::RetryStart { attempt, max_attempts, error, .. } => {
                let (attempt, max_retries) = (*attempt, *max_attempts);
                self.write(&EventRecord::RetryStart { attempt, max_retries, error }, records);
            }
            Event::RetryEnd { success, attempt, final_error } => {
                let (attempt, success, error) = (*attempt, *success, final_error.as_deref());
                self.write(&EventRecord::RetryEnd { attempt, success, error }, records);
            }
            Event::CompactionStart { reason } => {
                let (reason, tokens_before) = (reason.as_str(), None);
                self.write(&EventRecord::CompactionStart { reason, tokens_before }, records);
            }
            Event::CompactionEnd { reason, outcome, .. } => {
                self.write(&compaction_end(*reason, outcome), records);
            }
            Event::ThinkingLevelChanged { level, .. } => {
                self.write(&EventRecord::ThinkingLevelSelect { level: level.as_str() }, records);
            }
            // The protocol has no records for these, or they are about the user interface.
            Event::Delivering { .. }
            | Event::SummaryRetryScheduled { .. }
            | Event::SummaryRetryStart(_)
            | Event::SummaryRetryEnd
            | Event::EntryAppended { .. }
            | Event::SessionNameChanged { .. }
            | Event::ShellOutput { .. }
            | Event::RulesBroken { .. }
            | Event::TodoReminder { .. }
            | Event::OutputChecked { .. }
            | Event::LimitWarning(_)
            | Event::RunChanges(_)
            | Event::FilesRestored(_)
            | Event::PendingChanges(_)
            | Event::Ask(_)
            | Event::StorageFailed { .. }
            | Event::AskResolved { .. }
            | Event::Local(_)
            | Event::Display { .. }
            | Event::HostCall(_)
            | Event::HostCallOver { .. }
            | Event::ExtensionFailed(_)
            | Event::ProtectedPathChanged { .. }
            | Event::Subagent(_) => {}
        }
    }

    fn write(&self, record: &EventRecord<'_>, records: &mut Vec<Record>) {
        let mut line = self.wrapper.before.to_vec();
        json::write(&mut line, record);
        line.extend_from_slice(self.wrapper.after);
        records.push(Record::Plain(line));
    }

    /// Ends the run: its error, if it failed, then its messages, then `settled`.
    fn settle(&mut self, outcome: &RunOutcome, records: &mut Vec<Record>) {
        let messages = self.memory.end_run();
        let reason = match outcome {
            RunOutcome::Done => "completed",
            RunOutcome::Aborted => "aborted",
            RunOutcome::Failed(Failure { kind, text }) => {
                let record = EventRecord::AgentError { error: text, error_kind: *kind };
                self.write(&record, records);
                "error"
            }
        };
        self.write(&EventRecord::AgentEnd { messages: messages::identified(&messages), reason }, records);
        self.write(&EventRecord::Settled, records);
    }

    /// Ends a turn. Its tool results are a single message here, which is complete only now.
    fn end_turn(&mut self, message: &Message, tool_results: &[Arc<Message>], records: &mut Vec<Record>) {
        let Message::Assistant(answer) = message else { return };
        let id = self.ids.end_turn();
        if let Some(message) = messages::tool_message(tool_results, &id) {
            self.write(&EventRecord::MessageStart { message }, records);
        }
        if let Some(message) = messages::tool_message(tool_results, &id) {
            let entry_id = self.memory.result_entry();
            self.write(&EventRecord::MessageEnd { message, entry_id }, records);
        }
        let record = EventRecord::TurnEnd {
            turn_index: self.memory.turn(),
            message: messages::assistant(answer).named(self.ids.answer()),
            tool_results: messages::tool_message(tool_results, &id).into_iter().collect(),
        };
        self.write(&record, records);
        self.memory.end_turn();
    }

    fn start_message(&mut self, message: &Message, records: &mut Vec<Record>) {
        let Message::Assistant(answer) = message else { return };
        self.ids.start_answer(answer.timestamp);
        let id = self.ids.answer();
        self.answer.start(answer, id);
        self.write(&EventRecord::MessageStart { message: messages::assistant(answer).named(id) }, records);
    }

    fn end_message(&mut self, message: &Arc<Message>, entry: Option<&EntryName>, records: &mut Vec<Record>) {
        self.ids.end_message(message);
        let entry_id = entry.map(|entry| &**entry);
        match &**message {
            Message::Assistant(answer) => {
                let message = messages::assistant(answer).named(self.ids.answer());
                self.write(&EventRecord::MessageEnd { message, entry_id }, records);
            }
            Message::ToolResult(_) => self.memory.set_result_entry(entry),
            Message::User(user) => {
                let source = user.source.as_deref().unwrap_or("rpc");
                self.write(&EventRecord::Input { text: user.text(), source, entry_id }, records);
            }
            Message::Custom(_)
            | Message::BashExecution(_)
            | Message::BranchSummary(_)
            | Message::CompactionSummary(_) => {}
        }
    }

    fn start_tool(
        &mut self,
        call_id: &str,
        tool: &str,
        arguments: &Arc<Arguments>,
        records: &mut Vec<Record>,
    ) {
        self.memory.start_call(call_id, arguments);
        let call = EventRecord::ToolCall { tool_call_id: call_id, tool_name: tool, input: arguments };
        self.write(&call, records);
        let tool_call = messages::call(call_id, tool, arguments);
        self.write(&EventRecord::ToolExecutionStart { tool_call }, records);
    }

    fn end_tool(
        &mut self,
        call_id: &str,
        tool: &str,
        result: &ToolReport,
        is_error: bool,
        records: &mut Vec<Record>,
    ) {
        let input = self.memory.end_call(call_id);
        let content = join_text(&result.content);
        let record = EventRecord::ToolResult {
            tool_call_id: call_id,
            tool_name: tool,
            input: &input,
            content,
            is_error,
        };
        self.write(&record, records);
        let result = messages::result(call_id, &result.content, result.details.as_ref(), is_error);
        let tool_result = Block::ToolResult { result };
        self.write(&EventRecord::ToolExecutionEnd { tool_result }, records);
    }

    /// Encodes a change of the queues, of which clients are only sent additions.
    fn change_queue(
        &mut self,
        steering: &[String],
        follow_up: &[String],
        cause: QueueCause,
        records: &mut Vec<Record>,
    ) {
        let (queue, messages) = if self.memory.steering_grew(steering.len()) {
            ("steering", steering)
        } else {
            ("followup", follow_up)
        };
        if let (QueueCause::Queued, Some(message)) = (cause, messages.last()) {
            self.write(&EventRecord::QueueUpdate { queue, message, messages }, records);
        }
    }

    /// Encodes a delta of text or thinking as a message with nothing else. Tool calls are written when they are complete.
    fn update(&mut self, usage: &Usage, update: &Update, records: &mut Vec<Record>) {
        let (kind, content_index, delta) = match update {
            Update::TextDelta { content_index, delta } => ("text", *content_index, delta),
            Update::ThinkingDelta { content_index, delta } => ("thinking", *content_index, delta),
            Update::TextStart { .. }
            | Update::TextEnd { .. }
            | Update::ThinkingStart { .. }
            | Update::ThinkingEnd { .. }
            | Update::ToolCallStart { .. }
            | Update::ToolCallDelta { .. }
            | Update::ToolCallEnd { .. } => return,
        };
        let key = self.answer.key(content_index);
        let Some(tail) = self.answer.tail(usage) else { return };
        let mut prefix = self.wrapper.before.to_vec();
        prefix.extend_from_slice(br#"{"type":"message_update","message":{"contents":[{"type":""#);
        prefix.extend_from_slice(kind.as_bytes());
        prefix.extend_from_slice(br#"","content":""#);
        let mut suffix = b"\"".to_vec();
        if kind == "thinking" {
            suffix.extend_from_slice(br#","signature":null"#);
        }
        suffix.extend_from_slice(b"}]");
        suffix.extend_from_slice(tail);
        suffix.extend_from_slice(br#","content_index":"#);
        json::write(&mut suffix, &content_index);
        suffix.push(b'}');
        suffix.extend_from_slice(self.wrapper.after);
        let body = json::string_body(delta);
        records.push(wire::Delta { key, prefix: prefix.into(), body, suffix: suffix.into() }.into());
    }
}

fn compaction_end(reason: CompactionReason, outcome: &CompactionOutcome) -> EventRecord<'_> {
    let (result, error) = match outcome {
        CompactionOutcome::Done(result) => (Some(result), None),
        CompactionOutcome::Aborted => (None, None),
        CompactionOutcome::Failed(text) => (None, Some(text.as_str())),
    };
    EventRecord::CompactionEnd {
        reason: reason.as_str(),
        tokens_before: result.map(|result| result.tokens_before),
        summary: result.map(|result| result.summary.as_str()),
        aborted: *outcome == CompactionOutcome::Aborted,
        error,
    }
}
