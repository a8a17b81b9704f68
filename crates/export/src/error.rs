//! Errors of an export.

use std::io;
use std::path::PathBuf;

/// Why a session could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Session(#[from] bowline_session::Error),
    #[error("the session has no entry \"{id}\"")]
    UnknownEntry { id: String },
    #[error("{}: the folder does not exist; create it, or name another file", folder.display())]
    NoFolder { folder: PathBuf },
    #[error("{}: this is a folder; name a file in it", path.display())]
    IsFolder { path: PathBuf },
    #[error("{}: this is the session itself; name another file for the page", path.display())]
    IsTheSession { path: PathBuf },
    #[error("{}: this is not a page that bowline exported, so it is not replaced; name another file", path.display())]
    NotOurs { path: PathBuf },
    #[error("{}: cannot write the page: {error}", file.display())]
    WriteFile { file: PathBuf, error: io::Error },
    #[error("cannot write the page: {0}")]
    Write(io::Error),
}
