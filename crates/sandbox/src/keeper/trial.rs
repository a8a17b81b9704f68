//! Finding out what the system offers, in a process that ends right after.

use std::process::{Command, ExitCode, Stdio};

use serde::{Deserialize, Serialize};

use super::{KEEPER_ROLE, TRY, landlock_rules, mounts, namespaces};

/// What the system offers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Trial {
    /// Why there are no namespaces, if there are none.
    pub namespaces: Option<String>,
    /// The version of Landlock; 0 if there is none.
    pub landlock: u32,
}

/// Runs the process that finds out, and writes what it found to its stdout.
#[expect(
    clippy::print_stdout,
    reason = "this role has a pipe as its stdout, and speaks no protocol of clients"
)]
pub(super) fn main() -> ExitCode {
    let trial = Trial { namespaces: try_namespaces(), landlock: landlock_rules::try_version() };
    match serde_json::to_string(&trial) {
        Ok(text) => println!("{text}"),
        Err(_) => return ExitCode::FAILURE,
    }
    ExitCode::SUCCESS
}

fn try_namespaces() -> Option<String> {
    let tried = namespaces::enter(true).and_then(|()| {
        let step = "separating the mounts".to_owned();
        mounts::make_private().map_err(|error| super::Failed { step, problem: error.to_string() })
    });
    tried.err().map(|failed| format!("{} failed: {}", failed.step, failed.problem))
}

impl Trial {
    /// Finds out what the system offers. Waits for another process for a moment.
    pub fn run(program: &std::path::Path) -> std::io::Result<Self> {
        let mut command = Command::new(program);
        command.args([KEEPER_ROLE, TRY]).env_clear().stdin(Stdio::null()).stderr(Stdio::null());
        let output = command.output()?;
        serde_json::from_slice(&output.stdout).map_err(Into::into)
    }
}
