//! Why a run or an answer failed, in words that programs can rely on. The texts beside them are for people and may
//! change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a run or an answer failed. The names on the wire are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// There are no usable credentials, or the provider refused them.
    Auth,
    /// The provider does not know the model or the address.
    NotFound,
    /// Too many requests for now.
    RateLimit,
    /// The provider is overloaded or had an internal error.
    Overloaded,
    /// The account has run out of quota, budget or credit.
    Quota,
    /// The provider could not be reached, or the connection broke.
    Network,
    /// The provider went silent.
    Timeout,
    /// The conversation is larger than the model's window.
    Context,
    /// The provider refused the request or the rest of the answer.
    Refused,
    /// The provider sent something that its API does not allow.
    BadAnswer,
    /// The answer exceeded a limit on its size.
    AnswerTooLarge,
    /// The answer took longer than an answer may take in all.
    AnswerTooSlow,
    /// The run reached the limit on its turns.
    TooManyTurns,
    /// A limit of the user on what a run or a session may spend was reached.
    Budget,
    /// The last answer was not the output that the prompt asked for.
    InvalidOutput,
    /// There was no conversation to continue.
    NoConversation,
    /// The user, or the end of the process, stopped it.
    Aborted,
    /// A session or a recording could not be written.
    Storage,
    /// bowline itself failed.
    Internal,
}

impl ErrorKind {
    /// All kinds, in the order of the documentation.
    pub const ALL: &'static [Self] = &[
        Self::Auth,
        Self::NotFound,
        Self::RateLimit,
        Self::Overloaded,
        Self::Quota,
        Self::Network,
        Self::Timeout,
        Self::Context,
        Self::Refused,
        Self::BadAnswer,
        Self::AnswerTooLarge,
        Self::AnswerTooSlow,
        Self::TooManyTurns,
        Self::Budget,
        Self::InvalidOutput,
        Self::NoConversation,
        Self::Aborted,
        Self::Storage,
        Self::Internal,
    ];

    /// Tells whether a limit of the user was reached.
    pub fn is_of_limit(self) -> bool {
        matches!(self, Self::TooManyTurns | Self::Budget)
    }

    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::NotFound => "not_found",
            Self::RateLimit => "rate_limit",
            Self::Overloaded => "overloaded",
            Self::Quota => "quota",
            Self::Network => "network",
            Self::Timeout => "timeout",
            Self::Context => "context",
            Self::Refused => "refused",
            Self::BadAnswer => "bad_answer",
            Self::AnswerTooLarge => "answer_too_large",
            Self::AnswerTooSlow => "answer_too_slow",
            Self::TooManyTurns => "too_many_turns",
            Self::Budget => "budget",
            Self::InvalidOutput => "invalid_output",
            Self::NoConversation => "no_conversation",
            Self::Aborted => "aborted",
            Self::Storage => "storage",
            Self::Internal => "internal",
        }
    }

    /// Returns the kind with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_serialised_ones() {
        for kind in ErrorKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
            assert_eq!(ErrorKind::parse(kind.as_str()), Some(*kind));
        }
    }

    #[test]
    fn every_kind_is_documented() {
        let page = include_str!("../../../docs/protocol.md");
        let rows: Vec<&str> = page
            .lines()
            .skip_while(|line| *line != "### Error kinds")
            .skip(1)
            .take_while(|line| !line.starts_with('#'))
            .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
            .skip(1)
            .collect();
        let names: Vec<&str> = ErrorKind::ALL.iter().map(|kind| kind.as_str()).collect();
        assert_eq!(rows, names);
    }
}
