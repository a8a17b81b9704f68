//! Reads an agent's stdout, on a thread, and checks that it is one JSON object per line.
//!
//! The thread reads only while the test lets it, so that a test can act as a client that stops reading.

use std::fs::File;
use std::io::Read;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;

/// How long the thread waits for output before it checks again whether it may read.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// What the thread has read.
#[derive(Debug)]
pub(crate) enum Arrival {
    Record(Value),
    /// A line that is not a JSON object.
    Stray(String),
    /// The end of stdout, and the bytes after the last newline.
    End(String),
}

/// Whether the thread may read.
#[derive(Debug, Default)]
pub(crate) struct Valve {
    position: Mutex<Position>,
    changed: Condvar,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Position {
    #[default]
    Open,
    Shut,
    /// Reading has ended, and stdout is closed.
    Closed,
}

impl Valve {
    /// Stops reading; nothing more is read after this returns.
    pub(crate) fn shut(&self) {
        self.turn(Position::Shut);
    }

    /// Continues reading.
    pub(crate) fn open(&self) {
        self.turn(Position::Open);
    }

    /// Ends reading; stdout is closed soon after.
    pub(crate) fn close(&self) {
        self.turn(Position::Closed);
    }

    fn turn(&self, to: Position) {
        let mut position = self.lock();
        if *position != Position::Closed {
            *position = to;
        }
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Position> {
        self.position.lock().expect("the valve's lock")
    }
}

/// Starts the thread.
pub(crate) fn read(stdout: File, valve: Arc<Valve>) -> Receiver<Arrival> {
    let (sender, receiver) = channel();
    thread::spawn(move || pump(stdout, &valve, &sender));
    receiver
}

/// Forwards lines until the end, or until the receiver is gone.
fn pump(mut stdout: File, valve: &Valve, sender: &Sender<Arrival>) {
    let mut piece = vec![0; 64 * 1024];
    let mut line: Vec<u8> = Vec::new();
    loop {
        let count = read_when_allowed(&mut stdout, valve, &mut piece);
        if count == 0 {
            let _ = sender.send(Arrival::End(String::from_utf8_lossy(&line).into_owned()));
            return;
        }
        for part in piece[..count].split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(part);
            if line.pop_if(|byte| *byte == b'\n').is_some() {
                if sender.send(parse(&line)).is_err() {
                    return;
                }
                line.clear();
            }
        }
    }
}

/// Reads without blocking a test that shuts the valve; returns 0 at the end.
fn read_when_allowed(stdout: &mut File, valve: &Valve, piece: &mut [u8]) -> usize {
    loop {
        let is_shut = |position: &mut Position| *position == Position::Shut;
        let position = *valve.changed.wait_while(valve.lock(), is_shut).expect("the valve's lock");
        if position == Position::Closed {
            return 0;
        }
        // A poll that fails is repeated: it fails only because of a signal.
        let is_ready = poll(&mut [PollFd::new(stdout, PollFlags::IN)], Some(&LOOK)).unwrap_or(0) > 0;
        let position = valve.lock();
        if is_ready && *position == Position::Open {
            return stdout.read(piece).unwrap_or(0);
        }
    }
}

fn parse(line: &[u8]) -> Arrival {
    match serde_json::from_slice(line) {
        Ok(record @ Value::Object(_)) => Arrival::Record(record),
        _ => Arrival::Stray(String::from_utf8_lossy(line).into_owned()),
    }
}
