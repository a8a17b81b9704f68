//! A shell that runs one command: it is started in a new process group with both outputs in one pipe or in one each, its
//! output is returned as it arrives, and it is killed with all its descendants when the call is cancelled, times out, or
//! is dropped.
//!
//! The command ends when the shell exits. A child left in the background may hold a pipe open forever, so after the
//! exit the pipes are read only until they have been quiet for a moment.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::kills;
use crate::orphans::{self, OwnChild};
use crate::platform::{self, OutputReader};
use crate::process_tree::{self, Mark, ProcessTree, Survivor};
use crate::toolbox::Options;
use crate::utf8::Decoder;
use crate::watch;

/// How long the pipe must be quiet after the shell's exit.
const QUIET: Duration = Duration::from_millis(100);

/// How long the pipe is read at most after the shell's exit or kill.
const GRACE: Duration = Duration::from_secs(1);

const BUFFER: usize = 64 * 1024;

/// A command to run.
pub(crate) struct Launch {
    pub command: String,
    pub working_directory: PathBuf,
    pub environment: Vec<(String, String)>,
    pub options: Arc<Options>,
    /// Whether the prefix of the options comes before the command.
    pub has_prefix: bool,
    pub pipes: Pipes,
    pub timeout: Option<Duration>,
    pub cancel: CancellationToken,
}

/// What a command reads and where it writes.
pub(crate) enum Pipes {
    /// It reads nothing; both outputs are one.
    Joined,
    /// It reads this input; its outputs are kept apart.
    Separate { input: Arc<[u8]> },
}

/// An event of a running command.
pub(crate) enum Event {
    Output(String),
    /// What it wrote to stderr, if that is kept apart.
    Errors(String),
    Ended(Ending),
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    Exited {
        code: i32,
        /// Whether a background process holds the output open.
        left_running: bool,
        /// The known background processes.
        survivors: Vec<Survivor>,
    },
    Signalled {
        signal: i32,
    },
    TimedOut,
    Cancelled,
}

/// A pipe that a command writes to.
#[derive(Default)]
struct Outlet {
    /// Absent once its end was read.
    reader: Option<OutputReader>,
    buffer: Vec<u8>,
    decoder: Decoder,
}

/// A running command.
pub(crate) struct Shell {
    child: Child,
    /// Absent once the child was reaped.
    own: Option<OwnChild>,
    tree: ProcessTree,
    output: Outlet,
    errors: Outlet,
    /// Writes the input.
    feeding: Option<AbortHandle>,
    cancel: CancellationToken,
    deadline: Option<Instant>,
    /// The shell's exit status; absent while it runs.
    status: Option<ExitStatus>,
    /// Why it was killed.
    killed: Option<Ending>,
    /// Ends when everything that was killed is dead.
    dying: Option<oneshot::Receiver<()>>,
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
        let shell = launch.options.shell.clone().unwrap_or_else(default_shell);
        let mark = Mark::new();
        orphans::reap_from_now_on();
        orphans::begin(mark);
        if let Some(program) = &launch.options.watcher {
            watch::begin(program, mark);
        }
        Self::spawn(launch, &shell, mark).map_err(|source| {
            orphans::forget(mark);
            watch::end(mark);
            Error::Shell { shell, source }
        })
    }

    fn spawn(launch: Launch, shell: &Path, mark: Mark) -> io::Result<Self> {
        let (output, writer) = Outlet::open()?;
        let (errors, stdin, stderr) = match launch.pipes {
            Pipes::Joined => (Outlet::default(), Stdio::null(), writer.try_clone()?),
            Pipes::Separate { .. } => {
                let (errors, writer) = Outlet::open()?;
                (errors, Stdio::piped(), writer)
            }
        };
        let mut command = Command::new(shell);
        if let Some(variables) = launch.options.environment.variables() {
            command.env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
        }
        command
            .arg("-c")
            .arg(match &launch.options.command_prefix {
                Some(prefix) if launch.has_prefix && !prefix.is_empty() => {
                    format!("{prefix}\n{}", launch.command)
                }
                _ => launch.command.clone(),
            })
            .current_dir(&launch.working_directory)
            .envs(launch.environment.iter().map(|(name, value)| (name, value)))
            .env(process_tree::VARIABLE, mark.variable(launch.options.inherited_mark.as_deref()))
            .stdin(stdin)
            .stdout(Stdio::from(writer))
            .stderr(Stdio::from(stderr));
        platform::separate(&mut command);
        let (mut child, own) = orphans::start(|| process_tree::spawn_marked(&mut command, mark), Child::id)?;
        // The command holds the writing ends; while they are open the pipes never end.
        drop(command);
        let feeding = match (launch.pipes, child.stdin.take()) {
            (Pipes::Separate { input }, Some(stdin)) => Some(tokio::spawn(feed(stdin, input)).abort_handle()),
            _ => None,
        };
        let leader = child.id().and_then(|process| i32::try_from(process).ok()).unwrap_or_default();
        Ok(Self {
            tree: ProcessTree::new(leader, mark),
            child,
            own: Some(own),
            output,
            errors,
            feeding,
            cancel: launch.cancel,
            // A time too far away to be represented is no deadline.
            deadline: launch.timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            status: None,
            killed: None,
            dying: None,
            quiet: None,
            grace: None,
            over: false,
        })
    }

    /// Waits for the next event. Dropping the returned future loses nothing.
    pub(crate) async fn next(&mut self) -> Event {
        while self.is_read() || self.status.is_none() || self.dying.is_some() {
            let runs = self.status.is_none() && self.killed.is_none();
            tokio::select! {
                biased;
                () = self.cancel.cancelled(), if self.killed.is_none() => self.kill(Ending::Cancelled),
                () = sleep_until(self.deadline.unwrap_or_else(Instant::now)), if runs && self.deadline.is_some() => {
                    self.kill(Ending::TimedOut);
                }
                () = death(&mut self.dying), if self.dying.is_some() => self.dying = None,
                status = self.child.wait(), if self.status.is_none() => self.shell_ended(status),
                () = sleep_until(self.grace.unwrap_or_else(Instant::now)), if self.grace.is_some() => break,
                text = self.output.read(), if self.output.is_open() => {
                    self.hear();
                    if !text.is_empty() {
                        return Event::Output(text);
                    }
                }
                text = self.errors.read(), if self.errors.is_open() => {
                    self.hear();
                    if !text.is_empty() {
                        return Event::Errors(text);
                    }
                }
                () = sleep_until(self.quiet.unwrap_or_else(Instant::now)), if self.quiet.is_some() => break,
            }
        }
        Event::Ended(self.end().await)
    }

    /// Tells whether a pipe is open.
    fn is_read(&self) -> bool {
        self.output.is_open() || self.errors.is_open()
    }

    /// Notes that a pipe was not quiet.
    fn hear(&mut self) {
        if self.quiet.is_some() {
            self.quiet = Some(Instant::now() + QUIET);
        }
    }

    fn shell_ended(&mut self, status: io::Result<ExitStatus>) {
        self.own = None;
        // The shell has exited even if waiting for it failed; only the status is lost.
        self.status = Some(status.unwrap_or_else(|_| platform::lost_status()));
        let now = Instant::now();
        self.quiet = Some(now + QUIET);
        self.grace = Some(now + GRACE);
    }

    fn kill(&mut self, reason: Ending) {
        self.dying = Some(self.kill_tree());
        self.killed = Some(reason);
        // The pipe ends as soon as all processes are dead; the limit is for one that cannot be killed.
        self.grace = Some(Instant::now() + GRACE);
    }

    fn kill_tree(&self) -> oneshot::Receiver<()> {
        // Once the leader has been waited for, its number, which is also that of its group, may belong to another process.
        let leader = if self.status.is_none() { self.tree.leader } else { 0 };
        kills::request(ProcessTree { leader, ..self.tree })
    }

    /// Dropping the returned future loses nothing: it does not wait once the state has changed.
    async fn end(&mut self) -> Ending {
        if let Some(reason) = self.killed.clone() {
            self.over = true;
            return reason;
        }
        let left_running = self.is_read();
        let survivors = if left_running { survivors(self.tree).await } else { Vec::new() };
        self.over = true;
        watch::end(self.tree.mark);
        if let Some(rest) = orphans::leave(self.tree.mark) {
            drop(kills::request(rest));
        }
        for reader in [self.output.reader.take(), self.errors.reader.take()].into_iter().flatten() {
            tokio::spawn(drain(reader));
        }
        match self.status.map(|status| (status.code(), platform::signal_of(status))) {
            Some((None, Some(signal))) => Ending::Signalled { signal },
            status => Ending::Exited {
                code: status.and_then(|(code, _)| code).unwrap_or_default(),
                left_running,
                survivors,
            },
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        if let Some(feeding) = &self.feeding {
            feeding.abort();
        }
        if !self.over && self.killed.is_none() {
            drop(self.kill_tree());
        }
    }
}

/// Waits until everything that was killed is dead.
async fn death(dying: &mut Option<oneshot::Receiver<()>>) {
    if let Some(dying) = dying {
        let _ = dying.await;
    }
}

/// Looks for what a command left running, which takes a look at every process of the machine.
async fn survivors(tree: ProcessTree) -> Vec<Survivor> {
    let search = tokio::task::spawn_blocking(move || process_tree::survivors(&tree));
    search.await.unwrap_or_default()
}

impl Outlet {
    fn open() -> io::Result<(Self, io::PipeWriter)> {
        let (reader, writer) = platform::output_pipe()?;
        Ok((Self { reader: Some(reader), buffer: vec![0; BUFFER], decoder: Decoder::default() }, writer))
    }

    fn is_open(&self) -> bool {
        self.reader.is_some()
    }

    /// Reads the next piece. At the end it removes the reader and returns the rest of the text.
    async fn read(&mut self) -> String {
        let Some(reader) = &mut self.reader else { return String::new() };
        match reader.read(&mut self.buffer).await {
            Ok(length) if length > 0 => self.decoder.push(&self.buffer[..length]),
            _ => {
                self.reader = None;
                self.decoder.finish()
            }
        }
    }
}

/// Writes a command's input and closes it. A command that does not read it loses nothing.
async fn feed(mut stdin: ChildStdin, input: Arc<[u8]>) {
    let _ = stdin.write_all(&input).await;
}

/// Keeps reading for a background process, which a closed pipe would kill at its next write.
async fn drain(mut output: OutputReader) {
    let mut buffer = vec![0; 4096];
    while output.read(&mut buffer).await.is_ok_and(|length| length > 0) {}
}

/// Returns the shell that runs commands if the user names none.
pub fn default_shell() -> PathBuf {
    let bash = PathBuf::from("/bin/bash");
    if bash.exists() { bash } else { PathBuf::from("sh") }
}
