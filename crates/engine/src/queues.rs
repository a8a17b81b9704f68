//! The two queues of messages that wait for a run.

use std::collections::VecDeque;

use bowline_core::command::{Draft, Queue, QueueMode};
use bowline_core::event::{Event, QueueCause};
use bowline_core::hook::CustomMessageDraft;
use bowline_core::message::Message;

/// The steering and follow-up queues with their modes.
#[derive(Debug)]
pub(crate) struct Queues {
    steering: VecDeque<Queued>,
    follow_up: VecDeque<Queued>,
    steering_mode: QueueMode,
    follow_up_mode: QueueMode,
    /// Messages of extensions that follow the next prompt.
    for_next_prompt: Vec<CustomMessageDraft>,
}

/// A message in a queue.
#[derive(Debug, Clone)]
pub(crate) enum Queued {
    User(Draft),
    /// A message of an extension, which clients do not see in the queue.
    Custom(CustomMessageDraft),
}

impl Queued {
    /// Returns the message that becomes part of the conversation.
    pub fn into_message(self, timestamp: u64) -> Message {
        match self {
            Self::User(draft) => draft.into_message(timestamp),
            Self::Custom(draft) => draft.into_message(timestamp),
        }
    }

    pub fn is_users(&self) -> bool {
        matches!(self, Self::User(_))
    }

    /// Tells whether the answer to it must have a form of its own.
    fn expects_output(&self) -> bool {
        matches!(self, Self::User(Draft { output: Some(_), .. }))
    }

    fn text(&self) -> Option<String> {
        match self {
            Self::User(draft) => Some(draft.text.clone()),
            Self::Custom(_) => None,
        }
    }
}

impl Queues {
    pub fn new(steering_mode: QueueMode, follow_up_mode: QueueMode) -> Self {
        Self {
            steering: VecDeque::new(),
            follow_up: VecDeque::new(),
            steering_mode,
            follow_up_mode,
            for_next_prompt: Vec::new(),
        }
    }

    pub fn push(&mut self, queue: Queue, message: Draft) {
        self.of(queue).push_back(Queued::User(message));
    }

    /// Queues a message of an extension.
    pub fn push_custom(&mut self, queue: Queue, message: CustomMessageDraft) {
        self.of(queue).push_back(Queued::Custom(message));
    }

    /// Keeps a message of an extension until the next prompt.
    pub fn push_for_next_prompt(&mut self, message: CustomMessageDraft) {
        self.for_next_prompt.push(message);
    }

    /// Takes the messages of extensions that follow the prompt.
    pub fn take_for_prompt(&mut self) -> Vec<CustomMessageDraft> {
        std::mem::take(&mut self.for_next_prompt)
    }

    /// Removes the oldest message of a queue.
    pub fn pop(&mut self, queue: Queue) -> Option<Queued> {
        self.of(queue).pop_front()
    }

    pub fn is_empty(&self, queue: Queue) -> bool {
        match queue {
            Queue::Steering => self.steering.is_empty(),
            Queue::FollowUp => self.follow_up.is_empty(),
        }
    }

    /// Returns how many messages of the user wait.
    pub fn len(&self) -> usize {
        let is_users = |queued: &&Queued| matches!(queued, Queued::User(_));
        self.steering.iter().chain(&self.follow_up).filter(is_users).count()
    }

    pub fn mode(&self, queue: Queue) -> QueueMode {
        match queue {
            Queue::Steering => self.steering_mode,
            Queue::FollowUp => self.follow_up_mode,
        }
    }

    pub fn set_mode(&mut self, queue: Queue, mode: QueueMode) {
        match queue {
            Queue::Steering => self.steering_mode = mode,
            Queue::FollowUp => self.follow_up_mode = mode,
        }
    }

    /// Returns the texts that are delivered next: one or all, as the queue's mode says.
    pub fn due(&self, queue: Queue) -> Vec<String> {
        self.waiting(queue).iter().take(self.due_count(queue)).filter_map(Queued::text).collect()
    }

    /// Returns the messages that are delivered next, without taking them.
    pub fn due_messages(&self, queue: Queue, timestamp: u64) -> Vec<Message> {
        let due = self.waiting(queue).iter().take(self.due_count(queue));
        due.map(|queued| queued.clone().into_message(timestamp)).collect()
    }

    /// Returns how many messages are delivered next. One whose answer must have a form of its own is not delivered with
    /// others, because one answer could not be the output of several.
    pub fn due_count(&self, queue: Queue) -> usize {
        let waiting = self.waiting(queue);
        let most = if self.mode(queue) == QueueMode::All { waiting.len() } else { 1 };
        match waiting.iter().position(Queued::expects_output) {
            Some(place) => most.min(place.max(1)),
            None => most,
        }
    }

    fn waiting(&self, queue: Queue) -> &VecDeque<Queued> {
        match queue {
            Queue::Steering => &self.steering,
            Queue::FollowUp => &self.follow_up,
        }
    }

    /// Empties both queues and returns their texts.
    pub fn clear(&mut self) -> (Vec<String>, Vec<String>) {
        let cleared = (texts(&self.steering), texts(&self.follow_up));
        self.steering.clear();
        self.follow_up.clear();
        self.for_next_prompt.clear();
        cleared
    }

    /// Returns the event that shows both queues as they are.
    pub fn changed(&self, cause: QueueCause) -> Event {
        Event::QueueChanged { steering: texts(&self.steering), follow_up: texts(&self.follow_up), cause }
    }

    fn of(&mut self, queue: Queue) -> &mut VecDeque<Queued> {
        match queue {
            Queue::Steering => &mut self.steering,
            Queue::FollowUp => &mut self.follow_up,
        }
    }
}

fn texts(queue: &VecDeque<Queued>) -> Vec<String> {
    queue.iter().filter_map(Queued::text).collect()
}
