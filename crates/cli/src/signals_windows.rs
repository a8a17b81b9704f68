//! The event that shuts the process down on Windows: Ctrl-C, with the exit code of an interrupt.

use std::io;

/// The awaited event.
#[derive(Debug)]
pub(crate) struct Signals;

impl Signals {
    /// Starts listening.
    #[expect(clippy::unnecessary_wraps, reason = "the same signature as on Unix")]
    pub fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    /// Waits for the event and returns its exit code.
    pub async fn next(&mut self) -> u8 {
        match tokio::signal::ctrl_c().await {
            Ok(()) => 130,
            // Without a handler the system ends the process by itself.
            Err(_) => std::future::pending().await,
        }
    }
}
