//! Serving calls: the tools run here as they run in bowline itself, on one thread, and their outcomes go back.

use std::collections::HashMap;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use bowline_core::sandbox::{Grants, SandboxLevel};
use bowline_tools::{CallContext, CommandRequest, Options, TodoList, Toolbox};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::landlock_rules;
use crate::frames::{self, Call, FromKeeper, ToKeeper, WireOutcome};
use crate::policy::Policy;

/// How many frames wait to be written before calls wait.
const BACKLOG: usize = 64;

/// Serves calls until bowline closes the socket.
pub(super) fn main(socket: UnixStream, policy: &Policy) -> ExitCode {
    if policy.level != SandboxLevel::Full {
        // In a process namespace, nothing can signal process 1.
        bowline_tools::restrict_commands(|| landlock_rules::restrict_signals().is_ok());
    }
    bowline_tools::adopt_orphans(|_| false);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else { return ExitCode::FAILURE };
    let served = runtime.block_on(serve(socket, policy));
    // Whatever is left ends with this process.
    runtime.shutdown_background();
    if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn serve(socket: UnixStream, policy: &Policy) -> std::io::Result<()> {
    socket.set_nonblocking(true)?;
    let (mut reader, writer) = tokio::net::UnixStream::from_std(socket)?.into_split();
    let (frames, outgoing) = mpsc::channel(BACKLOG);
    tokio::spawn(write_all(writer, outgoing));
    let options = options(policy);
    let mut service = Service {
        toolbox: Toolbox::builtin(&options),
        options: Arc::new(options),
        frames,
        open: Arc::default(),
    };
    while let Some(frame) = next(&mut reader).await? {
        service.take(frame);
    }
    Ok(())
}

/// Returns how the tools behave inside. They inherit the environment, in which no key is left.
fn options(policy: &Policy) -> Options {
    let tools = policy.tools.clone();
    Options {
        shell: tools.shell,
        command_prefix: tools.command_prefix,
        keeps_images: tools.keeps_images,
        home_directory: tools.home_directory,
        own_folder: tools.own_folder,
        temporary_directory: Some(tools.logs),
        sessions_end_with_process: tools.sessions_end_with_process,
        inherited_mark: tools.inherited_mark,
        command_timeout: tools.command_timeout,
        ..Options::default()
    }
}

/// Returns the next frame; none at the end.
async fn next(reader: &mut OwnedReadHalf) -> std::io::Result<Option<ToKeeper>> {
    let mut head = [0; 4];
    match reader.read_exact(&mut head).await {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    };
    let mut bytes = vec![0; frames::length(head)?];
    reader.read_exact(&mut bytes).await?;
    Ok(Some(serde_json::from_slice(&bytes)?))
}

async fn write_all(mut writer: OwnedWriteHalf, mut outgoing: mpsc::Receiver<FromKeeper>) {
    while let Some(frame) = outgoing.recv().await {
        let Ok(bytes) = frames::encode(&frame) else { continue };
        if writer.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

/// What a call that is in progress can be told.
struct Open {
    cancel: CancellationToken,
    /// Wakes a command whose output was taken.
    taken: Arc<Notify>,
    task: JoinHandle<()>,
}

type OpenCalls = Arc<Mutex<HashMap<u64, Open>>>;

struct Service {
    toolbox: Toolbox,
    options: Arc<Options>,
    frames: mpsc::Sender<FromKeeper>,
    open: OpenCalls,
}

impl Service {
    fn take(&mut self, frame: ToKeeper) {
        let open = &mut *self.open.lock().unwrap_or_else(PoisonError::into_inner);
        match frame {
            ToKeeper::Call(call) => {
                let (id, cancel) = (call.id, CancellationToken::new());
                let task = tokio::spawn(run_call(
                    self.toolbox.clone(),
                    call,
                    cancel.clone(),
                    self.frames.clone(),
                    Arc::clone(&self.open),
                ));
                open.insert(id, Open { cancel, taken: Arc::default(), task });
            }
            ToKeeper::Command(command) => {
                let (id, cancel, taken) = (command.id, CancellationToken::new(), Arc::new(Notify::new()));
                let request = CommandRequest {
                    command: command.command,
                    working_directory: command.working_directory,
                    environment: command.environment,
                    session_id: command.session_id,
                    options: Arc::clone(&self.options),
                    cancel: cancel.clone(),
                };
                let frames = self.frames.clone();
                let task = tokio::spawn(run_user_command(
                    id,
                    request,
                    Arc::clone(&taken),
                    frames,
                    Arc::clone(&self.open),
                ));
                open.insert(id, Open { cancel, taken, task });
            }
            ToKeeper::Cancel(id) => {
                if let Some(call) = open.get(&id) {
                    call.cancel.cancel();
                }
            }
            ToKeeper::Forget(id) => {
                // Dropping a call kills what it started.
                if let Some(call) = open.remove(&id) {
                    call.task.abort();
                }
            }
            ToKeeper::Taken(id) => {
                if let Some(call) = open.get(&id) {
                    call.taken.notify_one();
                }
            }
        }
    }
}

async fn run_call(
    toolbox: Toolbox,
    call: Call,
    cancel: CancellationToken,
    frames: mpsc::Sender<FromKeeper>,
    open: OpenCalls,
) {
    let id = call.id;
    let reports = frames.clone();
    let context = CallContext {
        working_directory: call.working_directory,
        cancel,
        // A report that finds the channel full is replaced by a later one. An empty one only says that the call has begun,
        // which bowline knows.
        progress: Arc::new(move |progress| {
            if !progress.content.is_empty() || progress.details.is_some() {
                let _ = reports.try_send(FromKeeper::progress(id, progress));
            }
        }),
        environment: call.environment,
        takes_images: call.takes_images,
        session_id: call.session_id,
        call_id: call.call_id,
        todos: TodoList::default(),
        grants: Grants::default(),
        editor: None,
    };
    let outcome = match toolbox.get(&call.tool) {
        Some(tool) => tool.call(context, call.arguments).await,
        None => bowline_tools::Outcome::error(format!("There is no tool named {}.", call.tool)),
    };
    let _ = frames.send(FromKeeper::Done { id, outcome: WireOutcome::from(outcome) }).await;
    open.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
}

async fn run_user_command(
    id: u64,
    request: CommandRequest,
    taken: Arc<Notify>,
    frames: mpsc::Sender<FromKeeper>,
    open: OpenCalls,
) {
    let pieces = frames.clone();
    let result = bowline_tools::run_command(request, |text| {
        let (pieces, taken) = (pieces.clone(), Arc::clone(&taken));
        async move {
            if pieces.send(FromKeeper::Output { id, text }).await.is_ok() {
                taken.notified().await;
            }
        }
    })
    .await;
    let result = result.map(Into::into).map_err(|error| error.to_string());
    let _ = frames.send(FromKeeper::CommandDone { id, result }).await;
    open.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
}
