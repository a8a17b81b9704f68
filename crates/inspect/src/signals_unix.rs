//! Signals that are meant for the command.

use std::io;

use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

/// The signals that are passed on.
pub(crate) struct Signals {
    streams: Vec<(Signal, Stream)>,
}

/// A signal that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrived(Signal);

impl Signals {
    /// Starts to listen.
    pub fn listen() -> io::Result<Self> {
        let listen = |number: Signal| Ok((number, signal(SignalKind::from_raw(number.as_raw()))?));
        let streams =
            [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR2].map(listen);
        Ok(Self { streams: streams.into_iter().collect::<io::Result<_>>()? })
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) -> Arrived {
        std::future::poll_fn(|context| {
            for (number, stream) in &mut self.streams {
                if stream.poll_recv(context).is_ready() {
                    return std::task::Poll::Ready(Arrived(*number));
                }
            }
            std::task::Poll::Pending
        })
        .await
    }
}

impl Arrived {
    /// Passes the signal on to a process. It may have ended meanwhile.
    pub fn pass_on(self, process: u32) {
        if let Some(process) = i32::try_from(process).ok().and_then(Pid::from_raw) {
            let _ = kill_process(process, self.0);
        }
    }
}

/// Returns the number of the signal that ended a process.
pub(crate) fn ended_by(status: std::process::ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt as _;
    status.signal()
}

/// Keeps a command out of reach of the terminal's signals.
pub(crate) fn separate(command: &mut tokio::process::Command) {
    command.process_group(0);
}
