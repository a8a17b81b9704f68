//! What clients are told of the extensions of a session.

use std::path::PathBuf;

use crate::slash_command::SourceInfo;

/// An extension of a session, with what it offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionInfo {
    /// The short name.
    pub name: String,
    /// The file or folder, by which errors name it.
    pub path: PathBuf,
    pub version: Option<String>,
    pub description: Option<String>,
    pub source_info: SourceInfo,
    pub status: ExtensionStatus,
    /// The names of its tools, commands, hooks and providers of models.
    pub tools: Vec<String>,
    pub commands: Vec<String>,
    pub providers: Vec<String>,
    pub hooks: Vec<&'static str>,
}

/// How an extension is doing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ExtensionStatus {
    #[default]
    Starting,
    Running,
    /// It has exited, for this reason, and is started again.
    Restarting(String),
    /// It is not started, or not started again, for this reason.
    Failed(String),
    /// It is there, but not to be used, for this reason.
    NotLoaded(String),
}

impl ExtensionStatus {
    /// Returns the name of the status.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Restarting(_) => "restarting",
            Self::Failed(_) => "failed",
            Self::NotLoaded(_) => "not_loaded",
        }
    }

    /// Returns why the extension is not running, if that is known.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Starting | Self::Running => None,
            Self::Restarting(reason) | Self::Failed(reason) | Self::NotLoaded(reason) => Some(reason),
        }
    }
}
