//! The agent under test: a scripted model, settings, tools and a folder for its sessions.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bowline_core::SessionTag;
use bowline_core::policy::Policy;
use bowline_core::session_tag::{SessionRequest, SessionSource};
use bowline_core::thinking::ThinkingLevel;
use bowline_engine::{
    Agent, CallGate, CompactionLimits, CompactionSettings, Configuration, Host, Inputs, ModelDefaults, Parts,
    RetrySettings, RunEverything, Session, SessionPlan, Settings, SystemPrompt,
};
use bowline_extension::Resources;
use bowline_llm::{Providers, Sources};
use bowline_session::{Clock, Durability, Store};
use bowline_testkit::{ModelServer, Reply, Usage};
use bowline_tools::{Options, Selection, Tool, Toolbox};
use serde_json::{Map, json};
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::driver::Driver;

/// More than the 183,616 tokens at which a window of 200,000 is compacted.
pub const NEARLY_FULL: Usage = Usage { input: 190_000, output: 10, cache_read: 0, cache_write: 0 };

/// What an agent is built from. Retries are off, and a compaction keeps about the last 40 tokens.
pub struct Setup {
    pub server: ModelServer,
    pub home: TempDir,
    pub settings: Settings,
    pub policy: Policy,
    pub gate: Arc<dyn CallGate>,
    pub hosts: Vec<Arc<dyn Host>>,
    pub toolbox: Toolbox,
    pub resources: Resources,
    pub configuration: Option<Arc<dyn Configuration>>,
    is_in_memory: bool,
}

impl Setup {
    pub fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("work")).unwrap();
        let limits = CompactionLimits { keep_recent_tokens: 40, ..CompactionLimits::default() };
        let settings = Settings {
            retry: RetrySettings { enabled: false, ..RetrySettings::default() },
            compaction: CompactionSettings { general: limits, by_model: HashMap::new() },
            ..Settings::default()
        };
        Self {
            server: ModelServer::start(),
            home,
            settings,
            policy: Policy::default(),
            gate: Arc::new(RunEverything),
            hosts: Vec::new(),
            toolbox: Toolbox::builtin(&Options::default()).select(&Selection::default()).unwrap(),
            resources: Resources::default(),
            configuration: None,
            is_in_memory: false,
        }
    }

    /// Scripts the model's next replies.
    pub fn replies(self, replies: impl IntoIterator<Item = Reply>) -> Self {
        replies.into_iter().for_each(|reply| self.server.reply(reply));
        self
    }

    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.toolbox = self.toolbox.with_tool(Arc::new(tool));
        self
    }

    pub fn gate(mut self, gate: impl CallGate + 'static) -> Self {
        self.gate = Arc::new(gate);
        self
    }

    pub fn policy(mut self, change: impl FnOnce(&mut Policy)) -> Self {
        change(&mut self.policy);
        self
    }

    /// Retries failed calls after `delay`.
    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.settings.retry =
            RetrySettings { enabled: true, max_retries: 3, base_delay: delay, max_delay: delay };
        self
    }

    /// Keeps sessions in memory only.
    pub fn in_memory(mut self) -> Self {
        self.is_in_memory = true;
        self
    }

    fn providers(&self) -> Providers {
        let model = |id: &str, reasoning: bool| {
            json!({ "id": id, "name": id, "reasoning": reasoning, "input": ["text", "image"],
                "contextWindow": 200_000, "maxTokens": 32_000 })
        };
        let models = json!({ "providers": { "mock": {
            "baseUrl": self.server.base_url(), "api": "anthropic-messages", "apiKey": "sk-test",
            "models": [model("m1", false), model("m2", true)],
        } } });
        let file = self.home.path().join("models.json");
        std::fs::write(&file, models.to_string()).unwrap();
        Providers::new(Sources { models_file: Some(file), ..Sources::default() }).unwrap()
    }

    /// Starts a session of the agent.
    pub fn start(self) -> Driver {
        let providers = self.providers();
        let model = providers.find("mock", "m1");
        let store = Store::new(self.home.path().join("sessions"), bowline_session::Layout::Flat);
        let plan =
            SessionPlan { store: (!self.is_in_memory).then_some(store), durability: Durability::Flush };
        let work = work_of(self.home.path());
        let agent = Agent::new(Parts {
            settings: self.settings,
            policy: self.policy,
            providers,
            toolbox: self.toolbox,
            resources: self.resources,
            system_prompt: SystemPrompt {
                use_context_files: false,
                ..SystemPrompt::new(self.home.path().to_owned())
            },
            session_plan: plan,
            models: ModelDefaults {
                default_model: model,
                default_thinking_level: Some(ThinkingLevel::Off),
                ..ModelDefaults::default()
            },
            gate: self.gate,
            session_servers: None,
            own_host: None,
            hosts: self.hosts,
            configuration: self.configuration,
            clock: Clock::System,
        });
        let request = SessionRequest {
            working_directory: work.clone(),
            source: SessionSource::New { is_kept: false },
            servers: Map::new(),
        };
        let (sender, receiver) = mpsc::channel(64);
        let opened = agent.open(request).unwrap();
        let session = Session::new(agent, opened, work, Inputs::new(SessionTag::FIRST, sender)).unwrap();
        Driver::new(session, receiver, self.policy, self.server, self.home)
    }
}

/// Returns the folder that sessions work in.
pub fn work_of(home: &Path) -> PathBuf {
    home.join("work")
}

/// Returns a text of some 60 tokens that begins with its name.
pub fn long(name: &str) -> String {
    format!("{name} {}", "pad ".repeat(60))
}

/// Returns the refusal of a conversation that is too long for the model.
pub fn too_long() -> Reply {
    let body = json!({ "type": "error", "error": { "type": "invalid_request_error",
        "message": "prompt is too long: 200001 tokens > 200000 maximum" } });
    Reply::status(400).body(&body.to_string())
}

/// Returns a failure that may be temporary.
pub fn overloaded() -> Reply {
    let body = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    Reply::status(529).body(&body.to_string())
}
