//! The messages of a run, kept until the one record that ends the run lists them.
//!
//! The engine ends each attempt of a run with its messages and settles the run afterwards; pi-classic and omp have a
//! single end record for all of it.

use std::sync::Arc;

use bowline_core::message::Message;

/// The messages that the current run has added to the conversation. They are shared with it, not copied.
#[derive(Debug, Default)]
pub(crate) struct RunMessages {
    is_running: bool,
    messages: Vec<Arc<Message>>,
}

impl RunMessages {
    /// Starts a run and returns whether none was in progress: a retry or a queued message starts another attempt.
    pub fn start(&mut self) -> bool {
        !std::mem::replace(&mut self.is_running, true)
    }

    /// Adds the messages of an attempt.
    pub fn add(&mut self, attempt: &[Arc<Message>]) {
        self.messages.extend(attempt.iter().cloned());
    }

    /// Keeps the messages of the newest attempt only.
    pub fn replace(&mut self, attempt: &[Arc<Message>]) {
        self.messages = attempt.to_vec();
    }

    /// Ends the run and returns its messages.
    pub fn finish(&mut self) -> Vec<Arc<Message>> {
        self.is_running = false;
        std::mem::take(&mut self.messages)
    }
}
