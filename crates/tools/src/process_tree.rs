//! A command and all its descendants, as one unit that can be killed.
//!
//! A process group alone is not enough: a child that calls `setsid` leaves it. So each command carries a mark that every
//! descendant inherits: a variable in its environment and, on Linux, a resource limit that limits nothing. How the
//! processes are found and killed depends on the system.

#[cfg_attr(target_os = "linux", path = "process_tree_linux.rs")]
#[cfg_attr(all(unix, not(target_os = "linux")), path = "process_tree_unix.rs")]
#[cfg_attr(not(unix), path = "process_tree_windows.rs")]
mod system;

use uuid::Uuid;

#[cfg(target_os = "linux")]
pub(crate) use system::Marks;
#[cfg(target_os = "linux")]
pub use system::restrict_commands;
pub(crate) use system::{kill, spawn_marked, stop_group, survivors};

/// The variable that marks the processes of a command.
pub const VARIABLE: &str = "BOWLINE_COMMAND";

/// The processes of one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessTree {
    /// The first process, which leads a process group.
    pub leader: i32,
    /// When the leader started, in the kernel's ticks; zero if that is unknown. No process of the tree is older.
    pub started: u64,
    pub mark: Mark,
}

/// What tells the processes of a command from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Mark(Uuid);

/// A process that outlives its command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Survivor {
    pub process: i32,
    pub name: String,
}

impl ProcessTree {
    /// Returns the tree of the process `leader`, which has not been reaped.
    pub(crate) fn new(leader: i32, mark: Mark) -> Self {
        Self { leader, started: system::start_of(leader), mark }
    }
}

impl Mark {
    /// Returns a mark for a new command.
    pub(crate) fn new() -> Self {
        Self(Uuid::new_v4())
    }

    pub(crate) fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    pub(crate) fn to_bytes(self) -> [u8; 16] {
        *self.0.as_bytes()
    }

    pub(crate) fn text(self) -> String {
        self.0.simple().to_string()
    }

    /// Returns the value of the variable. It repeats the mark that this program itself runs under, because the command
    /// is also part of that outer tree.
    pub(crate) fn variable(self, inherited: Option<&str>) -> String {
        match inherited {
            Some(outer) if !outer.is_empty() => format!("{outer}:{}", self.text()),
            _ => self.text(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inherited_mark_is_repeated_before_the_new_one() {
        let mark = Mark::new();
        assert_eq!(mark.variable(Some("outer")), format!("outer:{}", mark.text()));
        for inherited in [None, Some("")] {
            assert_eq!(mark.variable(inherited), mark.text());
        }
        assert_eq!(Mark::from_bytes(mark.to_bytes()), mark);
    }
}
