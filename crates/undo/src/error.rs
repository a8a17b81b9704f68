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
    #[error("{} is another folder now than the one that was changed, so nothing was put back", .0.display())]
    OtherFolder(PathBuf),
    #[error("{} is a link; bowline's own files are not kept behind links", .0.display())]
    OwnLink(PathBuf),
    #[error("the working directory has more than {0} files that are not ignored")]
    TooManyFiles(usize),
    #[error("more than {0} paths changed in one turn")]
    TooManyChanges(usize),
    #[error("undo does not work on this system yet")]
    Unsupported,
}

impl Error {
    pub(crate) fn access(path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Access { path: path.to_owned(), source: source.into() }
    }

    /// Tells whether it is about one path only, so that others can go on.
    pub(crate) fn is_of_path(&self) -> bool {
        matches!(self, Self::Access { .. })
    }

    /// Tells whether a right is missing.
    pub(crate) fn is_denied(&self) -> bool {
        matches!(self, Self::Access { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
    }

    /// Tells whether there is nothing at that path.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Access { source, .. } if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
    }
}

/// Refuses a link where bowline keeps something of its own: it would be written to, or removed, elsewhere.
pub(crate) fn refuse_link(path: &Path) -> Result<(), Error> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_symlink() => Err(Error::OwnLink(path.to_owned())),
        _ => Ok(()),
    }
}
