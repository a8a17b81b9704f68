//! A command and everything that came out of it, as one thing that can be ended.
//!
//! A process group alone is not enough: a child that calls `setsid` leaves it. So each command carries a variable with a
//! value of its own in its environment, which every descendant inherits, and on Linux the processes of the tree are found
//! in `/proc` by group, by parent and by that variable. They are stopped as they are found, so that none can start
//! another while the search goes on, and the search goes on until it finds no more.

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only the process group is known there"))]

use uuid::Uuid;

/// The variable that marks the processes of a command.
pub(crate) const VARIABLE: &str = "BOWLINE_COMMAND";

/// The processes of one command.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    leader: i32,
    mark: String,
    /// When the leader began, in the kernel's ticks. No process of the tree is older.
    began: u64,
}

/// A process of the tree, as a reader knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Survivor {
    pub process: i32,
    pub name: String,
}

/// Returns a mark for a new command, and the value of its variable. The value repeats the mark that this program itself
/// runs under, if any: the command then is part of that outer tree as well.
pub(crate) fn new_mark() -> (String, String) {
    let mark = Uuid::new_v4().simple().to_string();
    let value = match std::env::var(VARIABLE) {
        Ok(outer) if !outer.is_empty() => format!("{outer}:{mark}"),
        _ => mark.clone(),
    };
    (mark, value)
}

#[cfg(not(target_os = "linux"))]
impl ProcessTree {
    /// Returns the tree that begins with the process `leader`, which leads a process group and is not yet waited for.
    pub(crate) fn new(leader: i32, mark: String) -> Self {
        Self { leader, mark, began: 0 }
    }

    /// Kills the process group of the leader, unless the leader was waited for and its number may be another's by now.
    pub(crate) fn kill(&self, leader_awaits: bool) {
        if let Some(group) = rustix::process::Pid::from_raw(self.leader).filter(|_| leader_awaits) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }

    /// Returns nothing: which processes are left is not known here.
    pub(crate) fn survivors(&self) -> Vec<Survivor> {
        Vec::new()
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashMap;
    use std::fs;

    use rustix::process::{Pid, Signal, kill_process, kill_process_group};

    use super::{ProcessTree, Survivor, VARIABLE};

    /// The most searches for one kill: a safeguard against a tree that grows as fast as it is cut.
    const MAX_SEARCHES: usize = 300;

    /// How often a search must find nothing while other processes start, to be believed.
    const EMPTY_SEARCHES: usize = 8;

    /// What `/proc/PID/stat` says of a process.
    struct Process {
        number: i32,
        name: String,
        parent: i32,
        group: i32,
        began: u64,
        dead: bool,
    }

    /// The processes found so far, each with its begin, which tells it from a later one of the same number.
    type Members = HashMap<i32, u64>;

    impl ProcessTree {
        /// Returns the tree that begins with the process `leader`, which leads a process group and is not yet waited for.
        pub(crate) fn new(leader: i32, mark: String) -> Self {
            let began = Process::read(leader).map_or(0, |process| process.began);
            Self { leader, mark, began }
        }

        /// Kills every process of the tree. `leader_awaits` tells that the leader was not waited for: its number, and
        /// with it that of its group, are then surely still its own.
        pub(crate) fn kill(&self, leader_awaits: bool) {
            // Zero is no process: its "children" would be those whose parent is outside of this container.
            let group = Some(self.leader).filter(|leader| leader_awaits && *leader > 0);
            let mut members = Members::new();
            let mut searches = MAX_SEARCHES;
            if let Some(leader) = group {
                members.insert(leader, self.began);
            }
            // The kernel stops a group at one stroke; the others are found one by one.
            signal_group(group, Signal::STOP);
            self.stop_all(group, &mut members, &mut searches);
            loop {
                signal_group(group, Signal::KILL);
                for (&process, &began) in &members {
                    if Process::read(process).is_some_and(|now| now.began == began) {
                        signal(process, Signal::KILL);
                    }
                }
                if !self.stop_all(group, &mut members, &mut searches) {
                    return;
                }
            }
        }

        /// Returns the processes of the tree that live, the leader excepted.
        pub(crate) fn survivors(&self) -> Vec<Survivor> {
            let mut found = self.find(None, &Members::new());
            found.retain(|process| process.number != self.leader);
            found.sort_by_key(|process| process.number);
            found
                .into_iter()
                .map(|process| Survivor { process: process.number, name: process.name })
                .collect()
        }

        /// Stops processes of the tree until there are no more that run, and tells whether there were any.
        ///
        /// One search that finds nothing proves nothing: a process may have started another behind the back of the search
        /// and ended before its own turn came. It counts if no process at all was started meanwhile, or if it happens
        /// again and again.
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

        /// Stops the processes of the tree that are not among `members`, adds them, and tells whether there were any.
        fn stop_new(&self, group: Option<i32>, members: &mut Members) -> bool {
            let found = self.find(group, members);
            for process in &found {
                signal(process.number, Signal::STOP);
                members.insert(process.number, process.began);
            }
            !found.is_empty()
        }

        /// Returns the live processes that belong to the tree and are not among `members`.
        fn find(&self, group: Option<i32>, members: &Members) -> Vec<Process> {
            let own = i32::try_from(std::process::id()).unwrap_or_default();
            let candidates = all_processes().filter(|process| {
                let known = members.get(&process.number) == Some(&process.began);
                !known
                    && !process.dead
                    && process.began >= self.began
                    && process.number > 1
                    && process.number != own
            });
            let mut candidates: Vec<_> = candidates.collect();
            let mut found: Vec<Process> = Vec::new();
            // A child may come before its parent in the list: hence the repetition.
            loop {
                let (belonging, rest): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|process| {
                    members.contains_key(&process.parent)
                        || found.iter().any(|parent| parent.number == process.parent)
                        || group == Some(process.group)
                        || self.marks(process.number)
                });
                if belonging.is_empty() {
                    return found;
                }
                found.extend(belonging);
                candidates = rest;
            }
        }

        /// Tells whether the process has the mark of this tree in its environment.
        fn marks(&self, process: i32) -> bool {
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

        /// Reads `number (name) state parent group …`; the name may hold anything, also parentheses.
        fn parse(number: i32, stat: &str) -> Option<Self> {
            let (head, tail) = stat.rsplit_once(')')?;
            let (_, name) = head.split_once('(')?;
            let fields: Vec<_> = tail.split_ascii_whitespace().collect();
            Some(Self {
                number,
                name: name.to_owned(),
                parent: fields.get(1)?.parse().ok()?,
                group: fields.get(2)?.parse().ok()?,
                began: fields.get(19)?.parse().ok()?,
                dead: matches!(*fields.first()?, "Z" | "X"),
            })
        }
    }

    fn all_processes() -> impl Iterator<Item = Process> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(|entry| Process::read(entry.file_name().to_str()?.parse().ok()?))
    }

    /// Returns the number of the process that was started last, on the whole machine or in this container.
    fn newest_process() -> Option<String> {
        let load = fs::read_to_string("/proc/loadavg").ok()?;
        load.split_ascii_whitespace().next_back().map(str::to_owned)
    }

    fn signal_group(group: Option<i32>, signal: Signal) {
        if let Some(group) = group.and_then(Pid::from_raw) {
            let _ = kill_process_group(group, signal);
        }
    }

    /// Sends a signal; that the process is gone already, or is another user's, is no failure.
    fn signal(process: i32, signal: Signal) {
        if let Some(process) = Pid::from_raw(process) {
            let _ = kill_process(process, signal);
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_name_with_parentheses_and_spaces_is_read() {
            let stat = "7 (a) b (c) S 3 5 5 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 9 9";
            let process = Process::parse(7, stat).unwrap();
            assert_eq!((process.name.as_str(), process.parent, process.group), ("a) b (c", 3, 5));
            assert_eq!((process.began, process.dead), (4242, false));
        }
    }
}
