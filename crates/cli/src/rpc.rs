//! The RPC mode: a connection over stdin and stdout.

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bowline_dialect::Entry;
use bowline_engine::Agent;
use bowline_server::{Connection, Limits};
use bowline_tools::Confinement;
use bowline_wire::{DEFAULT_LINE_LIMIT, DEFAULT_OUTBOX_BOUND, Outbox};

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::signals;
use crate::startup::{self, Prepared};
use crate::terminal::note;

/// How long the end waits for commands to die. What is left then is killed by the process that watches this one.
const LONGEST_KILL: Duration = Duration::from_millis(500);

/// Runs the RPC mode until stdin ends, stdout breaks or a signal arrives.
pub(crate) fn main(arguments: &Arguments, entry: &'static Entry) -> Result<ExitCode, Failure> {
    for warning in &arguments.warnings {
        note(format_args!("{}: {warning}", entry.start.called));
    }
    bowline_tools::adopt_orphans(bowline_llm::runs_setting_command);
    let environment = Environment::read(arguments.working_directory.as_deref())?;
    // The variable is omp's.
    let window_titles = environment.variable("PI_RPC_EMIT_TITLE") == Some("1");
    let dialect = entry.make_with(&bowline_dialect::Options { window_titles });
    let Prepared { parts, session } = startup::prepare(arguments, &environment, entry, dialect.policy())?;
    if std::io::stdin().is_terminal() {
        note(format_args!(
            "{} serves a client on stdin and stdout: type one JSON object per line, such as {}; Ctrl-D ends it, and \
             bowline demo shows an exchange",
            entry.start.called, r#"{"type":"get_protocol_info"}"#
        ));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::io("starting the runtime"))?;
    let outbox = Outbox::new(DEFAULT_OUTBOX_BOUND);
    // How fast the client reads must not show in reproducible output.
    let outbox = if arguments.is_reproducible() { outbox.without_joining() } else { outbox };
    let limits = Limits { line: arguments.line_limit.unwrap_or(DEFAULT_LINE_LIMIT), outbox };
    let eager = parts.toolbox.options().confinement.clone();
    let eager = eager.filter(|confinement| arguments.sandbox_eager && confinement.is_active());
    let code = runtime.block_on(async {
        let (signals, watch) = signals::listen().map_err(Failure::io("listening for signals"))?;
        let mut connection =
            Connection::new(Agent::new(parts), dialect, limits).when_working(move || watch.start());
        connection.start_with(session, environment.working_directory)?;
        let (input, output) =
            bowline_wire::take_over().map_err(Failure::io("taking over stdin and stdout"))?;
        if let Some(confinement) = eager {
            tokio::spawn(make_sandbox(confinement, entry.start.called));
        }
        // As a task: before a future that is not one is polled again, the runtime asks the system for events, also if there
        // are enough already.
        match tokio::spawn(connection.serve(input, output, signals)).await {
            Ok(code) => Ok::<_, Failure>(code),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    })?;
    // A tool that blocks a thread must not keep the process from ending.
    runtime.shutdown_background();
    bowline_tools::finish_commands(LONGEST_KILL);
    Ok(ExitCode::from(code))
}

/// Makes the sandbox before a tool needs it. Why that fails is said again by every call, so nothing else depends on it.
async fn make_sandbox(confinement: Arc<dyn Confinement>, called: &str) {
    if let Err(problem) = confinement.prove(None).await {
        note(format_args!("{called}: {problem}"));
    }
}
