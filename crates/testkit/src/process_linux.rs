//! Processes, inspected through `/proc`.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// The memory of a process, in KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// All resident pages.
    pub resident: u64,
    /// Resident pages; shared ones count in proportion.
    pub proportional: u64,
    /// What is not backed by a file: the part that does not depend on other processes of the same program.
    pub anonymous: u64,
}

/// Returns whether a process runs; a zombie does not.
pub fn is_alive(pid: u32) -> bool {
    state_and_parent(pid).is_some_and(|(state, _)| state != 'Z' && state != 'X')
}

/// Returns the running descendants of a process.
///
/// A process whose parent has ended is not found.
pub fn descendants(pid: u32) -> Vec<u32> {
    let relations: Vec<(u32, u32)> = all()
        .into_iter()
        .filter_map(|pid| {
            let (state, parent) = state_and_parent(pid)?;
            (state != 'Z').then_some((pid, parent))
        })
        .collect();
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(relations.iter().filter(|relation| relation.1 == parent).map(|relation| relation.0));
        next += 1;
    }
    found.split_off(1)
}

/// Returns whether a process is the one that watches an agent.
pub fn is_watcher(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == b"bowline-watch\0__watch\0")
}

/// Returns the memory of a process; `None` if it has ended.
pub fn memory_of(pid: u32) -> Option<Memory> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let figure = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    };
    Some(Memory {
        resident: figure("Rss:")?,
        proportional: figure("Pss:")?,
        anonymous: figure("Anonymous:")?,
    })
}

/// Returns the peak memory of a process, in KiB; `None` if it has ended.
pub fn peak_memory_of(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// Returns the CPU time of a process; `None` if it has ended.
pub fn cpu_time_of(pid: u32) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
}

/// Returns the running processes whose environment contains `NAME=value`, also those whose parent has ended.
pub(crate) fn with_environment(variable: &str) -> Vec<u32> {
    all()
        .into_iter()
        .filter(|pid| is_alive(*pid))
        .filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes())
        })
        .collect()
}

/// Sends a signal; returns whether the process exists.
pub(crate) fn signal(pid: u32, number: i32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process id");
    let signal = Signal::from_named_raw(number).unwrap_or_else(|| panic!("{number} is no signal"));
    kill_process(pid, signal).is_ok()
}

fn all() -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("/proc");
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn state_and_parent(pid: u32) -> Option<(char, u32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before the last parenthesis may itself contain spaces and parentheses.
    let mut fields = text.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn child_process_is_found_until_it_ends() {
        let mut child = Command::new("sleep").arg("60").env("TESTKIT_PROBE", "1").spawn().expect("sleep");
        let pid = child.id();
        assert!(is_alive(pid));
        assert!(descendants(std::process::id()).contains(&pid));
        let started = std::time::Instant::now();
        while !with_environment("TESTKIT_PROBE=1").contains(&pid) {
            assert!(started.elapsed().as_secs() < 10, "the child has not started its program");
        }
        assert!(memory_of(pid).is_some_and(|memory| memory.resident > 0));
        assert!(signal(pid, 9));
        child.wait().expect("the end of sleep");
        assert!(!is_alive(pid));
    }
}
