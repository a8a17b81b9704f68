//! What the client does when the agent asks something: dialogs, approvals, calls of the client's tools, its addresses.
//!
//! Each request is handled in a task of its own, so one that takes long keeps nothing else from going on.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::task::AbortHandle;

use crate::connection::Connection;
use crate::generated::{
    ApprovalRequestRecord, ApprovalResponseCommand, Event, ExtensionUiRequestRecord,
    ExtensionUiResponseAnswer, HostToolCallRecord, HostToolResultAnswer, HostUriRequestRecord,
    HostUriResultAnswer, HostUriScheme,
};
use crate::tool::{Tool, ToolCall, ToolOutput};

/// How many requests are handled at a time. An agent that asks more than that gets no as an answer.
const MOST_RUNNING: usize = 256;

/// How many requests may wait for their answers to be written. An agent that asks more than that and does not read gets none.
const MOST_ANSWERED: usize = 4096;

/// What the model reads of a request that this version of the client does not know.
const UNREADABLE: &str = "the client does not understand this request";

/// What a user answers in a dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogAnswer {
    /// The chosen option, or the text.
    Value(String),
    /// Whether the user agreed.
    Confirmed(bool),
    /// The user closed the dialog.
    Cancelled,
}

/// What a user decides about a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The call may run this time.
    Once,
    /// The call, or what its rule says, may run for the rest of the session.
    Session,
    /// What its rule says may run in this project from now on.
    Project,
    /// The call does not run. The model reads the message.
    Deny(Option<String>),
}

type Dialogs = dyn Fn(ExtensionUiRequestRecord) -> BoxFuture<'static, DialogAnswer> + Send + Sync;
type Approvals = dyn Fn(ApprovalRequestRecord) -> BoxFuture<'static, Decision> + Send + Sync;
type Uris = dyn Fn(HostUriRequestRecord) -> BoxFuture<'static, Result<String, String>> + Send + Sync;

/// What the client does when it is asked.
#[derive(Default, Clone)]
pub struct Handlers {
    dialogs: DialogHandling,
    approvals: Option<Arc<Approvals>>,
    tools: Vec<Tool>,
    schemes: Vec<HostUriScheme>,
    uris: Option<Arc<Uris>>,
}

#[derive(Default, Clone)]
enum DialogHandling {
    /// Nobody is there to answer, so nothing waits for an answer.
    #[default]
    Cancelled,
    /// Whoever reads the events answers.
    Left,
    Handled(Arc<Dialogs>),
}

impl Handlers {
    /// Has a function answer dialogs of extensions. Without one, every dialog is closed at once.
    #[must_use]
    pub fn on_dialog<Answering>(
        mut self,
        handler: impl Fn(ExtensionUiRequestRecord) -> Answering + Send + Sync + 'static,
    ) -> Self
    where
        Answering: Future<Output = DialogAnswer> + Send + 'static,
    {
        self.dialogs = DialogHandling::Handled(Arc::new(move |request| handler(request).boxed()));
        self
    }

    /// Leaves dialogs to whoever reads the events and answers them with [`Connection::answer`].
    #[must_use]
    pub fn leave_dialogs(mut self) -> Self {
        self.dialogs = DialogHandling::Left;
        self
    }

    /// Has a function decide about tool calls that need the user's consent. Without one, they are dialogs.
    #[must_use]
    pub fn on_approval<Deciding>(
        mut self,
        handler: impl Fn(ApprovalRequestRecord) -> Deciding + Send + Sync + 'static,
    ) -> Self
    where
        Deciding: Future<Output = Decision> + Send + 'static,
    {
        self.approvals = Some(Arc::new(move |request| handler(request).boxed()));
        self
    }

    /// Adds a tool that the model can call.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Has a function read and write the addresses of these schemes.
    #[must_use]
    pub fn on_uri<Serving>(
        mut self,
        schemes: impl IntoIterator<Item = HostUriScheme>,
        handler: impl Fn(HostUriRequestRecord) -> Serving + Send + Sync + 'static,
    ) -> Self
    where
        Serving: Future<Output = Result<String, String>> + Send + 'static,
    {
        self.schemes = schemes.into_iter().collect();
        self.uris = Some(Arc::new(move |request| handler(request).boxed()));
        self
    }

    pub(crate) fn asks_for_approvals(&self) -> bool {
        self.approvals.is_some()
    }

    pub(crate) fn tools(&self) -> Vec<Tool> {
        self.tools.clone()
    }

    pub(crate) fn schemes(&self) -> Vec<HostUriScheme> {
        self.schemes.clone()
    }

    /// Tells whether records of a type are handled, even if nobody wants them as events.
    pub(crate) fn handles(&self, kind: &str) -> bool {
        match kind {
            "extension_ui_request" => !matches!(self.dialogs, DialogHandling::Left),
            "approval_request" | "approval_resolved" => self.approvals.is_some(),
            "host_tool_call" | "host_tool_cancel" | "host_uri_request" | "host_uri_cancel" => true,
            _ => false,
        }
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Handlers").field("tools", &self.tools).finish_non_exhaustive()
    }
}

/// The requests that are being handled, by id.
#[derive(Debug, Default)]
pub(crate) struct Running {
    tasks: Mutex<HashMap<String, AbortHandle>>,
}

impl Running {
    /// Stops the task of a request: nobody waits for its answer any more.
    fn stop(&self, id: &str) {
        if let Some(task) = self.lock().remove(id) {
            task.abort();
        }
    }

    /// Stops all tasks because the agent that asked has ended.
    pub fn stop_all(&self) {
        for (_, task) in self.lock().drain() {
            task.abort();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, AbortHandle>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    /// Starts what handles a record, or stops what is not wanted any more.
    pub(crate) fn handle(&self, kind: &str, event: &Event) {
        match event {
            Event::Unknown(request) => self.refuse(kind, request),
            Event::ExtensionUiRequest(ExtensionUiRequestRecord::Unknown(request)) => {
                self.refuse(kind, request);
            }
            Event::ExtensionUiRequest(request) => self.handle_dialog(request),
            Event::ApprovalRequest(request) => self.handle_approval(request),
            Event::HostToolCall(call) => self.handle_tool_call(call),
            Event::HostUriRequest(request) => self.handle_uri(request),
            Event::HostToolCancel(cancel) => self.inner.running.stop(&cancel.target_id),
            Event::HostUriCancel(cancel) => self.inner.running.stop(&cancel.target_id),
            Event::ApprovalResolved(resolved) => self.inner.running.stop(&resolved.id),
            _ => {}
        }
    }

    /// Says no to a request that this version cannot read, so that the agent does not wait for an answer.
    fn refuse(&self, kind: &str, request: &Value) {
        let Some(id) =
            request.get("id").and_then(Value::as_str).filter(|_| self.inner.handlers.handles(kind))
        else {
            return;
        };
        let (connection, kind, request_id) = (self.clone(), kind.to_owned(), id.to_owned());
        self.spawn(id, async move |_| {
            let _ = match kind.as_str() {
                "extension_ui_request" => {
                    let cancelled = Some(true);
                    let answer = ExtensionUiResponseAnswer::new(request_id);
                    connection.answer(ExtensionUiResponseAnswer { cancelled, ..answer }).await
                }
                "approval_request" => {
                    let decision = Some("deny".to_owned());
                    let answer = ApprovalResponseCommand::new(request_id);
                    connection.call(ApprovalResponseCommand { decision, ..answer }).await
                }
                "host_tool_call" => {
                    let output = ToolOutput::from(UNREADABLE).into();
                    let answer = HostToolResultAnswer::new(request_id, output);
                    connection.answer(HostToolResultAnswer { is_error: Some(true), ..answer }).await
                }
                "host_uri_request" => {
                    let (is_error, error) = (Some(true), Some(UNREADABLE.to_owned()));
                    let answer = HostUriResultAnswer::new(request_id);
                    connection.answer(HostUriResultAnswer { is_error, error, ..answer }).await
                }
                _ => Ok(()),
            };
        });
    }

    fn handle_dialog(&self, request: &ExtensionUiRequestRecord) {
        let Some((id, timeout)) = dialog(request) else { return };
        let handler = match &self.inner.handlers.dialogs {
            DialogHandling::Left => return,
            DialogHandling::Cancelled => None,
            DialogHandling::Handled(handler) => Some(Arc::clone(handler)),
        };
        let request = request.clone();
        let (connection, mut answer) = (self.clone(), ExtensionUiResponseAnswer::new(id));
        self.spawn(id, async move |may_run| {
            let given = async {
                match handler.filter(|_| may_run) {
                    Some(handler) => caught(|| handler(request)).await.unwrap_or(DialogAnswer::Cancelled),
                    None => DialogAnswer::Cancelled,
                }
            };
            let given = match timeout {
                Some(limit) => tokio::time::timeout(limit, given).await.ok(),
                None => Some(given.await),
            };
            match given {
                Some(DialogAnswer::Value(value)) => answer.value = Some(value),
                Some(DialogAnswer::Confirmed(confirmed)) => answer.confirmed = Some(confirmed),
                Some(DialogAnswer::Cancelled) => answer.cancelled = Some(true),
                None => (answer.cancelled, answer.timed_out) = (Some(true), Some(true)),
            }
            // Without a connection there is nobody to answer.
            let _ = connection.answer(answer).await;
        });
    }

    fn handle_approval(&self, request: &ApprovalRequestRecord) {
        let Some(handler) = self.inner.handlers.approvals.clone() else { return };
        let (connection, request, id) = (self.clone(), request.clone(), request.id.clone());
        self.spawn(&id.clone(), async move |may_run| {
            let decision = match may_run {
                true => caught(|| handler(request)).await.unwrap_or(Decision::Deny(None)),
                false => Decision::Deny(None),
            };
            let (decision, message) = match decision {
                Decision::Once => ("once", None),
                Decision::Session => ("session", None),
                Decision::Project => ("project", None),
                Decision::Deny(message) => ("deny", message),
            };
            let decision = Some(decision.to_owned());
            // Fails if the approval is not open any more, which is nothing to report.
            let _ = connection.call(ApprovalResponseCommand { approval_id: id, decision, message }).await;
        });
    }

    fn handle_tool_call(&self, call: &HostToolCallRecord) {
        let tool = self.inner.tools.find(&call.tool_name);
        let (connection, call, id) = (self.clone(), call.clone(), call.id.clone());
        self.spawn(&id.clone(), async move |may_run| {
            let result = match tool {
                Some(tool) if may_run => {
                    let call = ToolCall::new(connection.clone(), call);
                    caught(|| tool.run(call)).await.unwrap_or_else(|| Err("the tool panicked".to_owned()))
                }
                Some(_) => Err("too many calls are in progress: try again later".to_owned()),
                None => Err(format!("there is no tool named {} any more", call.tool_name)),
            };
            let (output, is_error) = match result {
                Ok(output) => (output, None),
                Err(message) => (ToolOutput::from(message), Some(true)),
            };
            let answer = HostToolResultAnswer { is_error, ..HostToolResultAnswer::new(id, output.into()) };
            let _ = connection.answer(answer).await;
        });
    }

    fn handle_uri(&self, request: &HostUriRequestRecord) {
        let handler = self.inner.handlers.uris.clone();
        let (connection, request, id) = (self.clone(), request.clone(), request.id.clone());
        self.spawn(&id.clone(), async move |may_run| {
            let result = match handler.filter(|_| may_run) {
                Some(handler) => {
                    caught(|| handler(request)).await.unwrap_or_else(|| Err("the client panicked".to_owned()))
                }
                None => Err("the client serves no addresses now".to_owned()),
            };
            let mut answer = HostUriResultAnswer::new(id);
            match result {
                Ok(content) => answer.content = Some(content),
                Err(error) => (answer.is_error, answer.error) = (Some(true), Some(error)),
            }
            let _ = connection.answer(answer).await;
        });
    }

    /// Runs what answers a request as a task. It is told whether it may run the handler.
    fn spawn<Answering>(&self, id: &str, answer: impl FnOnce(bool) -> Answering)
    where
        Answering: Future<Output = ()> + Send + 'static,
    {
        // Nothing can be removed before it was added: the task waits for the lock.
        let mut tasks = self.inner.running.lock();
        if tasks.len() >= MOST_ANSWERED {
            return;
        }
        let answering = answer(tasks.len() < MOST_RUNNING);
        let (connection, finished) = (self.clone(), id.to_owned());
        let task = tokio::spawn(async move {
            answering.await;
            connection.inner.running.lock().remove(&finished);
        });
        tasks.insert(id.to_owned(), task.abort_handle());
    }
}

/// Returns the id of a request that is answered, and how long the agent waits.
fn dialog(request: &ExtensionUiRequestRecord) -> Option<(&str, Option<Duration>)> {
    let (id, timeout) = match request {
        ExtensionUiRequestRecord::Select(it) => (&it.id, it.timeout),
        ExtensionUiRequestRecord::Confirm(it) => (&it.id, it.timeout),
        ExtensionUiRequestRecord::Input(it) => (&it.id, it.timeout),
        ExtensionUiRequestRecord::Editor(it) => (&it.id, None),
        _ => return None,
    };
    let timeout = timeout.and_then(|limit| u64::try_from(limit).ok()).map(Duration::from_millis);
    Some((id, timeout))
}

/// Returns what a handler returns; none if it panics, be it before its first wait.
async fn caught<Output>(handler: impl FnOnce() -> BoxFuture<'static, Output>) -> Option<Output> {
    AssertUnwindSafe(async move { handler().await }).catch_unwind().await.ok()
}
