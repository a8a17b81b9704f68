//! The processes of a command where `/proc` does not list them: only the process group is known.

use std::io;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use super::{Mark, ProcessTree, Survivor};

/// Starts a command. Its variable is its only mark.
pub(crate) fn spawn_marked(command: &mut Command, _mark: Mark) -> io::Result<Child> {
    command.spawn()
}

/// Returns zero: the start time is unknown here.
pub(super) fn start_of(_process: i32) -> u64 {
    0
}

/// Kills the group of the leader, which has not been reaped. That is all that can be done here.
pub(crate) fn stop_group(tree: &ProcessTree) {
    if let Some(group) = Pid::from_raw(tree.leader) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Does nothing: the groups were killed at once, and their numbers may belong to others by now.
pub(crate) fn kill(_trees: &[ProcessTree]) {}

/// Returns nothing: which processes are left is unknown here.
pub(crate) fn survivors(_tree: &ProcessTree) -> Vec<Survivor> {
    Vec::new()
}
