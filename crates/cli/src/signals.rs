//! The signals that end the process in an orderly way, and the exit code each stands for.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// The signals that are waited for. A task of its own waits for them, so that the loop that serves a client looks at one
/// thing instead of three each time it turns.
#[derive(Debug)]
pub(crate) struct Signals(oneshot::Receiver<u8>);

impl Signals {
    /// Starts to listen.
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

    /// Waits for the first signal and returns the exit code that says which it was.
    pub async fn next(&mut self) -> u8 {
        match (&mut self.0).await {
            Ok(code) => code,
            // The task only ends with the runtime.
            Err(_) => std::future::pending().await,
        }
    }
}
