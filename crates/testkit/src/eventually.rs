//! Waiting for what another process does and does not announce.

use std::thread;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(10);

/// Waits until something is so; panics with `what` if it does not come to be.
#[track_caller]
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < LIMIT, "this does not happen: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
