//! The event that shuts the process down on Windows: Ctrl-C, with the exit code of an interrupt.

use std::io;

use bowline_server::Interruption;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Nothing to start: there is no thread for signals here.
#[derive(Debug)]
pub(crate) struct Watch;

impl Watch {
    /// Does nothing.
    pub(crate) fn start(self) {}
}

/// Starts to listen and returns where the event arrives. Call it in a runtime.
#[expect(clippy::unnecessary_wraps, reason = "the same signature as on Unix")]
pub(crate) fn listen() -> io::Result<(UnboundedReceiver<Interruption>, Watch)> {
    let (sender, receiver) = unbounded_channel();
    tokio::spawn(async move {
        // Without a handler the system ends the process by itself.
        if tokio::signal::ctrl_c().await.is_ok() {
            let _ = sender.send(Interruption::Stop(130));
        }
    });
    Ok((receiver, Watch))
}
