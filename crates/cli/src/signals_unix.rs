//! The signals that shut the process down, with their exit codes.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// The awaited signals. A separate task waits for them, so that the loop that serves a client polls one future instead
/// of three.
#[derive(Debug)]
pub(crate) struct Signals(oneshot::Receiver<u8>);

impl Signals {
    /// Starts listening.
    pub fn listen() -> io::Result<Self> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hang_up = signal(SignalKind::hangup())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let (came, next) = oneshot::channel();
        tokio::spawn(async move {
            let code = tokio::select! {
                _ = terminate.recv() => 143,
                _ = hang_up.recv() => 129,
                _ = interrupt.recv() => 130,
            };
            let _ = came.send(code);
        });
        Ok(Self(next))
    }

    /// Waits for the first signal and returns its exit code.
    pub async fn next(&mut self) -> u8 {
        match (&mut self.0).await {
            Ok(code) => code,
            // The task only ends with the runtime.
            Err(_) => std::future::pending().await,
        }
    }
}
