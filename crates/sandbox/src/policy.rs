//! What a keeper enforces, in the form in which it is told.

use std::path::PathBuf;
use std::time::Duration;

use bowline_core::sandbox::{SandboxLevel, SandboxMode, SandboxNetwork};
use serde::{Deserialize, Serialize};

/// What a keeper enforces. Every path is absolute and canonical.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Policy {
    pub level: SandboxLevel,
    pub mode: SandboxMode,
    pub network: SandboxNetwork,
    pub unix_sockets: bool,
    pub working_directory: PathBuf,
    /// What tools may write: folders, and files that were granted.
    pub writable: Vec<PathBuf>,
    /// The files of these that were granted, which may be in what is read-only.
    pub granted: Vec<PathBuf>,
    /// What stays read-only within that. Each of them exists.
    pub read_only_inside: Vec<PathBuf>,
    /// Git folders, which must not be moved away from what is protected in them.
    pub git_folders: Vec<PathBuf>,
    /// What tools cannot read. Each of them exists.
    pub masked: Vec<PathBuf>,
    pub home: Option<PathBuf>,
    /// Where changes to the home folder go, if it is an overlay.
    pub home_store: Option<PathBuf>,
    /// Where changes of the working directory go, if it is an overlay.
    pub workspace_store: Option<PathBuf>,
    /// The folder that is `/tmp` inside, or that `TMPDIR` names where there is no mount namespace.
    pub private_tmp: PathBuf,
    /// What stays visible although the private `/tmp` covers its place.
    pub visible: Vec<PathBuf>,
    /// The port at which the keeper listens for the proxy.
    pub proxy_port: Option<u16>,
    /// The number of the process that the keeper works for.
    pub parent: u32,
    pub targets: Targets,
    pub tools: ToolOptions,
}

/// What the keeper's probes try to reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Targets {
    /// A folder outside of everything that is writable, with a file and a socket; absent where none can be made.
    pub folder: Option<PathBuf>,
    /// A port on the machine's own loopback interface.
    pub tcp_port: u16,
    /// The name of an abstract socket.
    pub abstract_socket: String,
}

/// How the tools behave inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToolOptions {
    pub shell: Option<PathBuf>,
    pub command_prefix: Option<String>,
    pub keeps_images: bool,
    pub home_directory: Option<PathBuf>,
    pub own_folder: Option<PathBuf>,
    /// The folder for the full text of truncated output.
    pub logs: PathBuf,
    pub sessions_end_with_process: bool,
    pub inherited_mark: Option<String>,
    pub command_timeout: Option<Duration>,
}

impl Policy {
    /// Tells whether tools have a network of their own.
    pub fn has_own_network(&self) -> bool {
        self.level == SandboxLevel::Full && self.network != SandboxNetwork::Full
    }
}
