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

    #[error(
        "the workspace \"overlay\" needs mounts of its own, which the level \"landlock\" does not have; use a system with user \
         namespaces, or --workspace direct"
    )]
    OverlayNeedsNamespaces,

    #[error(
        "{} is mounted inside of the working folder, which an overlay cannot show; unmount it, or use --workspace direct",
        mount.display()
    )]
    MountedInside { mount: PathBuf },

    #[error(
        "changes cannot be kept apart from {}, because bowline's own folder is inside of it; set BOWLINE_HOME to a folder \
         elsewhere, or use --workspace direct",
        workspace.display()
    )]
    StoreInWorkspace { workspace: PathBuf },

    #[error(
        "the working folder cannot be an overlay here: {cause}. Overlays need a kernel of 5.11 or later, and {} must be on a file \
         system with extended attributes that is no overlay itself, such as ext4; set BOWLINE_HOME to a folder elsewhere, or use \
         --workspace direct",
        own_folder.display()
    )]
    OverlayUnavailable { cause: String, own_folder: PathBuf },

    #[error("the changes of this session are in use by another bowline")]
    WorkspaceInUse,

    #[error("the id of the session, {id:?}, cannot be the name of a folder for its changes")]
    SessionName { id: String },

    #[error("the working folder has more than {most} files, too many for an overlay; use --workspace direct")]
    TooManyFiles { most: usize },

    #[error("{0}")]
    Changes(String),

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

    #[error("the process of the sandbox ended before it was ready: {0}")]
    EndedEarly(String),

    #[error(
        "the process of the sandbox has died {deaths} times within a minute, so no more tools run in this session"
    )]
    DiesTooOften { deaths: usize },
}

impl Error {
    /// Returns an error about files of the workspace or of its changes.
    #[cfg(target_os = "linux")]
    #[expect(clippy::needless_pass_by_value, reason = "the signature that map_err wants")]
    pub(crate) fn changes(error: bowline_undo::Error) -> Self {
        Self::Changes(error.to_string())
    }

    /// Returns a closure that adds what was being done to an I/O error.
    pub(crate) fn preparing(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Preparation { action, source }
    }
}
