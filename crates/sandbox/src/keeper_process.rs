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

use bowline_tools::{
    CallContext, CommandOutcome, CommandRequest, Error as ToolError, Outcome, OutputSink, OwnProcess,
    Progress,
};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::Command;
use tokio::sync::mpsc;

use crate::error::Error;
use crate::frames::{self, Call, FromKeeper, Ready, ToKeeper, UserCommand};
use crate::keeper::KEEPER_ROLE;
use crate::policy::Policy;

/// How long a keeper may take to start. It takes some milliseconds.
const LONGEST_START: Duration = Duration::from_secs(20);

/// How many frames of one call wait to be handled.
const BACKLOG: usize = 16;

/// What the model reads of a call whose keeper ended.
const ENDED: &str = "The sandbox's process ended while this call was running, and everything in it was killed. The next call \
                     starts a new one.";

/// A running keeper. Dropping it ends everything that runs in it.
#[derive(Debug)]
pub(crate) struct Keeper {
    frames: mpsc::UnboundedSender<ToKeeper>,
    open: OpenCalls,
    next_id: AtomicU64,
    is_dead: Arc<AtomicBool>,
    pub ready: Ready,
    pub process: u32,
    pub start_took: Duration,
    /// Aborted with the keeper, which closes the socket and kills the process.
    tasks: Vec<tokio::task::AbortHandle>,
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
        let keeper = Self::serve(socket, process, number, ready, began);
        Ok((keeper.map_err(Error::preparing("listening to the keeper"))?, listener))
    }

    fn serve(
        socket: UnixStream,
        process: OwnProcess,
        number: u32,
        ready: Ready,
        began: Instant,
    ) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let (reader, writer) = tokio::net::UnixStream::from_std(socket)?.into_split();
        let (frames, outgoing) = mpsc::unbounded_channel();
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
        })
    }

    /// Ends everything that runs in it. Calls in progress are told that it has ended.
    pub fn end(&self) {
        self.is_dead.store(true, Ordering::Release);
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
        let _ = self.frames.send(ToKeeper::Call(call));
        let mut is_cancelled = false;
        loop {
            let report = tokio::select! {
                biased;
                () = context.cancel.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    let _ = self.frames.send(ToKeeper::Cancel(id));
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
        let _ = self.frames.send(ToKeeper::Command(command));
        let mut is_cancelled = false;
        loop {
            let report = tokio::select! {
                biased;
                () = cancel.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    let _ = self.frames.send(ToKeeper::Cancel(id));
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
                    let _ = self.frames.send(ToKeeper::Taken(id));
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
    fn drop(&mut self) {
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
            let _ = self.keeper.frames.send(ToKeeper::Forget(self.id));
        }
    }
}

async fn write_all(mut writer: OwnedWriteHalf, mut outgoing: mpsc::UnboundedReceiver<ToKeeper>) {
    while let Some(frame) = outgoing.recv().await {
        let Ok(bytes) = frames::encode(&frame) else { continue };
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
