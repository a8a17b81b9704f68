//! Finding out what the system offers, in a process that ends right after.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use serde::{Deserialize, Serialize};

use super::mounts::Held;
use super::{At as _, Failed, KEEPER_ROLE, TRY, TRY_OVERLAY, landlock_rules, mounts, namespaces};

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

/// Runs the process that finds out whether a folder can be an overlay, and writes why not to its stdout.
#[expect(
    clippy::print_stdout,
    reason = "this role has a pipe as its stdout, and speaks no protocol of clients"
)]
pub(super) fn overlay_main(folder: &Path, store: &Path) -> ExitCode {
    match try_overlay(folder, store) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            println!("{} failed: {}", failed.step, failed.problem);
            ExitCode::FAILURE
        }
    }
}

fn try_overlay(folder: &Path, store: &Path) -> Result<(), Failed> {
    namespaces::enter(false)?;
    mounts::make_private().at("separating the mounts")?;
    let (lower, store) =
        (Held::new(folder).at("opening the folder")?, Held::new(store).at("opening the store")?);
    mounts::mount_memory("/run", "mode=755,size=4m")?;
    mounts::mount_overlay(folder, &lower, &store)
}

impl Trial {
    /// Returns why a folder cannot be an overlay with this store. Waits for another process for a moment.
    pub fn overlay(program: &Path, folder: &Path, store: &Path) -> std::io::Result<Option<String>> {
        let mut command = Command::new(program);
        command.args([KEEPER_ROLE, TRY_OVERLAY]).args([folder, store]);
        command.env_clear().stdin(Stdio::null()).stderr(Stdio::null());
        let output = command.output()?;
        let problem = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok((!output.status.success()).then_some(problem))
    }

    /// Finds out what the system offers. Waits for another process for a moment.
    pub fn run(program: &std::path::Path) -> std::io::Result<Self> {
        let mut command = Command::new(program);
        command.args([KEEPER_ROLE, TRY]).env_clear().stdin(Stdio::null()).stderr(Stdio::null());
        let output = command.output()?;
        serde_json::from_slice(&output.stdout).map_err(Into::into)
    }
}
