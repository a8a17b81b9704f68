//! The life of an extension's process: it is started, registers, is listened to, and is started again if it exits.

use std::sync::Arc;
use std::time::Duration;

use bowline_core::extension_info::ExtensionStatus;
use bowline_core::hook::HookKind;
use bowline_tools::{Service, ServiceEnd, ServiceLaunch, ServicePipes};
use tokio::process::ChildStderr;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::process::connection::Connection;
use crate::process::discovery::Program;
use crate::process::error_log::ErrorLog;
use crate::process::extension::ProcessExtension;
use crate::process::plan::Direction;
use crate::process::reader::Reader;
use crate::process::restarts::Restarts;
use crate::process::stdin_at_once;
use crate::protocol::{Engine, InitExtension, InitSession, Limits, State, ToExtension, VERSION};

/// How long an extension may take to register in all. Prompts do not wait that long.
const LONGEST_START: Duration = Duration::from_secs(30);

/// How long the last records of a process that has exited are read for.
const LAST_RECORDS: Duration = Duration::from_millis(500);

/// How long a process may take to exit after it has closed its stdout, or was told to.
const EXIT_GRACE: Duration = Duration::from_secs(1);

/// The environment variable that has the short name of the extension.
const EXTENSION_VARIABLE: &str = "BOWLINE_EXTENSION";

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

/// Runs an extension until it is stopped or has failed too often. `on_settled` is called when it is known whether it
/// starts.
pub(crate) async fn supervise(
    extension: Arc<ProcessExtension>,
    stop: CancellationToken,
    on_settled: impl FnOnce() + Send,
) {
    let mut restarts = Restarts::default();
    let mut on_settled = Some(on_settled);
    let mut is_restart = false;
    loop {
        let end = run(&extension, is_restart, &stop, &mut on_settled).await;
        extension.set_connection(None);
        let RunEnd::Failed { reason, had_registered } = end else { return };
        let event = if had_registered || is_restart { "process" } else { "load" };
        let delay = if had_registered || is_restart { restarts.next(Instant::now()) } else { None };
        extension.set_status(match delay {
            Some(_) => ExtensionStatus::Restarting(reason.clone()),
            None => ExtensionStatus::Failed(reason.clone()),
        });
        let reason = match delay {
            None if event == "process" => format!("{reason}; it is not started again"),
            _ => reason,
        };
        extension.fail(event, reason).await;
        if let Some(settled) = on_settled.take() {
            settled();
        }
        let Some(delay) = delay else { return };
        is_restart = true;
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// Runs the process of an extension once.
async fn run(
    extension: &Arc<ProcessExtension>,
    is_restart: bool,
    stop: &CancellationToken,
    on_settled: &mut Option<impl FnOnce()>,
) -> RunEnd {
    let failed = |reason: String, had_registered| RunEnd::Failed { reason, had_registered };
    let (mut service, pipes) = match Service::start(&launch(extension)) {
        Ok(started) => started,
        Err(error) => return failed(error.to_string(), false),
    };
    let ServicePipes { stdin, stdout, stderr } = pipes;
    let connection = connect(extension);
    send_init(extension, &connection, is_restart);
    let log = ErrorLog::default();
    // Whoever watches the records sees all of them in the order in which they are written.
    if extension.plan.trace.is_none()
        && let Some(output) = stdin_at_once::of(&stdin)
    {
        connection.outgoing.write_calls_to(output);
    }
    let writer = {
        let (connection, extension) = (Arc::clone(&connection), Arc::clone(extension));
        OwnedTask(tokio::spawn(async move {
            connection.outgoing.write_to(stdin, |lines| trace_sent(&extension, lines)).await;
        }))
    };
    let _errors = OwnedTask(tokio::spawn(read_errors(stderr, log.clone(), Arc::clone(extension))));
    let registered = CancellationToken::new();
    let mut reader = Reader::new(Arc::clone(extension), Arc::clone(&connection), registered.clone());
    // In a task of its own, because everything else that is waited for here would be looked at with every record.
    let mut reading = OwnedTask(tokio::spawn(async move {
        reader.read(stdout).await;
        reader
    }));
    // What answers requests ends with it.
    let mut ended_reader = None;
    let cause = {
        let mut is_read = false;
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
                () = registered.cancelled(), if on_settled.is_some() => {
                    if let Some(settled) = on_settled.take() {
                        settled();
                    }
                }
                () = &mut start_is_late, if !registered.is_cancelled() => {
                    break format!("did not register within {} s", LONGEST_START.as_secs());
                }
                () = connection.broken.cancelled() => break connection.cause().unwrap_or_default(),
                () = stop.cancelled(), if !connection.is_closed() => {
                    shut_down(&connection);
                    exit_by = Some(Instant::now() + EXIT_GRACE);
                }
                () = sleep_until(exit_by.unwrap_or_else(Instant::now)), if exit_by.is_some() => {
                    break "closed its stdout".to_owned();
                }
            }
        }
    };
    connection.close();
    drop((writer, reading, ended_reader));
    if stop.is_cancelled() {
        service.stop(Duration::ZERO).await;
        return RunEnd::Stopped;
    }
    // Whatever is left of it is killed when it is dropped.
    drop(service);
    let last_words = log.last_line();
    let reason = if last_words.is_empty() { cause } else { format!("{cause}: {last_words}") };
    failed(reason, registered.is_cancelled())
}

/// Tells a process to exit. It sees the end of its stdin afterwards.
fn shut_down(connection: &Connection) {
    let deadline_ms = u64::try_from(EXIT_GRACE.as_millis()).unwrap_or_default();
    connection.send(&ToExtension::Shutdown { deadline_ms });
    connection.close();
}

fn launch(extension: &ProcessExtension) -> ServiceLaunch {
    let command: &[String] = match &extension.launch.program {
        Program::Command(command) => command,
        Program::PiModule(_) => &[],
    };
    let mut command = command.iter().cloned();
    // A project's extension gets no more than its commands do.
    let names = extension.launch.environment.iter().filter(|_| extension.is_of_user());
    // By this variable a library knows from the beginning that stdout is for records.
    let own = (EXTENSION_VARIABLE.to_owned(), extension.id().to_string());
    let named = names.filter_map(|name| Some((name.clone(), (extension.plan.variable)(name)?)));
    let environment = named.chain([own]).collect();
    ServiceLaunch {
        program: command.next().unwrap_or_default(),
        arguments: command.collect(),
        environment,
        working_directory: extension.about.directory.clone(),
        options: Arc::clone(&extension.plan.options),
    }
}

fn connect(extension: &Arc<ProcessExtension>) -> Arc<Connection> {
    let on_dropped = {
        let extension = Arc::downgrade(extension);
        move || {
            if let Some(extension) = extension.upgrade() {
                tokio::spawn(async move {
                    let error = "it does not read fast enough; some events were left out";
                    extension.fail("event", error).await;
                });
            }
        }
    };
    Arc::new(Connection::new(Arc::clone(extension.id()), on_dropped))
}

fn send_init(extension: &ProcessExtension, connection: &Connection, is_restart: bool) {
    let (plan, about, found) = (&extension.plan, &extension.about, &extension.found);
    let mirror = extension.mirrored();
    let session_id = mirror.as_ref().map_or(&about.session_id, |mirror| &mirror.session_id);
    let file = mirror.as_ref().map_or(&about.session_file, |mirror| &mirror.session_file).as_deref();
    let cwd = mirror.as_ref().map_or(&about.directory, |mirror| &mirror.directory);
    let flags = extension.manifest_flags();
    let milliseconds = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let state =
        State { session_id: Some(session_id), session_file: Some(file), cwd: Some(cwd), ..State::default() };
    let name = extension.found.path.to_string_lossy();
    connection.send(&ToExtension::Init {
        protocol: VERSION,
        engine: Engine { name: "bowline", version: plan.version },
        mode: "rpc",
        has_ui: plan.has_ui,
        dialect: plan.dialect,
        session: InitSession {
            id: session_id,
            file,
            cwd,
            reason: if is_restart { "restart" } else { about.reason.as_str() },
        },
        trusted: extension.is_in_trusted_project(),
        flags: &flags,
        state: Box::new(state),
        extensions: &[InitExtension { id: extension.id(), path: &name, source_info: (&found.source).into() }],
        limits: Limits {
            hook_ms: milliseconds(plan.limit(HookKind::ToolCall)),
            start_ms: milliseconds(plan.start_limit),
        },
    });
}

/// Shows what an extension is sent to whoever wants to see it.
fn trace_sent(extension: &ProcessExtension, lines: &[u8]) {
    if let Some(trace) = &extension.plan.trace {
        for line in String::from_utf8_lossy(lines).lines() {
            trace(extension.id(), Direction::ToExtension, line);
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
async fn read_errors(stderr: ChildStderr, log: ErrorLog, extension: Arc<ProcessExtension>) {
    let id = Arc::clone(extension.id());
    log.read(stderr, |line| (extension.plan.log)(&format!("{id}: {line}"))).await;
}
