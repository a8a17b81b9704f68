//! What this crate needs of the program around it.

use std::sync::Arc;

use bowline_tools::BoxFuture;
use serde_json::Value;

/// The client that servers are reached with.
pub type HttpClient = reqwest::Client;

/// Evaluates values of the configuration and builds HTTP clients.
pub trait Host: Send + Sync {
    /// Returns what a value such as `$TOKEN` or `!command` stands for. The error is a clause for the user.
    fn evaluate(&self, value: String) -> BoxFuture<'static, Result<String, String>>;

    /// Returns a client for an address. It must not follow redirects, which would send headers elsewhere.
    fn http_client(&self, address: String) -> BoxFuture<'static, Result<HttpClient, String>>;
}

/// Asks the user of a session, because a server wants to know something.
pub trait Asker: Send + Sync {
    /// Returns whether there is anybody to ask. Servers are told so when they start.
    fn can_ask(&self) -> bool;

    /// Asks the user of the session, if it is known which. `None` means that the user did not answer.
    fn ask(&self, session_id: Option<String>, question: Question) -> BoxFuture<'static, Option<Value>>;
}

/// A question to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Who asks, and what for.
    pub title: String,
    pub kind: QuestionKind,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionKind {
    /// Yes or no; the answer is a boolean.
    Confirm { message: String },
    /// One of several texts; the answer is one of them.
    Select { options: Vec<String> },
    /// Any text.
    Input { placeholder: Option<String> },
}

/// Nobody to ask: every question is declined.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAsker;

impl Asker for NoAsker {
    fn can_ask(&self) -> bool {
        false
    }

    fn ask(&self, _session_id: Option<String>, _question: Question) -> BoxFuture<'static, Option<Value>> {
        Box::pin(std::future::ready(None))
    }
}

/// Hears what happens to servers.
pub trait Listener: Send + Sync {
    /// Something happened to a server that the user should know.
    fn notice(&self, notice: Notice);

    /// The tools or prompts of some server are not the same as before.
    fn changed(&self);
}

/// Something that happened to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub server: String,
    /// A sentence for the user.
    pub text: String,
    pub severity: Severity,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Something is missing or late.
    Warning,
    /// The server could not be started, or has ended.
    Failure,
}

/// What all servers share.
#[derive(Clone)]
pub struct ServerContext {
    /// Where servers run, and the root that they are told.
    pub working_directory: std::path::PathBuf,
    /// The options of the toolbox: what programs get of the environment, and who watches them.
    pub tools: Arc<bowline_tools::Options>,
    pub host: Arc<dyn Host>,
    pub asker: Arc<dyn Asker>,
    pub listener: Arc<dyn Listener>,
    pub timing: Timing,
}

/// How long things take.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// How long the first prompt waits for servers to get ready.
    pub start: std::time::Duration,
    /// How long a server may take to get ready.
    pub longest_start: std::time::Duration,
    /// After how long a server that has ended is started again, the first time, the second time and so on.
    pub backoff: [std::time::Duration; 3],
    /// The time in which a server is started again no more often than that.
    pub window: std::time::Duration,
    /// How long a server has to exit after its stdin was closed.
    pub patience: std::time::Duration,
}

impl Default for Timing {
    fn default() -> Self {
        use std::time::Duration;
        Self {
            start: Duration::from_secs(10),
            longest_start: Duration::from_mins(2),
            backoff: [1, 5, 25].map(Duration::from_secs),
            window: Duration::from_mins(10),
            patience: Duration::from_millis(300),
        }
    }
}
