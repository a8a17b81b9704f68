//! One run of an extension's process: what it was sent, and what it owes an answer to.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_core::hook::HookEvent;
use bowline_engine::Mirror;
use bowline_tools::Progress;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::process::delta_lines::DeltaLines;
use crate::process::outgoing::{Outgoing, Sent};
use crate::process::pausable_clock::PausableClock;
use crate::protocol::{Chunk, Failure, HookEventRecord, PartialOutcome, ToExtension};

/// How long an extension may take to answer what was cancelled.
const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// One run of an extension's process.
pub(crate) struct Connection {
    /// The short name of the extension, for errors.
    name: Arc<str>,
    pub outgoing: Outgoing,
    deltas: Mutex<DeltaLines>,
    pub clock: PausableClock,
    calls: Mutex<Calls>,
    /// The requests of the extension that were not answered yet.
    pub requests: Mutex<HashMap<String, CancellationToken>>,
    /// What the extension was last told of the session.
    pub told: Mutex<Option<Arc<Mirror>>>,
    /// Cancelled if the extension cannot be spoken to any longer.
    pub broken: CancellationToken,
    cause: Mutex<Option<String>>,
    /// Whether dialogs have their default at once.
    refuses_dialogs: AtomicBool,
    /// Called with the first event that is dropped.
    on_dropped: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct Calls {
    last_id: u64,
    open: BTreeMap<u64, OpenCall>,
    is_closed: bool,
}

/// Who waits for the answer to a call.
pub(crate) enum OpenCall {
    /// A hook or a command.
    Answer(oneshot::Sender<CallEnd>),
    /// A tool, which reports progress.
    Tool { end: oneshot::Sender<CallEnd>, progress: Arc<dyn Fn(Progress) + Send + Sync> },
    /// A stream of a provider. Nothing waits for its reader, because whatever else the extension sends must get through; `size`
    /// is what was sent so far.
    Stream { items: mpsc::UnboundedSender<StreamItem>, size: usize },
}

/// The most that an extension may send for one answer. No answer needs as much.
const LARGEST_STREAM: usize = 64 * 1024 * 1024;

/// What a chunk costs beside its text.
const CHUNK_COST: usize = 128;

/// What the answer to a call is, or why it failed.
pub(crate) type CallEnd = Result<Value, String>;

/// A piece of a provider's answer.
#[derive(Debug)]
pub(crate) enum StreamItem {
    Chunk(Chunk),
    /// There is more than an answer may have.
    TooMuch,
    End(Result<Value, Failure>),
}

/// Why a call has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CancelReason {
    Abort,
    Timeout,
}

impl CancelReason {
    fn as_str(self) -> &'static str {
        match self {
            Self::Abort => "abort",
            Self::Timeout => "timeout",
        }
    }
}

impl Connection {
    pub fn new(name: Arc<str>, on_dropped: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            name,
            outgoing: Outgoing::default(),
            deltas: Mutex::default(),
            clock: PausableClock::default(),
            calls: Mutex::default(),
            requests: Mutex::default(),
            told: Mutex::default(),
            broken: CancellationToken::new(),
            cause: Mutex::default(),
            refuses_dialogs: AtomicBool::new(false),
            on_dropped: Box::new(on_dropped),
        }
    }

    /// Sends a record that the extension must get.
    pub fn send(&self, record: &ToExtension<'_>) {
        if self.outgoing.push(record) == Sent::TooMuch {
            self.give_up("it does not read what it is sent".to_owned());
        }
    }

    /// Tells the extension of a hook's event.
    pub fn tell(&self, event: &HookEvent) {
        if let Some(line) = lock(&self.deltas).line(event) {
            return self.send_line_of_event(|bytes| line.write_to(bytes));
        }
        if let Some(event) = HookEventRecord::of(event) {
            self.send_event(&event);
        }
    }

    /// Sends an event, which is dropped if the extension lags behind.
    pub fn send_event(&self, event: &HookEventRecord<'_>) {
        self.send_line_of_event(|bytes| bowline_dialect::write_json(bytes, &ToExtension::Event { event }));
    }

    fn send_line_of_event(&self, write: impl FnOnce(&mut Vec<u8>)) {
        match self.outgoing.push_event(write) {
            Sent::TooMuch => self.give_up("it does not read what it is sent".to_owned()),
            Sent::FirstDropped => (self.on_dropped)(),
            Sent::Queued | Sent::Dropped => {}
        }
    }

    /// Sets whether the user can be asked.
    pub fn allow_dialogs(&self, are_allowed: bool) {
        self.refuses_dialogs.store(!are_allowed, Ordering::Relaxed);
    }

    /// Tells whether the user can be asked.
    pub fn allows_dialogs(&self) -> bool {
        !self.refuses_dialogs.load(Ordering::Relaxed)
    }

    /// Ends the process for a reason.
    pub fn give_up(&self, cause: String) {
        lock(&self.cause).get_or_insert(cause);
        self.broken.cancel();
    }

    /// Returns why the process was ended, if it was.
    pub fn cause(&self) -> Option<String> {
        lock(&self.cause).clone()
    }

    /// Registers a call and sends the record that `write` appends for its id; `None` if the process has ended.
    pub fn call(
        self: &Arc<Self>,
        open: OpenCall,
        write: impl FnOnce(&mut Vec<u8>, &str),
    ) -> Option<CallGuard> {
        let id = {
            let mut calls = lock(&self.calls);
            if calls.is_closed {
                return None;
            }
            calls.last_id += 1;
            let id = calls.last_id;
            calls.open.insert(id, open);
            id
        };
        let guard = CallGuard { connection: Arc::clone(self), id, is_cancelled: false };
        match self.outgoing.push_call(|bytes| write(bytes, &id.to_string())) {
            Sent::TooMuch => {
                self.give_up("it does not read what it is sent".to_owned());
                None
            }
            _ => Some(guard),
        }
    }

    /// Takes the end of a call.
    pub fn end_call(&self, id: &str, end: Result<Value, Failure>) {
        let open = id.parse().ok().and_then(|id: u64| lock(&self.calls).open.remove(&id));
        match open {
            Some(OpenCall::Answer(sender) | OpenCall::Tool { end: sender, .. }) => {
                drop(sender.send(end.map_err(|failure| failure.message)));
            }
            Some(OpenCall::Stream { items, .. }) => drop(items.send(StreamItem::End(end))),
            // It was given up, or never existed.
            None => {}
        }
    }

    /// Takes the progress of a tool.
    pub fn progress(&self, id: &str, partial: PartialOutcome) {
        let Ok(id) = id.parse::<u64>() else { return };
        let progress = match lock(&self.calls).open.get(&id) {
            Some(OpenCall::Tool { progress, .. }) => Arc::clone(progress),
            _ => return,
        };
        progress(Progress { content: partial.content, details: partial.details });
    }

    /// Takes a piece of a provider's answer.
    pub fn chunk(&self, id: &str, chunk: Chunk) {
        let Ok(id) = id.parse::<u64>() else { return };
        let mut calls = lock(&self.calls);
        let Some(OpenCall::Stream { items, size }) = calls.open.get_mut(&id) else { return };
        *size += chunk.text().len() + CHUNK_COST;
        let is_too_much = *size > LARGEST_STREAM;
        let _ = items.send(if is_too_much { StreamItem::TooMuch } else { StreamItem::Chunk(chunk) });
        if is_too_much {
            calls.open.remove(&id);
        }
    }

    /// Ends every call, because the process has ended.
    pub fn close(&self) {
        let open = {
            let mut calls = lock(&self.calls);
            calls.is_closed = true;
            std::mem::take(&mut calls.open)
        };
        drop(open);
        for (_, request) in lock(&self.requests).drain() {
            request.cancel();
        }
        self.outgoing.close();
    }

    /// Tells whether nothing more is sent.
    pub fn is_closed(&self) -> bool {
        lock(&self.calls).is_closed
    }

    /// Returns what is said about an extension that has exited.
    pub fn exited(&self) -> String {
        exited(&self.name)
    }
}

/// Returns what is said about an extension that has exited.
pub(crate) fn exited(name: &str) -> String {
    format!("Extension \"{name}\" exited")
}

/// A call that waits for its answer. Dropping it tells the extension that nobody does any longer.
pub(crate) struct CallGuard {
    connection: Arc<Connection>,
    id: u64,
    /// Whether the extension knows already.
    is_cancelled: bool,
}

impl CallGuard {
    /// Tells the extension to stop.
    pub fn cancel(&mut self, reason: CancelReason) {
        self.is_cancelled = true;
        let id = self.id.to_string();
        self.connection.send(&ToExtension::Cancel { id: &id, reason: reason.as_str() });
    }

    /// Waits for the answer, until `limit` has passed or the caller cancels it.
    pub async fn answer(
        mut self,
        mut end: oneshot::Receiver<CallEnd>,
        limit: Option<Duration>,
        cancel: CancellationToken,
    ) -> CallEnd {
        let connection = Arc::clone(&self.connection);
        let time_is_up = async {
            match limit {
                Some(limit) => connection.clock.passes(limit).await,
                None => std::future::pending().await,
            }
        };
        let answer = tokio::select! {
            biased;
            answer = &mut end => answer,
            () = cancel.cancelled() => {
                self.cancel(CancelReason::Abort);
                let late = Box::pin(tokio::time::timeout(CANCEL_GRACE, &mut end)).await;
                late.unwrap_or_else(|_| Ok(Err("Aborted; the extension did not stop in time.".to_owned())))
            }
            () = time_is_up => {
                self.cancel(CancelReason::Timeout);
                let seconds = limit.unwrap_or_default().as_secs_f32();
                Ok(Err(format!("Extension hook timed out after {seconds} s")))
            }
        };
        // The process has ended if nobody is there to answer.
        answer.unwrap_or_else(|_| Err(connection.exited()))
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        let was_open = lock(&self.connection.calls).open.remove(&self.id).is_some();
        if was_open && !self.is_cancelled {
            self.cancel(CancelReason::Abort);
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Connection").field("name", &self.name).finish_non_exhaustive()
    }
}
