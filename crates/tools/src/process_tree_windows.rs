//! The processes of a command on Windows, which `taskkill` finds by their parents.

use std::process::{Command, Stdio};

use super::{Leader, Survivor};

/// The processes of one command.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    leader: i32,
}

impl ProcessTree {
    /// Returns the tree of the process `leader`, whose handle is still open.
    pub(crate) fn new(leader: i32, _mark: String) -> Self {
        Self { leader }
    }

    /// Kills the leader and its descendants.
    pub(crate) fn kill(&self, leader: Leader) {
        if leader == Leader::NotReaped && self.leader > 0 {
            let mut taskkill = Command::new("taskkill");
            taskkill.args(["/T", "/F", "/PID", &self.leader.to_string()]);
            let _ = taskkill.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        }
    }

    /// Returns nothing: which processes are left is unknown here.
    pub(crate) fn survivors(&self) -> Vec<Survivor> {
        Vec::new()
    }
}
