//! The processes of a command on Windows, which `taskkill` finds by their parents.

use std::io;
use std::process::{Command, Stdio};

use tokio::process::Child;

use super::{Mark, ProcessTree, Survivor};

/// Starts a command. Its variable is its only mark.
pub(crate) fn spawn_marked(command: &mut tokio::process::Command, _mark: Mark) -> io::Result<Child> {
    command.spawn()
}

/// Returns zero: the start time is unknown here.
pub(super) fn start_of(_process: i32) -> u64 {
    0
}

/// Does nothing: a process cannot be stopped here.
pub(crate) fn stop_group(_tree: &ProcessTree) {}

/// Kills the leaders and their descendants.
pub(crate) fn kill(trees: &[ProcessTree]) {
    for leader in trees.iter().map(|tree| tree.leader).filter(|leader| *leader > 0) {
        let mut taskkill = Command::new("taskkill");
        taskkill.args(["/T", "/F", "/PID", &leader.to_string()]);
        let _ = taskkill.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// Returns nothing: which processes are left is unknown here.
pub(crate) fn survivors(_tree: &ProcessTree) -> Vec<Survivor> {
    Vec::new()
}
