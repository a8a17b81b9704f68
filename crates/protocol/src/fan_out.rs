//! Events on their way to everybody who subscribed to them.
//!
//! Each subscriber has a queue. Above a first bound of any queue the connection stops reading, so that a slow subscriber
//! slows down the agent. But whoever waits for a response may be the very task that should read the events: then the
//! connection reads on, and a queue that reaches its second bound is closed with an error.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;

use crate::error::{Ending, Error};
use crate::generated::Event;

/// What a queued event counts for beside the bytes of its line.
const OVERHEAD: usize = 256;

/// How many bytes of events may wait for a subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// From here on the connection is not read, unless somebody waits for something else on it.
    pub pause: usize,
    /// From here on the stream of the subscriber ends with [`Error::Lagged`].
    pub close: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { pause: 4 * 1024 * 1024, close: 128 * 1024 * 1024 }
    }
}

/// Which events a subscriber wants, by their types.
pub(crate) type Filter = fn(&str) -> bool;

#[derive(Debug)]
pub(crate) struct FanOut {
    bounds: Bounds,
    state: Mutex<State>,
    /// How many wait for something that only reading on can bring.
    waiting: AtomicUsize,
    /// Wakes the reader of the connection.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    queues: BTreeMap<u64, Queue>,
    /// Nothing follows any more.
    is_over: bool,
}

struct Queue {
    filter: Filter,
    items: VecDeque<(Result<Event, Error>, usize)>,
    bytes: usize,
    is_closed: bool,
    waker: Option<Waker>,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Queue").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// Has the connection read on, whoever is slow to read events, until it is dropped.
#[derive(Debug)]
#[must_use = "the connection reads on until this is dropped"]
pub struct KeepReading {
    fan_out: Arc<FanOut>,
}

impl FanOut {
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds, state: Mutex::default(), waiting: AtomicUsize::new(0), changed: Notify::new() }
    }

    /// Adds a subscriber and returns its number.
    pub fn subscribe(&self, filter: Filter) -> u64 {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        let is_closed = state.is_over;
        let queue = Queue { filter, items: VecDeque::new(), bytes: 0, is_closed, waker: None };
        state.queues.insert(number, queue);
        number
    }

    pub fn unsubscribe(&self, number: u64) {
        self.lock().queues.remove(&number);
        self.changed.notify_one();
    }

    /// Has the connection read on until the result is dropped.
    pub fn keep_reading(self: &Arc<Self>) -> KeepReading {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        self.changed.notify_one();
        KeepReading { fan_out: Arc::clone(self) }
    }

    /// Tells whether anybody wants events of a type.
    pub fn is_wanted(&self, kind: &str) -> bool {
        self.lock().queues.values().any(|queue| !queue.is_closed && (queue.filter)(kind))
    }

    /// Gives an event of a type, from a line of so many bytes, to everybody who wants it.
    pub fn publish(&self, kind: &str, event: Event, bytes: usize) {
        let mut state = self.lock();
        let limit = self.bounds.close;
        let mut wanting = state.queues.values_mut().filter(|queue| !queue.is_closed && (queue.filter)(kind));
        let Some(mut queue) = wanting.next() else { return };
        for next in wanting {
            queue.push(Ok(event.clone()), bytes, limit);
            queue = next;
        }
        queue.push(Ok(event), bytes, limit);
    }

    /// Tells everybody that the connection ended.
    pub fn end(&self, ending: &Arc<Ending>) {
        let mut state = self.lock();
        let is_over = !ending.will_restart;
        state.is_over = is_over;
        for queue in state.queues.values_mut().filter(|queue| !queue.is_closed) {
            queue.is_closed = is_over;
            queue.append(Err(Error::Ended(Arc::clone(ending))), 0);
        }
    }

    /// Tells everybody that nothing follows, without an error.
    pub fn finish(&self) {
        let mut state = self.lock();
        state.is_over = true;
        for queue in state.queues.values_mut() {
            queue.is_closed = true;
            queue.wake();
        }
    }

    /// Returns the next item of a subscriber; none at the end.
    pub fn poll(&self, number: u64, context: &Context<'_>) -> Poll<Option<Result<Event, Error>>> {
        let mut state = self.lock();
        let Some(queue) = state.queues.get_mut(&number) else { return Poll::Ready(None) };
        let Some((item, bytes)) = queue.items.pop_front() else {
            if queue.is_closed {
                return Poll::Ready(None);
            }
            queue.waker = Some(context.waker().clone());
            return Poll::Pending;
        };
        let was_full = queue.bytes >= self.bounds.pause;
        queue.bytes -= bytes;
        if was_full && queue.bytes < self.bounds.pause {
            self.changed.notify_one();
        }
        Poll::Ready(Some(item))
    }

    /// Waits until the connection may be read.
    pub async fn room(&self) {
        while self.waiting.load(Ordering::SeqCst) == 0 && self.is_full() {
            self.changed.notified().await;
        }
    }

    fn is_full(&self) -> bool {
        self.lock().queues.values().any(|queue| queue.bytes >= self.bounds.pause)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics between two statements that belong together.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn push(&mut self, item: Result<Event, Error>, bytes: usize, limit: usize) {
        let bytes = bytes + OVERHEAD;
        // A single record, however large, always fits.
        if !self.items.is_empty() && self.bytes + bytes > limit {
            self.is_closed = true;
            self.append(Err(Error::Lagged { limit }), 0);
        } else {
            self.append(item, bytes);
        }
    }

    fn append(&mut self, item: Result<Event, Error>, bytes: usize) {
        self.bytes += bytes;
        self.items.push_back((item, bytes));
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Drop for KeepReading {
    fn drop(&mut self) {
        self.fan_out.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}
