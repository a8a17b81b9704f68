//! What was passed on, on its way to the recorder. It is bounded: when the recorder is slower than the exchange, bytes are
//! counted and dropped, because the exchange does not wait.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::row::{Event, From};

/// How many bytes may wait for the recorder.
const MOST_WAITING: usize = 64 * 1024 * 1024;

/// Something for the recorder.
#[derive(Debug)]
pub(crate) enum Item {
    /// Bytes that were passed on.
    Bytes(From, Vec<u8>),
    /// Bytes of a direction are missing here.
    Lost(From, u64),
    /// A direction has ended.
    End(From),
    /// Something of the inspector's.
    Event(Event),
    /// Nothing follows.
    Finish,
}

/// The queue.
#[derive(Debug)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    filled: Condvar,
    started: Instant,
}

#[derive(Debug, Default)]
struct Waiting {
    items: VecDeque<(u64, Item)>,
    bytes: usize,
}

impl Queue {
    /// Returns an empty queue. Times count from now.
    pub fn new() -> Self {
        Self { waiting: Mutex::default(), filled: Condvar::new(), started: Instant::now() }
    }

    /// Adds bytes that are passed on now. It never waits for the recorder.
    pub fn push_bytes(&self, from: From, bytes: &[u8]) {
        let micros = self.micros();
        let mut waiting = self.lock();
        if waiting.bytes + bytes.len() > MOST_WAITING {
            let length = bytes.len() as u64;
            match waiting.items.back_mut() {
                Some((_, Item::Lost(of, lost))) if *of == from => *lost += length,
                _ => waiting.items.push_back((micros, Item::Lost(from, length))),
            }
        } else {
            waiting.bytes += bytes.len();
            waiting.items.push_back((micros, Item::Bytes(from, bytes.to_vec())));
        }
        drop(waiting);
        self.filled.notify_one();
    }

    /// Adds something that takes no room.
    pub fn push(&self, item: Item) {
        self.lock().items.push_back((self.micros(), item));
        self.filled.notify_one();
    }

    /// Waits for items and returns all that there are, each with its time in microseconds.
    pub fn take(&self) -> VecDeque<(u64, Item)> {
        let mut waiting = self.lock();
        while waiting.items.is_empty() {
            waiting = self.filled.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        let items = std::mem::take(&mut waiting.items);
        waiting.bytes = 0;
        items
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_recorder_does_not_take_is_counted_and_not_kept() {
        let queue = Queue::new();
        let piece = vec![b'x'; MOST_WAITING / 2];
        for _ in 0..4 {
            queue.push_bytes(From::Agent, &piece);
        }
        queue.push(Item::Finish);
        let items = queue.take();
        let kept = items.iter().filter(|(_, item)| matches!(item, Item::Bytes(..))).count();
        assert_eq!(kept, 2);
        assert!(
            items.iter().any(
                |(_, item)| matches!(item, Item::Lost(From::Agent, lost) if *lost == MOST_WAITING as u64)
            )
        );
        queue.push_bytes(From::Agent, &piece);
        assert!(matches!(queue.take()[0].1, Item::Bytes(..)));
    }
}
