//! This process as the parent of orphans: a "child subreaper" of the kernel.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rustix::process::{
    Pid, WaitId, WaitIdOptions, WaitOptions, getpid, set_child_subreaper, waitid, waitpid,
};
use tokio::signal::unix::{SignalKind, signal};

use crate::process_table::{self, Process};
use crate::process_tree::{Mark, Marks, ProcessTree};

/// How long after a child's death the dead are reaped, so that many deaths cost one look.
const PAUSE: Duration = Duration::from_millis(50);

/// After how many commands it is worth a look whether their marks can be forgotten.
const MARKS_PER_LOOK: usize = 64;

/// What is known of the children of this process.
#[derive(Default)]
struct Children {
    /// Those that this crate has started and that have not been reaped.
    own: HashSet<i32>,
    /// The commands in progress that are not being killed.
    open: HashSet<Mark>,
    /// The marks of commands that have ended and may have left processes.
    left: Marks,
    /// The marks of the services that run.
    services: Vec<Mark>,
    /// When the oldest command was started whose kill has to be completed.
    postponed: Option<u64>,
    /// How often commands have begun or ended.
    changes: u64,
}

static CHILDREN: Mutex<Option<Children>> = Mutex::new(None);

/// Present if orphans come to this process. Tells whether another part of the program has started a child.
static STARTED_ELSEWHERE: OnceLock<fn(i32) -> bool> = OnceLock::new();

/// Whether the dead are reaped.
static REAPS: AtomicBool = AtomicBool::new(false);

/// A child that this process has started and waits for. Dropped when it has been reaped, or need no longer be waited for.
pub(crate) struct OwnChild(i32);

impl Drop for OwnChild {
    fn drop(&mut self) {
        with(|children| children.own.remove(&self.0));
    }
}

/// Makes this process the parent of all orphans among its descendants. Children that this crate has not started are its
/// own if `is_started_elsewhere` says so.
pub fn adopt_orphans(is_started_elsewhere: fn(i32) -> bool) {
    // A kernel without it leaves the search by marks.
    if set_child_subreaper(Some(getpid())).is_ok() {
        let _ = STARTED_ELSEWHERE.set(is_started_elsewhere);
    }
}

/// Starts a child. Until its number is known nobody looks at the children, so that it is not taken for an orphan.
pub(crate) fn start<C>(
    spawn: impl FnOnce() -> io::Result<C>,
    number: impl FnOnce(&C) -> Option<u32>,
) -> io::Result<(C, OwnChild)> {
    with(|children| {
        let child = spawn()?;
        let number = number(&child).and_then(|number| i32::try_from(number).ok()).unwrap_or_default();
        children.own.insert(number);
        Ok((child, OwnChild(number)))
    })
}

/// Reports that a command is about to start.
pub(crate) fn begin(mark: Mark) {
    if STARTED_ELSEWHERE.get().is_none() {
        return;
    }
    with(|children| {
        children.open.insert(mark);
        children.changes += 1;
    });
}

/// Reports that a service is about to start. Its processes are its own, whatever command is being killed.
pub(crate) fn begin_service(mark: Mark) {
    if STARTED_ELSEWHERE.get().is_some() {
        with(|children| children.services.push(mark));
    }
}

/// Reports that a service is being killed, or did not start.
pub(crate) fn end_service(mark: Mark) {
    with(|children| children.services.retain(|service| *service != mark));
}

/// Reports that a command is being killed, or did not start.
pub(crate) fn forget(mark: Mark) {
    with(|children| children.open.remove(&mark));
}

/// Reports that a command has ended by itself: what it left may go on. Returns what is left to be killed of others.
pub(crate) fn leave(mark: Mark) -> Option<ProcessTree> {
    let is_started_elsewhere = STARTED_ELSEWHERE.get()?;
    with(|children| {
        children.open.remove(&mark);
        children.changes += 1;
        children.left.insert(mark);
        if children.left.count().is_multiple_of(MARKS_PER_LOOK) {
            let is_own = |number: &i32| children.own.contains(number) || is_started_elsewhere(*number);
            // Without orphans nothing is left of any command that has ended.
            if listed().is_some_and(|numbers| numbers.iter().all(is_own)) {
                children.left = Marks::default();
            }
        }
        if children.open.is_empty() { children.take_postponed() } else { None }
    })
}

/// Reports that no command is in progress any longer. Returns what is left to be killed.
pub(crate) fn close() -> Option<ProcessTree> {
    with(|children| {
        children.open.clear();
        children.take_postponed()
    })
}

/// Returns whether a child of this process has to be an orphan of the commands being killed, unless it is older.
pub(crate) fn is_unclaimed(process: &Process) -> bool {
    let Some(is_started_elsewhere) = STARTED_ELSEWHERE.get() else { return false };
    if process.parent != getpid().as_raw_pid() {
        return false;
    }
    with(|children| {
        children.open.is_empty()
            && !children.own.contains(&process.number)
            && !children.left.are_on(process.number)
            && !children.is_of_service(process.number)
            && !is_started_elsewhere(process.number)
    })
}

/// Returns how often commands have begun or ended.
pub(crate) fn changes() -> u64 {
    with(|children| children.changes)
}

/// Returns when the oldest command was started whose kill has to be completed.
pub(crate) fn postponed_since() -> Option<u64> {
    with(|children| children.postponed)
}

/// Postpones the rest of a kill if a command is in progress, and returns whether it did.
pub(crate) fn postpone(since: u64) -> bool {
    with(|children| {
        let postpones = STARTED_ELSEWHERE.get().is_some() && !children.open.is_empty();
        if postpones {
            children.postponed = Some(children.postponed.map_or(since, |earlier| earlier.min(since)));
        }
        postpones
    })
}

/// Reports that what was postponed is dead.
pub(crate) fn settle() {
    with(|children| children.postponed = None);
}

/// Reaps orphans when they have died, from the first command on.
pub(crate) fn reap_from_now_on() {
    if STARTED_ELSEWHERE.get().is_none() || REAPS.swap(true, Ordering::Relaxed) {
        return;
    }
    // Without the signal the dead stay until the end.
    let Ok(mut deaths) = signal(SignalKind::child()) else { return };
    tokio::spawn(async move {
        while deaths.recv().await.is_some() {
            tokio::time::sleep(PAUSE).await;
            reap();
        }
    });
}

/// Reaps the orphans that have died, and no child that this process has started: others wait for these.
pub(crate) fn reap() {
    let Some(is_started_elsewhere) = STARTED_ELSEWHERE.get() else { return };
    // Most often only what this process has started has died, and has been reaped.
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if !matches!(waitid(WaitId::All, look), Ok(Some(_))) {
        return;
    }
    let numbers = listed().unwrap_or_else(|| {
        let own = getpid().as_raw_pid();
        process_table::all().filter(|process| process.parent == own).map(|process| process.number).collect()
    });
    with(|children| {
        let orphans = numbers
            .into_iter()
            .filter(|number| !children.own.contains(number) && !is_started_elsewhere(*number));
        for orphan in orphans.filter_map(Pid::from_raw) {
            let _ = waitpid(Some(orphan), WaitOptions::NOHANG);
        }
    });
}

impl Children {
    fn is_of_service(&self, process: i32) -> bool {
        let mut marks = Marks::default();
        for mark in &self.services {
            marks.insert(*mark);
        }
        marks.are_on(process)
    }

    fn take_postponed(&mut self) -> Option<ProcessTree> {
        let started = self.postponed.take()?;
        Some(ProcessTree { leader: 0, started, mark: Mark::new() })
    }
}

/// Returns the children of the main thread, dead or alive; `None` if the kernel does not list them. All orphans are among
/// them: the kernel gives an orphan to the first thread of a process that lives.
fn listed() -> Option<Vec<i32>> {
    let text = fs::read_to_string(format!("/proc/self/task/{}/children", getpid())).ok()?;
    Some(text.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect())
}

fn with<T>(look: impl FnOnce(&mut Children) -> T) -> T {
    let mut children: MutexGuard<'_, _> = CHILDREN.lock().unwrap_or_else(PoisonError::into_inner);
    look(children.get_or_insert_default())
}
