//! The signals that end the process in an orderly way, and the exit code each stands for.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that are waited for.
#[derive(Debug)]
pub(crate) struct Signals {
    terminate: Signal,
    hang_up: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Starts to listen.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for a signal and returns the exit code that says which it was.
    pub async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.terminate.recv() => 143,
            _ = self.hang_up.recv() => 129,
            _ = self.interrupt.recv() => 130,
        }
    }
}
