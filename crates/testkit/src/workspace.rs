//! A temporary home directory and working directory for one test.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agent::Agent;
use crate::launch::Launch;
use crate::model::server::ModelServer;

/// The API key of the provider `mock`. It must never appear outside a request's headers.
pub const SECRET: &str = "sk-test-SECRET-123";

/// An API that [`ModelServer`] speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// `anthropic-messages`
    AnthropicMessages,
    /// `openai-completions`
    OpenaiCompletions,
}

impl Api {
    /// Returns the name that `models.json` uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
            Self::OpenaiCompletions => "openai-completions",
        }
    }
}

/// A temporary home with a `.bowline` folder, and a `work` folder in it to start in. Removed when dropped.
#[derive(Debug)]
pub struct Workspace {
    home: TempDir,
}

impl Workspace {
    /// Creates a workspace with the provider `mock`: `mock/m1` does not reason, `mock/m2` does.
    pub fn new(server: &ModelServer, api: Api) -> Self {
        let model = |id: &str, reasoning: bool| {
            json!({ "id": id, "name": id, "reasoning": reasoning, "input": ["text", "image"],
                "contextWindow": 200_000, "maxTokens": 32_000,
                "cost": { "input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 1.25 } })
        };
        Self::empty().models(json!({ "providers": { "mock": {
            "baseUrl": server.base_url(), "api": api.name(), "apiKey": SECRET,
            "models": [model("m1", false), model("m2", true)],
        } } }))
    }

    /// Starts a model server and creates a workspace with its models, over `anthropic-messages`.
    pub fn with_server() -> (ModelServer, Self) {
        let server = ModelServer::start();
        let workspace = Self::new(&server, Api::AnthropicMessages);
        (server, workspace)
    }

    /// Creates a workspace in which no model is configured.
    pub fn empty() -> Self {
        let home = tempfile::Builder::new().prefix("bowline-test-").tempdir().expect("a temporary folder");
        let workspace = Self { home };
        fs::create_dir_all(workspace.configuration()).expect("the configuration folder");
        fs::create_dir_all(workspace.work()).expect("the working folder");
        workspace
    }

    /// Starts bowline in its RPC mode, in the dialect `pi` and with the model `mock/m1`. [`Launch`] has other choices.
    #[track_caller]
    pub fn start(&self) -> Agent {
        Launch::rpc(self).model("mock/m1").start()
    }

    /// Starts bowline in another dialect with the model `mock/m1`, and takes the record that greets the client, if any.
    #[track_caller]
    pub fn start_in(&self, dialect: &str) -> Agent {
        Launch::rpc(self).dialect(dialect).model("mock/m1").start_greeted()
    }

    /// Writes `models.json`.
    pub fn models(self, models: Value) -> Self {
        self.home_file(".bowline/models.json", &models.to_string())
    }

    /// Writes `settings.json`.
    pub fn settings(self, settings: Value) -> Self {
        self.home_file(".bowline/settings.json", &settings.to_string())
    }

    /// Writes a file below the working directory.
    pub fn file(self, path: &str, content: &str) -> Self {
        write(&self.work().join(path), content);
        self
    }

    /// Writes a file below the home directory.
    pub fn home_file(self, path: &str, content: &str) -> Self {
        write(&self.home().join(path), content);
        self
    }

    /// Returns the home directory.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Returns the working directory.
    pub fn work(&self) -> PathBuf {
        self.home().join("work")
    }

    /// Returns the folder of settings, models and sessions.
    pub fn configuration(&self) -> PathBuf {
        self.home().join(".bowline")
    }

    /// Returns every session file, the oldest name first.
    pub fn session_files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.configuration().join("sessions")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                    found.push(path);
                }
            }
        }
        found.sort_by_key(|path| path.file_name().map(ToOwned::to_owned));
        found
    }
}

#[track_caller]
fn write(path: &Path, content: &str) {
    let folder = path.parent().expect("a file in a folder");
    fs::create_dir_all(folder).unwrap_or_else(|error| panic!("{} cannot be made: {error}", folder.display()));
    fs::write(path, content).unwrap_or_else(|error| panic!("{} cannot be written: {error}", path.display()));
}
