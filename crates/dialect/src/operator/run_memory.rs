//! What operator-use's records repeat of earlier events of a run: the number of the turn, the arguments of a tool call,
//! the entry of a tool result and the messages of the whole run.

use std::collections::HashMap;
use std::sync::Arc;

use bowline_core::event::EntryName;
use bowline_core::message::{Arguments, Message, StopReason};

/// Remembers facts of the current run, and the length of the steering queue, which outlives it.
#[derive(Debug, Default)]
pub(super) struct RunMemory {
    /// Whether the start of a run was written, but not its end. Retries do not end it.
    is_running: bool,
    turn: u64,
    /// The messages that the run has added to the conversation.
    messages: Vec<(Arc<Message>, String)>,
    /// The entry of the newest tool result.
    result_entry: Option<EntryName>,
    /// The arguments of the running tool calls, by their ids.
    calls: HashMap<String, Arc<Arguments>>,
    /// The length of the steering queue when it last changed.
    steering: usize,
}

impl RunMemory {
    /// Starts a run and returns whether none was in progress: a retry starts another attempt of the same run.
    pub fn start_run(&mut self) -> bool {
        if self.is_running {
            return false;
        }
        self.is_running = true;
        self.turn = 0;
        true
    }

    /// Adds the messages of an attempt, without a failed response that is retried.
    pub fn add_messages(&mut self, messages: Vec<(Arc<Message>, String)>, will_retry: bool) {
        self.messages
            .extend(messages.into_iter().filter(|(message, _)| !(will_retry && has_failed(message))));
    }

    /// Ends the run and returns its messages with their ids.
    pub fn end_run(&mut self) -> Vec<(Arc<Message>, String)> {
        self.is_running = false;
        std::mem::take(&mut self.messages)
    }

    /// Returns the number of the current turn, starting at 0.
    pub fn turn(&self) -> u64 {
        self.turn
    }

    pub fn end_turn(&mut self) {
        self.turn += 1;
    }

    pub fn set_result_entry(&mut self, entry: Option<&EntryName>) {
        self.result_entry = entry.cloned();
    }

    pub fn result_entry(&self) -> Option<&str> {
        self.result_entry.as_deref()
    }

    pub fn start_call(&mut self, id: &str, arguments: &Arc<Arguments>) {
        self.calls.insert(id.to_owned(), Arc::clone(arguments));
    }

    /// Returns the arguments of a call that has ended.
    pub fn end_call(&mut self, id: &str) -> Arc<Arguments> {
        self.calls.remove(id).unwrap_or_default()
    }

    /// Takes the length of the steering queue and returns whether it grew.
    pub fn steering_grew(&mut self, length: usize) -> bool {
        length > std::mem::replace(&mut self.steering, length)
    }
}

fn has_failed(message: &Message) -> bool {
    message.as_assistant().is_some_and(|answer| answer.stop_reason == StopReason::Error)
}
