//! The ids of messages. They are derived from role and time, so that a message has the same id in every record; messages
//! of one role and millisecond are numbered in their order.

use std::collections::HashMap;
use std::sync::Arc;

use bowline_core::message::Message;

use super::messages::role_and_time;

/// Numbers messages of the same role and time.
#[derive(Debug, Default)]
pub(super) struct Numbering(HashMap<(&'static str, u64), usize>);

impl Numbering {
    /// Returns the id of the next message of a role and a time.
    pub fn next(&mut self, role: &'static str, timestamp: u64) -> String {
        let count = self.0.entry((role, timestamp)).or_default();
        *count += 1;
        match *count {
            1 => format!("{role}-{timestamp}"),
            number => format!("{role}-{timestamp}-{number}"),
        }
    }
}

/// The ids of the messages of a session, as events announce them.
#[derive(Debug, Default)]
pub(super) struct MessageIds {
    numbering: Numbering,
    /// The id of the model response that is streamed, or was last.
    answer: String,
    /// The id of the message that the tool results of the turn become, once there is one.
    results: Option<String>,
    /// The messages of the current attempt.
    attempt: Vec<(Arc<Message>, String)>,
}

impl MessageIds {
    /// Names a model response that starts.
    pub fn start_answer(&mut self, timestamp: u64) {
        self.answer = self.numbering.next("assistant", timestamp);
    }

    /// Returns the id of the newest model response.
    pub fn answer(&self) -> &str {
        &self.answer
    }

    /// Names a message that is complete. A model response was named when it started.
    pub fn end_message(&mut self, message: &Arc<Message>) {
        let (role, timestamp) = role_and_time(message);
        let id = match **message {
            Message::Assistant(_) => self.answer.clone(),
            Message::ToolResult(_) => {
                self.results.get_or_insert_with(|| self.numbering.next(role, timestamp)).clone()
            }
            _ => self.numbering.next(role, timestamp),
        };
        self.attempt.push((Arc::clone(message), id));
    }

    /// Returns the id of the message that the tool results of the turn become, and ends the turn.
    pub fn end_turn(&mut self) -> String {
        self.results.take().unwrap_or_default()
    }

    /// Returns the messages of the attempt that ends, with their ids.
    pub fn end_attempt(&mut self, messages: &[Arc<Message>]) -> Vec<(Arc<Message>, String)> {
        let announced = std::mem::take(&mut self.attempt);
        let ids: HashMap<_, _> = announced.iter().map(|(message, id)| (Arc::as_ptr(message), id)).collect();
        let identified = |message: &Arc<Message>| {
            let (role, timestamp) = role_and_time(message);
            let id = ids.get(&Arc::as_ptr(message)).map(|id| (*id).clone());
            (Arc::clone(message), id.unwrap_or_else(|| format!("{role}-{timestamp}")))
        };
        messages.iter().map(identified).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_one_millisecond_have_different_ids() {
        let mut ids = MessageIds::default();
        let messages: Vec<_> = (0..3).map(|_| Arc::new(Message::user("again", Vec::new(), 7))).collect();
        messages.iter().for_each(|message| ids.end_message(message));
        ids.start_answer(7);
        ids.start_answer(7);
        assert_eq!(ids.answer(), "assistant-7-2");
        let named: Vec<_> = ids.end_attempt(&messages[1..]).into_iter().map(|(_, id)| id).collect();
        assert_eq!(named, ["user-7-2", "user-7-3"]);
    }
}
