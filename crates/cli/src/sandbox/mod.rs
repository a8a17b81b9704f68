//! `bowline sandbox`: runs a command as tools run theirs, and says what they may do.

#[cfg_attr(target_os = "linux", path = "check_linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "check_other.rs")]
mod check;
mod explain;
mod run;

#[cfg(target_os = "linux")]
pub(crate) use check::attempt;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use bowline_approval::Gate;
use bowline_core::sandbox::SandboxMode;
use bowline_dialect::Start;
use bowline_llm::Providers;
use bowline_sandbox::Wishes;
use bowline_tools::{Confinement, Options};

use crate::arguments::Arguments;
use crate::confinement::confinement;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::sandbox_wishes::sandbox_wishes;
use crate::settings::SettingsFile;
use crate::startup;
use crate::terminal::{note, say};

pub(crate) const USAGE: &str = "\
bowline sandbox run [OPTIONS] -- COMMAND [ARGUMENT...]
    run one command as tools run theirs
bowline sandbox explain [OPTIONS] [--json]
    say what tools may do, and try whether it holds
bowline sandbox check [--level LEVEL] [--json]
    try over a hundred ways out, and say which are closed

run and explain follow --sandbox, --network and --writable, and \"sandbox\" and
\"approvals\" in settings.json. run uses workspace-write if neither names a mode;
explain shows what tools of a session in this folder would get.

run prints what the command prints, errors included, on stdout, without escape
sequences, and exits with its exit code. The command reads nothing from stdin.
The exit code is 125 if bowline could not run it, 130 or 143 if a signal ended
bowline, and 137 if one killed the command.

check works in a temporary folder, on files, sockets and a process that are
made for it, and looks at them from outside. Its exit code is 0 if every
promise holds, 1 if one is broken, and 2 if no sandbox is available or the
command line is wrong.

docs/security.md explains modes, levels and promises.
";

/// The exit code of a check if no sandbox is available.
const NO_SANDBOX: u8 = 2;

/// The exit code if a command could not be run, as `env`, `timeout` and container tools have it.
pub(crate) const CANNOT_RUN: u8 = 125;

/// Tells whether a command line, which may be wrong, is meant to run a command.
pub(crate) fn is_run(words: &[String]) -> bool {
    let mut words = words.iter().take_while(|word| *word != "--");
    words.any(|word| word == "sandbox") && words.any(|word| word == "run")
}

/// Runs a subcommand.
pub(crate) fn main(arguments: &Arguments, start: &Start) -> Result<ExitCode, Failure> {
    let words: Vec<&str> = arguments.words.iter().map(String::as_str).collect();
    for warning in &arguments.warnings {
        note(format_args!("bowline: {warning}"));
    }
    // Other words are refused with the command line.
    match words.first() {
        Some(&"run") => Ok(run::run(arguments, start)),
        Some(&"explain") => explain::explain(arguments, start),
        Some(&"check") => check::check(arguments),
        _ => say(USAGE).map(|()| ExitCode::from(2)),
    }
}

/// What a subcommand works with.
pub(crate) struct SubcommandContext {
    environment: Environment,
    options: Options,
    wishes: Wishes,
    /// What closes paths to tools, as in a session.
    gate: Gate,
    /// The folder of the sessions, which tools cannot read.
    sessions: Option<PathBuf>,
}

impl SubcommandContext {
    /// Reads the settings. `mode` is the one to use if neither a flag nor a setting names one.
    fn read(arguments: &Arguments, start: &Start, mode: Option<SandboxMode>) -> Result<Self, Failure> {
        let environment = Environment::read(arguments.working_directory.as_deref())?;
        let file = SettingsFile::of_user(&environment)?;
        for warning in startup::misspelt_tools(&file.approvals.rules) {
            note(format_args!("bowline: {warning}"));
        }
        Self::of(arguments, environment, &file, start, mode)
    }

    /// Does the same with settings that were read already, and reports nothing.
    pub fn of(
        arguments: &Arguments,
        environment: Environment,
        file: &SettingsFile,
        start: &Start,
        mode: Option<SandboxMode>,
    ) -> Result<Self, Failure> {
        let mut arguments = arguments.clone();
        arguments.sandbox = arguments.sandbox.or(file.sandbox.mode).or(mode);
        let wishes = sandbox_wishes(&arguments, &environment, file)?;
        let providers = Providers::new(startup::sources(&environment, file))?;
        let options = startup::tool_options(&arguments, &environment, file, &providers, false);
        let gate = startup::gate(&arguments, &environment, file)?;
        let plan = startup::session_plan(&arguments, &environment, start, file);
        let sessions = plan.store.map(|store| store.directory_for(&environment.working_directory));
        Ok(Self { environment, options, wishes, gate, sessions })
    }

    /// Returns what confines tools in the working folder.
    pub fn confinement(&self) -> Result<Arc<dyn Confinement>, Failure> {
        let folder = &self.environment.working_directory;
        let sessions = self.sessions.as_deref();
        let wishes = self.wishes.clone();
        let made = confinement(wishes, &self.environment, folder, &self.options, sessions, Some(&self.gate))?;
        made.ok_or_else(|| {
            Failure::Sandbox("there is nothing on this system that could confine them".to_owned())
        })
    }
}
