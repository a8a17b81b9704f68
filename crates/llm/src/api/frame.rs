//! What the decoders share: parsing a frame of JSON, and the errors that can end a stream.

use std::borrow::Cow;

use bowline_core::stream::{FailureKind, StreamError};
use serde::Deserialize;

use crate::failure;

/// A text that borrows from the frame if possible. (An `Option<Cow<str>>` never does.)
#[derive(Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

impl Text<'_> {
    pub(super) fn into_string(self) -> String {
        self.0.into_owned()
    }
}

impl From<Text<'_>> for String {
    fn from(text: Text<'_>) -> Self {
        text.into_string()
    }
}

/// An error inside a stream.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum ErrorFrame<'a> {
    Object(#[serde(borrow)] ErrorObject<'a>),
    Text(String),
}

/// A named error.
#[derive(Deserialize)]
pub(super) struct ErrorObject<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    /// Most servers send a text, some an HTTP status code.
    code: Option<Code>,
    #[serde(borrow)]
    message: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Code {
    Number(u16),
    Text(String),
}

impl ErrorFrame<'_> {
    /// Returns the failure that the error means.
    pub(super) fn into_failure(self) -> StreamError {
        let object = match self {
            Self::Object(object) => object,
            Self::Text(message) => return failure::in_stream(None, None, &message),
        };
        let message = object.message.map(Text::into_string).unwrap_or_default();
        let kind = object.kind.map(Text::into_string);
        let (status, code) = match object.code {
            Some(Code::Number(status)) => (Some(status), None),
            Some(Code::Text(code)) => (code.parse().ok(), Some(code)),
            None => (None, None),
        };
        failure::in_stream(status, kind.or(code).as_deref(), &message)
    }
}

/// Parses a frame.
pub(super) fn read<'a, T: Deserialize<'a>>(data: &'a [u8]) -> Result<T, StreamError> {
    serde_json::from_slice(data).map_err(|error| {
        let message = format!("The provider sent data that does not match its API: {error}.");
        StreamError::new(FailureKind::Protocol, message)
    })
}

/// Returns the failure of a stream that ended too early.
pub(super) fn cut() -> StreamError {
    StreamError::new(
        FailureKind::Incomplete,
        "The provider's stream ended without finishing the answer. Try again.",
    )
}

/// Returns the failure of an answer that the provider refused to give.
pub(super) fn withheld(reason: &str) -> StreamError {
    let message =
        format!("The provider withheld the rest of the answer ({reason}). Change the request and try again.");
    StreamError::new(FailureKind::Rejected, message)
}
