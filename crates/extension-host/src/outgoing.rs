//! What an extension has not read yet. It is bounded, and nothing waits for an extension that does not read: events are
//! dropped, and an extension that is far behind is given up.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Notify;

/// From this many bytes on, events are dropped.
const EVENT_BOUND: usize = 4 * 1024 * 1024;

/// From this many bytes on, the extension is given up. A conversation with many images must fit.
const BOUND: usize = 256 * 1024 * 1024;

/// The lines for an extension.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    queue: Mutex<Queue>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    bytes: Vec<u8>,
    /// What is being written.
    in_flight: usize,
    is_closed: bool,
    has_dropped: bool,
}

/// What became of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    Queued,
    /// An event was dropped; the first time since the extension last kept up.
    FirstDropped,
    Dropped,
    /// The extension is too far behind.
    TooMuch,
}

impl Outgoing {
    /// Queues a record that the extension must get.
    pub fn push(&self, record: &impl Serialize) -> Sent {
        self.push_line(&bowline_dialect::to_line(record))
    }

    /// Queues the line of a record that the extension must get.
    pub fn push_line(&self, line: &[u8]) -> Sent {
        let mut queue = self.lock();
        if queue.is_closed || queue.bytes.len() + queue.in_flight + line.len() > BOUND {
            return if queue.is_closed { Sent::Dropped } else { Sent::TooMuch };
        }
        queue.append(line);
        drop(queue);
        self.changed.notify_one();
        Sent::Queued
    }

    /// Queues an event unless the extension lags behind.
    pub fn push_event(&self, record: &impl Serialize) -> Sent {
        if self.lock().is_behind() {
            let mut queue = self.lock();
            let is_first = !std::mem::replace(&mut queue.has_dropped, true);
            return if is_first { Sent::FirstDropped } else { Sent::Dropped };
        }
        self.push(record)
    }

    /// Ends the lines once those that are queued have been written.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_one();
    }

    /// Writes lines until they are closed or cannot be written; `trace` gets them first.
    pub async fn write_to(&self, mut output: impl AsyncWrite + Unpin, trace: impl Fn(&[u8])) {
        while let Some(bytes) = self.next().await {
            trace(&bytes);
            let result = output.write_all(&bytes).await;
            let mut queue = self.lock();
            queue.in_flight = 0;
            if queue.bytes.len() < EVENT_BOUND {
                queue.has_dropped = false;
            }
            if result.is_err() {
                return;
            }
        }
    }

    async fn next(&self) -> Option<Vec<u8>> {
        loop {
            {
                let mut queue = self.lock();
                if !queue.bytes.is_empty() {
                    let bytes = std::mem::take(&mut queue.bytes);
                    queue.in_flight = bytes.len();
                    return Some(bytes);
                }
                if queue.is_closed {
                    return None;
                }
            }
            self.changed.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn append(&mut self, line: &[u8]) {
        self.bytes.extend_from_slice(line);
        self.bytes.push(b'\n');
    }

    fn is_behind(&self) -> bool {
        self.bytes.len() + self.in_flight > EVENT_BOUND
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_written_in_order_and_closed_after_the_last() {
        let outgoing = Outgoing::default();
        assert_eq!(outgoing.push(&1), Sent::Queued);
        assert_eq!(outgoing.push_event(&"a\u{2028}"), Sent::Queued);
        outgoing.close();
        assert_eq!(outgoing.push(&2), Sent::Dropped);
        let mut written = Vec::new();
        let traced = std::cell::RefCell::new(Vec::new());
        outgoing.write_to(&mut written, |bytes| traced.borrow_mut().extend_from_slice(bytes)).await;
        assert_eq!(*traced.borrow(), written);
        assert_eq!(written, b"1\n\"a\\u2028\"\n");
    }

    #[test]
    fn events_are_dropped_and_calls_are_not_when_the_extension_lags() {
        let outgoing = Outgoing::default();
        let long = "x".repeat(EVENT_BOUND);
        assert_eq!(outgoing.push(&long), Sent::Queued);
        assert_eq!(outgoing.push_event(&1), Sent::FirstDropped);
        assert_eq!(outgoing.push_event(&1), Sent::Dropped);
        assert_eq!(outgoing.push(&1), Sent::Queued);
        let pushed: Vec<_> = (0..BOUND / EVENT_BOUND).map(|_| outgoing.push(&long)).collect();
        assert_eq!(pushed.last(), Some(&Sent::TooMuch));
    }
}
