//! The signals that shut the process down or abort what it is doing.
//!
//! As soon as there is work that the loop could be stuck in, a thread of their own waits for them. So a signal that ends
//! the process does so even then: after the time that an orderly shutdown may take, the thread ends the process itself.
//! Until then there is no second thread, because a process with one thread allocates and answers faster.

use std::future::pending;
use std::io::{self, IsTerminal as _};
use std::thread;
use std::time::Duration;

use bowline_server::Interruption;
use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// How long the process may live after a signal that ends it: longer than an orderly shutdown takes.
const LONGEST_SHUTDOWN: Duration = Duration::from_millis(4700);

const STACK: usize = 256 * 1024;

/// The awaited signals.
struct Signals {
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    /// Whether SIGINT aborts what is in progress. From a terminal it ends the process: who types commands there has no
    /// other way to end it that everybody knows.
    interrupt_aborts: bool,
}

/// Starts the thread that waits for signals.
#[derive(Debug)]
pub(crate) struct Watch(oneshot::Sender<()>);

impl Watch {
    /// Has signals end the process from now on even if the loop is stuck.
    pub(crate) fn start(self) {
        let _ = self.0.send(());
    }
}

/// Starts to listen and returns where the signals arrive. Call it before stdin is taken over, in a runtime.
pub(crate) fn listen() -> io::Result<(UnboundedReceiver<Interruption>, Watch)> {
    ignore_file_size_limit()?;
    let interrupt_aborts = !io::stdin().is_terminal();
    let (sender, receiver) = unbounded_channel();
    let (start, started) = oneshot::channel();
    let mut signals = Signals::new(interrupt_aborts)?;
    tokio::spawn(async move {
        let is_working = tokio::select! {
            _ = signals.pass_on(&sender) => false,
            started = started => started.is_ok(),
        };
        // Nothing is printed: what the loop is stuck in may be a stderr that nobody reads.
        let give_up = |code| std::process::exit(i32::from(code));
        if is_working
            && signals.serve(sender.clone(), LONGEST_SHUTDOWN, give_up).is_err()
            && let Ok(mut signals) = Signals::new(interrupt_aborts)
        {
            // Without a thread, here. Then they do nothing while the loop is stuck.
            signals.pass_on(&sender).await;
        }
    });
    Ok((receiver, Watch(start)))
}

/// Has a write beyond the limit on the size of files fail instead of killing the process. Commands get the default back.
fn ignore_file_size_limit() -> io::Result<()> {
    // The handler stays installed; nobody has to wait for the signal.
    signal(SignalKind::from_raw(Signal::XFSZ.as_raw())).map(drop)
}

impl Signals {
    /// Installs the handlers.
    fn new(interrupt_aborts: bool) -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            interrupt_aborts,
        })
    }

    /// Passes signals on, on a thread. Calls `give_up` if the process lives on for longer than `limit` after one that
    /// ends it.
    fn serve(
        mut self,
        sender: UnboundedSender<Interruption>,
        limit: Duration,
        give_up: impl FnOnce(u8) + Send + 'static,
    ) -> io::Result<()> {
        let serve = move || {
            // Its own runtime, because the other one stands still if the loop does.
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
                return;
            };
            runtime.block_on(async {
                let code = self.pass_on(&sender).await;
                tokio::time::sleep(limit).await;
                give_up(code);
                pending::<()>().await;
            });
        };
        thread::Builder::new().name("signals".to_owned()).stack_size(STACK).spawn(serve).map(drop)
    }

    /// Passes signals on until one ends the process, and returns its exit code.
    async fn pass_on(&mut self, sender: &UnboundedSender<Interruption>) -> u8 {
        loop {
            let interruption = self.next().await;
            let _ = sender.send(interruption);
            if let Interruption::Stop(code) = interruption {
                return code;
            }
        }
    }

    async fn next(&mut self) -> Interruption {
        tokio::select! {
            _ = self.terminate.recv() => Interruption::Stop(143),
            _ = self.hang_up.recv() => Interruption::Stop(129),
            _ = self.interrupt.recv() => {
                if self.interrupt_aborts { Interruption::Abort { exit_code: 130 } } else { Interruption::Stop(130) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use rustix::process::{getpid, kill_process};

    use super::*;

    #[tokio::test]
    async fn process_ends_although_its_loop_is_stuck() {
        let (sender, _receiver) = unbounded_channel();
        let (gave_up, given_up) = mpsc::channel();
        let signals = Signals::new(true).unwrap();
        signals.serve(sender, Duration::from_millis(10), move |code| gave_up.send(code).unwrap()).unwrap();
        kill_process(getpid(), Signal::TERM).unwrap();
        // This blocks the only thread of the runtime.
        assert_eq!(given_up.recv_timeout(Duration::from_secs(10)), Ok(143));
    }

    #[tokio::test]
    async fn interrupt_aborts_unless_it_comes_from_a_terminal() {
        for (interrupt_aborts, expected) in
            [(true, Interruption::Abort { exit_code: 130 }), (false, Interruption::Stop(130))]
        {
            let (sender, mut receiver) = unbounded_channel();
            Signals::new(interrupt_aborts).unwrap().serve(sender, Duration::from_secs(60), |_| ()).unwrap();
            kill_process(getpid(), Signal::INT).unwrap();
            assert_eq!(receiver.recv().await, Some(expected));
        }
    }
}
