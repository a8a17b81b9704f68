//! What an extension has not read yet. It is bounded, and nothing waits for an extension that does not read: events are
//! dropped, and an extension that is far behind is given up.

use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Notify;

/// From this many bytes on, events are dropped.
const EVENT_BOUND: usize = 4 * 1024 * 1024;

/// From this many bytes on, the extension is given up. A conversation with many images must fit.
const BOUND: usize = 256 * 1024 * 1024;

/// The largest buffer that is kept for what comes next.
const KEPT_BUFFER: usize = 256 * 1024;

/// The lines for an extension.
#[derive(Default)]
pub(crate) struct Outgoing {
    queue: Mutex<Queue>,
    changed: Notify,
}

#[derive(Default)]
struct Queue {
    bytes: Vec<u8>,
    /// Writes without waiting, for calls: waking the task that writes costs more than writing.
    at_once: Option<Box<dyn Write + Send>>,
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
    /// Has calls written to `output`, which never blocks, if nothing else is being written.
    pub fn write_calls_to(&self, output: impl Write + Send + 'static) {
        self.lock().at_once = Some(Box::new(output));
    }

    /// Queues a record that the extension must get.
    pub fn push(&self, record: &impl Serialize) -> Sent {
        self.push_line(|bytes| bowline_dialect::write_json(bytes, record))
    }

    /// Queues the line that `write` appends, which the extension must get.
    pub fn push_line(&self, write: impl FnOnce(&mut Vec<u8>)) -> Sent {
        let sent = self.lock().append(write);
        self.announce(sent)
    }

    /// Sends the line that `write` appends, with everything before it, and queues what there is no room for.
    pub fn push_call(&self, write: impl FnOnce(&mut Vec<u8>)) -> Sent {
        let sent = {
            let mut queue = self.lock();
            let sent = queue.append(write);
            if sent == Sent::Queued && queue.write_at_once() {
                return sent;
            }
            sent
        };
        self.announce(sent)
    }

    /// Queues the line of an event unless the extension lags behind.
    pub fn push_event(&self, write: impl FnOnce(&mut Vec<u8>)) -> Sent {
        let sent = {
            let mut queue = self.lock();
            if queue.is_behind() {
                let is_first = !std::mem::replace(&mut queue.has_dropped, true);
                return if is_first { Sent::FirstDropped } else { Sent::Dropped };
            }
            queue.append(write)
        };
        self.announce(sent)
    }

    fn announce(&self, sent: Sent) -> Sent {
        if sent == Sent::Queued {
            self.changed.notify_one();
        }
        sent
    }

    /// Ends the lines once those that are queued have been written.
    pub fn close(&self) {
        {
            let mut queue = self.lock();
            queue.is_closed = true;
            // The extension sees the end of its input when nothing else holds it open.
            queue.at_once = None;
        }
        self.changed.notify_one();
    }

    /// Writes lines until they are closed or cannot be written; `trace` gets them first.
    pub async fn write_to(&self, mut output: impl AsyncWrite + Unpin, trace: impl Fn(&[u8])) {
        let mut bytes = Vec::new();
        while self.take_next(&mut bytes).await {
            trace(&bytes);
            let result = output.write_all(&bytes).await;
            bytes.clear();
            bytes.shrink_to(KEPT_BUFFER);
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

    /// Waits for lines and takes them in exchange for an empty buffer. Returns `false` if there are no more.
    async fn take_next(&self, empty: &mut Vec<u8>) -> bool {
        loop {
            {
                let mut queue = self.lock();
                if !queue.bytes.is_empty() {
                    std::mem::swap(&mut queue.bytes, empty);
                    queue.in_flight = empty.len();
                    return true;
                }
                if queue.is_closed {
                    return false;
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
    fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Sent {
        if self.is_closed {
            return Sent::Dropped;
        }
        let before = self.bytes.len();
        write(&mut self.bytes);
        if self.bytes.len() + self.in_flight > BOUND {
            self.bytes.truncate(before);
            return Sent::TooMuch;
        }
        self.bytes.push(b'\n');
        Sent::Queued
    }

    /// Writes as much as there is room for. Returns whether that was everything. An error is met again by the task that
    /// writes the rest.
    fn write_at_once(&mut self) -> bool {
        let Some(output) = self.at_once.as_mut().filter(|_| self.in_flight == 0) else { return false };
        match output.write(&self.bytes) {
            Ok(written) if written == self.bytes.len() => {
                self.bytes.clear();
                self.bytes.shrink_to(KEPT_BUFFER);
                self.has_dropped = false;
                true
            }
            Ok(written) => {
                self.bytes.drain(..written);
                false
            }
            Err(_) => false,
        }
    }

    fn is_behind(&self) -> bool {
        self.bytes.len() + self.in_flight > EVENT_BOUND
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use super::*;

    fn event(outgoing: &Outgoing, text: &str) -> Sent {
        outgoing.push_event(|bytes| bowline_dialect::write_json(bytes, &text))
    }

    #[tokio::test]
    async fn lines_are_written_in_order_and_closed_after_the_last() {
        let outgoing = Outgoing::default();
        assert_eq!(outgoing.push(&1), Sent::Queued);
        assert_eq!(event(&outgoing, "a\u{2028}"), Sent::Queued);
        outgoing.close();
        assert_eq!(outgoing.push(&2), Sent::Dropped);
        let mut written = Vec::new();
        let traced = std::cell::RefCell::new(Vec::new());
        outgoing.write_to(&mut written, |bytes| traced.borrow_mut().extend_from_slice(bytes)).await;
        assert_eq!(*traced.borrow(), written);
        assert_eq!(written, b"1\n\"a\\u2028\"\n");
    }

    /// A pipe with room for so many bytes.
    #[derive(Clone, Default)]
    struct Pipe(Arc<Mutex<(Vec<u8>, usize)>>);

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let (written, room) = &mut *self.0.lock().unwrap();
            if *room == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let count = bytes.len().min(*room);
            written.extend_from_slice(&bytes[..count]);
            *room -= count;
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn calls_are_written_at_once_and_in_order() {
        let (outgoing, pipe) = (Outgoing::default(), Pipe::default());
        outgoing.write_calls_to(pipe.clone());
        let call = |text: &str| outgoing.push_call(|bytes| bytes.extend_from_slice(text.as_bytes()));
        pipe.0.lock().unwrap().1 = 9;
        assert_eq!(event(&outgoing, "a"), Sent::Queued);
        assert_eq!(pipe.0.lock().unwrap().0, b"", "events wait for more of them");
        assert_eq!(call("one"), Sent::Queued);
        assert_eq!(pipe.0.lock().unwrap().0, b"\"a\"\none\n");
        assert_eq!(call("two"), Sent::Queued);
        assert_eq!(call("three"), Sent::Queued);
        outgoing.close();
        assert_eq!(call("four"), Sent::Dropped);
        let mut written = pipe.0.lock().unwrap().0.clone();
        assert_eq!(written, b"\"a\"\none\nt");
        outgoing.write_to(&mut written, |_| {}).await;
        assert_eq!(written, b"\"a\"\none\ntwo\nthree\n");
        assert_eq!(Arc::strong_count(&pipe.0), 1, "nothing holds the pipe open");
    }

    #[test]
    fn events_are_dropped_and_calls_are_not_when_the_extension_lags() {
        let outgoing = Outgoing::default();
        let long = "x".repeat(EVENT_BOUND);
        assert_eq!(outgoing.push(&long), Sent::Queued);
        assert_eq!(event(&outgoing, "1"), Sent::FirstDropped);
        assert_eq!(event(&outgoing, "1"), Sent::Dropped);
        assert_eq!(outgoing.push(&1), Sent::Queued);
        let pushed: Vec<_> = (0..BOUND / EVENT_BOUND).map(|_| outgoing.push(&long)).collect();
        assert_eq!(pushed.last(), Some(&Sent::TooMuch));
    }
}
