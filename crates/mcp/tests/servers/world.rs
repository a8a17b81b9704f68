//! Servers for tests: the script in `tests/mcp`, started with flags.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bowline_core::message::{Content, join_text};
use bowline_mcp::{
    Asker, Configuration, Host, Listener, Notice, Question, ServerContext, Servers, Source, Timing,
};
use bowline_tools::{BoxFuture, CallContext, Options, Outcome, Progress};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

const PATIENCE: Duration = Duration::from_secs(30);

/// A folder, servers, and what they reported.
pub struct World {
    pub folder: TempDir,
    pub timing: Timing,
    pub answers: Arc<Mutex<Vec<Value>>>,
    pub events: Arc<Events>,
    pub cancel: CancellationToken,
    pub progress: Arc<Mutex<Vec<Progress>>>,
}

#[derive(Default)]
pub struct Events {
    pub notices: Mutex<Vec<Notice>>,
    pub changes: Mutex<u32>,
}

impl Listener for Events {
    fn notice(&self, notice: Notice) {
        self.notices.lock().unwrap().push(notice);
    }

    fn changed(&self) {
        *self.changes.lock().unwrap() += 1;
    }
}

struct TestHost;

impl Host for TestHost {
    fn evaluate(&self, value: String) -> BoxFuture<'static, Result<String, String>> {
        let value = match value.strip_prefix('$') {
            Some("TOKEN") => Ok("token-from-outside".to_owned()),
            Some(name) => Err(format!("the variable {name} is not set")),
            None => Ok(value),
        };
        Box::pin(std::future::ready(value))
    }

    fn http_client(&self, _: String) -> BoxFuture<'static, Result<reqwest::Client, String>> {
        let built = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        let built = built.tls_backend_preconfigured(tls()).build().map_err(|error| error.to_string());
        Box::pin(std::future::ready(built))
    }
}

fn tls() -> rustls::ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    config.unwrap().with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth()
}

struct TestAsker(Arc<Mutex<Vec<Value>>>);

impl Asker for TestAsker {
    fn can_ask(&self) -> bool {
        true
    }

    fn ask(&self, _: Option<String>, _: Question) -> BoxFuture<'static, Option<Value>> {
        let mut answers = self.0.lock().unwrap();
        if answers.is_empty() {
            return Box::pin(std::future::pending());
        }
        let answer = answers.remove(0);
        Box::pin(std::future::ready((!answer.is_null()).then_some(answer)))
    }
}

impl World {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            timing: Timing {
                start: PATIENCE,
                longest_start: PATIENCE,
                backoff: [10, 20, 30].map(Duration::from_millis),
                ..Timing::default()
            },
            answers: Arc::default(),
            events: Arc::default(),
            cancel: CancellationToken::new(),
            progress: Arc::default(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns servers by a configuration.
    pub fn configured(&self, servers: &Value) -> Servers {
        let servers = servers.as_object().unwrap().clone();
        let configuration = Configuration::read(&[Source::Servers { origin: "test".into(), servers }]);
        assert_eq!(configuration.problems, []);
        let context = ServerContext {
            working_directory: self.folder.path().to_owned(),
            tools: Arc::new(Options::default()),
            host: Arc::new(TestHost),
            asker: Arc::new(TestAsker(Arc::clone(&self.answers))),
            listener: Arc::clone(&self.events) as Arc<dyn Listener>,
            timing: self.timing,
        };
        Servers::new(&configuration, context)
    }

    /// Starts one server, named `s`, with flags.
    pub async fn start(&self, flags: &[&str]) -> Servers {
        let servers = self.configured(&json!({"s": entry(flags)}));
        servers.start().await;
        servers
    }

    pub fn context(&self) -> CallContext {
        let progress = Arc::clone(&self.progress);
        CallContext {
            working_directory: self.folder.path().to_owned(),
            cancel: self.cancel.clone(),
            progress: Arc::new(move |report| progress.lock().unwrap().push(report)),
            environment: Vec::new(),
            takes_images: true,
            session_id: Some("session".to_owned()),
            call_id: None,
            todos: bowline_tools::TodoList::default(),
            grants: bowline_core::sandbox::Grants::default(),
            editor: None,
        }
    }

    /// Calls a tool of the server `s`.
    pub async fn call(&self, servers: &Servers, tool: &str, arguments: Value) -> Outcome {
        let tool = servers.tool("s", tool).unwrap();
        let Value::Object(arguments) = arguments else { panic!() };
        tool.call(self.context(), arguments).await
    }

    pub async fn echo(&self, servers: &Servers, text: &str) -> Outcome {
        self.call(servers, "echo", json!({ "text": text })).await
    }

    /// Returns the messages that a server with `--log log` has received.
    pub fn log(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path("log")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn notices(&self) -> Vec<String> {
        self.events.notices.lock().unwrap().iter().map(|notice| notice.text.clone()).collect()
    }
}

/// Runs a test, and leaves no process behind.
pub fn run(test: impl Future<Output = ()>) {
    let _finish = Finish;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(test);
}

struct Finish;

impl Drop for Finish {
    fn drop(&mut self) {
        bowline_tools::finish_commands(PATIENCE);
    }
}

/// Returns the description of a server with flags.
pub fn entry(flags: &[&str]) -> Value {
    let mut arguments = vec![script().display().to_string()];
    arguments.extend(flags.iter().map(|flag| (*flag).to_owned()));
    json!({"command": "python3", "args": arguments})
}

/// Adds a member to a description.
pub fn with(mut entry: Value, name: &str, value: Value) -> Value {
    let members: &mut Map<String, Value> = entry.as_object_mut().unwrap();
    members.insert(name.to_owned(), value);
    entry
}

pub fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp/server.py")
}

pub fn text(outcome: &Outcome) -> String {
    join_text(&outcome.content)
}

pub fn images(outcome: &Outcome) -> usize {
    outcome.content.iter().filter(|block| matches!(block, Content::Image { .. })).count()
}

/// Waits until a condition holds.
#[track_caller]
pub fn eventually(what: &str, condition: impl Fn() -> bool) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    let what = what.to_owned();
    async move {
        let start = Instant::now();
        while !condition() {
            assert!(start.elapsed() < PATIENCE, "{what} ({caller})");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
