//! The life of a process: it is started, registers, is listened to, and is started again if it exits.

use std::sync::Arc;
use std::time::Duration;

use bowline_core::extension_info::ExtensionStatus;
use bowline_core::hook::HookKind;
use bowline_tools::{Service, ServiceEnd, ServicePipes};
use tokio::process::ChildStderr;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::process::error_log::ErrorLog;
use crate::process::pipe::Pipe;
use crate::process::plan::Direction;
use crate::process::reader::Reader;
use crate::process::restarts::Restarts;
use crate::process::serving_process::Process;
use crate::process::stdin_at_once;
use crate::protocol::{Engine, InitSession, Limits, State, ToExtension, VERSION};

/// How long an extension may take to register in all. Prompts do not wait that long.
const LONGEST_START: Duration = Duration::from_secs(30);

/// How long the last records of a process that has exited are read for.
const LAST_RECORDS: Duration = Duration::from_millis(500);

/// How long a process may take to exit after it has closed its stdout, or was told to.
const EXIT_GRACE: Duration = Duration::from_secs(1);

/// A task that ends when this is dropped.
#[derive(Debug)]
pub(crate) struct OwnedTask<T = ()>(pub JoinHandle<T>);

impl<T> Drop for OwnedTask<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// How a run of a process ended.
enum RunEnd {
    /// It was told to.
    Stopped,
    /// It exited or was killed, for this reason.
    Failed { reason: String, had_registered: bool },
}

/// Runs a process until it is stopped or has failed too often.
pub(crate) async fn supervise(process: Arc<Process>, stop: CancellationToken) {
    let mut restarts = Restarts::default();
    let mut is_restart = false;
    loop {
        let end = run(&process, is_restart, &stop).await;
        let culprit = process.remove_loading();
        process.end_run().await;
        let RunEnd::Failed { reason, had_registered } = end else { return };
        if let Some(culprit) = culprit {
            culprit.set_connection(None);
            culprit.set_status(ExtensionStatus::Failed(reason.clone()));
            culprit.fail("load", reason).await;
            if process.members().is_empty() {
                return process.settle();
            }
            // The others start at once without it.
            continue;
        }
        let event = if had_registered || is_restart { "process" } else { "load" };
        let delay = if had_registered || is_restart { restarts.next(Instant::now()) } else { None };
        process.set_status(&match delay {
            Some(_) => ExtensionStatus::Restarting(reason.clone()),
            None => ExtensionStatus::Failed(reason.clone()),
        });
        let reason = match delay {
            None if event == "process" => format!("{reason}; it is not started again"),
            _ => reason,
        };
        process.fail(event, reason).await;
        process.settle();
        let Some(delay) = delay else { return };
        is_restart = true;
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// Runs the process once.
async fn run(process: &Arc<Process>, is_restart: bool, stop: &CancellationToken) -> RunEnd {
    let failed = |reason: String, had_registered| RunEnd::Failed { reason, had_registered };
    let started =
        process.launch().await.and_then(|launch| Service::start(&launch).map_err(|error| error.to_string()));
    let (mut service, pipes) = match started {
        Ok(started) => started,
        Err(reason) => return failed(reason, false),
    };
    let ServicePipes { stdin, stdout, stderr } = pipes;
    let pipe = connect(process);
    process.begin_run(&pipe);
    send_init(process, &pipe, is_restart);
    let log = ErrorLog::default();
    // Whoever watches the records sees all of them in the order in which they are written.
    if process.plan.trace.is_none()
        && let Some(output) = stdin_at_once::of(&stdin)
    {
        pipe.outgoing.write_calls_to(output);
    }
    let writer = {
        let (pipe, process) = (Arc::clone(&pipe), Arc::clone(process));
        OwnedTask(tokio::spawn(async move {
            pipe.outgoing.write_to(stdin, |lines| trace_sent(&process, lines)).await;
        }))
    };
    let _errors = OwnedTask(tokio::spawn(read_errors(stderr, log.clone(), Arc::clone(process))));
    let registered = CancellationToken::new();
    let mut reader = Reader::new(Arc::clone(process), Arc::clone(&pipe), registered.clone());
    // In a task of its own, because everything else that is waited for here would be looked at with every record.
    let mut reading = OwnedTask(tokio::spawn(async move {
        reader.read(stdout).await;
        reader
    }));
    // What answers requests ends with it.
    let mut ended_reader = None;
    let cause = {
        let mut is_read = false;
        let mut is_registered = false;
        let mut start_is_late = std::pin::pin!(tokio::time::sleep(LONGEST_START));
        // When the process must have exited, once it was told to.
        let mut exit_by = None;
        loop {
            tokio::select! {
                end = service.wait() => {
                    if !is_read {
                        let _ = timeout(LAST_RECORDS, &mut reading.0).await;
                    }
                    break told(end);
                }
                reader = &mut reading.0, if !is_read => {
                    is_read = true;
                    ended_reader = reader.ok();
                    exit_by.get_or_insert_with(|| Instant::now() + EXIT_GRACE);
                }
                () = process.blocked() => {
                    break "blocks the process of pi's extensions while it is loaded".to_owned();
                }
                () = &mut start_is_late, if !is_registered => {
                    // It may have registered since this was waited for.
                    is_registered = registered.is_cancelled();
                    if is_registered {
                        continue;
                    }
                    break format!("did not register within {} s", LONGEST_START.as_secs());
                }
                () = pipe.broken.cancelled() => break pipe.cause().unwrap_or_default(),
                () = stop.cancelled(), if !pipe.is_closed() => {
                    shut_down(process, &pipe);
                    exit_by = Some(Instant::now() + EXIT_GRACE);
                }
                () = sleep_until(exit_by.unwrap_or_else(Instant::now)), if exit_by.is_some() => {
                    break "closed its stdout".to_owned();
                }
            }
        }
    };
    process.close_connections();
    pipe.close();
    drop((writer, reading, ended_reader));
    if stop.is_cancelled() {
        service.stop(Duration::ZERO).await;
        return RunEnd::Stopped;
    }
    // Whatever is left of it is killed when it is dropped.
    drop(service);
    let last_words = log.last_words();
    let reason = if last_words.is_empty() { cause } else { format!("{cause}: {last_words}") };
    failed(reason, registered.is_cancelled())
}

/// Tells a process to exit. It sees the end of its stdin afterwards.
fn shut_down(process: &Process, pipe: &Pipe) {
    let deadline_ms = u64::try_from(EXIT_GRACE.as_millis()).unwrap_or_default();
    pipe.check(pipe.outgoing.push(&ToExtension::Shutdown { deadline_ms }));
    process.close_connections();
    pipe.close();
}

fn connect(process: &Arc<Process>) -> Arc<Pipe> {
    let process = Arc::downgrade(process);
    Arc::new(Pipe::new(move || {
        if let Some(process) = process.upgrade() {
            tokio::spawn(async move {
                let error = "it does not read fast enough; some events were left out";
                process.fail("event", error.to_owned()).await;
            });
        }
    }))
}

fn send_init(process: &Process, pipe: &Pipe, is_restart: bool) {
    let (plan, about) = (&process.plan, &process.about);
    let members = process.members();
    let Some(first) = members.first() else { return };
    let mirror = first.mirrored();
    let session_id = mirror.as_ref().map_or(&about.session_id, |mirror| &mirror.session_id);
    let file = mirror.as_ref().map_or(&about.session_file, |mirror| &mirror.session_file).as_deref();
    let cwd = mirror.as_ref().map_or(&about.directory, |mirror| &mirror.directory);
    let flags = first.manifest_flags();
    let milliseconds = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let state =
        State { session_id: Some(session_id), session_file: Some(file), cwd: Some(cwd), ..State::default() };
    process.describe_members(|extensions| {
        pipe.check(pipe.outgoing.push(&ToExtension::Init {
            protocol: VERSION,
            engine: Engine { name: "bowline", version: plan.version },
            mode: plan.mode,
            has_ui: plan.has_ui,
            dialect: plan.dialect,
            session: InitSession {
                id: session_id,
                file,
                cwd,
                reason: if is_restart { "restart" } else { about.reason.as_str() },
            },
            trusted: first.is_in_trusted_project(),
            flags: &flags,
            state: Box::new(state),
            extensions,
            limits: Limits {
                hook_ms: milliseconds(plan.limit(HookKind::ToolCall)),
                start_ms: milliseconds(plan.start_limit),
            },
        }));
    });
}

/// Shows what a process is sent to whoever wants to see it.
fn trace_sent(process: &Process, lines: &[u8]) {
    if let Some(trace) = &process.plan.trace {
        for line in String::from_utf8_lossy(lines).lines() {
            trace(&process.name, Direction::ToExtension, line);
        }
    }
}

/// Returns what is said of the end of a process.
fn told(end: ServiceEnd) -> String {
    match end {
        ServiceEnd::Exited { code } => format!("exited with code {code}"),
        ServiceEnd::Signalled { signal } => format!("was killed by signal {signal}"),
    }
}

/// Reads what a process writes to stderr, for its log and for the error when it exits.
async fn read_errors(stderr: ChildStderr, log: ErrorLog, process: Arc<Process>) {
    log.read(stderr, |line| (process.plan.log)(&format!("{}: {line}", process.name))).await;
}
