//! The running processes, as `/proc` describes them.

use std::fs::{self, File};
use std::io::Read as _;

/// A process as `/proc/PID/stat` describes it.
pub(crate) struct Process {
    pub number: i32,
    pub name: String,
    pub parent: i32,
    pub group: i32,
    /// When it started, in the kernel's ticks.
    pub started: u64,
    /// Whether it has exited and was not reaped.
    pub dead: bool,
}

impl Process {
    pub(crate) fn read(number: i32) -> Option<Self> {
        // The kernel writes it at once if there is room. Searching all processes reads many of them.
        let mut stat = [0; 1024];
        let length = File::open(format!("/proc/{number}/stat")).ok()?.read(&mut stat).ok()?;
        Self::parse(number, &String::from_utf8_lossy(&stat[..length]))
    }

    /// Parses `number (name) state parent group …`; the name may contain anything, including parentheses.
    fn parse(number: i32, stat: &str) -> Option<Self> {
        let (head, tail) = stat.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        let fields: Vec<_> = tail.split_ascii_whitespace().collect();
        Some(Self {
            number,
            name: name.to_owned(),
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
            dead: matches!(*fields.first()?, "Z" | "X"),
        })
    }
}

/// Returns all processes that this one can see.
pub(crate) fn all() -> impl Iterator<Item = Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| Process::read(entry.file_name().to_str()?.parse().ok()?))
}

/// Returns the number of the most recently started process of the machine or container.
pub(crate) fn newest() -> Option<String> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    load.split_ascii_whitespace().next_back().map(str::to_owned)
}

/// Returns the value of a variable in the environment that a process was started with.
pub(crate) fn variable(process: i32, name: &str) -> Option<Vec<u8>> {
    let environment = fs::read(format!("/proc/{process}/environ")).ok()?;
    environment
        .split(|&byte| byte == 0)
        .find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
        .map(ToOwned::to_owned)
}

/// Returns the soft limit of a process on file locks; `None` if there is none.
pub(crate) fn lock_limit(process: i32) -> Option<u64> {
    soft_limit(&fs::read_to_string(format!("/proc/{process}/limits")).ok()?, "Max file locks")
}

/// Finds a limit in a table of `name soft hard unit` with a line for each.
fn soft_limit(table: &str, name: &str) -> Option<u64> {
    let row = table.lines().find_map(|line| line.strip_prefix(name))?;
    row.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_with_parentheses_and_spaces_is_parsed() {
        let stat = "7 (a) b (c) S 3 5 5 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 9 9";
        let process = Process::parse(7, stat).unwrap();
        assert_eq!((process.name.as_str(), process.parent, process.group), ("a) b (c", 3, 5));
        assert_eq!((process.started, process.dead), (4242, false));
    }

    #[test]
    fn limit_is_found_in_the_table() {
        let table = "Limit        Soft Limit  Hard Limit  Units\n\
            Max cpu time    unlimited   unlimited   seconds\n\
            Max file locks  4611686018427387905  unlimited  locks\n";
        assert_eq!(soft_limit(table, "Max file locks"), Some(4_611_686_018_427_387_905));
        assert_eq!(soft_limit(table, "Max cpu time"), None);
        assert_eq!(soft_limit(table, "Max pending signals"), None);
    }
}
