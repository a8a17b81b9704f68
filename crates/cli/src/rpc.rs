//! The RPC mode: a connection over stdin and stdout.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use bowline_dialect::Entry;
use bowline_server::{Connection, Limits};
use bowline_wire::{DEFAULT_LINE_LIMIT, DEFAULT_OUTBOX_BOUND, Outbox};

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::serving::{Interruptions, Service};
use crate::settings::SettingsFile;
use crate::terminal::note;

/// Runs the RPC mode until stdin ends, stdout breaks or a signal arrives.
pub(crate) fn main(arguments: &Arguments, entry: &'static Entry) -> Result<ExitCode, Failure> {
    let environment = Environment::read(arguments.working_directory.as_deref())?;
    // The variable is omp's.
    let window_titles = environment.variable("PI_RPC_EMIT_TITLE") == Some("1");
    let file = || SettingsFile::of_user(&environment);
    let has_chosen_approvals =
        arguments.ask.is_some() || (entry.asks_by_default() && file()?.approvals.ask.is_some());
    let has_no_store = arguments.no_session;
    let options = bowline_dialect::Options { window_titles, has_chosen_approvals, has_no_store };
    let dialect = entry.make_with(&options);
    let service = Service::prepare(arguments, environment, entry, dialect.policy())?;
    if std::io::stdin().is_terminal() {
        note(format_args!(
            "{} serves a client on stdin and stdout: type one JSON object per line, such as {}; Ctrl-D ends it, and \
             bowline demo shows an exchange",
            entry.start.called, r#"{"type":"get_protocol_info"}"#
        ));
    }
    let outbox = Outbox::new(DEFAULT_OUTBOX_BOUND);
    // How fast the client reads must not show in reproducible output.
    let outbox = if arguments.is_reproducible() { outbox.without_joining() } else { outbox };
    let limits = Limits { line: arguments.line_limit.unwrap_or(DEFAULT_LINE_LIMIT), outbox };
    service.run(dialect, limits, serve)
}

async fn serve(connection: Connection, signals: Interruptions) -> Result<u8, Failure> {
    let (input, output) = bowline_wire::take_over().map_err(Failure::io("taking over stdin and stdout"))?;
    // As a task: before a future that is not one is polled again, the runtime asks the system for events, also if there
    // are enough already.
    match tokio::spawn(connection.serve(input, output, signals)).await {
        Ok(code) => Ok(code),
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
