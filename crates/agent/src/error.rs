//! Why an agent cannot be started.

/// Why the agent did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A value that the caller gave makes no sense.
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Providers(#[from] bowline_llm::Error),
    #[error(transparent)]
    Tools(#[from] bowline_tools::Error),
    #[error(transparent)]
    Approvals(#[from] bowline_approval::Error),
    #[error(transparent)]
    Session(#[from] bowline_session::Error),
    #[error(transparent)]
    Engine(#[from] bowline_core::Refusal),
    /// The agent refused what the client has, such as a tool with a name that it cannot have.
    #[error("the agent refuses to serve: {0}")]
    Refused(#[from] bowline_protocol::Error),
    /// Putting it together failed, which is a mistake of this library.
    #[error("the agent could not be put together: {0}")]
    Internal(String),
}
