//! What can go wrong between a client and its agent.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Why a command, a run or a stream of events did not go on.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The agent refused or failed the command. `code` is stable, the message is for people.
    #[error("{command}: {message} ({code})")]
    Refused { command: String, code: String, message: String },
    /// The agent did not respond in time. A response that arrives later is dropped.
    #[error(
        "{command}: no response within {limit:?}; allow more time, or look at what the agent is waiting for"
    )]
    TimedOut { command: String, limit: Duration },
    /// The response is not what this version of the library knows.
    #[error("{command}: the response cannot be read: {problem}; the agent may be of another version")]
    Unreadable { command: String, problem: String },
    /// The command cannot be sent as JSON.
    #[error("{command}: the command cannot be written as JSON: {problem}")]
    Unwritable { command: String, problem: String },
    /// The agent ended, or the connection to it broke.
    #[error("{0}")]
    Ended(Arc<Ending>),
    /// The stream of events was left unread for too long while the connection had to go on.
    #[error(
        "events were left unread until more than {limit} bytes of them waited, and this stream of them was closed; \
         read events while you wait for something else"
    )]
    Lagged { limit: usize },
}

/// How a connection ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ending {
    /// What happened, as a sentence for people.
    pub reason: String,
    /// The exit code, if a process ended with one.
    pub exit_code: Option<i32>,
    /// The last lines that the process wrote to stderr.
    pub stderr: String,
    /// Whether the client has ended it.
    pub was_requested: bool,
    /// Whether another process takes over, so that commands can be sent again.
    pub will_restart: bool,
}

impl Error {
    /// Returns the stable code of a command that was refused.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { code, .. } => Some(code),
            _ => None,
        }
    }

    /// Returns how the connection ended, if that is what the error is about.
    pub fn ending(&self) -> Option<&Ending> {
        match self {
            Self::Ended(ending) => Some(ending),
            _ => None,
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.reason)?;
        if self.stderr.is_empty() {
            Ok(())
        } else {
            write!(formatter, "; stderr ends with:\n{}", self.stderr)
        }
    }
}
