//! The time that runs take.

use std::time::{Duration, Instant};

use bowline_core::ask::AskId;
use bowline_session::Clock;

/// The time that runs take, without that in which the user is asked something.
#[derive(Debug)]
pub(super) struct Stopwatch {
    clock: Clock,
    pub is_running: bool,
    pub since: Instant,
    pub run: Duration,
    pub session: Duration,
    pub questions: Vec<AskId>,
}

impl Stopwatch {
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            is_running: false,
            since: Instant::now(),
            run: Duration::ZERO,
            session: Duration::ZERO,
            questions: Vec::new(),
        }
    }

    pub fn is_going(&self) -> bool {
        self.is_running && self.questions.is_empty()
    }

    /// Returns the time since the last stop.
    pub fn lap(&self) -> Duration {
        if self.is_going() { self.clock.since(self.since) } else { Duration::ZERO }
    }

    /// Changes what decides whether time is counted.
    pub fn change(&mut self, change: impl FnOnce(&mut Self)) {
        let lap = self.lap();
        self.run += lap;
        self.session += lap;
        change(self);
        self.since = Instant::now();
    }
}
