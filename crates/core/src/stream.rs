//! The events of a streamed answer, the same for every provider, and how a stream can fail.

use std::time::Duration;

use crate::error_kind::ErrorKind;
use crate::message::{StopReason, ToolCall};

/// One event of a streamed answer.
///
/// `index` is the block's place in the finished message. Blocks start in ascending order of their index; a
/// block's deltas come between its start and its end. Nothing follows `Done`; a stream that ends without it is
/// incomplete.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// The provider began to answer.
    Started {
        response_id: Option<String>,
    },
    BlockStart {
        index: usize,
        kind: BlockKind,
    },
    /// More of the block's text, thinking or argument JSON.
    Delta {
        index: usize,
        text: String,
    },
    BlockEnd {
        index: usize,
        signature: Option<String>,
    },
    /// The token counts so far; each replaces the one before.
    Tokens(TokenCounts),
    Done {
        reason: StopReason,
        raw_reason: Option<String>,
    },
}

/// What a block of an answer holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockKind {
    Text,
    Thinking,
    /// Thinking that the provider sent encrypted; the block's signature holds it.
    RedactedThinking,
    ToolCall {
        id: String,
        name: String,
    },
}

/// Token counts as a provider reports them, without a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenCounts {
    /// Input tokens that were not read from the cache.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// The part of `output` spent on thinking, where the provider reports it.
    pub reasoning: Option<u64>,
}

/// Why a stream failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct StreamError {
    pub kind: FailureKind,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// A message for users: what happened and, where possible, what to do. Never contains a secret.
    pub message: String,
    /// The delay that the provider asked for before a retry.
    pub retry_after: Option<Duration>,
}

/// The kinds of failure, by what can be done about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// No usable credentials, or the provider refused them.
    Authentication,
    /// The account has run out of quota, budget or credit.
    Quota,
    /// Too many requests for now.
    RateLimited,
    /// The provider is overloaded or had an internal error.
    Unavailable,
    /// The provider could not be reached, or the connection broke.
    Connection,
    /// The provider went silent.
    TimedOut,
    /// The stream ended before the answer was complete.
    Incomplete,
    /// The conversation is larger than the model's window.
    ContextOverflow,
    /// The provider does not know the model or the address.
    NotFound,
    /// The provider refused the request for another reason.
    Rejected,
    /// The provider violated its API.
    Protocol,
    /// The answer exceeded a limit on its size.
    TooLarge,
    /// The answer took longer than an answer may take in all.
    TooSlow,
    /// A recording could not be written.
    Storage,
    /// bowline itself failed.
    Internal,
}

impl FailureKind {
    /// Tells whether a retry may succeed.
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::RateLimited | Self::Unavailable | Self::Connection | Self::TimedOut | Self::Incomplete
        )
    }

    /// Returns what programs read of a failure of this kind.
    pub fn error_kind(self) -> ErrorKind {
        match self {
            Self::Authentication => ErrorKind::Auth,
            Self::Quota => ErrorKind::Quota,
            Self::RateLimited => ErrorKind::RateLimit,
            Self::Unavailable => ErrorKind::Overloaded,
            Self::Connection | Self::Incomplete => ErrorKind::Network,
            Self::TimedOut => ErrorKind::Timeout,
            Self::ContextOverflow => ErrorKind::Context,
            Self::NotFound => ErrorKind::NotFound,
            Self::Rejected => ErrorKind::Refused,
            Self::Protocol => ErrorKind::BadAnswer,
            Self::TooLarge => ErrorKind::AnswerTooLarge,
            Self::TooSlow => ErrorKind::AnswerTooSlow,
            Self::Storage => ErrorKind::Storage,
            Self::Internal => ErrorKind::Internal,
        }
    }
}

impl StreamError {
    /// Returns a failure with only a kind and a message.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, status: None, message: message.into(), retry_after: None }
    }
}

/// An update of a streamed answer for clients. `content_index` is the block's place in the message.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    TextStart { content_index: usize },
    TextDelta { content_index: usize, delta: String },
    TextEnd { content_index: usize, content: String },
    ThinkingStart { content_index: usize },
    ThinkingDelta { content_index: usize, delta: String },
    ThinkingEnd { content_index: usize, content: String },
    ToolCallStart { content_index: usize, id: String, name: String },
    ToolCallDelta { content_index: usize, delta: String },
    ToolCallEnd { content_index: usize, call: ToolCall },
}
