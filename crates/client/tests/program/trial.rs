//! A workspace with a scripted model, and clients in it.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use bowline_client::{Builder, Client};
use bowline_testkit::{Workspace, bowline};
use serde_json::{Value, json};

/// How long anything may take on a busy machine.
pub(crate) const WAIT: Duration = Duration::from_secs(40);

/// Commands that agents find, whatever the environment of the test is.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

pub(crate) struct Trial {
    pub workspace: Workspace,
}

/// A step of the model that runs a command.
pub(crate) fn bash(command: &str) -> Value {
    json!({ "text": "I run it.", "toolCalls": [{ "name": "bash", "arguments": { "command": command } }] })
}

impl Trial {
    pub fn new() -> Self {
        Self { workspace: Workspace::empty() }
    }

    /// Returns a builder for a client whose model plays these steps, again and again.
    pub fn client(&self, steps: &[Value]) -> Builder {
        self.file("script.json", &json!({ "cycle": true, "steps": steps }).to_string());
        self.program(bowline()).model("scripted/script.json").argument("--no-context-files")
    }

    /// Returns a builder for a client of any program, which has none of the environment of the test.
    pub fn program(&self, program: PathBuf) -> Builder {
        Client::builder()
            .program(program)
            .clear_environment()
            .variable("PATH", PATH)
            .variable("HOME", self.workspace.home())
            .working_directory(self.workspace.work())
    }

    /// Returns a builder for a client of a script for the shell.
    pub fn script(&self, text: &str) -> Builder {
        let script = self.file("fake.sh", text);
        // An argument comes after those of the client.
        let starter = self.file("fake", &format!("#!/bin/sh\nexec /bin/sh {} \"$@\"\n", script.display()));
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&starter, executable).unwrap();
        self.program(starter)
    }

    pub fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.workspace.work().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    pub fn has(&self, name: &str) -> bool {
        self.workspace.work().join(name).exists()
    }

    pub fn settings(self, settings: Value) -> Self {
        Self { workspace: self.workspace.settings(settings) }
    }
}
