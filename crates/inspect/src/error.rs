//! Why an exchange cannot be shown.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// A reason why an exchange cannot be started, shown or saved.
#[derive(Debug, Error)]
pub enum Error {
    #[error("{program} cannot be started: {source}")]
    Start { program: String, source: io::Error },
    #[error(
        "no temporary file for the records can be created in {folder}: {source}; set TMPDIR to a folder with room"
    )]
    Temporary { folder: PathBuf, source: io::Error },
    #[error("the records cannot be read back from the temporary file: {0}")]
    Spool(io::Error),
    #[error("the page cannot be served on 127.0.0.1: {0}")]
    Listen(io::Error),
    #[error("no random token for the page: the system gives no random numbers")]
    Random,
    #[error("{}: {source}", path.display())]
    Recording { path: PathBuf, source: io::Error },
    #[error(
        "{} has no records: a recording of bowline inspect, a session, or one JSON object per line is expected",
        path.display()
    )]
    NoRecords { path: PathBuf },
    #[error(transparent)]
    Open(#[from] bowline_files::Error),
    #[error(transparent)]
    Save(#[from] bowline_export::Error),
    #[error("{0}")]
    Thread(io::Error),
}
