//! Errors of the session store.

use std::io;
use std::path::{Path, PathBuf};

/// Why a session could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("Session file not found: {}", file.display())]
    NotFound { file: PathBuf },

    #[error("Session file is not a valid pi session: {}", file.display())]
    NotASession { file: PathBuf },

    #[error(
        "Session file {} has format version {version}, which is newer than this program; update it to open the session",
        file.display()
    )]
    TooNew { file: PathBuf, version: u32 },

    #[error("Session file {} is in use by another process; close it there, or start a new session", file.display())]
    Locked { file: PathBuf },

    #[error("Session file {} already exists; choose another session id", file.display())]
    Exists { file: PathBuf },

    #[error("Session file {} is {kind}, not a regular file", file.display())]
    NotRegular { file: PathBuf, kind: &'static str },

    #[error("Cannot read session file {}: {source}", file.display())]
    Read { file: PathBuf, source: io::Error },

    /// The file is unchanged.
    #[error("Cannot write session file {}: {source}", file.display())]
    Write { file: PathBuf, source: io::Error },

    #[error("Session file {} was deleted while the session was open; start a new session", file.display())]
    Vanished { file: PathBuf },

    #[error("Session file {} was changed by another program; open the session again to go on", file.display())]
    Changed { file: PathBuf },

    #[error("Stored session working directory does not exist: {}\nSession file: {}", directory.display(), file.display())]
    WorkingDirectoryGone { directory: PathBuf, file: PathBuf },

    #[error(
        "Invalid session id '{id}': use letters, digits, '.', '_' and '-', with a letter or digit at both ends"
    )]
    InvalidId { id: String },

    #[error("Entry not found: {id}")]
    UnknownEntry { id: String },

    #[error("Invalid entry ID for forking")]
    NotForkable,

    #[error("Cannot clone session: no current entry selected")]
    NothingToClone,

    #[error(
        "This session has not been saved yet. Wait for the first assistant response before cloning or forking it."
    )]
    NotSaved,

    #[error("Session file {} is read-only; make it writable to go on with the session", file.display())]
    ReadOnly { file: PathBuf },

    #[error("{} is not a session file in {}; only those can be deleted", file.display(), root.display())]
    OutsideStore { file: PathBuf, root: PathBuf },

    #[error("Invalid cursor '{cursor}'; use the one that came with the previous page, or none to start over")]
    InvalidCursor { cursor: String },

    #[error(
        "No session matches '{text}'; give a session file, a session id or the beginning of one (bowline sessions list --all shows them)"
    )]
    NoMatch { text: String },

    #[error("'{text}' matches several sessions; give more of the id:{}", list(matches))]
    Ambiguous { text: String, matches: Vec<PathBuf> },

    #[error(
        "The entry is nested more than {limit} levels deep and could not be read again; it was not written"
    )]
    TooDeep { limit: usize },

    #[error("The entry is larger than {limit} bytes and could not be read again; it was not written")]
    TooLong { limit: usize },

    #[error("Cannot write the entry as JSON: {0}")]
    Encode(#[from] serde_json::Error),
}

impl Error {
    /// Returns the error for a failed read of `file`.
    pub(crate) fn read(file: &Path, source: io::Error) -> Self {
        let file = file.to_path_buf();
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { file },
            _ => Self::Read { file, source },
        }
    }

    /// Returns the error for a file that was not opened for reading.
    pub(crate) fn open(file: &Path, error: bowline_files::Error) -> Self {
        match error {
            bowline_files::Error::NotRegular { kind, .. } => {
                Self::NotRegular { file: file.to_path_buf(), kind }
            }
            other => Self::read(file, other.into_io()),
        }
    }

    /// Returns the error for a failed write to `file`.
    pub(crate) fn write(file: &Path, source: io::Error) -> Self {
        Self::Write { file: file.to_path_buf(), source }
    }
}

fn list(files: &[PathBuf]) -> String {
    files.iter().map(|file| format!("\n  {}", file.display())).collect()
}
