//! The processes of a command where `/proc` does not list them: only the process group is known.

use rustix::process::{Pid, Signal, kill_process_group};

use super::{Leader, Survivor};

/// The processes of one command.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    leader: i32,
}

impl ProcessTree {
    /// Returns the tree of the process `leader`, which leads a process group and has not been reaped.
    pub(crate) fn new(leader: i32, _mark: String) -> Self {
        Self { leader }
    }

    /// Kills the process group of the leader.
    pub(crate) fn kill(&self, leader: Leader) {
        if let Some(group) = Pid::from_raw(self.leader).filter(|_| leader == Leader::NotReaped) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// Returns nothing: which processes are left is unknown here.
    pub(crate) fn survivors(&self) -> Vec<Survivor> {
        Vec::new()
    }
}
