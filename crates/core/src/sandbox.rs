//! What confines the tools of a session: the modes that users choose, what a call may be granted beyond them, and the
//! report that says what holds.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What tools may do to the machine. The order is that of strictness.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, Default,
)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// They write nothing but the private `/tmp`.
    ReadOnly,
    /// They write the working folder and what the settings add to it.
    WorkspaceWrite,
    /// They have all rights of the user, because something else confines the process.
    External,
    /// They have all rights of the user.
    #[default]
    FullAccess,
}

impl SandboxMode {
    pub const ALL: &'static [Self] =
        &[Self::ReadOnly, Self::WorkspaceWrite, Self::External, Self::FullAccess];

    /// Returns the name on the wire and in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::External => "external",
            Self::FullAccess => "full-access",
        }
    }

    /// Returns the mode with this name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mode| mode.as_str() == name)
    }

    /// Tells whether bowline itself confines tools in this mode.
    pub fn is_confined(self) -> bool {
        matches!(self, Self::ReadOnly | Self::WorkspaceWrite)
    }
}

/// How much of the design is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxLevel {
    /// Nothing is.
    #[default]
    None,
    /// Something else confines the process.
    External,
    /// Landlock and seccomp, where namespaces are unavailable.
    Landlock,
    /// Namespaces, Landlock and seccomp.
    Full,
}

impl SandboxLevel {
    /// Returns the name on the wire and in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::External => "external",
            Self::Landlock => "landlock",
            Self::Full => "full",
        }
    }

    /// Returns the level with this name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::None, Self::External, Self::Landlock, Self::Full]
            .into_iter()
            .find(|level| level.as_str() == name)
    }
}

/// What confined tools reach of the network. The order is that of strictness.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, Default,
)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxNetwork {
    /// Only what other tools of the session serve on localhost.
    #[default]
    None,
    /// The same, and the hosts of a list through a proxy.
    AllowList,
    /// Everything that the user reaches.
    Full,
}

impl SandboxNetwork {
    pub const ALL: &'static [Self] = &[Self::None, Self::AllowList, Self::Full];

    /// Returns the name on the wire and in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::AllowList => "allow-list",
            Self::Full => "full",
        }
    }

    /// Returns the network with this name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|network| network.as_str() == name)
    }
}

/// Where what confined tools change in the working folder goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxWorkspace {
    /// Into the folder itself.
    #[default]
    Direct,
    /// To a copy of what changed, until the client accepts it.
    Overlay,
}

impl SandboxWorkspace {
    pub const ALL: &'static [Self] = &[Self::Direct, Self::Overlay];

    /// Returns the name on the wire and in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Overlay => "overlay",
        }
    }

    /// Returns the one with this name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|workspace| workspace.as_str() == name)
    }
}

/// When the user is asked about a call. The order is that of strictness, the strictest last.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, Default,
)]
#[serde(rename_all = "kebab-case")]
pub enum AskMode {
    /// Never: what would have to be asked about is refused.
    #[default]
    Never,
    /// When a rule says so, and when a call wants more than the sandbox allows.
    OnRequest,
    /// Also about every call that may change something, unless a rule allows it.
    Untrusted,
}

impl AskMode {
    pub const ALL: &'static [Self] = &[Self::Never, Self::OnRequest, Self::Untrusted];

    /// Returns the name on the wire and in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::OnRequest => "on-request",
            Self::Untrusted => "untrusted",
        }
    }

    /// Returns the mode with this name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mode| mode.as_str() == name)
    }
}

/// What a call, or a session, may do beyond the sandbox, because the user or a rule of the user allowed it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Grants {
    /// Whether it runs outside of the sandbox.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unsandboxed: bool,
    /// Files and folders, absolute and canonical, that it may also write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathBuf>,
    /// Hosts that it may also reach, as `host:port`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
}

impl Grants {
    /// Tells whether nothing is granted.
    pub fn is_empty(&self) -> bool {
        !self.unsandboxed && self.paths.is_empty() && self.hosts.is_empty()
    }
}

/// A change of what confines a session, as a client asks for it. What is absent stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SandboxChange {
    pub mode: Option<SandboxMode>,
    pub network: Option<SandboxNetwork>,
}

/// A protected path of the workspace that a command changed, and that was restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProtectedChange {
    /// The path that was changed.
    pub path: PathBuf,
    /// Where what the command left there was moved to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<PathBuf>,
    /// What happened to the path: `created`, `changed` or `removed`.
    pub change: String,
}

/// What holds for the tools of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SandboxReport {
    pub mode: SandboxMode,
    pub level: SandboxLevel,
    pub ask: AskMode,
    pub network: SandboxNetwork,
    /// The version of the kernel.
    pub kernel: String,
    /// The version of Landlock that the kernel has; 0 if none.
    pub landlock_abi: u32,
    /// The mechanisms in force: `userns`, `mountns`, `pidns`, `netns`, `ipcns`, `landlock`, `seccomp`, `nonewprivs`,
    /// `nocaps`.
    pub mechanisms: Vec<String>,
    /// What tools may write.
    pub writable: Vec<String>,
    /// What stays read-only within that.
    pub read_only_inside: Vec<String>,
    /// What tools cannot read.
    pub masked: Vec<String>,
    /// The home folder: `read-only`, `overlay` or `writable`.
    pub home: String,
    /// `overlay` if nothing is written to the working folder until `accept_changes`; absent if tools write it directly.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub workspace: Option<SandboxWorkspace>,
    /// Where the built-in tools run: `confined` or `unconfined`.
    pub tools: String,
    /// The hosts that can be reached, if the network is a list.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub hosts: Vec<String>,
    /// What was granted beyond that for the rest of the session.
    #[serde(skip_serializing_if = "Grants::is_empty", default)]
    pub granted: Grants,
    pub promises: Vec<Promise>,
    pub not_enforced: Vec<NotEnforced>,
    pub environment: ReportedEnvironment,
    /// The process that confines the tools, once it has been started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keeper: Option<ReportedKeeper>,
    pub checks: ReportedChecks,
    /// The last connections through the proxy, the oldest first, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connections: Option<Vec<ReportedConnection>>,
}

/// A connection through the proxy. What was sent and which paths were asked for is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedConnection {
    pub host: String,
    pub port: u16,
    /// Why it was made or refused: `listed`, `approved`, `denied`, `unlisted`, `declined`, `bad-address` or `unreachable`.
    pub decision: String,
    /// Bytes that went to the host.
    pub sent: u64,
    /// Bytes that came from the host.
    pub received: u64,
}

/// What holds, in short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct SandboxSummary {
    pub mode: SandboxMode,
    pub level: SandboxLevel,
    pub ask: AskMode,
    pub network: SandboxNetwork,
    /// `overlay` if nothing is written to the working folder until `accept_changes`; absent if tools write it directly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<SandboxWorkspace>,
}

impl SandboxSummary {
    /// Tells whether nothing is written to the working folder until it is accepted.
    pub fn is_overlay(&self) -> bool {
        self.workspace == Some(SandboxWorkspace::Overlay)
    }
}

impl From<&SandboxReport> for SandboxSummary {
    fn from(report: &SandboxReport) -> Self {
        let &SandboxReport { mode, level, ask, network, workspace, .. } = report;
        Self { mode, level, ask, network, workspace }
    }
}

/// Something that the sandbox promises.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Promise {
    /// A stable name, such as `file.write`.
    pub id: String,
    pub state: PromiseState,
    /// What is promised, in a sentence.
    pub text: String,
    /// When it was proved, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
}

/// How sure a promise is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PromiseState {
    /// A probe tried it inside of this very sandbox and was refused.
    Proved,
    /// The mechanism is in force, but no probe has tried.
    Assumed,
    /// It does not hold.
    Absent,
}

/// Something that the sandbox does not prevent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotEnforced {
    /// A stable name, such as `file.hardlink`.
    pub id: String,
    /// What is possible, in plain words.
    pub why: String,
}

/// What commands get of the environment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedEnvironment {
    /// The names of the variables that they do not get.
    pub dropped: Vec<String>,
}

/// The process that confines the tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedKeeper {
    pub pid: u32,
    /// How long its start took, in milliseconds.
    pub started_ms: u64,
}

/// How many probes were tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedChecks {
    pub passed: u32,
    pub failed: u32,
}

impl SandboxReport {
    /// Returns the report of a session whose tools bowline does not confine.
    pub fn unconfined(mode: SandboxMode) -> Self {
        let level = match mode {
            SandboxMode::External => SandboxLevel::External,
            _ => SandboxLevel::None,
        };
        let why = match level {
            SandboxLevel::External => {
                "bowline confines nothing itself; it was told that something else confines it."
            }
            _ => {
                "Tools have all rights of the user: files, network and processes. Start with --sandbox workspace-write to confine them."
            }
        };
        Self {
            mode,
            level,
            network: SandboxNetwork::Full,
            home: "writable".to_owned(),
            tools: "unconfined".to_owned(),
            not_enforced: vec![NotEnforced { id: "everything".to_owned(), why: why.to_owned() }],
            ..Self::default()
        }
    }

    /// Tells whether anything of it has been tried.
    pub fn is_proved(&self) -> bool {
        self.promises.iter().any(|promise| promise.state == PromiseState::Proved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_serialised_ones() {
        for mode in SandboxMode::ALL {
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.as_str());
            assert_eq!(SandboxMode::parse(mode.as_str()), Some(*mode));
        }
        for network in SandboxNetwork::ALL {
            assert_eq!(serde_json::to_value(network).unwrap(), network.as_str());
        }
        for workspace in SandboxWorkspace::ALL {
            assert_eq!(serde_json::to_value(workspace).unwrap(), workspace.as_str());
        }
        for ask in AskMode::ALL {
            assert_eq!(serde_json::to_value(ask).unwrap(), ask.as_str());
        }
    }

    #[test]
    fn modes_are_ordered_by_strictness() {
        assert!(SandboxMode::ReadOnly < SandboxMode::WorkspaceWrite);
        assert!(SandboxMode::WorkspaceWrite < SandboxMode::FullAccess);
        assert!(SandboxNetwork::None < SandboxNetwork::Full);
    }
}
