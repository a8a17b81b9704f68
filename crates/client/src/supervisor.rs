//! Looks after the process: stops it when the client wants that, and starts it again if it dies.

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bowline_protocol::{Connection, Ending, Introduction, Polled};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::builder::Restarts;
use crate::error::StartError;
use crate::process::{Process, Program};
use crate::session_choice::SessionChoice;

/// After so long, a death counts as the first one again.
const CALM: Duration = Duration::from_secs(60);

/// How long the first restart waits. Each further one waits twice as long.
const FIRST_DELAY: Duration = Duration::from_millis(100);

/// The longest wait before a restart.
const LONGEST_DELAY: Duration = Duration::from_secs(10);

/// How long the rest of the output is waited for once the process has ended.
const OUTPUT_LIMIT: Duration = Duration::from_secs(2);

pub(crate) struct Supervisor {
    pub connection: Connection,
    pub program: Program,
    pub restarts: Restarts,
    pub stop_limit: Duration,
    pub session: SessionChoice,
    pub process_id: Arc<AtomicU32>,
}

/// A process that is attached to the connection.
pub(crate) struct Served {
    process: Process,
    /// Reads its output.
    reading: JoinHandle<()>,
    /// Says how the process ended, to whoever reads its output.
    ending: oneshot::Sender<Ending>,
    /// Resolves when its output has ended.
    silence: oneshot::Receiver<()>,
}

impl Supervisor {
    /// Starts a process and attaches it to the connection.
    pub fn start(&self) -> Result<(Introduction, Served), StartError> {
        let (process, stdin, stdout) = self.program.start(&self.session.arguments())?;
        self.process_id.store(process.id().unwrap_or(0), Ordering::Relaxed);
        let (ending, known) = oneshot::channel();
        let (output_ended, silence) = oneshot::channel();
        let ended = async move {
            let _ = output_ended.send(());
            known.await.unwrap_or_default()
        };
        let (introduction, reading) = self.connection.attach(Polled(stdout), Polled(stdin), ended)?;
        Ok((introduction, Served { process, reading, ending, silence }))
    }

    /// Serves until the process has ended and nothing replaces it. Returns how the last one ended.
    pub async fn run(self, mut served: Served, mut stopped: oneshot::Receiver<()>) -> Ending {
        let mut deaths = 0;
        loop {
            let begun = Instant::now();
            let (status, was_requested) = self.wait(&mut served, &mut stopped).await;
            self.process_id.store(0, Ordering::Relaxed);
            deaths = if begun.elapsed() < CALM { deaths + 1 } else { 1 };
            let will_restart = !was_requested && self.may_restart(deaths);
            let ending = Ending { was_requested, will_restart, ..served.process.ending(status).await };
            let _ = served.ending.send(ending.clone());
            self.finish_reading(served.reading, &ending).await;
            if !will_restart {
                return ending;
            }
            served = match self.start_again(deaths, &mut stopped).await {
                Ok(served) => served,
                Err(ending) => {
                    self.connection.conclude(ending.clone());
                    return ending;
                }
            };
        }
    }

    /// Waits until what the process has left in its pipe is read.
    ///
    /// That is little, and must not wait for somebody who reads slowly. Another process may hold the pipe open: it ends with its
    /// input, or nobody listens to it any more.
    async fn finish_reading(&self, mut reading: JoinHandle<()>, ending: &Ending) {
        let _rest = self.connection.keep_reading();
        self.connection.detach();
        if timeout(OUTPUT_LIMIT, &mut reading).await.is_err() {
            reading.abort();
            // A task that was aborted, or that panicked, has nothing to tell.
            let _ = reading.await;
            self.connection.conclude(ending.clone());
        }
    }

    /// Waits for the end of the process. Returns its status, and whether the client wanted it to end.
    async fn wait(
        &self,
        served: &mut Served,
        stopped: &mut oneshot::Receiver<()>,
    ) -> (io::Result<ExitStatus>, bool) {
        tokio::select! {
            status = served.process.wait() => (status, false),
            // Without its output it is of no use.
            _ = &mut served.silence => (served.process.wait_or_kill(self.stop_limit).await, false),
            _ = stopped => {
                let _rest = self.connection.keep_reading();
                self.connection.close("the client has stopped bowline");
                (served.process.wait_or_kill(self.stop_limit).await, true)
            }
        }
    }

    fn may_restart(&self, deaths: u32) -> bool {
        matches!(self.restarts, Restarts::UpTo(most) if deaths <= most)
    }

    /// Starts the program again with the session that it had.
    async fn start_again(&self, deaths: u32, stopped: &mut oneshot::Receiver<()>) -> Result<Served, Ending> {
        let delay = FIRST_DELAY.saturating_mul(1 << (deaths - 1).min(16)).min(LONGEST_DELAY);
        tokio::select! {
            () = sleep(delay) => {}
            _ = stopped => {
                let reason = "the client was stopped before bowline was started again".to_owned();
                return Err(Ending { reason, was_requested: true, ..Ending::default() });
            }
        }
        match self.start() {
            Ok((introduction, served)) => {
                // If the agent refuses now what it accepted before, the process has died again.
                tokio::spawn(introduction.accepted());
                Ok(served)
            }
            Err(error) => Err(Ending { reason: error.to_string(), ..Ending::default() }),
        }
    }
}
