//! The measures: one file each, and a line here.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::extension::Extension;
use crate::failure::Failure;
use crate::figure::Figure;
use crate::floor::Floor;
use crate::home::Home;
use crate::pipe::Pipe;
use crate::{
    agent, deltas, hook_round_trip, instructions, list_sessions, memory, open_session, round_trip,
    rust_client, sandbox, size, snapshots, start, start_with_extensions, subscribed_deltas, tool_turns,
};

/// A measure.
pub(crate) struct Measure {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Whether it is taken by default.
    pub(crate) is_default: bool,
    /// Its time limit.
    pub(crate) limit: Duration,
    pub(crate) run: fn(&Subject) -> Result<Vec<Figure>, Failure>,
}

/// Every measure, in the order of the report.
pub(crate) const MEASURES: &[Measure] = &[
    quick("start", "from the start to the first answer", start::measure),
    quick("memory", "memory held when idle", memory::measure),
    quick("round-trip", "one small command and its answer", round_trip::measure),
    quick("deltas", "8,000 streamed text deltas, end to end", deltas::measure),
    quick("snapshots", "8,000 text deltas that each repeat the message so far", snapshots::measure),
    quick("tool-turns", "100 turns of the bash tool", tool_turns::measure),
    quick("sandbox", "100 turns of the bash tool in the sandbox, and its start", sandbox::measure),
    quick("hook", "one hook and its result, with an extension process", hook_round_trip::measure),
    quick(
        "subscribed-deltas",
        "8,000 text deltas that an extension subscribes to",
        subscribed_deltas::measure,
    ),
    quick(
        "extensions-start",
        "from the start to the first answer, with ten extensions",
        start_with_extensions::measure,
    ),
    quick("open-session", "opening and adding to a session of 100,000 entries", open_session::measure),
    quick("list-sessions", "listing 5,000 sessions", list_sessions::measure),
    quick("rust-client", "commands and deltas through the Rust client", rust_client::measure),
    quick("size", "size of the binary, number of crates", size::measure),
    Measure {
        is_default: false,
        limit: Duration::from_secs(600),
        ..quick("instructions", "instructions executed, by valgrind", instructions::measure)
    },
];

const fn quick(
    name: &'static str,
    about: &'static str,
    run: fn(&Subject) -> Result<Vec<Figure>, Failure>,
) -> Measure {
    Measure { name, about, is_default: true, limit: Duration::from_secs(120), run }
}

/// The binary to measure, the floors, and the number of samples.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) binary: PathBuf,
    /// This program, which is also the floors.
    itself: PathBuf,
    samples: Option<usize>,
}

impl Subject {
    pub(crate) fn new(binary: PathBuf, itself: PathBuf, samples: Option<usize>) -> Self {
        Self { binary, itself, samples }
    }

    /// Returns the number of samples: `usual` unless the user sets it.
    pub(crate) fn samples(&self, usual: usize) -> usize {
        self.samples.unwrap_or(usual)
    }

    /// Prepares to start the agent.
    pub(crate) fn command(&self, home: &Home, model: &str) -> Command {
        self.command_under(&[], home, model)
    }

    /// Prepares to start the agent under a program that takes it as its last arguments.
    pub(crate) fn command_under(&self, program: &[&str], home: &Home, model: &str) -> Command {
        let mut command = match program {
            [] => home.command(&self.binary),
            [program, arguments @ ..] => {
                let mut command = home.command(Path::new(program));
                command.args(arguments).arg(&self.binary);
                command
            }
        };
        agent::arguments(&mut command, model);
        command
    }

    /// Starts the agent and waits for its first answer.
    pub(crate) fn agent(&self, home: &Home, model: &str) -> Result<Pipe, Failure> {
        let mut agent = Pipe::start(&mut self.command(home, model))?;
        agent::ask_for_state(&mut agent)?;
        Ok(agent)
    }

    /// Starts a floor.
    pub(crate) fn floor(&self, home: &Home, floor: Floor) -> Result<Pipe, Failure> {
        Pipe::start(home.command(&self.itself).arg(floor.argument()))
    }

    /// Returns the program and the arguments of an extension.
    pub(crate) fn extension_command(&self, extension: &Extension) -> Vec<String> {
        let program = self.itself.to_string_lossy().into_owned();
        std::iter::once(program).chain(extension.arguments()).collect()
    }

    /// Starts an extension without an agent.
    pub(crate) fn extension(&self, home: &Home, extension: &Extension) -> Result<Pipe, Failure> {
        Pipe::start(home.command(&self.itself).args(extension.arguments()))
    }
}
