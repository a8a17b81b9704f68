//! What can go wrong.

use std::io;
use std::path::{Path, PathBuf};

/// Why changes could not be recorded or put back.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot use {}: {source}", path.display())]
    Access { path: PathBuf, source: io::Error },
    #[error("{0} is not a path below the folder")]
    BadPath(String),
    #[error("there are no changes to restore")]
    NothingToUndo,
    #[error("nothing to redo; redo follows undo")]
    NothingToRedo,
    #[error("there is no run {0} with changes; get_changes lists them")]
    UnknownRun(u64),
    #[error("the former contents of run {0} were dropped to stay within undo.maxBytes")]
    DroppedRun(u64),
    #[error("there is no entry {0} in this session")]
    UnknownEntry(String),
    #[error("undo does not work on this system yet")]
    Unsupported,
}

impl Error {
    pub(crate) fn access(path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Access { path: path.to_owned(), source: source.into() }
    }

    /// Tells whether there is nothing at that path.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Access { source, .. } if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
    }
}
