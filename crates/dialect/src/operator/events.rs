//! What events look like on the wire.

use std::collections::HashMap;
use std::sync::Arc;

use bowline_core::command::Queue;
use bowline_core::event::{CompactionOutcome, CompactionResult, EntryName, Event, QueueCause, RunOutcome};
use bowline_core::message::{Arguments, AssistantMessage, Message, StopReason, join_text};
use bowline_core::stream::Update;
use bowline_core::usage::Usage;
use bowline_wire::{self as wire, Record};

use super::Form;
use super::messages::{self, Block};
use super::records::{Said, SpokenCompaction};
use crate::json;

/// Room for the blocks of one message in the keys by which deltas join.
const BLOCKS_PER_MESSAGE: u64 = 1 << 20;

/// Encodes events, and remembers what one of them needs of earlier ones.
#[derive(Debug)]
pub(super) struct Events {
    /// What stands before and after each event.
    envelope: (&'static [u8], &'static [u8]),
    /// Whether a run was announced and its end was not. Retries do not end it.
    is_running: bool,
    turn: u64,
    /// What the run has added to the conversation.
    messages: Vec<Arc<Message>>,
    /// The entry of the newest tool result.
    result_entry: Option<EntryName>,
    /// The arguments of the calls that are under way.
    calls: HashMap<String, Arc<Arguments>>,
    /// How many steering messages waited when the queues were last shown.
    steering: usize,
    /// The answer that is being streamed, without its blocks.
    answer: Option<AssistantMessage>,
    /// What follows a delta of it.
    tail: Vec<u8>,
    /// Counts answers, so that deltas of different ones never join.
    answers: u64,
}

impl<'event> From<&'event CompactionResult> for SpokenCompaction<'event> {
    fn from(result: &'event CompactionResult) -> Self {
        Self {
            summary: &result.summary,
            first_kept_entry_id: &result.first_kept_entry,
            tokens_before: result.tokens_before,
            tokens_after: result.estimated_tokens_after,
        }
    }
}

impl Events {
    pub fn new(form: Form) -> Self {
        Self {
            envelope: match form {
                Form::Document => (br#"{"type":"event","event":"#, b"}"),
                Form::Code => (b"", b""),
            },
            is_running: false,
            turn: 0,
            messages: Vec::new(),
            result_entry: None,
            calls: HashMap::new(),
            steering: 0,
            answer: None,
            tail: Vec::new(),
            answers: 0,
        }
    }

    pub fn encode(&mut self, event: &Event, records: &mut Vec<Record>) {
        match event {
            Event::RunStart if self.is_running => {}
            Event::RunStart => {
                self.is_running = true;
                self.turn = 0;
                self.say(&Said::AgentStart, records);
            }
            Event::RunEnd { messages, will_retry, .. } => {
                // An answer that failed and is asked for again is not part of what was said.
                let stays = |message: &&Arc<Message>| !(*will_retry && has_failed(message));
                self.messages.extend(messages.iter().filter(stays).cloned());
            }
            Event::Settled(outcome) => self.settle(outcome, records),
            Event::TurnStart => {
                let (turn_index, timestamp) = (self.turn, 0.0);
                self.say(&Said::TurnStart { turn_index, timestamp }, records);
            }
            Event::TurnEnd { message, tool_results } => self.end_turn(message, tool_results, records),
            Event::MessageStart(message) => self.start_message(message, records),
            Event::MessageUpdate { usage, update } => self.update(usage, update, records),
            Event::MessageEnd { message, entry } => self.end_message(message, entry.as_ref(), records),
            _ => self.encode_beside(event, records),
        }
    }

    /// Encodes what happens beside the messages.
    fn encode_beside(&mut self, event: &Event, records: &mut Vec<Record>) {
        let said = match event {
            Event::ToolStart { call_id, tool, arguments } => {
                self.calls.insert(call_id.clone(), Arc::clone(arguments));
                self.say(
                    &Said::ToolCall { tool_call_id: call_id, tool_name: tool, input: arguments },
                    records,
                );
                Said::ToolExecutionStart { tool_call: messages::call(call_id, tool, arguments) }
            }
            Event::ToolProgress { call_id, partial, .. } => Said::ToolExecutionUpdate {
                partial_tool_result: messages::result(
                    call_id,
                    &partial.content,
                    partial.details.as_ref(),
                    false,
                ),
            },
            Event::ToolEnd { call_id, tool, result, is_error, .. } => {
                let input = self.calls.remove(call_id).unwrap_or_default();
                let content = join_text(&result.content);
                let said = Said::ToolResult {
                    tool_call_id: call_id,
                    tool_name: tool,
                    input: &input,
                    content,
                    is_error: *is_error,
                };
                self.say(&said, records);
                let result = messages::result(call_id, &result.content, result.details.as_ref(), *is_error);
                Said::ToolExecutionEnd { tool_result: Block::ToolResult { result } }
            }
            Event::QueueChanged { steering, follow_up, cause } => {
                let grew = steering.len() > self.steering;
                self.steering = steering.len();
                let (queue, messages) =
                    if grew { (Queue::Steering, steering) } else { (Queue::FollowUp, follow_up) };
                let (QueueCause::Queued, Some(message)) = (*cause, messages.last()) else { return };
                let queue = if queue == Queue::Steering { "steering" } else { "followup" };
                Said::QueueUpdate { queue, message, messages }
            }
            Event::RetryStart { attempt, max_attempts, error, .. } => {
                Said::RetryStart { attempt: *attempt, max_retries: *max_attempts, error }
            }
            Event::RetryEnd { success, attempt, final_error } => {
                Said::RetryEnd { attempt: *attempt, success: *success, error: final_error.as_deref() }
            }
            Event::CompactionStart { reason } => {
                Said::CompactionStart { reason: reason.as_str(), tokens_before: None }
            }
            Event::CompactionEnd { reason, outcome, .. } => {
                let done = if let CompactionOutcome::Done(result) = outcome { Some(result) } else { None };
                Said::CompactionEnd {
                    reason: reason.as_str(),
                    tokens_before: done.map(|result| result.tokens_before),
                    summary: done.map(|result| result.summary.as_str()),
                    aborted: *outcome == CompactionOutcome::Aborted,
                    error: if let CompactionOutcome::Failed(text) = outcome { Some(text) } else { None },
                }
            }
            Event::ThinkingLevelChanged { level, .. } => Said::ThinkingLevelSelect { level: level.as_str() },
            // What operator-use says nothing about.
            _ => return,
        };
        self.say(&said, records);
    }

    fn say(&self, said: &Said<'_>, records: &mut Vec<Record>) {
        let (before, after) = self.envelope;
        let mut line = before.to_vec();
        json::write(&mut line, said);
        line.extend_from_slice(after);
        records.push(Record::Plain(line));
    }

    /// Says that the run is over: why it failed, if so, what it added, and that nothing follows.
    fn settle(&mut self, outcome: &RunOutcome, records: &mut Vec<Record>) {
        self.is_running = false;
        let messages = std::mem::take(&mut self.messages);
        let reason = match outcome {
            RunOutcome::Done => "completed",
            RunOutcome::Aborted => "aborted",
            RunOutcome::Failed(error) => {
                self.say(&Said::AgentError { error }, records);
                "error"
            }
        };
        self.say(&Said::AgentEnd { messages: messages::conversation(&messages), reason }, records);
        self.say(&Said::Settled, records);
    }

    /// Closes a turn. The results of its calls are one message here, which is whole only now.
    fn end_turn(&mut self, message: &Message, tool_results: &[Arc<Message>], records: &mut Vec<Record>) {
        if let Some(message) = messages::tool_message(tool_results) {
            self.say(&Said::MessageStart { message }, records);
        }
        if let Some(message) = messages::tool_message(tool_results) {
            let entry_id = self.result_entry.as_deref();
            self.say(&Said::MessageEnd { message, entry_id }, records);
        }
        let said = Said::TurnEnd {
            turn_index: self.turn,
            message: messages::message(message),
            tool_results: messages::conversation(tool_results),
        };
        self.say(&said, records);
        self.turn += 1;
    }

    fn start_message(&mut self, message: &Message, records: &mut Vec<Record>) {
        let Message::Assistant(answer) = message else { return };
        self.answers += 1;
        self.answer = Some(AssistantMessage { content: Vec::new(), ..answer.clone() });
        self.tail.clear();
        self.say(&Said::MessageStart { message: messages::assistant(answer) }, records);
    }

    fn end_message(&mut self, message: &Message, entry: Option<&EntryName>, records: &mut Vec<Record>) {
        let entry_id = entry.map(|entry| &**entry);
        match message {
            Message::Assistant(answer) => {
                self.say(&Said::MessageEnd { message: messages::assistant(answer), entry_id }, records);
            }
            Message::ToolResult(_) => self.result_entry = entry.cloned(),
            Message::User(user) => {
                self.say(&Said::Input { text: user.text(), source: "rpc", entry_id }, records);
            }
            _ => {}
        }
    }

    /// Encodes a piece of text or thinking as a message that holds nothing else. Calls are shown when they are whole.
    fn update(&mut self, usage: &Usage, update: &Update, records: &mut Vec<Record>) {
        let (kind, content_index, delta) = match update {
            Update::TextDelta { content_index, delta } => ("text", *content_index, delta),
            Update::ThinkingDelta { content_index, delta } => ("thinking", *content_index, delta),
            _ => return,
        };
        let Some(answer) = &mut self.answer else { return };
        if self.tail.is_empty() || answer.usage != *usage {
            answer.usage = *usage;
            self.tail.clear();
            json::write(&mut self.tail, &messages::assistant(answer));
            // The message begins with its contents, which are empty: what follows them follows the piece.
            self.tail.drain(..EMPTY_CONTENTS.len());
        }
        let (before, after) = self.envelope;
        let mut prefix = before.to_vec();
        prefix.extend_from_slice(br#"{"type":"message_update","message":{"contents":[{"type":""#);
        prefix.extend_from_slice(kind.as_bytes());
        prefix.extend_from_slice(br#"","content":""#);
        let mut suffix = b"\"".to_vec();
        if kind == "thinking" {
            suffix.extend_from_slice(br#","signature":null"#);
        }
        suffix.extend_from_slice(b"}]");
        suffix.extend_from_slice(&self.tail);
        suffix.extend_from_slice(br#","content_index":"#);
        json::write(&mut suffix, &content_index);
        suffix.push(b'}');
        suffix.extend_from_slice(after);
        let key = self.answers * BLOCKS_PER_MESSAGE + content_index as u64;
        let body = json::string_body(delta);
        records.push(wire::Delta { key, prefix: prefix.into(), body, suffix: suffix.into() }.into());
    }
}

/// What the JSON of an answer without blocks begins with.
const EMPTY_CONTENTS: &[u8] = br#"{"contents":[]"#;

fn has_failed(message: &Message) -> bool {
    message.as_assistant().is_some_and(|answer| answer.stop_reason == StopReason::Error)
}
