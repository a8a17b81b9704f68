//! An end for a measure whose subject says nothing any more: a blocking read would wait for ever.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Ends this program unless it is dropped in time. The processes it has started see the end of their input.
pub(crate) struct Watchdog {
    _alive: Sender<()>,
}

impl Watchdog {
    pub(crate) fn start(what: &'static str, limit: Duration) -> Self {
        let (alive, ended) = channel::<()>();
        thread::spawn(move || {
            if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                eprintln!("bowline-bench: {what} has taken more than {} s: given up", limit.as_secs());
                std::process::exit(1);
            }
        });
        Self { _alive: alive }
    }
}
