//! An error that ends the process: text on stderr, and one record on stdout for the client.

use std::io::{self, Write as _};
use std::process::ExitCode;

use bowline_dialect::Start;

use crate::terminal::note;

/// Why bowline exits.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error("argument {0} is not UTF-8 text")]
    NotText(usize),
    #[error(transparent)]
    Providers(#[from] bowline_llm::Error),
    #[error(transparent)]
    Resources(#[from] bowline_extension::Error),
    #[error(transparent)]
    Tools(#[from] bowline_tools::Error),
    #[error(transparent)]
    Session(#[from] bowline_session::Error),
    #[error(transparent)]
    Undo(#[from] bowline_undo::Error),
    #[error(transparent)]
    Export(#[from] bowline_export::Error),
    #[error(transparent)]
    Inspect(#[from] bowline_inspect::Error),
    #[error(transparent)]
    Engine(#[from] bowline_core::Refusal),
    #[error(transparent)]
    File(#[from] bowline_files::Error),
    #[error("tools cannot be confined here: {0}")]
    Sandbox(String),
    #[error(transparent)]
    Approvals(#[from] bowline_approval::Error),
    #[error("{0}")]
    Package(String),
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

    /// Reports the failure on stderr and returns the exit code.
    pub fn tell(&self, called: &str, code: ExitCode) -> ExitCode {
        note(format_args!("{called}: {self}"));
        code
    }

    /// Reports the failure on stderr and, as a record, on stdout, and returns the dialect's exit code for it.
    pub fn report(self, start: &Start) -> ExitCode {
        let code = self.tell(start.called, ExitCode::from(start.failure_code));
        if !start.has_fatal_record {
            return code;
        }
        let bowline_wire::Record::Plain(mut line) = bowline_dialect::fatal(&self.to_string()) else {
            return code;
        };
        line.push(b'\n');
        // If stdout is closed, stderr has the text.
        let _ = io::stdout().write_all(&line);
        code
    }
}
