//! A command and all its descendants, as one unit that can be killed.
//!
//! A process group alone is not enough: a child that calls `setsid` leaves it. So each command carries a unique mark in
//! its environment, which every descendant inherits. How the processes are found and killed depends on the system.

#[cfg_attr(target_os = "linux", path = "process_tree_linux.rs")]
#[cfg_attr(all(unix, not(target_os = "linux")), path = "process_tree_unix.rs")]
#[cfg_attr(not(unix), path = "process_tree_windows.rs")]
mod system;

use uuid::Uuid;

pub(crate) use system::ProcessTree;

/// The variable that marks the processes of a command.
pub const VARIABLE: &str = "BOWLINE_COMMAND";

/// Whether the first process of a tree has been waited for. Once it has, its number, which is also that of its group,
/// may belong to another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leader {
    NotReaped,
    Reaped,
}

/// A process that outlives its command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Survivor {
    pub process: i32,
    pub name: String,
}

/// Returns a mark for a new command, and the value of its variable. The value repeats the mark that this program itself
/// runs under, because the command is also part of that outer tree.
pub(crate) fn new_mark(inherited: Option<&str>) -> (String, String) {
    let mark = Uuid::new_v4().simple().to_string();
    let value = match inherited {
        Some(outer) if !outer.is_empty() => format!("{outer}:{mark}"),
        _ => mark.clone(),
    };
    (mark, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inherited_mark_is_repeated_before_the_new_one() {
        let (mark, value) = new_mark(Some("outer"));
        assert_eq!(value, format!("outer:{mark}"));
        for inherited in [None, Some("")] {
            let (mark, value) = new_mark(inherited);
            assert_eq!(value, mark);
        }
    }
}
