//! The home and environment of a measured process.

use std::path::{Path, PathBuf};
use std::process::Command;

use bowline_testkit::Workspace;
use serde_json::json;

use crate::stream::Api;

/// A temporary home. Removed when dropped.
pub(crate) struct Home(Workspace);

impl Home {
    /// Creates a home without any file.
    pub(crate) fn empty() -> Self {
        Self(Workspace::empty())
    }

    /// Creates a home whose `models.json` has `mock/m1` at an address.
    pub(crate) fn with_model(api: Api, base_url: &str) -> Self {
        Self(Workspace::empty().models(json!({ "providers": { "mock": {
            "baseUrl": base_url, "api": api.name(), "apiKey": "none",
            "models": [{ "id": "m1", "contextWindow": 1_000_000, "maxTokens": 500_000 }],
        } } })))
    }

    /// Writes a file and returns its path.
    pub(crate) fn with_file(self, name: &str, content: &str) -> (Self, PathBuf) {
        let home = Self(self.0.file(name, content));
        let path = home.folder().join(name);
        (home, path)
    }

    /// Installs an extension.
    pub(crate) fn with_extension(self, name: &str, command: &[String]) -> Self {
        let manifest = json!({ "name": name, "command": command });
        Self(self.0.home_file(&format!(".bowline/extensions/{name}/extension.json"), &manifest.to_string()))
    }

    /// Installs an extension of pi with a command, run by a Node.
    pub(crate) fn with_extension_of_pi(self, name: &str, node: &str) -> Self {
        let handler = "async (_arguments, ctx) => ctx.ui.notify('hello')";
        let source = format!(
            "export default function (pi: any) {{\n  pi.registerCommand('{name}', {{ handler: {handler} }});\n}}\n"
        );
        let home = self.0.home_file(&format!(".bowline/extensions/{name}.ts"), &source);
        Self(home.settings(json!({ "nodePath": node })))
    }

    /// Returns the folder that programs are started in.
    pub(crate) fn folder(&self) -> PathBuf {
        self.0.work()
    }

    /// Returns a folder for sessions.
    pub(crate) fn sessions(&self) -> PathBuf {
        self.0.configuration().join("sessions/--generated--")
    }

    /// Prepares to start a program here.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.0.home())
            .env("BOWLINE_HOME", self.0.configuration())
            .current_dir(self.folder());
        command
    }
}
