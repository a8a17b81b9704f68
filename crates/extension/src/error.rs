//! Why a file of the user's could not be read or changed.

use std::path::PathBuf;

/// Why a file of the user's could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    File(#[from] bowline_files::Error),
    #[error("{} is not valid: {problem}", path.display())]
    Invalid { path: PathBuf, problem: String },
    #[error("{} cannot be changed: {reason}", path.display())]
    Unwritable { path: PathBuf, reason: String },
    #[error("{} has a name that is not UTF-8 text, so nothing can be recorded about it", path.display())]
    NotTextPath { path: PathBuf },
}
