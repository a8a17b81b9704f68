//! One run of a process, whichever extensions it serves: what is written to it, and what it was told of the session.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bowline_engine::Mirror;
use tokio_util::sync::CancellationToken;

use crate::process::connection::lock;
use crate::process::outgoing::{Outgoing, Sent};

/// What a process was last told of the session.
#[derive(Debug)]
pub(crate) struct Told {
    pub mirror: Arc<Mirror>,
    /// Whether it has the entries that came with it.
    pub has_entries: bool,
}

/// The way to a process.
pub(crate) struct Pipe {
    pub outgoing: Outgoing,
    last_call: AtomicU64,
    /// What the process was last told of the session.
    pub told: Mutex<Option<Told>>,
    /// Cancelled if the process cannot be spoken to any longer.
    pub broken: CancellationToken,
    cause: Mutex<Option<String>>,
    is_closed: AtomicBool,
    /// Called with the first event that is dropped.
    on_dropped: Box<dyn Fn() + Send + Sync>,
}

impl Pipe {
    pub fn new(on_dropped: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            outgoing: Outgoing::default(),
            last_call: AtomicU64::new(0),
            told: Mutex::default(),
            broken: CancellationToken::new(),
            cause: Mutex::default(),
            is_closed: AtomicBool::new(false),
            on_dropped: Box::new(on_dropped),
        }
    }

    /// Returns an id for a call. It is unique among the calls of the process.
    pub fn next_call(&self) -> u64 {
        self.last_call.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Looks at what became of a record. Returns whether the process may still get it.
    pub fn check(&self, sent: Sent) -> bool {
        match sent {
            Sent::TooMuch => {
                self.give_up("it does not read what it is sent".to_owned());
                return false;
            }
            Sent::FirstDropped => (self.on_dropped)(),
            Sent::Queued | Sent::Dropped => {}
        }
        true
    }

    /// Ends the process for a reason.
    pub fn give_up(&self, cause: String) {
        lock(&self.cause).get_or_insert(cause);
        self.broken.cancel();
    }

    /// Returns why the process was ended, if it was.
    pub fn cause(&self) -> Option<String> {
        lock(&self.cause).clone()
    }

    /// Sends nothing more than what waits.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.outgoing.close();
    }

    /// Tells whether nothing more is sent.
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }
}
