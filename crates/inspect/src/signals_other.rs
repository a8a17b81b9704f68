//! Signals that are meant for the command, where there is only Ctrl-C, which the system sends to both.

use std::io;

/// The signals that are passed on.
pub(crate) struct Signals;

/// A signal that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrived;

impl Signals {
    /// Starts to listen.
    pub fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) -> Arrived {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Arrived
    }
}

impl Arrived {
    /// Does nothing: the command has got it too.
    pub fn pass_on(self, _process: u32) {}
}

/// Returns nothing: no process ends by a signal here.
pub(crate) fn ended_by(_status: std::process::ExitStatus) -> Option<i32> {
    None
}

/// Does nothing: there are no groups of processes.
pub(crate) fn separate(_command: &mut tokio::process::Command) {}
