//! A point in a stream that the test opens, so that a race always has the same winner.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// A closed gate. Clones are the same gate.
#[derive(Debug, Clone, Default)]
pub struct Gate {
    shared: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Debug, Default)]
struct State {
    is_open: bool,
    is_reached: bool,
}

impl Gate {
    /// Creates a closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the gate for good.
    pub fn open(&self) {
        self.shared.0.lock().expect("a gate's lock").is_open = true;
        self.shared.1.notify_all();
    }

    /// Blocks until a stream has reached the gate; everything before the gate has been sent by then.
    #[track_caller]
    pub fn wait_until_reached(&self, timeout: Duration) {
        let state = self.shared.0.lock().expect("a gate's lock");
        let (_state, result) = self
            .shared
            .1
            .wait_timeout_while(state, timeout, |state| !state.is_reached)
            .expect("a gate's lock");
        assert!(!result.timed_out(), "no stream came to the gate within {timeout:?}");
    }

    /// Notes that a stream has reached the gate.
    pub(crate) fn reach(&self) {
        self.shared.0.lock().expect("a gate's lock").is_reached = true;
        self.shared.1.notify_all();
    }

    /// Waits for a moment, and returns whether the gate is open.
    pub(crate) fn is_open_within(&self, moment: Duration) -> bool {
        let state = self.shared.0.lock().expect("a gate's lock");
        let (state, _result) =
            self.shared.1.wait_timeout_while(state, moment, |state| !state.is_open).expect("a gate's lock");
        state.is_open
    }
}
