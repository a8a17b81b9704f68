//! Ends a measure whose subject hangs: a blocking read would wait forever.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Ends this program unless dropped in time. The processes that it has started see the end of their stdin.
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
