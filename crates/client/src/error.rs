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
    /// Another process could not tell which session to continue.
    #[error(
        "a client that restarts bowline needs to know the session: use Builder::session, session_id, continue_session or \
         no_session instead of {flag}"
    )]
    SessionFlag { flag: &'static str },
    /// The program was started and refused to serve.
    #[error("bowline does not serve: {0}")]
    Refused(#[from] bowline_protocol::Error),
}
