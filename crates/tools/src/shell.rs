//! A shell that runs one command: it is started in a process group of its own with both outputs in one pipe, its output
//! is handed out as it comes, and it is ended with all its descendants when the call is cancelled, runs out of time, or
//! is dropped.
//!
//! The command is over when the shell is. A child that it left in the background may hold the pipe open for ever, so
//! after the shell's end the pipe is read only until it has been quiet for a moment.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::process_tree::{self, ProcessTree, Survivor};
use crate::utf8::Decoder;

/// How long the pipe must be quiet after the shell's end.
const QUIET: Duration = Duration::from_millis(100);

/// How long the pipe is read after the shell's end, or after the kill, at most.
const GRACE: Duration = Duration::from_secs(1);

const BUFFER: usize = 64 * 1024;

/// A command to run.
pub(crate) struct Launch {
    pub command: String,
    pub working_directory: PathBuf,
    pub environment: Vec<(String, String)>,
    pub shell: Option<PathBuf>,
    pub command_prefix: Option<String>,
    pub timeout: Option<Duration>,
    pub cancel: CancellationToken,
}

/// What a running command does next.
pub(crate) enum Event {
    Output(String),
    Ended(Ending),
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    Exited {
        code: i32,
        /// Whether a process in the background holds the output open.
        left_running: bool,
        /// The processes in the background that are known.
        survivors: Vec<Survivor>,
    },
    Signalled {
        signal: i32,
    },
    TimedOut,
    Cancelled,
}

/// A command that runs.
pub(crate) struct Shell {
    child: Child,
    tree: ProcessTree,
    /// Absent when its end was read.
    output: Option<Receiver>,
    buffer: Vec<u8>,
    decoder: Decoder,
    cancel: CancellationToken,
    deadline: Option<Instant>,
    /// How the shell ended; absent while it runs.
    status: Option<ExitStatus>,
    /// Why it was killed, if it was.
    killed: Option<Ending>,
    quiet: Option<Instant>,
    grace: Option<Instant>,
    over: bool,
}

impl Shell {
    /// Starts the command.
    pub(crate) fn start(launch: Launch) -> Result<Self, Error> {
        if !launch.working_directory.is_dir() {
            return Err(Error::NoWorkingDirectory { path: launch.working_directory });
        }
        let shell = launch.shell.clone().unwrap_or_else(default_shell);
        let (mark, value) = process_tree::new_mark();
        Self::spawn(&launch, &shell, mark, &value).map_err(|source| Error::Shell { shell, source })
    }

    fn spawn(launch: &Launch, shell: &Path, mark: String, mark_value: &str) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let output = Receiver::from_owned_fd(OwnedFd::from(reader))?;
        let mut command = Command::new(shell);
        command
            .arg("-c")
            .arg(match &launch.command_prefix {
                Some(prefix) if !prefix.is_empty() => format!("{prefix}\n{}", launch.command),
                _ => launch.command.clone(),
            })
            .current_dir(&launch.working_directory)
            .envs(launch.environment.iter().map(|(name, value)| (name, value)))
            .env(process_tree::VARIABLE, mark_value)
            .stdin(Stdio::null())
            .stdout(Stdio::from(OwnedFd::from(writer.try_clone()?)))
            .stderr(Stdio::from(OwnedFd::from(writer)))
            .process_group(0);
        let child = command.spawn()?;
        // The command holds the writing ends; without them gone the pipe would never end.
        drop(command);
        let leader = child.id().and_then(|process| i32::try_from(process).ok()).unwrap_or_default();
        Ok(Self {
            tree: ProcessTree::new(leader, mark),
            child,
            output: Some(output),
            buffer: vec![0; BUFFER],
            decoder: Decoder::default(),
            cancel: launch.cancel.clone(),
            // A time too far away to be told is no deadline.
            deadline: launch.timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            status: None,
            killed: None,
            quiet: None,
            grace: None,
            over: false,
        })
    }

    /// Waits for what the command does next. Dropping the returned future loses nothing.
    pub(crate) async fn next(&mut self) -> Event {
        while self.output.is_some() || self.status.is_none() {
            let runs = self.status.is_none() && self.killed.is_none();
            tokio::select! {
                biased;
                () = self.cancel.cancelled(), if self.killed.is_none() => self.kill(Ending::Cancelled),
                () = sleep_until(self.deadline.unwrap_or_else(Instant::now)), if runs && self.deadline.is_some() => {
                    self.kill(Ending::TimedOut);
                }
                status = self.child.wait(), if self.status.is_none() => self.shell_ended(status),
                () = sleep_until(self.grace.unwrap_or_else(Instant::now)), if self.grace.is_some() => break,
                text = read(&mut self.output, &mut self.buffer, &mut self.decoder), if self.output.is_some() => {
                    if self.quiet.is_some() {
                        self.quiet = Some(Instant::now() + QUIET);
                    }
                    if !text.is_empty() {
                        return Event::Output(text);
                    }
                }
                () = sleep_until(self.quiet.unwrap_or_else(Instant::now)), if self.quiet.is_some() => break,
            }
        }
        Event::Ended(self.end())
    }

    fn shell_ended(&mut self, status: io::Result<ExitStatus>) {
        // A wait that fails has lost the status; the shell is gone all the same.
        self.status = Some(status.unwrap_or_else(|_| ExitStatus::from_raw(255 << 8)));
        let now = Instant::now();
        self.quiet = Some(now + QUIET);
        self.grace = Some(now + GRACE);
    }

    fn kill(&mut self, reason: Ending) {
        self.tree.kill(self.status.is_none());
        self.killed = Some(reason);
        // The processes are dead, so the pipe ends at once, unless one of them cannot be killed.
        self.grace = Some(Instant::now() + GRACE);
    }

    fn end(&mut self) -> Ending {
        self.over = true;
        if let Some(reason) = self.killed.clone() {
            return reason;
        }
        let still_open = self.output.take();
        let left_running = still_open.is_some();
        if let Some(output) = still_open {
            tokio::spawn(drain(output));
        }
        match self.status.map(|status| (status.code(), status.signal())) {
            Some((None, Some(signal))) => Ending::Signalled { signal },
            status => Ending::Exited {
                code: status.and_then(|(code, _)| code).unwrap_or_default(),
                left_running,
                survivors: if left_running { self.tree.survivors() } else { Vec::new() },
            },
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        if !self.over && self.killed.is_none() {
            self.tree.kill(self.status.is_none());
        }
    }
}

/// Reads the next piece of output; at its end the reader is taken away, and what remained of the text is returned.
async fn read(output: &mut Option<Receiver>, buffer: &mut [u8], decoder: &mut Decoder) -> String {
    let Some(receiver) = output else { return String::new() };
    match receiver.read(buffer).await {
        Ok(length) if length > 0 => decoder.push(&buffer[..length]),
        _ => {
            *output = None;
            decoder.finish()
        }
    }
}

/// Reads on for a process in the background, which would die of a closed pipe at its next word.
async fn drain(mut output: Receiver) {
    let mut buffer = vec![0; 4096];
    while output.read(&mut buffer).await.is_ok_and(|length| length > 0) {}
}

fn default_shell() -> PathBuf {
    let bash = PathBuf::from("/bin/bash");
    if bash.exists() { bash } else { PathBuf::from("sh") }
}
