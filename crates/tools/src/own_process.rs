//! A process that works for this one and is no command of anybody. It must be known as such, or it would be taken for the
//! orphan of a command.

use std::io;
use std::process::ExitStatus;

use tokio::process::{Child, Command};

use crate::orphans::{self, OwnChild};

/// A process that works for this one. It is killed when dropped.
pub struct OwnProcess {
    child: Child,
    _own: OwnChild,
}

impl OwnProcess {
    /// Starts a process.
    pub fn start(mut command: Command) -> io::Result<Self> {
        command.kill_on_drop(true);
        orphans::reap_from_now_on();
        let (child, own) = orphans::start(|| command.spawn(), Child::id)?;
        Ok(Self { child, _own: own })
    }

    /// Returns the number of the process while it runs.
    pub fn process(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits until the process has exited.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }
}

impl std::fmt::Debug for OwnProcess {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("OwnProcess").field(&self.child.id()).finish()
    }
}
