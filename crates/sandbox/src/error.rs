//! Why there is no sandbox.

use std::io;
use std::path::PathBuf;

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "the sandbox works on Linux only; start with --sandbox full-access, or external if something else confines bowline"
    )]
    NotOnThisSystem,

    #[error("no sandbox of level \"{minimum}\" is to be had here: {cause}. {remedy}")]
    LevelUnavailable { minimum: &'static str, cause: String, remedy: String },

    #[error("{} cannot be a folder that tools may write: {reason}", path.display())]
    Root { path: PathBuf, reason: &'static str },

    #[error(
        "the network \"allow-list\" needs a network namespace, which the level \"landlock\" does not have; use none or full"
    )]
    AllowListNeedsNamespaces,

    #[error("the path {} is not text, so it cannot be given to the sandbox", path.display())]
    NotText { path: PathBuf },

    #[error("the list of hosts cannot be used: {0}")]
    Host(String),

    #[error("the sandbox could not be prepared: {action}: {source}")]
    Preparation { action: &'static str, source: io::Error },

    #[error("the sandbox could not be set up: {step}: {problem}")]
    SetUp { step: String, problem: String },

    #[error("the sandbox does not hold what it promises ({}), so no tool runs", broken.join(", "))]
    BrokenPromise { broken: Vec<String> },

    #[error(
        "{} is protected, and what a command left there can be neither moved away nor put back; remove it, and tools run again", path.display()
    )]
    ProtectedStays { path: PathBuf },

    #[error(
        "every folder for temporary files is one that tools may write; let TMPDIR name one that they may not"
    )]
    NoTemporaryFolder,

    #[error("the process of the sandbox ended before it was ready: {0}")]
    EndedEarly(String),

    #[error(
        "the process of the sandbox has died {deaths} times within a minute, so no more tools run in this session"
    )]
    DiesTooOften { deaths: usize },
}

impl Error {
    /// Returns a closure that adds what was being done to an I/O error.
    pub(crate) fn preparing(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Preparation { action, source }
    }
}
