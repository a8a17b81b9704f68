//! What sessions share and what outlives each of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_core::limits::Spent;
use bowline_core::model::Model;
use bowline_core::policy::Policy;
use bowline_core::reply::{Refusal, RefusalCode, SessionDamage};
use bowline_core::session_tag::{SessionRequest, SessionSource};
use bowline_core::thinking::ThinkingLevel;
use bowline_extension::Resources;
use bowline_llm::{Providers, Resolved};
use bowline_session::{Clock, Context, Header, Location, NewSession};
use bowline_tools::Toolbox;
use serde_json::{Map, Value};

use crate::budget::spent_in;
use crate::call_gate::CallGate;
use crate::configuration::{Configuration, Configured};
use crate::extension::{Host, SessionServers};
use crate::model_wishes::LaterModels;
use crate::session_notes::SessionNotes;
use crate::settings::{SessionPlan, Settings};
use crate::system_prompt::SystemPrompt;
use crate::transcript::damage;

/// What an agent is made of.
#[derive(Debug, Clone)]
pub struct Parts {
    pub settings: Settings,
    /// How clients of the chosen dialect expect the agent to behave.
    pub policy: Policy,
    pub providers: Providers,
    /// The tools that a session starts with.
    pub toolbox: Toolbox,
    /// The instructions that a session starts with.
    pub system_prompt: SystemPrompt,
    /// Skills, prompt templates and instructions in files.
    pub resources: Resources,
    pub session_plan: SessionPlan,
    pub models: ModelDefaults,
    /// Decides about tool calls before they run.
    pub gate: Arc<dyn CallGate>,
    /// What brings extensions to sessions, in the order in which hooks call them.
    pub hosts: Vec<Arc<dyn Host>>,
    /// Makes a host of the MCP servers that only one session uses.
    pub session_servers: Option<Arc<dyn SessionServers>>,
    /// The host of those of this session.
    pub own_host: Option<Arc<dyn Host>>,
    /// Reads the settings, and what depends on them, again. Without it, a reload keeps them.
    pub configuration: Option<Arc<dyn Configuration>>,
    /// Where times, ids and randomness come from.
    pub clock: Clock,
}

/// The models and thinking levels that a session starts with.
#[derive(Debug, Clone, Default)]
pub struct ModelDefaults {
    /// The model and the level that the user chose for this process. They take precedence over those of a session.
    pub chosen_model: Option<Arc<Model>>,
    pub chosen_thinking_level: Option<ThinkingLevel>,
    /// The model to use when neither the user nor the session names one.
    pub default_model: Option<Arc<Model>>,
    /// The level to use when neither the user nor the session names one, if the settings have one.
    pub default_thinking_level: Option<ThinkingLevel>,
    /// Levels of their own for some models, by `provider/id`.
    pub thinking_level_by_model: Arc<HashMap<String, ThinkingLevel>>,
    /// The models to cycle through, when the user limited them.
    pub scope: Arc<[Resolved]>,
    /// What is looked up again once extensions have registered, if there may be any.
    pub later: Option<LaterModels>,
}

/// What sessions share: providers, tools, settings, policy, clock. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Agent {
    parts: Arc<Parts>,
}

/// A session that was opened, with the conversation of its current branch.
#[derive(Debug)]
pub struct OpenedSession {
    pub(crate) file: bowline_session::Session,
    pub(crate) context: Context,
    pub(crate) notes: SessionNotes,
    spent: Option<Spent>,
}

impl OpenedSession {
    /// Reads the conversation of a session that was opened.
    pub fn new(file: bowline_session::Session) -> Result<Self, Refusal> {
        let context = file.context().map_err(session_unavailable)?;
        let notes = SessionNotes::read(&file, &context).map_err(session_unavailable)?;
        Ok(Self { file, context, notes, spent: None })
    }

    /// Counts what the session has spent, if an agent limits that, or if it is known anyway. It reads the whole file, so
    /// it belongs on a thread that may block.
    pub(crate) fn count_spent(&mut self, agent: &Agent) -> Result<(), Refusal> {
        let is_needed = self.file.has_statistics() || !agent.settings().limits.session.is_empty();
        if self.spent.is_none() && is_needed {
            let statistics = self.file.statistics().map_err(session_unavailable)?;
            self.spent = Some(spent_in(&statistics));
        }
        Ok(())
    }

    /// Returns what the session has spent, if that was counted.
    pub(crate) fn spent(&self) -> Option<Spent> {
        self.spent
    }

    /// Returns the session's file; none for a session in memory.
    pub fn file(&self) -> Option<&Path> {
        self.file.file()
    }

    /// Returns the first line of the session's file, which a session in memory has too.
    pub fn header(&self) -> &Header {
        self.file.header()
    }

    /// Returns what could not be read of the session.
    pub fn damage(&self) -> Option<SessionDamage> {
        damage(&self.file, &self.context)
    }
}

impl Agent {
    pub fn new(parts: Parts) -> Self {
        Self { parts: Arc::new(parts) }
    }

    /// Returns an agent that differs from this one.
    pub(crate) fn with(&self, change: impl FnOnce(&mut Parts)) -> Self {
        let mut parts = Parts::clone(&self.parts);
        change(&mut parts);
        Self::new(parts)
    }

    /// Returns an agent with what was configured anew.
    pub(crate) fn configured(&self, configured: Configured) -> Self {
        let Configured { settings, toolbox, system_prompt, resources, hosts } = configured;
        self.with(|parts| {
            parts.settings = settings;
            parts.toolbox = toolbox;
            parts.system_prompt = system_prompt;
            parts.resources = resources;
            parts.hosts = hosts;
            parts.hosts.extend(parts.own_host.clone());
        })
    }

    pub(crate) fn configuration(&self) -> Option<Arc<dyn Configuration>> {
        self.parts.configuration.clone()
    }

    pub fn policy(&self) -> &Policy {
        &self.parts.policy
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.parts.settings
    }

    pub(crate) fn providers(&self) -> &Providers {
        &self.parts.providers
    }

    pub(crate) fn toolbox(&self) -> &Toolbox {
        &self.parts.toolbox
    }

    pub(crate) fn system_prompt(&self) -> &SystemPrompt {
        &self.parts.system_prompt
    }

    pub(crate) fn resources(&self) -> &Resources {
        &self.parts.resources
    }

    pub(crate) fn session_plan(&self) -> &SessionPlan {
        &self.parts.session_plan
    }

    pub(crate) fn model_defaults(&self) -> &ModelDefaults {
        &self.parts.models
    }

    pub(crate) fn gate(&self) -> &dyn CallGate {
        &*self.parts.gate
    }

    pub(crate) fn hosts(&self) -> &[Arc<dyn Host>] {
        &self.parts.hosts
    }

    /// Returns an agent whose sessions also use these MCP servers.
    pub fn with_servers(&self, servers: &Map<String, Value>) -> Self {
        match self.parts.session_servers.as_ref().filter(|_| !servers.is_empty()) {
            Some(maker) => self.with(|parts| {
                let host = maker.host(servers);
                parts.own_host = Some(Arc::clone(&host));
                parts.hosts.push(host);
            }),
            None => self.clone(),
        }
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.parts.clock
    }

    /// Opens a session beside others, with an agent that is configured for its folder. Reads files, so it belongs on a
    /// thread that may block.
    pub fn open_beside(&self, request: SessionRequest) -> Result<(Self, OpenedSession), Refusal> {
        check_folder(&request.working_directory)?;
        let agent = match self.configuration() {
            None => self.clone(),
            Some(configuration) => {
                let read = configuration.for_session(&request.working_directory);
                let (configured, own) = read.map_err(|text| Refusal::new(RefusalCode::Internal, text))?;
                self.configured(configured).with(|parts| parts.configuration = Some(own))
            }
        };
        let opened = agent.open(request)?;
        Ok((agent, opened))
    }

    /// Opens the session that a client asks for. Reads files, so it belongs on a thread that may block.
    pub fn open(&self, request: SessionRequest) -> Result<OpenedSession, Refusal> {
        check_folder(&request.working_directory)?;
        match request.source {
            SessionSource::File(path) => self.open_file(&path, &request.working_directory),
            SessionSource::CopyOf(path) => self.copy_file(&path, request.working_directory),
            SessionSource::New { is_kept } => {
                let mut opened = self.create(request.working_directory, None)?;
                if is_kept {
                    opened.file.persist_now().map_err(session_unavailable)?;
                }
                Ok(opened)
            }
        }
    }

    /// Creates a session with the conversation of another one, which may be in use.
    fn copy_file(&self, path: &Path, working_directory: PathBuf) -> Result<OpenedSession, Refusal> {
        let original =
            bowline_session::Session::read(path, &working_directory).map_err(session_unavailable)?;
        let location = self.location_for(&working_directory);
        let plan = NewSession { working_directory, location, id: None, parent: None };
        let copy = original.with_clock(self.clock().clone()).copy(plan).map_err(session_unavailable)?;
        let mut opened = OpenedSession::new(copy)?;
        opened.count_spent(self)?;
        Ok(opened)
    }

    /// Opens an existing session.
    pub(crate) fn open_file(&self, path: &Path, working_directory: &Path) -> Result<OpenedSession, Refusal> {
        let file = bowline_session::Session::open(path, working_directory).map_err(session_unavailable)?;
        file.check_working_directory().map_err(session_unavailable)?;
        let mut opened = OpenedSession::new(file.with_clock(self.clock().clone()))?;
        opened.count_spent(self)?;
        Ok(opened)
    }

    /// Creates a session. Nothing is written before its first message.
    pub(crate) fn create(
        &self,
        working_directory: PathBuf,
        parent: Option<String>,
    ) -> Result<OpenedSession, Refusal> {
        let location = self.location_for(&working_directory);
        self.create_at(location, working_directory, parent)
    }

    fn location_for(&self, working_directory: &Path) -> Location {
        match &self.session_plan().store {
            Some(store) => Location::Directory(store.directory_for(working_directory)),
            None => Location::Memory,
        }
    }

    /// Creates a session in a given place.
    pub(crate) fn create_at(
        &self,
        location: Location,
        working_directory: PathBuf,
        parent: Option<String>,
    ) -> Result<OpenedSession, Refusal> {
        let plan = NewSession { working_directory, location, id: None, parent };
        let file = bowline_session::Session::create_by(plan, self.clock().clone());
        OpenedSession::new(file.map_err(session_unavailable)?)
    }
}

fn check_folder(folder: &Path) -> Result<(), Refusal> {
    if folder.is_absolute() && folder.is_dir() {
        return Ok(());
    }
    let text = format!("{} is not an absolute path of a folder", folder.display());
    Err(Refusal::new(RefusalCode::InvalidArgument, text))
}

#[expect(clippy::needless_pass_by_value, reason = "the signature that map_err wants")]
pub(crate) fn session_unavailable(error: bowline_session::Error) -> Refusal {
    Refusal::new(RefusalCode::SessionUnavailable, error.to_string())
}
