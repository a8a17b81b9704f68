//! The two queues of messages that wait for a run.

use std::collections::VecDeque;

use bowline_core::command::{Draft, Queue, QueueMode};
use bowline_core::event::{Event, QueueCause};

/// The steering and follow-up queues with their modes.
#[derive(Debug)]
pub(crate) struct Queues {
    steering: VecDeque<Draft>,
    follow_up: VecDeque<Draft>,
    steering_mode: QueueMode,
    follow_up_mode: QueueMode,
}

impl Queues {
    pub fn new(steering_mode: QueueMode, follow_up_mode: QueueMode) -> Self {
        Self { steering: VecDeque::new(), follow_up: VecDeque::new(), steering_mode, follow_up_mode }
    }

    pub fn push(&mut self, queue: Queue, message: Draft) {
        self.of(queue).push_back(message);
    }

    /// Removes the oldest message of a queue.
    pub fn pop(&mut self, queue: Queue) -> Option<Draft> {
        self.of(queue).pop_front()
    }

    pub fn is_empty(&self, queue: Queue) -> bool {
        match queue {
            Queue::Steering => self.steering.is_empty(),
            Queue::FollowUp => self.follow_up.is_empty(),
        }
    }

    pub fn len(&self) -> usize {
        self.steering.len() + self.follow_up.len()
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
        let waiting = match queue {
            Queue::Steering => &self.steering,
            Queue::FollowUp => &self.follow_up,
        };
        let count = if self.mode(queue) == QueueMode::All { waiting.len() } else { 1 };
        waiting.iter().take(count).map(|message| message.text.clone()).collect()
    }

    /// Empties both queues and returns their texts.
    pub fn clear(&mut self) -> (Vec<String>, Vec<String>) {
        let cleared = (texts(&self.steering), texts(&self.follow_up));
        self.steering.clear();
        self.follow_up.clear();
        cleared
    }

    /// Returns the event that shows both queues as they are.
    pub fn changed(&self, cause: QueueCause) -> Event {
        Event::QueueChanged { steering: texts(&self.steering), follow_up: texts(&self.follow_up), cause }
    }

    fn of(&mut self, queue: Queue) -> &mut VecDeque<Draft> {
        match queue {
            Queue::Steering => &mut self.steering,
            Queue::FollowUp => &mut self.follow_up,
        }
    }
}

fn texts(queue: &VecDeque<Draft>) -> Vec<String> {
    queue.iter().map(|message| message.text.clone()).collect()
}
