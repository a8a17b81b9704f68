//! Errors in the configuration of models, in sentences that a user can act on.

use std::path::PathBuf;

/// Why models could not be set up or chosen. Failures of a request are `StreamError`s instead.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    #[error("{reason}")]
    Unreadable { reason: String },
    #[error("Cannot write {}: {reason}", path.display())]
    Unwritable { path: PathBuf, reason: String },
    #[error("{} is not valid: {place}{}{reason}.", path.display(), if place.is_empty() { "" } else { ": " })]
    Misconfigured { path: PathBuf, place: String, reason: String },
    #[error(
        "Model \"{pattern}\" not found. Use --list-models to see available models.{}",
        did_you_mean(near)
    )]
    UnknownModel { pattern: String, near: Vec<String> },
    #[error(
        "No model of the provider \"{provider}\" is known. Name one with --model {provider}/NAME; bowline --list-models --local asks running servers for theirs."
    )]
    NoDefaultModel { provider: String },
    #[error("Unknown provider \"{provider}\".{} Known providers: {known}.", did_you_mean(near))]
    UnknownProvider { provider: String, near: Vec<String>, known: String },
    #[error(
        "Model \"{pattern}\" is ambiguous across providers: {candidates}. Use --provider or provider/model."
    )]
    AmbiguousModel { pattern: String, candidates: String },
    #[error("\"{suffix}\" in \"{pattern}\" is not a thinking level. Use one of {levels}.", levels = crate::choose::LEVELS)]
    UnknownThinkingLevel { pattern: String, suffix: String },
    #[error("\"{pattern}\" is not a valid pattern: {reason}.")]
    BadPattern { pattern: String, reason: String },
    #[error("There is no file for keys: set HOME or BOWLINE_HOME.")]
    NoAuthFile,
    #[error("The recording {recording} cannot be used: {reason}.")]
    Recording { recording: String, reason: String },
    #[error("The script {script} cannot be used: {reason}.")]
    Script { script: String, reason: String },
}

impl Error {
    /// Tells whether there is no model or provider of the name that the user gave.
    pub fn is_unknown_name(&self) -> bool {
        matches!(self, Self::UnknownModel { .. } | Self::NoDefaultModel { .. } | Self::UnknownProvider { .. })
    }
}

fn did_you_mean(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!(" Did you mean {}?", near.join(" or ")) }
}
