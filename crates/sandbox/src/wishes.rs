//! What the user wants of a sandbox: flags and settings, before anything is known of the machine.

use std::path::PathBuf;

use bowline_core::sandbox::{SandboxLevel, SandboxMode, SandboxNetwork, SandboxWorkspace};

/// What the command line and the settings ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wishes {
    pub mode: SandboxMode,
    pub network: SandboxNetwork,
    /// Folders that tools may write beside the working folder.
    pub writable: Vec<PathBuf>,
    /// Files and folders that are readable although they would be masked.
    pub readable: Vec<PathBuf>,
    pub home: Home,
    /// Where changes of the working folder go.
    pub workspace: SandboxWorkspace,
    /// The least that is accepted: with less, no tool runs.
    pub minimum: SandboxLevel,
    /// Hosts that can be reached if the network is a list.
    pub hosts: Vec<String>,
    /// Hosts that cannot be reached, whatever else is listed.
    pub denied_hosts: Vec<String>,
    /// Whether sockets that are made later at visible paths may be used.
    pub unix_sockets: bool,
    /// Whether a client may ask for less confinement than it was started with.
    pub client_may_widen: bool,
}

/// What tools may do to the home folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Home {
    /// They read it.
    #[default]
    ReadOnly,
    /// They write to a copy of their own.
    Overlay,
}

impl Home {
    /// Returns the name in settings and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Overlay => "overlay",
        }
    }
}

impl Default for Wishes {
    fn default() -> Self {
        Self {
            mode: SandboxMode::FullAccess,
            network: SandboxNetwork::None,
            writable: Vec::new(),
            readable: Vec::new(),
            home: Home::ReadOnly,
            workspace: SandboxWorkspace::Direct,
            minimum: SandboxLevel::Full,
            hosts: Vec::new(),
            denied_hosts: Vec::new(),
            unix_sockets: true,
            client_may_widen: false,
        }
    }
}
