//! What every mode shares: an agent whose sessions are driven over a connection, from its start to the end of the process.

use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bowline_core::Policy;
use bowline_dialect::{Dialect, Entry};
use bowline_engine::{Agent, OpenedSession, Parts};
use bowline_server::{Connection, Interruption, Limits};
use bowline_tools::Confinement;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::signals;
use crate::startup::{self, Prepared};
use crate::terminal::note;

/// How long the end waits for commands to die. What is left then is killed by the process that watches this one.
const LONGEST_KILL: Duration = Duration::from_millis(500);

/// An agent with the session that it starts with, before anybody is connected to it.
pub(crate) struct Service<'start> {
    arguments: &'start Arguments,
    environment: Environment,
    called: &'static str,
    parts: Parts,
    pub session: OpenedSession,
}

/// The signals that arrive for a connection.
pub(crate) type Interruptions = UnboundedReceiver<Interruption>;

impl<'start> Service<'start> {
    /// Prepares an agent and its session, and reports the warnings about the command line.
    pub fn prepare(
        arguments: &'start Arguments,
        environment: Environment,
        entry: &'static Entry,
        policy: Policy,
    ) -> Result<Self, Failure> {
        let called = entry.start.called;
        for warning in &arguments.warnings {
            note(format_args!("{called}: {warning}"));
        }
        bowline_tools::adopt_orphans(bowline_llm::runs_setting_command);
        let Prepared { parts, session } = startup::prepare(arguments, &environment, entry, policy)?;
        Ok(Self { arguments, environment, called, parts, session })
    }

    /// Connects the agent and runs what `meet` makes of the connection. Returns the exit code of that.
    pub fn run<Meeting>(
        self,
        dialect: Box<dyn Dialect>,
        limits: Limits,
        meet: impl FnOnce(Connection, Interruptions) -> Meeting,
    ) -> Result<ExitCode, Failure>
    where
        Meeting: Future<Output = Result<u8, Failure>>,
    {
        let Self { arguments, environment, called, parts, session } = self;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Failure::io("starting the runtime"))?;
        let eager = parts.toolbox.options().confinement.clone();
        let eager = eager.filter(|confinement| arguments.sandbox_eager && confinement.is_active());
        let code = runtime.block_on(async {
            let (signals, watch) = signals::listen().map_err(Failure::io("listening for signals"))?;
            let mut connection =
                Connection::new(Agent::new(parts), dialect, limits).when_working(move || watch.start());
            connection.start_with(session, environment.working_directory)?;
            let meeting = meet(connection, signals);
            if let Some(confinement) = eager {
                tokio::spawn(make_sandbox(confinement, called));
            }
            meeting.await
        })?;
        // A tool that blocks a thread must not keep the process from ending.
        runtime.shutdown_background();
        bowline_tools::finish_commands(LONGEST_KILL);
        Ok(ExitCode::from(code))
    }
}

/// Makes the sandbox before a tool needs it. Why that fails is said again by every call, so nothing else depends on it.
async fn make_sandbox(confinement: Arc<dyn Confinement>, called: &str) {
    if let Err(problem) = confinement.prove(None).await {
        note(format_args!("{called}: {problem}"));
    }
}
