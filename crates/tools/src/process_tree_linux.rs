//! The processes of a command on Linux, found in `/proc` by group, by parent and by mark.
//!
//! They are stopped as they are found, so that none can start another during the search, and the search is repeated
//! until it finds no more.

use std::collections::HashMap;
use std::fs;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::{Leader, Survivor, VARIABLE};

/// The most searches for one kill: a safeguard against a tree that grows as fast as it is killed.
const MAX_SEARCHES: usize = 300;

/// How many searches in a row must find nothing, if other processes are being started, to be believed.
const EMPTY_SEARCHES: usize = 8;

/// The processes of one command.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    leader: i32,
    mark: String,
    /// When the leader started, in the kernel's ticks. No process of the tree is older.
    started: u64,
}

/// A process as `/proc/PID/stat` describes it.
struct Process {
    number: i32,
    name: String,
    parent: i32,
    group: i32,
    started: u64,
    dead: bool,
}

/// The processes found so far, each with its start time, which tells it from a later one of the same number.
type Members = HashMap<i32, u64>;

impl ProcessTree {
    /// Returns the tree of the process `leader`, which leads a process group and has not been reaped.
    pub(crate) fn new(leader: i32, mark: String) -> Self {
        let started = Process::read(leader).map_or(0, |process| process.started);
        Self { leader, mark, started }
    }

    /// Kills every process of the tree.
    pub(crate) fn kill(&self, leader: Leader) {
        // Zero is not a process: its "children" would be those whose parent is outside this container.
        let group = Some(self.leader).filter(|number| leader == Leader::NotReaped && *number > 0);
        let mut members = Members::new();
        let mut searches = MAX_SEARCHES;
        if let Some(leader) = group {
            members.insert(leader, self.started);
        }
        // The kernel stops a group atomically; the others are found one by one.
        signal_group(group, Signal::STOP);
        self.stop_all(group, &mut members, &mut searches);
        loop {
            signal_group(group, Signal::KILL);
            for (&process, &started) in &members {
                if Process::read(process).is_some_and(|now| now.started == started) {
                    signal(process, Signal::KILL);
                }
            }
            if !self.stop_all(group, &mut members, &mut searches) {
                return;
            }
        }
    }

    /// Returns the live processes of the tree, without the leader.
    pub(crate) fn survivors(&self) -> Vec<Survivor> {
        let mut found = self.find(None, &Members::new());
        found.retain(|process| process.number != self.leader);
        found.sort_by_key(|process| process.number);
        found.into_iter().map(|process| Survivor { process: process.number, name: process.name }).collect()
    }

    /// Stops processes of the tree until no more are running, and returns whether there were any.
    ///
    /// One empty search proves nothing: a process may have started another that the search missed, and exited before
    /// the search reached it. An empty search counts if no process at all was started meanwhile, or if it repeats.
    fn stop_all(&self, group: Option<i32>, members: &mut Members, searches: &mut usize) -> bool {
        let mut any = false;
        let mut empty = 0;
        while empty < EMPTY_SEARCHES && *searches > 0 {
            *searches -= 1;
            let newest = newest_process();
            if self.stop_new(group, members) {
                any = true;
                empty = 0;
            } else if newest.is_some() && newest == newest_process() {
                break;
            } else {
                empty += 1;
            }
        }
        any
    }

    /// Stops the processes of the tree that are not in `members`, adds them, and returns whether there were any.
    fn stop_new(&self, group: Option<i32>, members: &mut Members) -> bool {
        let found = self.find(group, members);
        for process in &found {
            signal(process.number, Signal::STOP);
            members.insert(process.number, process.started);
        }
        !found.is_empty()
    }

    /// Returns the live processes of the tree that are not in `members`.
    fn find(&self, group: Option<i32>, members: &Members) -> Vec<Process> {
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        let candidates = all_processes().filter(|process| {
            let known = members.get(&process.number) == Some(&process.started);
            !known
                && !process.dead
                && process.started >= self.started
                && process.number > 1
                && process.number != own
        });
        let mut candidates: Vec<_> = candidates.collect();
        let mut found: Vec<Process> = Vec::new();
        // Repeated because a child may precede its parent in the list.
        loop {
            let (belonging, rest): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|process| {
                members.contains_key(&process.parent)
                    || found.iter().any(|parent| parent.number == process.parent)
                    || group == Some(process.group)
                    || self.is_marked(process.number)
            });
            if belonging.is_empty() {
                return found;
            }
            found.extend(belonging);
            candidates = rest;
        }
    }

    /// Returns whether the process has the mark of this tree in its environment.
    fn is_marked(&self, process: i32) -> bool {
        let Ok(environment) = fs::read(format!("/proc/{process}/environ")) else { return false };
        environment.split(|&byte| byte == 0).any(|variable| {
            variable
                .strip_prefix(VARIABLE.as_bytes())
                .and_then(|rest| rest.strip_prefix(b"="))
                .is_some_and(|value| memchr::memmem::find(value, self.mark.as_bytes()).is_some())
        })
    }
}

impl Process {
    fn read(number: i32) -> Option<Self> {
        let stat = fs::read(format!("/proc/{number}/stat")).ok()?;
        Self::parse(number, &String::from_utf8_lossy(&stat))
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

fn all_processes() -> impl Iterator<Item = Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| Process::read(entry.file_name().to_str()?.parse().ok()?))
}

/// Returns the number of the most recently started process of the machine or container.
fn newest_process() -> Option<String> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    load.split_ascii_whitespace().next_back().map(str::to_owned)
}

fn signal_group(group: Option<i32>, signal: Signal) {
    if let Some(group) = group.and_then(Pid::from_raw) {
        let _ = kill_process_group(group, signal);
    }
}

/// Sends a signal, ignoring processes that have exited or belong to another user.
fn signal(process: i32, signal: Signal) {
    if let Some(process) = Pid::from_raw(process) {
        let _ = kill_process(process, signal);
    }
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
}
