//! An error that ends the process: prose for people on stderr, one record for programs on stdout.

use std::io::{self, Write as _};
use std::process::ExitCode;

/// Why bowline cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Providers(#[from] bowline_llm::Error),
    #[error(transparent)]
    Tools(#[from] bowline_tools::Error),
    #[error(transparent)]
    Session(#[from] bowline_session::Error),
    #[error(transparent)]
    Export(#[from] bowline_export::Error),
    #[error(transparent)]
    Engine(#[from] bowline_core::Refusal),
    #[error("{path}: {problem}")]
    Settings { path: String, problem: String },
    #[error("{doing}: {error}")]
    Io { doing: &'static str, error: io::Error },
}

impl Failure {
    /// Returns a wrapper for an I/O error that says what was being done.
    pub fn io(doing: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::Io { doing, error }
    }

    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io { error, .. } if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Says what happened, to people, and returns the exit code.
    pub fn tell(&self) -> ExitCode {
        eprintln!("bowline: {self}");
        ExitCode::FAILURE
    }

    /// Says what happened, to people and to the program that waits for records on stdout.
    pub fn report(self) -> ExitCode {
        self.tell();
        let bowline_wire::Record::Plain(mut line) = bowline_dialect::fatal(&self.to_string()) else {
            return ExitCode::FAILURE;
        };
        line.push(b'\n');
        // If stdout is gone, stderr has it.
        let _ = io::stdout().write_all(&line);
        ExitCode::FAILURE
    }
}
