//! An extension in one run of its process: what it was sent, and what it owes an answer to.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_core::hook::HookEvent;
use bowline_core::ui::WidgetInput;
use bowline_tools::Progress;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::process::component_keys::ComponentKey;
use crate::process::delta_lines::DeltaLines;
use crate::process::pausable_clock::PausableClock;
use crate::process::pipe::Pipe;
use crate::protocol::{Chunk, Failure, HookEventRecord, PartialOutcome, ToExtension};

/// How long an extension may take to answer what was cancelled.
const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// An extension in one run of its process.
pub(crate) struct Connection {
    /// The short name of the extension, for errors.
    name: Arc<str>,
    pub pipe: Arc<Pipe>,
    /// The end of each record if the process serves several extensions: it names this one.
    address: Option<Vec<u8>>,
    deltas: Mutex<DeltaLines>,
    pub clock: PausableClock,
    calls: Mutex<Calls>,
    /// The requests of the extension that were not answered yet.
    pub requests: Mutex<HashMap<String, CancellationToken>>,
    /// Whether dialogs have their default at once.
    refuses_dialogs: AtomicBool,
    /// The components that are shown, by the keys that the extension gave them.
    components: Mutex<HashMap<String, Shown>>,
    /// The keys of components that nobody took away from the client.
    left_components: Mutex<Vec<String>>,
}

/// Whether an extension has a process of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    Alone,
    Shared,
}

#[derive(Default)]
struct Calls {
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

/// What is known of a component that is shown.
struct Shown {
    /// The request that it is shown for.
    request: String,
    /// The key that clients know it by.
    client_key: Arc<str>,
    /// Cancelled when the user closes it.
    closed: CancellationToken,
}

/// A component that is shown, until this is dropped.
pub(crate) struct Component {
    connection: Arc<Connection>,
    own_key: String,
    client_key: ComponentKey,
    closed: CancellationToken,
    is_taken_away: bool,
}

impl Component {
    /// Forgets it: whoever calls this takes it away from the client.
    pub fn forget(mut self) {
        self.is_taken_away = true;
    }

    /// Returns the key that clients know it by.
    pub fn client_key(&self) -> &Arc<str> {
        self.client_key.text()
    }

    /// Waits until the user closes it.
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }
}

impl Drop for Component {
    fn drop(&mut self) {
        lock(&self.connection.components).remove(&self.own_key);
        if !self.is_taken_away {
            lock(&self.connection.left_components).push(self.client_key.text().to_string());
        }
    }
}

impl Connection {
    /// Returns a connection to the only extension of a process, or to one of several, which records name then.
    pub fn new(name: Arc<str>, pipe: Arc<Pipe>, sharing: Sharing) -> Self {
        let address = (sharing == Sharing::Shared).then(|| {
            let mut end = b",\"ext\":".to_vec();
            bowline_dialect::write_json(&mut end, &name);
            end.push(b'}');
            end
        });
        Self {
            name,
            pipe,
            address,
            deltas: Mutex::default(),
            clock: PausableClock::default(),
            calls: Mutex::default(),
            requests: Mutex::default(),
            refuses_dialogs: AtomicBool::new(false),
            components: Mutex::default(),
            left_components: Mutex::default(),
        }
    }

    /// Sends a record that the extension must get.
    pub fn send(&self, record: &ToExtension<'_>) {
        let sent = self.pipe.outgoing.push_line(|bytes| self.write(bytes, record));
        self.pipe.check(sent);
    }

    /// Sends a record, or another one if the line would be longer than so many bytes.
    pub fn send_within(&self, limit: usize, record: &ToExtension<'_>, otherwise: &ToExtension<'_>) {
        let sent = self.pipe.outgoing.push_line(|bytes| {
            let start = bytes.len();
            self.write(bytes, record);
            if bytes.len() - start > limit {
                bytes.truncate(start);
                self.write(bytes, otherwise);
            }
        });
        self.pipe.check(sent);
    }

    /// Sends a record that is for every extension of the process.
    pub fn send_to_all(&self, record: &ToExtension<'_>) {
        self.pipe.check(self.pipe.outgoing.push(record));
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
        let sent = self.pipe.outgoing.push_event(|bytes| {
            write(bytes);
            self.address(bytes);
        });
        self.pipe.check(sent);
    }

    fn write(&self, bytes: &mut Vec<u8>, record: &ToExtension<'_>) {
        bowline_dialect::write_json(bytes, record);
        self.address(bytes);
    }

    /// Names the extension in the record that was just written, if the process serves several.
    fn address(&self, bytes: &mut Vec<u8>) {
        if let Some(address) = &self.address
            && bytes.last() == Some(&b'}')
        {
            bytes.pop();
            bytes.extend_from_slice(address);
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

    /// Notes that a component is shown for a request; `None` if the extension shows one under this key already.
    pub fn open_component(
        self: &Arc<Self>,
        own_key: &str,
        client_key: ComponentKey,
        request: &str,
    ) -> Option<Component> {
        let mut components = lock(&self.components);
        if components.contains_key(own_key) {
            return None;
        }
        let closed = CancellationToken::new();
        let shown = Shown {
            request: request.to_owned(),
            client_key: Arc::clone(client_key.text()),
            closed: closed.clone(),
        };
        components.insert(own_key.to_owned(), shown);
        let (connection, own_key) = (Arc::clone(self), own_key.to_owned());
        Some(Component { connection, own_key, client_key, closed, is_taken_away: false })
    }

    /// Takes the keys of components that nobody took away from the client, because the process has ended.
    pub fn take_left_components(&self) -> Vec<String> {
        let mut keys = std::mem::take(&mut *lock(&self.left_components));
        // Those whose requests are being dropped just now.
        keys.extend(lock(&self.components).drain().map(|(_, shown)| shown.client_key.to_string()));
        keys
    }

    /// Returns the key that clients know a component by, if the extension shows one under this key.
    pub fn component_key(&self, own_key: &str) -> Option<Arc<str>> {
        lock(&self.components).get(own_key).map(|shown| Arc::clone(&shown.client_key))
    }

    /// Passes on what the user does with a component. Returns whether one is shown under this key.
    pub fn widget_input(&self, key: &str, input: &WidgetInput) -> bool {
        let components = lock(&self.components);
        let Some(shown) = components.values().find(|shown| *shown.client_key == *key) else { return false };
        match input {
            WidgetInput::Keys(data) => self.send(&ToExtension::Input { id: &shown.request, data }),
            WidgetInput::Close => shown.closed.cancel(),
        }
        true
    }

    /// Registers a call and sends the record that `write` appends for its id; `None` if the process has ended.
    pub fn call(
        self: &Arc<Self>,
        open: OpenCall,
        write: impl FnOnce(&mut Vec<u8>, &str),
    ) -> Option<CallGuard> {
        let id = self.pipe.next_call();
        {
            let mut calls = lock(&self.calls);
            if calls.is_closed {
                return None;
            }
            calls.open.insert(id, open);
        }
        let guard = CallGuard { connection: Arc::clone(self), id, is_cancelled: false };
        let sent = self.pipe.outgoing.push_call(|bytes| {
            write(bytes, &id.to_string());
            self.address(bytes);
        });
        self.pipe.check(sent).then_some(guard)
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
