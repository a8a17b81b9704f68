//! A running keeper, as bowline sees it: calls go in, outcomes come out. What it sends is as little trusted as what
//! commands print.

use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bowline_core::sandbox::SandboxLevel;
use bowline_tools::{
    CallContext, CommandOutcome, CommandRequest, Error as ToolError, Outcome, OutputSink, OwnProcess,
    Progress,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::frames::{self, Call, FromKeeper, Ready, ToKeeper, UserCommand};
use crate::keeper::KEEPER_ROLE;
use crate::policy::Policy;

/// How long a keeper may take to start. It takes some milliseconds.
const LONGEST_START: Duration = Duration::from_secs(20);

/// How many frames of one call wait to be handled.
const BACKLOG: usize = 16;

/// How long a keeper may take to end a call that was cancelled. It kills processes at once.
const LONGEST_CANCEL: Duration = Duration::from_secs(5);

/// How long is waited at the end until everything in a keeper is dead.
const LONGEST_END: Duration = Duration::from_secs(1);

/// What the model reads of a call whose keeper ended.
const ENDED: &str = "The sandbox's process ended while this call was running, and everything in it was killed. The next call \
                     starts a new one.";

/// What the model reads of a call that could not be aborted.
const STUCK: &str = "Aborted. The sandbox's process did not answer, so it was killed with everything in it. The next call starts \
                     a new one.";

/// A running keeper. Dropping it ends everything that runs in it.
#[derive(Debug)]
pub(crate) struct Keeper {
    frames: mpsc::UnboundedSender<Vec<u8>>,
    open: OpenCalls,
    next_id: AtomicU64,
    is_dead: Arc<AtomicBool>,
    pub ready: Ready,
    pub process: u32,
    pub start_took: Duration,
    /// Aborted with the keeper, which closes the socket and kills the process.
    tasks: Vec<tokio::task::AbortHandle>,
    end: End,
}

/// What ends a keeper and shows when it has ended.
#[derive(Debug)]
struct End {
    level: SandboxLevel,
    socket: UnixStream,
    /// The outer process, and the inner one if it is process 1 of a namespace: when that has exited, so have all others.
    processes: Vec<OwnedFd>,
}

impl End {
    fn new(level: SandboxLevel, socket: &UnixStream, outer: u32) -> io::Result<Self> {
        let mut numbers = vec![outer];
        if level == SandboxLevel::Full {
            let children = std::fs::read_to_string(format!("/proc/{outer}/task/{outer}/children"))?;
            numbers.extend(children.split_ascii_whitespace().filter_map(|number| number.parse::<u32>().ok()));
        }
        let open = |number: u32| pidfd_open(Pid::from_raw(number.cast_signed())?, PidfdFlags::empty()).ok();
        let processes = numbers.into_iter().filter_map(open).collect();
        Ok(Self { level, socket: socket.try_clone()?, processes })
    }

    /// Ends the keeper and waits until everything in it is dead.
    fn end(&self) {
        // Without namespaces, the outer process kills the others when the connection ends.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        if self.level == SandboxLevel::Full {
            self.kill();
        }
        let began = Instant::now();
        for process in &self.processes {
            let left = LONGEST_END.saturating_sub(began.elapsed());
            let time = Timespec::try_from(left).ok();
            let mut events = [PollFd::new(process, PollFlags::IN)];
            while poll(&mut events, time.as_ref()) == Err(Errno::INTR) {}
        }
        self.kill();
    }

    fn kill(&self) {
        for process in &self.processes {
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
    }
}

type OpenCalls = Arc<Mutex<HashMap<u64, mpsc::Sender<FromKeeper>>>>;

impl Keeper {
    /// Starts a keeper and waits until it is ready. The listening socket is for the proxy.
    ///
    /// The process must be started by a thread that lives as long as this program: it ends with the thread.
    pub async fn start(
        program: &Path,
        environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
        policy: &Policy,
    ) -> Result<(Self, Option<TcpListener>), Error> {
        let began = Instant::now();
        let (ours, theirs) = UnixStream::pair().map_err(Error::preparing("making a socket"))?;
        let mut command = Command::new(program);
        command
            .arg0("bowline-keeper")
            .arg(KEEPER_ROLE)
            .env_clear()
            .envs(environment)
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null());
        let mut process = OwnProcess::start(command).map_err(Error::preparing("starting the keeper"))?;
        let number = process.process().unwrap_or_default();
        let told = frames::encode(policy).map_err(Error::preparing("describing the sandbox"))?;
        let greeting = tokio::task::spawn_blocking(move || greet(ours, &told));
        let greeting = async { greeting.await.unwrap_or_else(|_| Err(io::ErrorKind::Other.into())) };
        let greeted = tokio::time::timeout(LONGEST_START, greeting).await;
        let (socket, frame, listener) = match greeted {
            Ok(Ok(greeted)) => greeted,
            Ok(Err(error)) => {
                let status = tokio::time::timeout(Duration::from_secs(1), process.wait()).await;
                let status = status.ok().and_then(Result::ok).map(|status| format!(" ({status})"));
                return Err(Error::EndedEarly(format!("{error}{}", status.unwrap_or_default())));
            }
            Err(_) => return Err(Error::EndedEarly("it was not ready in time".to_owned())),
        };
        let ready = match frame {
            FromKeeper::Ready(ready) => ready,
            FromKeeper::Failed { step, problem } => return Err(Error::SetUp { step, problem }),
            _ => return Err(Error::EndedEarly("it sent something unexpected".to_owned())),
        };
        let keeper = Self::serve(policy.level, socket, process, number, ready, began);
        Ok((keeper.map_err(Error::preparing("listening to the keeper"))?, listener))
    }

    fn serve(
        level: SandboxLevel,
        socket: UnixStream,
        process: OwnProcess,
        number: u32,
        ready: Ready,
        began: Instant,
    ) -> io::Result<Self> {
        let end = End::new(level, &socket, number)?;
        socket.set_nonblocking(true)?;
        let (reader, writer) = tokio::net::UnixStream::from_std(socket)?.into_split();
        let (frames, outgoing) = mpsc::unbounded_channel::<Vec<u8>>();
        let (open, is_dead) = (OpenCalls::default(), Arc::new(AtomicBool::new(false)));
        let writing = tokio::spawn(write_all(writer, outgoing));
        let reading = tokio::spawn(read_all(reader, Arc::clone(&open), Arc::clone(&is_dead), process));
        Ok(Self {
            frames,
            open,
            next_id: AtomicU64::new(1),
            is_dead,
            ready,
            process: number,
            start_took: began.elapsed(),
            tasks: vec![writing.abort_handle(), reading.abort_handle()],
            end,
        })
    }

    /// Ends everything that runs in it. Calls in progress are told that it has ended.
    pub fn end(&self) {
        self.give_up();
        self.tasks.iter().for_each(tokio::task::AbortHandle::abort);
        self.open.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Tells whether a call is in progress.
    pub fn is_busy(&self) -> bool {
        !self.open.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Tells whether the process has ended.
    pub fn is_dead(&self) -> bool {
        self.is_dead.load(Ordering::Acquire)
    }

    fn send(&self, frame: &ToKeeper) -> io::Result<()> {
        // Nobody listens if the process has ended, which the call notices.
        let _ = self.frames.send(frames::encode(frame)?);
        Ok(())
    }

    /// Ends a keeper that does not do what it is told. Its calls fail, and the next call starts another one.
    fn give_up(&self) {
        self.is_dead.store(true, Ordering::Release);
        self.end.kill();
    }

    /// Runs a call of a tool.
    pub async fn call(
        self: Arc<Self>,
        tool: &str,
        context: CallContext,
        arguments: bowline_core::message::Arguments,
    ) -> Outcome {
        let (id, mut reports, guard) = self.open_call();
        let call = Call {
            id,
            tool: tool.to_owned(),
            arguments,
            working_directory: context.working_directory,
            environment: context.environment,
            takes_images: context.takes_images,
            session_id: context.session_id,
            call_id: context.call_id,
        };
        if context.cancel.is_cancelled() {
            return Outcome::error(ToolError::Aborted.to_string());
        }
        if let Err(error) = self.send(&ToKeeper::Call(call)) {
            guard.done();
            return Outcome::error(format!("The call was not made: {error}."));
        }
        let mut waiting = Waiting::new(context.cancel);
        loop {
            let report = tokio::select! {
                biased;
                is_overdue = waiting.for_cancel() => {
                    if is_overdue {
                        self.give_up();
                        return Outcome::error(STUCK);
                    }
                    let _ = self.send(&ToKeeper::Cancel(id));
                    continue;
                }
                report = reports.recv() => report,
            };
            match report {
                Some(FromKeeper::Progress { content, details, .. }) => {
                    (context.progress)(Progress { content, details });
                }
                Some(FromKeeper::Done { outcome, .. }) => {
                    guard.done();
                    return outcome.into();
                }
                Some(_) => {}
                None => {
                    guard.done();
                    return Outcome::error(ENDED);
                }
            }
        }
    }

    /// Runs a user-initiated command.
    pub async fn run_command(
        self: Arc<Self>,
        request: CommandRequest,
        mut output: OutputSink<'_>,
    ) -> Result<CommandOutcome, ToolError> {
        let (id, mut reports, guard) = self.open_call();
        let CommandRequest { command, working_directory, environment, session_id, cancel, .. } = request;
        let command = UserCommand { id, command, working_directory, environment, session_id };
        if cancel.is_cancelled() {
            return Ok(CommandOutcome::cancelled());
        }
        if let Err(error) = self.send(&ToKeeper::Command(command)) {
            guard.done();
            return Err(ToolError::Confinement(format!("The command was not run: {error}.")));
        }
        let mut waiting = Waiting::new(cancel.clone());
        loop {
            let report = tokio::select! {
                biased;
                is_overdue = waiting.for_cancel() => {
                    if is_overdue {
                        self.give_up();
                        return Ok(CommandOutcome::cancelled());
                    }
                    let _ = self.send(&ToKeeper::Cancel(id));
                    continue;
                }
                report = reports.recv() => report,
            };
            match report {
                Some(FromKeeper::Output { text, .. }) => {
                    tokio::select! {
                        () = output(text) => {}
                        () = cancel.cancelled() => {}
                    }
                    let _ = self.send(&ToKeeper::Taken(id));
                }
                Some(FromKeeper::CommandDone { result, .. }) => {
                    guard.done();
                    return result.map(Into::into).map_err(ToolError::Confinement);
                }
                Some(_) => {}
                None => {
                    guard.done();
                    return Err(ToolError::Confinement(ENDED.to_owned()));
                }
            }
        }
    }

    fn open_call(self: &Arc<Self>) -> (u64, mpsc::Receiver<FromKeeper>, Guard) {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = mpsc::channel(BACKLOG);
        let open = &mut *self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // A sender that nobody keeps closes the channel, as the end of the process does.
        if !self.is_dead() {
            open.insert(id, sender);
        }
        (id, receiver, Guard { id, keeper: Arc::clone(self), is_done: false })
    }
}

impl Drop for Keeper {
    /// Everything in the keeper is dead afterwards, so that what it left behind can be looked at.
    fn drop(&mut self) {
        self.end.end();
        self.tasks.iter().for_each(tokio::task::AbortHandle::abort);
    }
}

/// Ends a call that nobody waits for any more.
struct Guard {
    id: u64,
    keeper: Arc<Keeper>,
    is_done: bool,
}

impl Guard {
    fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.keeper.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
        if !self.is_done {
            let _ = self.keeper.send(&ToKeeper::Forget(self.id));
        }
    }
}

/// Waits for a call to be cancelled, and then for as long as the keeper may take to end it.
struct Waiting {
    cancel: CancellationToken,
    since: Option<tokio::time::Instant>,
}

impl Waiting {
    fn new(cancel: CancellationToken) -> Self {
        Self { cancel, since: None }
    }

    /// Returns when the call is cancelled, and again, with `true`, when it should have ended.
    async fn for_cancel(&mut self) -> bool {
        match self.since {
            None => {
                self.cancel.cancelled().await;
                self.since = Some(tokio::time::Instant::now());
                false
            }
            Some(since) => {
                tokio::time::sleep_until(since + LONGEST_CANCEL).await;
                true
            }
        }
    }
}

async fn write_all(mut writer: OwnedWriteHalf, mut outgoing: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(bytes) = outgoing.recv().await {
        if writer.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

/// Hands every frame to its call until the keeper ends. The process is killed when this is dropped.
async fn read_all(
    mut reader: OwnedReadHalf,
    open: OpenCalls,
    is_dead: Arc<AtomicBool>,
    mut process: OwnProcess,
) {
    while let Ok(frame) = next(&mut reader).await {
        let id = match &frame {
            FromKeeper::Progress { id, .. }
            | FromKeeper::Done { id, .. }
            | FromKeeper::Output { id, .. }
            | FromKeeper::CommandDone { id, .. } => *id,
            FromKeeper::Ready(_) | FromKeeper::Failed { .. } => continue,
        };
        let call = open.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
        if let Some(call) = call {
            let _ = call.send(frame).await;
        }
    }
    is_dead.store(true, Ordering::Release);
    open.lock().unwrap_or_else(PoisonError::into_inner).clear();
    drop(reader);
    let _ = tokio::time::timeout(Duration::from_secs(1), process.wait()).await;
}

async fn next(reader: &mut OwnedReadHalf) -> io::Result<FromKeeper> {
    let mut head = [0; 4];
    reader.read_exact(&mut head).await?;
    let mut bytes = vec![0; frames::length(head)?];
    reader.read_exact(&mut bytes).await?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// What a keeper sends first, with the socket for the proxy.
type Greeting = (UnixStream, FromKeeper, Option<TcpListener>);

/// Tells a keeper what to enforce and waits for its first frame. Blocks.
fn greet(mut socket: UnixStream, policy: &[u8]) -> io::Result<Greeting> {
    // Once for the outer process and once for the inner one.
    io::Write::write_all(&mut socket, policy)?;
    io::Write::write_all(&mut socket, policy)?;
    socket.set_read_timeout(Some(LONGEST_START))?;
    let mut bytes = Vec::new();
    let mut listener = None;
    loop {
        let mut buffer = [0; 16 * 1024];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let wanted = missing(&bytes)?.min(buffer.len());
        let mut slices = [io::IoSliceMut::new(&mut buffer[..wanted])];
        let received = recvmsg(&socket, &mut slices, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                listener = descriptors.map(TcpListener::from).next().or(listener);
            }
        }
        if received.bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&buffer[..received.bytes]);
        if missing(&bytes)? == 0 {
            socket.set_read_timeout(None)?;
            return Ok((socket, frames::read(&bytes[..])?, listener));
        }
    }
}

/// Returns how many bytes of the first frame are missing. Nothing after it is read here.
fn missing(bytes: &[u8]) -> io::Result<usize> {
    let Some(head) = bytes.first_chunk() else { return Ok(4 - bytes.len()) };
    Ok(4 + frames::length(*head)? - bytes.len())
}
