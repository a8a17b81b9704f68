//! The processes of commands on Linux, found in `/proc` by group, by parent, by mark, and as orphans.
//!
//! They are stopped as they are found, so that none can start another during the search, and the search is repeated
//! until it finds no more. One search serves any number of trees.
//!
//! The variable of a mark is lost when a process clears its environment. The limit on file locks (`RLIMIT_LOCKS`) is
//! not: it passes through `fork`, `exec` and `setsid`, can be read for every process, and no kernel since 2.4 enforces
//! it. So its soft value is the second half of a mark.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::OnceLock;

use rustix::process::{
    Pid, Resource, Rlimit, Signal, getrlimit, kill_process, kill_process_group, setrlimit,
};
use tokio::process::{Child, Command};

use super::{Mark, ProcessTree, Survivor};
use crate::orphans;
use crate::process_table::{self, Process};

/// The most searches for one kill: a safeguard against a tree that grows as fast as it is killed.
const MAX_SEARCHES: usize = 300;

/// How many searches in a row must find nothing, if other processes are being started, to be believed.
const EMPTY_SEARCHES: usize = 8;

/// The processes found so far, each with its start time, which tells it from a later one of the same number.
type Members = HashMap<i32, u64>;

/// Starts a command whose processes carry the mark. Only the thread that starts processes may call this: what another
/// thread starts at the same moment would carry it, too.
pub(crate) fn spawn_marked(command: &mut Command, mark: Mark) -> io::Result<Child> {
    let before = getrlimit(Resource::Locks);
    // Where the limit cannot be set, the variable alone marks the command.
    let _ = setrlimit(Resource::Locks, Rlimit { current: Some(limit_of(mark)), ..before });
    let child = match RESTRICT.get() {
        Some(restrict) => spawn_restricted(command, *restrict),
        None => command.spawn(),
    };
    let _ = setrlimit(Resource::Locks, before);
    child
}

/// Restricts the thread that starts a command, and returns whether that worked.
static RESTRICT: OnceLock<fn() -> bool> = OnceLock::new();

/// Has every command be started by a thread of its own that `restrict` has restricted. Commands inherit what restricts
/// the thread that starts them; this process stays as it is.
pub fn restrict_commands(restrict: fn() -> bool) {
    let _ = RESTRICT.set(restrict);
}

fn spawn_restricted(command: &mut Command, restrict: fn() -> bool) -> io::Result<Child> {
    let runtime = tokio::runtime::Handle::current();
    std::thread::scope(|scope| {
        let started = scope.spawn(|| {
            let _entered = runtime.enter();
            if restrict() { command.spawn() } else { Err(io::ErrorKind::PermissionDenied.into()) }
        });
        started.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    })
}

/// Returns when a process started; zero if it is gone.
pub(super) fn start_of(process: i32) -> u64 {
    Process::read(process).map_or(0, |process| process.started)
}

/// Stops the group of the leader, which takes no search, so that it does nothing more until it is killed.
pub(crate) fn stop_group(tree: &ProcessTree) {
    Trees::new(&[*tree]).signal_groups(Signal::STOP);
}

/// Kills every process of the trees.
pub(crate) fn kill(trees: &[ProcessTree]) {
    let mut trees = Trees::new(trees);
    trees.takes_orphans = true;
    if let Some(postponed) = orphans::postponed_since() {
        trees.started = trees.started.min(postponed);
    }
    let mut searches = MAX_SEARCHES;
    loop {
        let changes = orphans::changes();
        kill_found(&trees, &mut searches);
        if orphans::postpone(trees.started) {
            return;
        }
        // A search during which a command was in progress has left the orphans alone.
        if changes == orphans::changes() || searches == 0 {
            return orphans::settle();
        }
    }
}

fn kill_found(trees: &Trees, searches: &mut usize) {
    let mut members = trees.leaders();
    // The kernel stops a group atomically; the others are found one by one.
    trees.signal_groups(Signal::STOP);
    trees.stop_all(&mut members, searches);
    loop {
        trees.signal_groups(Signal::KILL);
        for (&process, &started) in &members {
            if start_of(process) == started {
                signal(process, Signal::KILL);
            }
        }
        if !trees.stop_all(&mut members, searches) {
            return;
        }
    }
}

/// Returns the live processes of the tree, without the leader.
pub(crate) fn survivors(tree: &ProcessTree) -> Vec<Survivor> {
    // The leader may have been reaped, so that its number may be that of another group.
    let trees = Trees { groups: HashMap::new(), ..Trees::new(&[*tree]) };
    let mut found = trees.find(&Members::new());
    found.retain(|process| process.number != tree.leader);
    found.sort_by_key(|process| process.number);
    found.into_iter().map(|process| Survivor { process: process.number, name: process.name }).collect()
}

/// What the processes of some trees are recognised by.
struct Trees {
    /// The groups of leaders that have not been reaped, with when the leaders started. The number of another one may
    /// belong to another process.
    groups: HashMap<i32, u64>,
    marks: Marks,
    /// No process of any tree is older.
    started: u64,
    /// Whether orphans that nobody else can have left are part of the trees.
    takes_orphans: bool,
}

/// The marks of some trees.
#[derive(Default)]
pub(crate) struct Marks {
    texts: HashSet<Vec<u8>>,
    limits: HashSet<u64>,
}

impl Marks {
    pub(crate) fn insert(&mut self, mark: Mark) {
        self.texts.insert(mark.text().into_bytes());
        self.limits.insert(limit_of(mark));
    }

    pub(crate) fn count(&self) -> usize {
        self.limits.len()
    }

    /// Returns whether a process has one of the marks.
    pub(crate) fn are_on(&self, process: i32) -> bool {
        if self.limits.is_empty() {
            return false;
        }
        process_table::lock_limit(process).is_some_and(|limit| self.limits.contains(&limit))
            || process_table::variable(process, super::VARIABLE)
                .is_some_and(|value| value.split(|&byte| byte == b':').any(|text| self.texts.contains(text)))
    }
}

impl Trees {
    fn new(trees: &[ProcessTree]) -> Self {
        let mut marks = Marks::default();
        for tree in trees {
            marks.insert(tree.mark);
        }
        let led = trees.iter().filter(|tree| tree.leader > 1 && start_of(tree.leader) == tree.started);
        Self {
            groups: led.map(|tree| (tree.leader, tree.started)).collect(),
            marks,
            started: trees.iter().map(|tree| tree.started).min().unwrap_or_default(),
            takes_orphans: false,
        }
    }

    fn leaders(&self) -> Members {
        self.groups.clone()
    }

    fn signal_groups(&self, signal: Signal) {
        for (&group, &started) in &self.groups {
            if start_of(group) == started
                && let Some(group) = Pid::from_raw(group)
            {
                let _ = kill_process_group(group, signal);
            }
        }
    }

    /// Stops processes of the trees until no more are running, and returns whether there were any.
    ///
    /// One empty search proves nothing: a process may have started another that the search missed, and exited before
    /// the search reached it. An empty search counts if no process at all was started meanwhile, or if it repeats.
    fn stop_all(&self, members: &mut Members, searches: &mut usize) -> bool {
        let mut any = false;
        let mut empty = 0;
        while empty < EMPTY_SEARCHES && *searches > 0 {
            *searches -= 1;
            let newest = process_table::newest();
            if self.stop_new(members) {
                any = true;
                empty = 0;
            } else if newest.is_some() && newest == process_table::newest() {
                break;
            } else {
                empty += 1;
            }
        }
        any
    }

    /// Stops the processes of the trees that are not in `members`, adds them, and returns whether there were any.
    fn stop_new(&self, members: &mut Members) -> bool {
        let found = self.find(members);
        for process in &found {
            signal(process.number, Signal::STOP);
            members.insert(process.number, process.started);
        }
        !found.is_empty()
    }

    /// Returns the live processes of the trees that are not in `members`.
    fn find(&self, members: &Members) -> Vec<Process> {
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        let candidates = process_table::all().filter(|process| {
            let known = members.get(&process.number) == Some(&process.started);
            !known
                && !process.dead
                && process.started >= self.started
                && process.number > 1
                && process.number != own
        });
        let is_recognised = |process: &Process| {
            members.contains_key(&process.parent)
                || self.groups.contains_key(&process.group)
                || self.marks.are_on(process.number)
                || (self.takes_orphans && orphans::is_unclaimed(process))
        };
        let (mut found, mut rest): (Vec<_>, Vec<_>) = candidates.partition(is_recognised);
        // What is left may still be a child of what was found. Repeated because children have children.
        let mut parents: HashSet<i32> = found.iter().map(|process| process.number).collect();
        loop {
            let (children, others): (Vec<_>, Vec<_>) =
                rest.into_iter().partition(|process| parents.contains(&process.parent));
            if children.is_empty() {
                return found;
            }
            parents = children.iter().map(|process| process.number).collect();
            found.extend(children);
            rest = others;
        }
    }
}

/// Returns the limit that is the second half of a mark: so large that no one sets it for its own sake.
fn limit_of(mark: Mark) -> u64 {
    let bytes = mark.to_bytes();
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[8..]);
    (u64::from_be_bytes(number) >> 2) | (1 << 62)
}

/// Sends a signal, ignoring processes that have exited or belong to another user.
fn signal(process: i32, signal: Signal) {
    if let Some(process) = Pid::from_raw(process) {
        let _ = kill_process(process, signal);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    /// Waits until the process is gone or a zombie.
    fn is_gone(process: i32) -> bool {
        let gone = || Process::read(process).is_none_or(|process| process.dead);
        (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            gone()
        })
    }

    #[tokio::test]
    async fn process_that_cleared_its_environment_is_found_by_its_limit() {
        let mark = Mark::new();
        let mut command = Command::new("env");
        command.args(["-i", "setsid", "sleep", "300"]).stdin(Stdio::null());
        let child = spawn_marked(&mut command, mark).unwrap();
        let process = i32::try_from(child.id().unwrap()).unwrap();
        assert_ne!(process_table::lock_limit(std::process::id().try_into().unwrap()), Some(limit_of(mark)));
        // A tree whose leader is gone: nothing but the mark is left of it.
        kill(&[
            ProcessTree { leader: 0, started: 0, mark: Mark::new() },
            ProcessTree { leader: 0, started: 0, mark },
        ]);
        assert!(is_gone(process));
        drop(child);
    }
}
