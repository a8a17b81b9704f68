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

    #[error(
        "no sandbox of level \"{minimum}\" is available here\n  cause: {}\n  remedies:{}",
        explained(cause),
        listed(cause, remedy)
    )]
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

    #[error("{0}")]
    Rule(String),

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
        "the process of the sandbox has died {deaths} times within a minute; no tools run until a minute has passed"
    )]
    DiesTooOften { deaths: usize },
}

/// Returns a cause in words. The code of the kernel for a limit of namespaces speaks of a disk.
fn explained(cause: &str) -> String {
    match has_no_more_namespaces(cause) {
        true => {
            "the kernel allows no more user namespaces: user.max_user_namespaces is 0, or all of them are in use".to_owned()
        }
        false => cause.to_owned(),
    }
}

/// Returns remedies, which are separated by semicolons, on a line each.
fn listed(cause: &str, remedies: &str) -> String {
    let more =
        has_no_more_namespaces(cause).then_some("`sudo sysctl user.max_user_namespaces=10000` allows them");
    let remedies = more.into_iter().chain(remedies.trim_end_matches('.').split("; "));
    remedies.map(|remedy| format!("\n  - {remedy}")).collect()
}

fn has_no_more_namespaces(cause: &str) -> bool {
    cause.contains("ENOSPC")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cause_and_remedies_have_lines_of_their_own() {
        let error = Error::LevelUnavailable {
            minimum: "full",
            cause: "namespaces (unshare failed: ENOSPC: No space left on device)".to_owned(),
            remedy: "do this; or that.".to_owned(),
        };
        assert_eq!(
            error.to_string(),
            "no sandbox of level \"full\" is available here\n  cause: the kernel allows no more user namespaces: \
             user.max_user_namespaces is 0, or all of them are in use\n  remedies:\n  - `sudo sysctl \
             user.max_user_namespaces=10000` allows them\n  - do this\n  - or that"
        );
    }
}
