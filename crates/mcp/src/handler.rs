//! Our side of a session with a server: what it may ask for, and what it reports.
#![expect(
    deprecated,
    reason = "roots are deprecated in the newest protocol and used by all servers of older ones"
)]

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationCapability, ErrorData,
    FormElicitationCapability, Implementation, ListRootsResult, ProgressNotificationParam, ProgressToken,
    ProtocolVersion, Root, RootsCapabilities, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::{Notify, mpsc};

use crate::form;
use crate::host::Asker;

/// How many progress reports of a call wait to be handled; others are dropped, as each replaces the one before.
const WAITING: usize = 16;

/// Our side of a session.
#[derive(Clone)]
pub(crate) struct Handler(Arc<Inner>);

struct Inner {
    server: String,
    root: String,
    asker: Arc<dyn Asker>,
    /// The calls in progress, the latest at the end.
    calls: Mutex<Vec<Call>>,
    progress: Mutex<HashMap<ProgressToken, mpsc::Sender<ProgressNotificationParam>>>,
    /// How many questions to the user are open.
    questions: AtomicUsize,
    lists_changed: Notify,
}

struct Call {
    number: u64,
    session_id: Option<String>,
}

/// A call in progress, until it is dropped.
pub(crate) struct CallEntry {
    handler: Handler,
    number: u64,
}

/// A subscription to the progress of a call, until it is dropped.
pub(crate) struct ProgressEntry {
    handler: Handler,
    token: ProgressToken,
    pub reports: mpsc::Receiver<ProgressNotificationParam>,
}

impl Handler {
    pub fn new(server: &str, working_directory: &Path, asker: Arc<dyn Asker>) -> Self {
        Self(Arc::new(Inner {
            server: server.to_owned(),
            root: file_address(working_directory),
            asker,
            calls: Mutex::default(),
            progress: Mutex::default(),
            questions: AtomicUsize::new(0),
            lists_changed: Notify::new(),
        }))
    }

    /// Registers a call, so that questions of the server go to its session.
    pub fn begin_call(&self, session_id: Option<String>) -> CallEntry {
        let mut calls = lock(&self.0.calls);
        let number = calls.last().map_or(0, |call| call.number + 1);
        calls.push(Call { number, session_id });
        CallEntry { handler: self.clone(), number }
    }

    /// Subscribes to the progress of a call.
    pub fn follow(&self, token: ProgressToken) -> ProgressEntry {
        let (sender, reports) = mpsc::channel(WAITING);
        lock(&self.0.progress).insert(token.clone(), sender);
        ProgressEntry { handler: self.clone(), token, reports }
    }

    /// Returns whether the server waits for an answer of the user.
    pub fn is_asking(&self) -> bool {
        self.0.questions.load(Ordering::Relaxed) > 0
    }

    /// Waits until the server reports that its tools, prompts or resources have changed.
    pub async fn lists_changed(&self) {
        self.0.lists_changed.notified().await;
    }

    pub fn report_change(&self) {
        self.0.lists_changed.notify_one();
    }

    /// Asks the user what the server wants to know.
    pub async fn elicit(&self, request: ElicitRequestParams) -> ElicitResult {
        let session_id = lock(&self.0.calls).last().and_then(|call| call.session_id.clone());
        self.0.questions.fetch_add(1, Ordering::Relaxed);
        let _open = OpenQuestion(&self.0.questions);
        form::fill_in(&self.0.asker, &self.0.server, session_id, request).await
    }

    pub fn roots(&self) -> ListRootsResult {
        ListRootsResult::new(vec![Root::new(self.0.root.clone())])
    }
}

struct OpenQuestion<'a>(&'a AtomicUsize);

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for CallEntry {
    fn drop(&mut self) {
        lock(&self.handler.0.calls).retain(|call| call.number != self.number);
    }
}

impl Drop for ProgressEntry {
    fn drop(&mut self) {
        lock(&self.handler.0.progress).remove(&self.token);
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        if self.0.asker.can_ask() {
            let mut elicitation = ElicitationCapability::default();
            elicitation.form = Some(FormElicitationCapability::default());
            elicitation.url = Some(UrlElicitationCapability::default());
            capabilities.elicitation = Some(elicitation);
        }
        let client = Implementation::new("bowline", env!("CARGO_PKG_VERSION"));
        // The newest version that is agreed on in this way. Later ones are asked for in another.
        ClientConfig::new(capabilities, client).with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(self.roots())
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        tokio::select! {
            result = self.elicit(request) => Ok(result),
            // The server has given up.
            () = context.ct.cancelled() => Err(ErrorData::invalid_request("cancelled", None)),
        }
    }

    async fn on_progress(&self, report: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        if let Some(sender) = lock(&self.0.progress).get(&report.progress_token) {
            let _ = sender.try_send(report);
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.report_change();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.report_change();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.report_change();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the address of a folder: `file:///home/me/my%20project`.
fn file_address(path: &Path) -> String {
    let path = path.to_string_lossy().replace('\\', "/");
    let mut address = String::from("file://");
    if !path.starts_with('/') {
        address.push('/');
    }
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~:".contains(&byte) {
            address.push(char::from(byte));
        } else {
            address.push_str(&format!("%{byte:02X}"));
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::NoAsker;

    #[test]
    fn root_is_an_address() {
        assert_eq!(file_address(Path::new("/home/me/my project/ä")), "file:///home/me/my%20project/%C3%A4");
    }

    #[test]
    fn questions_go_to_the_latest_call_in_progress() {
        let handler = Handler::new("s", Path::new("/"), Arc::new(NoAsker));
        let session = || lock(&handler.0.calls).last().and_then(|call| call.session_id.clone());
        let first = handler.begin_call(Some("first".to_owned()));
        let second = handler.begin_call(Some("second".to_owned()));
        assert_eq!(session().as_deref(), Some("second"));
        drop(second);
        assert_eq!(session().as_deref(), Some("first"));
        drop(first);
        assert_eq!(session(), None);
    }
}
