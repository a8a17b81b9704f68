//! The servers of a folder, and the sessions that use them: what the servers offer, report and ask reaches every session.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use bowline_core::slash_command::{CommandKind, Packaging, Scope, SlashCommand, SourceInfo};
use bowline_core::tool::ToolDefinition;
use bowline_core::ui::{Dialog, DialogAnswer, DialogKind, Display, ExtensionError, NotifyLevel};
use bowline_engine::{ExtensionInput, OfferedTool, SessionLink};
use bowline_mcp::{
    Asker, Configuration, Listener, Notice, Question, QuestionKind, ServerContext, Servers, Severity, Timing,
};
use bowline_tools::BoxFuture;
use serde_json::Value;
use tokio::sync::{Notify, OnceCell};
use tokio_util::sync::CancellationToken;

use super::exposure::Exposure;
use super::{McpOptions, NAME, lock};

/// The servers of a folder, and the sessions that use them.
pub(super) struct Shared {
    this: Weak<Self>,
    options: Arc<McpOptions>,
    pub(super) directory: PathBuf,
    /// What an extension has registered; absent for the servers of the configuration.
    given: Option<Given>,
    servers: OnceCell<Servers>,
    pub(super) seats: Mutex<Vec<Arc<Seat>>>,
    last_seat: AtomicU64,
}

/// A server that an extension has registered.
pub(super) struct Given {
    /// What the session knows it by.
    pub name: Arc<str>,
    pub configuration: Configuration,
    pub exposure: Exposure,
}

/// A session that uses servers.
pub(super) struct Seat {
    pub(super) number: u64,
    link: SessionLink,
    session_id: String,
    /// Whether the session has waited for the servers.
    pub(super) is_started: AtomicBool,
    /// The servers offer something else than before.
    changed: Notify,
    /// What the session was told last.
    sent: tokio::sync::Mutex<Option<Offer>>,
    pub(super) end: CancellationToken,
}

/// What servers offer.
#[derive(PartialEq)]
struct Offer {
    tools: Vec<ToolDefinition>,
    instructions: Vec<(String, String)>,
    commands: Vec<bowline_mcp::PromptCommand>,
}

impl Shared {
    /// Returns the servers that are described for a folder.
    pub(super) fn new(options: Arc<McpOptions>, directory: PathBuf) -> Arc<Self> {
        Self::make(options, directory, None)
    }

    /// Returns a server that an extension has registered.
    pub(super) fn of_given(options: Arc<McpOptions>, directory: PathBuf, given: Given) -> Arc<Self> {
        Self::make(options, directory, Some(given))
    }

    fn make(options: Arc<McpOptions>, directory: PathBuf, given: Option<Given>) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            options,
            directory,
            given,
            servers: OnceCell::new(),
            seats: Mutex::default(),
            last_seat: AtomicU64::new(0),
        })
    }

    /// Returns what a session knows the servers by.
    pub(super) fn name(&self) -> Arc<str> {
        self.given.as_ref().map_or_else(|| NAME.into(), |given| Arc::clone(&given.name))
    }

    /// Lets a session use the servers.
    pub(super) fn take_seat(&self, link: SessionLink, session_id: String) -> Arc<Seat> {
        let seat = Arc::new(Seat {
            number: self.last_seat.fetch_add(1, Ordering::Relaxed),
            link,
            session_id,
            is_started: AtomicBool::new(false),
            changed: Notify::new(),
            sent: tokio::sync::Mutex::default(),
            end: CancellationToken::new(),
        });
        lock(&self.seats).push(Arc::clone(&seat));
        seat
    }

    /// Returns the servers, reading the configuration first.
    pub(super) async fn servers(&self) -> &Servers {
        self.servers
            .get_or_init(|| async {
                let configuration = self.configuration().await;
                for problem in &configuration.problems {
                    self.report(Severity::Failure, "load", &problem.to_string());
                }
                Servers::new(&configuration, self.context())
            })
            .await
    }

    async fn configuration(&self) -> Configuration {
        if let Some(given) = &self.given {
            return given.configuration.clone();
        }
        let (options, directory) = (Arc::clone(&self.options), self.directory.clone());
        let read = tokio::task::spawn_blocking(move || options.configuration(&directory));
        read.await.unwrap_or_default()
    }

    fn context(&self) -> ServerContext {
        let listener: Arc<dyn Listener> = match self.this.upgrade() {
            Some(this) => Arc::new(NoticeListener(Arc::downgrade(&this))),
            None => Arc::new(NoticeListener(Weak::new())),
        };
        ServerContext {
            working_directory: self.directory.clone(),
            tools: Arc::clone(&self.options.tools),
            host: Arc::clone(&self.options.host),
            asker: Arc::new(QuestionAsker { shared: Weak::clone(&self.this), can_ask: self.options.can_ask }),
            listener,
            timing: Timing { start: self.options.start_limit, ..Timing::default() },
        }
    }

    pub(super) async fn stop(&self) {
        if let Some(servers) = self.servers.get() {
            servers.stop().await;
        }
    }

    pub(super) fn seats(&self) -> Vec<Arc<Seat>> {
        lock(&self.seats).clone()
    }

    /// Tells every session, and the user beside the protocol.
    pub(super) fn report(&self, severity: Severity, event: &str, text: &str) {
        (self.options.note)(text);
        for seat in self.seats() {
            let input = match severity {
                Severity::Failure => ExtensionInput::Failed(ExtensionError {
                    extension: self.name().to_string(),
                    event: event.to_owned(),
                    error: text.to_owned(),
                }),
                Severity::Warning => ExtensionInput::Display(Display::Notify {
                    message: text.to_owned(),
                    level: Some(NotifyLevel::Warning),
                }),
            };
            tokio::spawn(async move { seat.link.send(input).await });
        }
    }
}

/// Hears what happens to servers.
struct NoticeListener(Weak<Shared>);

impl Listener for NoticeListener {
    fn notice(&self, notice: Notice) {
        if let Some(shared) = self.0.upgrade() {
            shared.report(notice.severity, "process", &notice.text);
        }
    }

    fn changed(&self) {
        for seat in self.0.upgrade().iter().flat_map(|shared| shared.seats()) {
            seat.changed.notify_one();
        }
    }
}

/// Asks the user of a session.
struct QuestionAsker {
    shared: Weak<Shared>,
    can_ask: bool,
}

impl Asker for QuestionAsker {
    fn can_ask(&self) -> bool {
        self.can_ask
    }

    fn ask(&self, session_id: Option<String>, question: Question) -> BoxFuture<'static, Option<Value>> {
        let seats = self.shared.upgrade().map(|shared| shared.seats()).unwrap_or_default();
        let named = seats.iter().find(|seat| Some(&seat.session_id) == session_id.as_ref());
        // A session that has changed to another file is known by its first one.
        let Some(seat) = named.or_else(|| seats.last()).cloned() else {
            return Box::pin(std::future::ready(None));
        };
        Box::pin(async move {
            let kind = match question.kind {
                QuestionKind::Confirm { message } => DialogKind::Confirm { message },
                QuestionKind::Select { options } => DialogKind::Select { options, descriptions: Vec::new() },
                QuestionKind::Input { placeholder } => DialogKind::Input { placeholder },
            };
            let dialog = Dialog { kind, title: question.title, timeout: None };
            // A question that nobody waits for any longer is withdrawn.
            let cancel = seat.end.child_token();
            let _withdrawn = cancel.clone().drop_guard();
            match seat.link.ask(dialog, cancel).await {
                DialogAnswer::Value(text) => Some(Value::String(text)),
                DialogAnswer::Confirmed(answer) => Some(Value::Bool(answer)),
                DialogAnswer::Cancelled => None,
            }
        })
    }
}

impl Seat {
    /// Waits until the servers are ready, or not any longer, and tells the session what they offer.
    pub(super) async fn start(&self, shared: &Shared) {
        if self.is_started.load(Ordering::Relaxed) {
            return;
        }
        let servers = shared.servers().await;
        servers.start().await;
        self.tell(shared, servers).await;
        self.is_started.store(true, Ordering::Relaxed);
    }

    /// Tells the session what the servers offer, unless it knows.
    async fn tell(&self, shared: &Shared, servers: &Servers) {
        let mut sent = self.sent.lock().await;
        let tools = match &shared.given {
            None => servers.tools(),
            Some(given) => servers.tools_of_one(|tool| given.exposure.shows(tool)),
        };
        let offer = Offer {
            tools: tools.iter().map(|tool| tool.definition().clone()).collect(),
            instructions: servers.instructions(),
            commands: servers.commands(),
        };
        if sent.as_ref() == Some(&offer) {
            return;
        }
        let mut offered: Vec<OfferedTool> = tools
            .into_iter()
            .map(|tool| OfferedTool {
                tool,
                snippet: None,
                guidelines: Vec::new(),
                is_active: true,
                source_info: None,
            })
            .collect();
        if let Some(first) = offered.first_mut() {
            first.guidelines =
                offer.instructions.iter().map(|(server, text)| guideline(server, text)).collect();
        }
        let commands = offer.commands.iter().map(slash_command).collect();
        self.link.send(ExtensionInput::Tools { extension: shared.name(), tools: offered }).await;
        self.link.send(ExtensionInput::Commands { extension: shared.name(), commands }).await;
        *sent = Some(offer);
    }
}

/// Returns what a server says about its use as a rule for the system prompt.
fn guideline(server: &str, text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("The MCP server {server} says about its tools: {line}")
}

fn slash_command(command: &bowline_mcp::PromptCommand) -> SlashCommand {
    SlashCommand {
        name: command.name.clone(),
        description: Some(command.description.clone()),
        argument_hint: (!command.arguments.is_empty()).then(|| command.arguments.clone()),
        has_completion: false,
        kind: CommandKind::Extension,
        source_info: SourceInfo {
            path: command.origin.clone(),
            source: format!("mcp:{}", command.server),
            scope: if command.is_of_project { Scope::Project } else { Scope::User },
            packaging: Packaging::TopLevel,
            base_folder: None,
        },
    }
}

/// Gets a session going, and tells it of every change.
pub(super) async fn follow(shared: Arc<Shared>, seat: Arc<Seat>) {
    // Nothing of the session waits for servers before its first message.
    if shared.given.is_none() {
        seat.link.send(ExtensionInput::Ready).await;
    }
    let is_open = shared.given.is_none() && {
        let (options, directory) = (Arc::clone(&shared.options), shared.directory.clone());
        let look = move || {
            let has_project = !options.project_files(&directory).is_empty();
            has_project && options.resources.is_trust_open(&directory)
        };
        tokio::task::spawn_blocking(look).await.unwrap_or(true)
    };
    // Whether the project is trusted may be decided later; then its servers start with the first message.
    if !is_open {
        shared.servers().await.start_early();
    }
    if shared.given.is_some() {
        // The next message waits for the same.
        tokio::select! {
            () = seat.end.cancelled() => return,
            () = seat.start(&shared) => {}
        }
    }
    loop {
        tokio::select! {
            () = seat.end.cancelled() => return,
            () = seat.changed.notified() => {}
        }
        if seat.is_started.load(Ordering::Relaxed)
            && let Some(servers) = shared.servers.get()
        {
            seat.tell(&shared, servers).await;
        }
    }
}
