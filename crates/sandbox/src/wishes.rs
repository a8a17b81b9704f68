//! What users ask of the sandbox, from the command line and their settings.

use std::path::PathBuf;

use bowline_core::sandbox::{SandboxLevel, SandboxMode, SandboxNetwork};

/// What users ask of the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wishes {
    pub mode: SandboxMode,
    pub network: SandboxNetwork,
    /// Folders that tools may write besides the working folder.
    pub writable: Vec<PathBuf>,
    /// Paths that tools may read although they are on the list of credentials.
    pub readable: Vec<PathBuf>,
    pub home: Home,
    /// The least level that is accepted.
    pub minimum: SandboxLevel,
    /// The hosts of the allow-list.
    pub hosts: Vec<String>,
    /// Hosts that are refused although an entry of the list matches them.
    pub denied_hosts: Vec<String>,
    /// Whether sockets with a path can be used at all.
    pub unix_sockets: bool,
    /// Whether clients may ask for less strictness.
    pub client_may_widen: bool,
    /// Whether the keeper starts with the session instead of with the first call.
    pub eager: bool,
}

/// What tools may do to the home folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Home {
    #[default]
    ReadOnly,
    /// What they write goes to a folder of the project, and the real home folder stays as it is.
    Overlay,
}

impl Default for Wishes {
    fn default() -> Self {
        Self {
            mode: SandboxMode::default(),
            network: SandboxNetwork::default(),
            writable: Vec::new(),
            readable: Vec::new(),
            home: Home::default(),
            minimum: SandboxLevel::Full,
            hosts: Vec::new(),
            denied_hosts: Vec::new(),
            unix_sockets: true,
            client_may_widen: false,
            eager: false,
        }
    }
}
