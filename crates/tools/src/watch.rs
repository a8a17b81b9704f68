//! A second process that kills the commands in progress when this one ends in a way that it cannot handle, such as
//! `kill -9`.
//!
//! It holds the reading end of a pipe whose writing end only this process has, so it learns of the end whatever its
//! cause. Over the pipe it is told which commands are in progress: a command is announced before it starts. It is
//! started with the first command, and again if it has died.

use std::collections::HashSet;
use std::io::{self, Read, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::orphans::{self, OwnChild};
use crate::platform;
use crate::process_tree::{self, Mark, ProcessTree};

/// The argument with which the program is started to watch.
pub const WATCH_ROLE: &str = "__watch";

/// A record is one of these and the mark of a command.
const BEGIN: u8 = b'+';
const END: u8 = b'-';
const RECORD: usize = 17;

/// The commands in progress, and the process that knows them.
struct Watch {
    open: Vec<Mark>,
    watcher: Option<Watcher>,
}

struct Watcher {
    process: Child,
    _own: OwnChild,
    pipe: ChildStdin,
}

static WATCH: Mutex<Watch> = Mutex::new(Watch { open: Vec::new(), watcher: None });

/// Announces a command that is about to start. `program` is what watches, with [`WATCH_ROLE`] as its argument.
pub(crate) fn begin(program: &Path, mark: Mark) {
    let mut watch = lock();
    watch.open.push(mark);
    let told = watch.watcher.as_mut().is_some_and(|watcher| watcher.tell(BEGIN, mark));
    if !told {
        if let Some(mut dead) = watch.watcher.take() {
            let _ = dead.process.try_wait();
        }
        // Without a watcher commands run all the same.
        watch.watcher = Watcher::start(program, &watch.open).ok();
    }
}

/// Reports that a command has ended. What it left running in the background may go on.
pub(crate) fn end(mark: Mark) {
    let mut watch = lock();
    let Some(index) = watch.open.iter().position(|open| *open == mark) else { return };
    watch.open.swap_remove(index);
    if let Some(watcher) = &mut watch.watcher {
        watcher.tell(END, mark);
    }
}

/// Ends the watcher and reaps it: in a container it may be that nobody else does.
pub(crate) fn dismiss(deadline: Instant) {
    let Some(Watcher { mut process, _own, pipe }) = lock().watcher.take() else { return };
    drop(pipe);
    while matches!(process.try_wait(), Ok(None)) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl Watcher {
    fn start(program: &Path, open: &[Mark]) -> io::Result<Self> {
        let mut command = Command::new(program);
        // It needs no environment, must not keep a directory or the client's pipes open, and gets no signal that is
        // meant for this process's group.
        command.arg(WATCH_ROLE).env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        platform::separate_watcher(&mut command);
        let (mut process, own) = orphans::start(|| command.spawn(), |child| Some(child.id()))?;
        let pipe = process.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        platform::set_nonblocking(&pipe)?;
        let mut watcher = Self { process, _own: own, pipe };
        for mark in open {
            watcher.tell(BEGIN, *mark);
        }
        Ok(watcher)
    }

    /// Sends a record, which is so short that the pipe takes it whole or not at all. Returns whether the watcher is there; one
    /// that does not read must not block this process.
    fn tell(&mut self, kind: u8, mark: Mark) -> bool {
        let mut record = [kind; RECORD];
        record[1..].copy_from_slice(&mark.to_bytes());
        match self.pipe.write_all(&record) {
            Ok(()) => true,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        }
    }
}

/// Watches: reads records until the other process ends, and then kills the commands that were in progress.
pub fn watch(mut records: impl Read) {
    let mut open = HashSet::new();
    let mut record = [0; RECORD];
    while records.read_exact(&mut record).is_ok() {
        let mut mark = [0; 16];
        mark.copy_from_slice(&record[1..]);
        let mark = Mark::from_bytes(mark);
        if record[0] == BEGIN {
            open.insert(mark);
        } else {
            open.remove(&mark);
        }
    }
    if !open.is_empty() {
        let trees: Vec<_> =
            open.into_iter().map(|mark| ProcessTree { leader: 0, started: 0, mark }).collect();
        process_tree::kill(&trees);
    }
}

fn lock() -> MutexGuard<'static, Watch> {
    WATCH.lock().unwrap_or_else(PoisonError::into_inner)
}
