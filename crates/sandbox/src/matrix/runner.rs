//! How the checker has commands run inside.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use bowline_core::sandbox::SandboxNetwork;
use bowline_tools::BoxFuture;

/// What has become of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// What it wrote, both ways.
    pub output: String,
    /// Absent if a signal has ended it.
    pub exit_code: Option<i32>,
}

/// Runs commands inside.
pub trait Runner: Send + Sync {
    /// Runs a command of the shell in the workspace. The error says why it could not be run at all.
    fn run(&self, command: String) -> BoxFuture<'_, Result<Ran, String>>;
}

/// What a sandbox is to be made around.
#[derive(Debug, Clone)]
pub struct Place {
    /// The working folder, the only one that may be written.
    pub workspace: PathBuf,
    pub home: PathBuf,
    /// Bowline's own folder.
    pub state: PathBuf,
    /// What the environment has of keys.
    pub environment: Vec<(String, String)>,
    pub network: SandboxNetwork,
    /// The hosts that can be reached if the network is a list.
    pub hosts: Vec<String>,
}

/// Makes a sandbox around a place.
pub trait Opener: Send + Sync {
    /// Returns what runs commands in the sandbox. The error says why there is none.
    fn open(&self, place: Place) -> BoxFuture<'_, Result<Box<dyn Runner>, String>>;
}

/// Confines nothing: the control, in which attempts get through.
#[derive(Debug)]
pub struct Unconfined;

#[derive(Debug)]
struct Direct {
    place: Place,
}

impl Opener for Unconfined {
    fn open(&self, place: Place) -> BoxFuture<'_, Result<Box<dyn Runner>, String>> {
        Box::pin(async move { Ok(Box::new(Direct { place }) as Box<dyn Runner>) })
    }
}

impl Runner for Direct {
    fn run(&self, command: String) -> BoxFuture<'_, Result<Ran, String>> {
        let mut shell = tokio::process::Command::new("/bin/bash");
        shell
            .arg("-c")
            .arg(command)
            .current_dir(&self.place.workspace)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        shell.envs(self.place.environment.iter().map(|(name, value)| (name, value)));
        Box::pin(async move {
            let output = shell.output().await.map_err(|error| error.to_string())?;
            let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.push_str(&String::from_utf8_lossy(&output.stderr));
            Ok(Ran { output: text, exit_code: output.status.code() })
        })
    }
}

/// Returns a path as one word of the shell.
pub(super) fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
