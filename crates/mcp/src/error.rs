//! Why a server cannot be used, or a call to it failed. Each text is for the user or the model and says what to do.

use std::time::Duration;

/// Why a server cannot be used, or a call to it failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the value of {place} cannot be used: {reason}")]
    Value { place: String, reason: String },
    #[error("{0}")]
    Start(String),
    #[error(
        "it needs authorization (HTTP {status}): set \"headers\", such as {{\"Authorization\": \"Bearer $TOKEN\"}}{challenge}"
    )]
    Unauthorized { status: u16, challenge: String },
    #[error("{0}")]
    Connection(String),
    #[error("it does not speak the protocol ({0})")]
    Protocol(String),
    #[error("it refused to start a session: {0}")]
    Refused(String),
    #[error("it did not get ready within {} s", .0.as_secs())]
    StartTimeout(Duration),
    #[error("The MCP server {server} did not answer within {} ms. The call was cancelled; \"timeout\" in its configuration sets the limit.", .limit.as_millis())]
    CallTimeout { server: String, limit: Duration },
    #[error("The MCP server {server} was still working after {} min. The call was cancelled.", .limit.as_secs() / 60)]
    CallTooLong { server: String, limit: Duration },
    #[error("Aborted: the call was stopped before it finished.")]
    Aborted,
    #[error(
        "The MCP server {server} ended before it answered: {reason}. It is restarted if possible; the call may have had effects."
    )]
    Ended { server: String, reason: String },
    #[error("The MCP server {server} is not available: {reason}")]
    Unavailable { server: String, reason: String },
    #[error("The MCP server {server} reported an error: {text}")]
    Server { server: String, text: String },
    #[error("The MCP server {server} gave an answer that is not valid: {text}")]
    Answer { server: String, text: String },
    #[error("There is no MCP server named {name}. {known}")]
    UnknownServer { name: String, known: String },
    #[error("The MCP server {server} has no {kind} named {name}. {known}")]
    Unknown { server: String, kind: &'static str, name: String, known: String },
    #[error("{0}")]
    Arguments(String),
}

impl Error {
    /// Tells whether trying again cannot help: the configuration has to change.
    pub(crate) fn is_permanent(&self) -> bool {
        matches!(
            self,
            Self::Value { .. }
                | Self::Start(_)
                | Self::Unauthorized { .. }
                | Self::Refused(_)
                | Self::Protocol(_)
        )
    }
}
