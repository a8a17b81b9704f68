//! Commands that wait for their responses.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::error::{Ending, Error};

/// The data of a success response, or why the command failed.
pub(crate) type Outcome = Result<Option<Box<RawValue>>, Failed>;

/// Why there is no data.
#[derive(Debug)]
pub(crate) enum Failed {
    Refused { code: String, message: String },
    Ended(Arc<Ending>),
}

/// The commands that wait, by id.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// How many links have ended. A command that was meant for one of them never gets a response.
    ended: u64,
    last_ending: Option<Arc<Ending>>,
    waiting: HashMap<String, oneshot::Sender<Outcome>>,
}

/// A command that waits. It is forgotten when this is dropped.
#[derive(Debug)]
pub(crate) struct Entry<'pending> {
    pending: &'pending Pending,
    id: String,
    pub outcome: oneshot::Receiver<Outcome>,
}

impl Pending {
    /// Returns an id that no other command has.
    pub fn new_id(&self) -> String {
        let mut state = self.lock();
        state.next += 1;
        format!("c{}", state.next)
    }

    /// Returns the number of the current link.
    pub fn link(&self) -> u64 {
        self.lock().ended
    }

    /// Adds a command that is sent over a link.
    pub fn add(&self, id: &str, link: u64) -> Result<Entry<'_>, Error> {
        let (sender, outcome) = oneshot::channel();
        let mut state = self.lock();
        if state.ended != link {
            return Err(Error::Ended(state.last_ending.clone().unwrap_or_default()));
        }
        state.waiting.insert(id.to_owned(), sender);
        Ok(Entry { pending: self, id: id.to_owned(), outcome })
    }

    /// Adds a command that is the first to be sent over a new link, and returns its id.
    pub fn add_first(&self) -> (String, oneshot::Receiver<Outcome>) {
        let id = self.new_id();
        let (sender, outcome) = oneshot::channel();
        self.lock().waiting.insert(id.clone(), sender);
        (id, outcome)
    }

    /// Ends the wait of a command. Nobody waits for a response that is late.
    pub fn finish(&self, id: &str, outcome: Outcome) {
        let waiting = self.lock().waiting.remove(id);
        if let Some(waiting) = waiting {
            let _ = waiting.send(outcome);
        }
    }

    /// Ends the wait of all commands because the link has ended.
    pub fn end(&self, ending: &Arc<Ending>) {
        let mut state = self.lock();
        state.ended += 1;
        state.last_ending = Some(Arc::clone(ending));
        for (_, waiting) in state.waiting.drain() {
            let _ = waiting.send(Err(Failed::Ended(Arc::clone(ending))));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The map is consistent after every statement.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.pending.lock().waiting.remove(&self.id);
    }
}
