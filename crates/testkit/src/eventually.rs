//! Waiting for effects of other processes that are not announced.

use std::thread;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(10);

/// Waits until a condition holds; panics with `what` if it does not in time.
#[track_caller]
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < LIMIT, "timed out waiting until {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
