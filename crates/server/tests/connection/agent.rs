//! The agent under test: a scripted model, and tools whose behaviour a test decides.

use std::future::pending;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bowline_core::message::Arguments;
use bowline_core::policy::{Policy, Questions};
use bowline_core::session_tag::{SessionRequest, SessionSource};
use bowline_core::thinking::ThinkingLevel;
use bowline_core::tool::ToolDefinition;
use bowline_dialect::Dialect;
use bowline_engine::{
    Agent, Asking, CallGate, Check, GatedCall, Host, ModelDefaults, Parts, RetrySettings, SessionPlan,
    Settings, SystemPrompt, Verdict,
};
use bowline_llm::{Providers, Sources};
use bowline_server::{Connection, Limits};
use bowline_session::{Clock, Durability, Store};
use bowline_testkit::ModelServer;
use bowline_tools::{BoxFuture, CallContext, Options, Outcome, Progress, Selection, Tool, Toolbox};
use serde_json::{Map, json};
use tempfile::TempDir;

use crate::numbered::Numbered;

/// A model server and a folder; connections of an agent that uses them.
pub struct World {
    pub server: ModelServer,
    pub home: TempDir,
    /// The callback by which the last call of the tool `lingering` reports.
    pub lingering: Arc<Mutex<Option<ProgressCallback>>>,
    /// What brings extensions to sessions.
    pub hosts: Vec<Arc<dyn Host>>,
}

type ProgressCallback = Arc<dyn Fn(Progress) + Send + Sync>;

impl World {
    pub fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("work")).unwrap();
        Self { server: ModelServer::start(), home, lingering: Arc::default(), hosts: Vec::new() }
    }

    pub fn work(&self) -> PathBuf {
        self.home.path().join("work")
    }

    /// Returns a connection with several sessions, of which number 0 is open.
    pub fn connect(&self) -> Connection {
        let policy = Policy { questions: Questions::Asked, ..Policy::default() };
        self.connect_with(Box::new(Numbered::default()), policy, Limits::default())
    }

    /// Returns a connection with one session in the dialect `pi`.
    pub fn connect_pi(&self) -> Connection {
        let dialect = bowline_dialect::find("pi").unwrap().make();
        let policy = dialect.policy();
        self.connect_with(dialect, policy, Limits::default())
    }

    pub fn connect_with(&self, dialect: Box<dyn Dialect>, policy: Policy, limits: Limits) -> Connection {
        let agent = self.agent(policy);
        let request = SessionRequest {
            working_directory: self.work(),
            source: SessionSource::New { is_kept: false },
            servers: Map::new(),
        };
        let opened = agent.open(request).unwrap();
        let mut connection = Connection::new(agent, dialect, limits);
        connection.start_with(opened, self.work()).unwrap();
        connection
    }

    fn agent(&self, policy: Policy) -> Agent {
        let models = json!({ "providers": { "mock": {
            "baseUrl": self.server.base_url(), "api": "anthropic-messages", "apiKey": "sk-test",
            "models": [{ "id": "m1", "contextWindow": 200_000, "maxTokens": 32_000 }],
        } } });
        let file = self.home.path().join("models.json");
        std::fs::write(&file, models.to_string()).unwrap();
        let providers = Providers::new(Sources { models_file: Some(file), ..Sources::default() }).unwrap();
        let toolbox = Toolbox::builtin(&Options::default()).select(&Selection::default()).unwrap();
        let tool = |name: &&str| TestTool::new(name, Arc::clone(&self.lingering));
        let toolbox = ["stuck", "broken", "risky", "lingering"]
            .iter()
            .fold(toolbox, |toolbox, name| toolbox.with_tool(Arc::new(tool(name))));
        Agent::new(Parts {
            settings: Settings {
                retry: RetrySettings { enabled: false, ..RetrySettings::default() },
                ..Settings::default()
            },
            policy,
            models: ModelDefaults {
                default_model: providers.find("mock", "m1"),
                default_thinking_level: Some(ThinkingLevel::Off),
                ..ModelDefaults::default()
            },
            providers,
            toolbox,
            resources: bowline_extension::Resources::default(),
            system_prompt: SystemPrompt {
                use_context_files: false,
                ..SystemPrompt::new(self.home.path().to_owned())
            },
            session_plan: SessionPlan {
                store: Some(Store::new(self.home.path().join("sessions"), bowline_session::Layout::Flat)),
                durability: Durability::Flush,
            },
            gate: Arc::new(TestGate),
            session_servers: None,
            own_host: None,
            hosts: self.hosts.clone(),
            configuration: None,
            clock: Clock::System,
        })
    }
}

/// A gate that asks about calls of `risky` and panics at those of `broken`.
#[derive(Debug)]
struct TestGate;

impl CallGate for TestGate {
    fn check(&self, call: &GatedCall<'_>) -> Check {
        assert_ne!(call.tool, "broken", "the gate is broken");
        if call.tool == "risky" {
            let reason = "why not".to_owned();
            return Verdict::Ask(Box::new(Asking { reason, ..Asking::default() })).into();
        }
        Verdict::run().into()
    }
}

/// A tool that ends at once with its name, unless it is called `stuck`, which never ends, or `lingering`, which ends when
/// it is cancelled and can report even after that.
struct TestTool {
    definition: ToolDefinition,
    lingering: Arc<Mutex<Option<ProgressCallback>>>,
}

impl TestTool {
    fn new(name: &str, lingering: Arc<Mutex<Option<ProgressCallback>>>) -> Self {
        let (name, description) = (name.to_owned(), name.to_owned());
        let parameters = json!({ "type": "object", "properties": {} });
        Self { definition: ToolDefinition { name, description, parameters, strict: None }, lingering }
    }
}

impl Tool for TestTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call(&self, context: CallContext, _: Arguments) -> BoxFuture<'static, Outcome> {
        let name = self.definition.name.clone();
        if name == "lingering" {
            *self.lingering.lock().unwrap() = Some(Arc::clone(&context.progress));
        }
        Box::pin(async move {
            match &*name {
                "stuck" => pending().await,
                "lingering" => context.cancel.cancelled().await,
                _ => {}
            }
            Outcome::text(name)
        })
    }
}
