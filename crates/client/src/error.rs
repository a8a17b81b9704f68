//! Why a client cannot be started.

use std::io;

/// Why bowline did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program cannot be run.
    #[error(
        "{program} cannot be started: {source}; install bowline, put it on the PATH, or name it with Builder::program"
    )]
    Program { program: String, source: io::Error },
    /// The program was started and refused to serve.
    #[error("bowline does not serve: {0}")]
    Refused(#[from] bowline_protocol::Error),
}
