//! MCP servers as part of a session: their tools, their prompts as slash commands, their questions as dialogs.
//!
//! Servers are shared by the sessions of this process that work in the same folder. They are started with the first
//! message of the user, unless the configuration says otherwise, and the message waits for them no longer than a limit.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bowline_core::command::Draft;
use bowline_core::hook::{HookEvent, HookKind, HookResult, Subscription};
use bowline_core::slash_command::{CommandKind, Packaging, Scope, SlashCommand, SourceInfo};
use bowline_core::tool::ToolDefinition;
use bowline_core::ui::{Dialog, DialogAnswer, DialogKind, Display, ExtensionError, NotifyLevel};
use bowline_engine::{
    About, Attached, CommandResult, Extension, ExtensionInput, Host, OfferedTool, SessionLink,
};
use bowline_extension::Resources;
use bowline_extension::trust::{PROJECT_FOLDERS, project_folders};
use bowline_mcp::{
    Asker, Configuration, Listener, Notice, Question, QuestionKind, Servers, Severity, Source, Surroundings,
    Timing,
};
use bowline_tools::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::{Notify, OnceCell};
use tokio_util::sync::CancellationToken;

/// The name that clients know all of this by.
const NAME: &str = "mcp";

/// The name of the file with servers, in the user's folder and in those of a project.
const FILE_NAME: &str = "mcp.json";

/// What the names of all commands begin with.
const PREFIX: &str = "/mcp__";

/// How long servers outlive the last session that used them: a client may be about to open another one.
const LINGER: Duration = Duration::from_secs(5);

/// What is known of MCP servers at the start. Nothing is read or started yet.
#[derive(Clone)]
pub struct McpOptions {
    /// The servers in the user's settings, and the file that they come from.
    pub settings: Map<String, Value>,
    pub settings_file: PathBuf,
    /// The user's folder, which may have a file with more servers.
    pub own_folder: PathBuf,
    /// Decides whether a project is trusted.
    pub resources: Resources,
    /// The options of the toolbox.
    pub tools: Arc<bowline_tools::Options>,
    pub host: Arc<dyn bowline_mcp::Host>,
    /// Whether the client can be asked.
    pub can_ask: bool,
    /// How long the first message waits for servers.
    pub start_limit: Duration,
    /// Tells the user something beside the protocol.
    pub note: Arc<dyn Fn(&str) + Send + Sync>,
}

impl McpOptions {
    /// Returns whether the user has described servers.
    fn has_own(&self) -> bool {
        !self.settings.is_empty() || self.own_folder.join(FILE_NAME).symlink_metadata().is_ok()
    }

    /// Returns the files of a project that describe servers, in order of precedence.
    fn project_files(&self, directory: &Path) -> Vec<PathBuf> {
        let files = PROJECT_FOLDERS.iter().map(|folder| directory.join(folder).join(FILE_NAME));
        let mut files: Vec<_> = files.filter(|file| file.symlink_metadata().is_ok()).collect();
        // Most projects have none, and then nothing more is looked at.
        if !files.is_empty() {
            let folders = project_folders(directory, &self.own_folder);
            files.retain(|file| {
                file.parent().is_some_and(|folder| folders.iter().any(|known| known == folder))
            });
        }
        files
    }

    /// Reads all descriptions that apply to a folder. Blocks.
    pub fn configuration(&self, directory: &Path) -> Configuration {
        let mut sources = vec![
            Source::Servers { origin: self.settings_file.clone(), servers: self.settings.clone() },
            Source::File(self.own_folder.join(FILE_NAME)),
        ];
        let files = self.project_files(directory);
        if !files.is_empty() && self.resources.is_trusted(directory) {
            // The first folder takes precedence, and a later source does.
            let project = files.into_iter().rev();
            let folder = directory.to_owned();
            sources.extend(project.map(|path| Source::ProjectFile { path, folder: folder.clone() }));
        }
        Configuration::read(&sources)
    }
}

/// Brings MCP servers to sessions.
pub struct McpHost {
    options: Arc<McpOptions>,
    shared: Arc<Mutex<HashMap<PathBuf, Arc<Shared>>>>,
}

impl McpHost {
    pub fn new(options: McpOptions) -> Self {
        Self { options: Arc::new(options), shared: Arc::default() }
    }
}

impl fmt::Debug for McpHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("McpHost").finish_non_exhaustive()
    }
}

impl Host for McpHost {
    fn attach(&self, link: SessionLink, about: About) -> Option<Box<dyn Attached>> {
        if !self.options.has_own() && self.options.project_files(&about.directory).is_empty() {
            return None;
        }
        let mut all = lock(&self.shared);
        let shared = all.entry(about.directory.clone()).or_insert_with(|| {
            Arc::new_cyclic(|this| Shared {
                this: Weak::clone(this),
                options: Arc::clone(&self.options),
                directory: about.directory.clone(),
                servers: OnceCell::new(),
                seats: Mutex::default(),
                last_seat: AtomicU64::new(0),
            })
        });
        let seat = Arc::new(Seat {
            number: shared.last_seat.fetch_add(1, Ordering::Relaxed),
            link,
            session_id: about.session_id,
            is_started: AtomicBool::new(false),
            changed: Notify::new(),
            sent: tokio::sync::Mutex::default(),
            end: CancellationToken::new(),
        });
        lock(&shared.seats).push(Arc::clone(&seat));
        let extension = Arc::new(McpExtension { shared: Arc::clone(shared), seat: Arc::clone(&seat) });
        tokio::spawn(follow(Arc::clone(shared), Arc::clone(&seat)));
        Some(Box::new(McpAttached { all: Arc::clone(&self.shared), extension }))
    }
}

/// The servers of a folder, and the sessions that use them.
struct Shared {
    this: Weak<Self>,
    options: Arc<McpOptions>,
    directory: PathBuf,
    servers: OnceCell<Servers>,
    seats: Mutex<Vec<Arc<Seat>>>,
    last_seat: AtomicU64,
}

/// A session that uses servers.
struct Seat {
    number: u64,
    link: SessionLink,
    session_id: String,
    /// Whether the session has waited for the servers.
    is_started: AtomicBool,
    /// The servers offer something else than before.
    changed: Notify,
    /// What the session was told last.
    sent: tokio::sync::Mutex<Option<Offer>>,
    end: CancellationToken,
}

/// What servers offer.
#[derive(PartialEq)]
struct Offer {
    tools: Vec<ToolDefinition>,
    instructions: Vec<(String, String)>,
    commands: Vec<bowline_mcp::PromptCommand>,
}

impl Shared {
    /// Returns the servers, reading the configuration first.
    async fn servers(&self) -> &Servers {
        self.servers
            .get_or_init(|| async {
                let (options, directory) = (Arc::clone(&self.options), self.directory.clone());
                let read = tokio::task::spawn_blocking(move || options.configuration(&directory));
                let configuration = read.await.unwrap_or_default();
                for problem in &configuration.problems {
                    self.report(Severity::Failure, "load", &problem.to_string());
                }
                Servers::new(&configuration, self.surroundings())
            })
            .await
    }

    fn surroundings(&self) -> Surroundings {
        let listener: Arc<dyn Listener> = match self.this.upgrade() {
            Some(this) => Arc::new(Ear(Arc::downgrade(&this))),
            None => Arc::new(Ear(Weak::new())),
        };
        Surroundings {
            working_directory: self.directory.clone(),
            tools: Arc::clone(&self.options.tools),
            host: Arc::clone(&self.options.host),
            asker: Arc::new(Mouth { shared: Weak::clone(&self.this), can_ask: self.options.can_ask }),
            listener,
            timing: Timing { start: self.options.start_limit, ..Timing::default() },
        }
    }

    async fn stop(&self) {
        if let Some(servers) = self.servers.get() {
            servers.stop().await;
        }
    }

    fn seats(&self) -> Vec<Arc<Seat>> {
        lock(&self.seats).clone()
    }

    /// Tells every session, and the user beside the protocol.
    fn report(&self, severity: Severity, event: &str, text: &str) {
        (self.options.note)(text);
        for seat in self.seats() {
            let input = match severity {
                Severity::Failure => ExtensionInput::Failed(ExtensionError {
                    extension: NAME.to_owned(),
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
struct Ear(Weak<Shared>);

impl Listener for Ear {
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
struct Mouth {
    shared: Weak<Shared>,
    can_ask: bool,
}

impl Asker for Mouth {
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
    async fn start(&self, shared: &Shared) {
        if self.is_started.load(Ordering::Relaxed) {
            return;
        }
        let servers = shared.servers().await;
        servers.start().await;
        self.tell(servers).await;
        self.is_started.store(true, Ordering::Relaxed);
    }

    /// Tells the session what the servers offer, unless it knows.
    async fn tell(&self, servers: &Servers) {
        let mut sent = self.sent.lock().await;
        let tools = servers.tools();
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
            .map(|tool| OfferedTool { tool, snippet: None, guidelines: Vec::new(), is_active: true })
            .collect();
        if let Some(first) = offered.first_mut() {
            first.guidelines =
                offer.instructions.iter().map(|(server, text)| guideline(server, text)).collect();
        }
        let commands = offer.commands.iter().map(slash_command).collect();
        self.link.send(ExtensionInput::Tools { extension: NAME.into(), tools: offered }).await;
        self.link.send(ExtensionInput::Commands { extension: NAME.into(), commands }).await;
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
async fn follow(shared: Arc<Shared>, seat: Arc<Seat>) {
    // Nothing of the session waits for servers before its first message.
    seat.link.send(ExtensionInput::Ready).await;
    let is_open = {
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
    loop {
        tokio::select! {
            () = seat.end.cancelled() => return,
            () = seat.changed.notified() => {}
        }
        if seat.is_started.load(Ordering::Relaxed)
            && let Some(servers) = shared.servers.get()
        {
            seat.tell(servers).await;
        }
    }
}

/// What a session keeps.
struct McpAttached {
    all: Arc<Mutex<HashMap<PathBuf, Arc<Shared>>>>,
    extension: Arc<McpExtension>,
}

impl fmt::Debug for McpAttached {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("McpAttached")
    }
}

impl Attached for McpAttached {
    fn extensions(&self) -> Vec<Arc<dyn Extension>> {
        vec![Arc::clone(&self.extension) as Arc<dyn Extension>]
    }

    fn stop(&self) -> BoxFuture<'static, ()> {
        let (shared, number) = (Arc::clone(&self.extension.shared), self.extension.seat.number);
        let all = Arc::clone(&self.all);
        Box::pin(async move {
            let is_last = {
                let mut all = lock(&all);
                let is_last = lock(&shared.seats).iter().all(|seat| seat.number == number);
                if is_last {
                    // Servers that were stopped are of no use to a session that comes back to this folder.
                    all.retain(|_, known| !Arc::ptr_eq(known, &shared));
                }
                is_last
            };
            if is_last {
                shared.stop().await;
            }
        })
    }
}

impl Drop for McpAttached {
    fn drop(&mut self) {
        let McpExtension { shared, seat } = &*self.extension;
        seat.end.cancel();
        lock(&shared.seats).retain(|other| other.number != seat.number);
        let (all, shared) = (Arc::clone(&self.all), Arc::clone(shared));
        // Without a runtime the process ends, and the servers with it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            tokio::time::sleep(LINGER).await;
            let is_unused = {
                let mut all = lock(&all);
                let is_unused = lock(&shared.seats).is_empty()
                    && all.get(&shared.directory).is_some_and(|known| Arc::ptr_eq(known, &shared));
                if is_unused {
                    all.remove(&shared.directory);
                }
                is_unused
            };
            if is_unused {
                shared.stop().await;
            }
        });
    }
}

/// What is called at hooks.
struct McpExtension {
    shared: Arc<Shared>,
    seat: Arc<Seat>,
}

impl fmt::Debug for McpExtension {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("McpExtension")
    }
}

impl Extension for McpExtension {
    fn name(&self) -> Arc<str> {
        NAME.into()
    }

    fn subscription(&self, hook: HookKind, _tool: Option<&str>) -> Subscription {
        // A run can also start without a message of the user.
        let is_first = matches!(hook, HookKind::Input | HookKind::BeforeAgentStart);
        if is_first && !self.seat.is_started.load(Ordering::Relaxed) {
            Subscription::Awaited
        } else {
            Subscription::None
        }
    }

    fn tell(&self, _event: &HookEvent) {}

    fn call(
        &self,
        event: HookEvent,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<HookResult, String>> {
        let (shared, seat) = (Arc::clone(&self.shared), Arc::clone(&self.seat));
        Box::pin(async move {
            let started = async {
                seat.start(&shared).await;
                // The command was not known yet when the message arrived.
                match &event {
                    HookEvent::Input { text, .. } if text.starts_with(PREFIX) => {
                        expand_message(shared.servers().await, text).await
                    }
                    _ => Ok(HookResult::None),
                }
            };
            tokio::select! {
                result = started => result,
                () = cancel.cancelled() => Ok(HookResult::None),
            }
        })
    }

    fn run_command(
        &self,
        name: &str,
        arguments: &str,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<CommandResult, String>> {
        let (shared, name, arguments) = (Arc::clone(&self.shared), name.to_owned(), arguments.to_owned());
        Box::pin(async move {
            let expand = async {
                let expanded = shared.servers().await.expand(&name, &arguments).await;
                let expanded = expanded.map_err(|error| error.to_string())?;
                let draft = Draft { text: expanded.text, images: expanded.images, ..Draft::default() };
                Ok(CommandResult::Prompt(draft))
            };
            tokio::select! {
                result = expand => result,
                () = cancel.cancelled() => Ok(CommandResult::Done),
            }
        })
    }
}

/// Returns what a message that names a prompt of a server stands for.
async fn expand_message(servers: &Servers, text: &str) -> Result<HookResult, String> {
    let line = text.trim_start_matches('/');
    let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if !servers.has_command(name) {
        return Ok(HookResult::None);
    }
    let expanded = servers.expand(name, arguments).await.map_err(|error| error.to_string())?;
    let images = (!expanded.images.is_empty()).then_some(expanded.images);
    Ok(HookResult::Transform { text: expanded.text, images })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
