//! What the decoders share: parsing a frame of JSON, and the errors that can end a stream.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use bowline_core::stream::{FailureKind, StreamError};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::failure;
use crate::limits::EVENT_LIST;

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

/// The first element of a list; the others are skipped. In a box, because a large element is moved several times.
pub(super) struct First<T>(pub(super) Option<Box<T>>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for First<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Elements<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Elements<T> {
            type Value = First<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<First<T>, A::Error> {
                let first = list.next_element()?;
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(First(first))
            }
        }

        deserializer.deserialize_seq(Elements(PhantomData))
    }
}

/// A list whose length is limited: an element takes far more memory than the three bytes that it takes in a frame.
pub(super) struct Few<T>(Vec<T>);

impl<T> Few<T> {
    pub(super) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Elements<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Elements<T> {
            type Value = Few<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Few<T>, A::Error> {
                few(list).map(Few)
            }
        }

        deserializer.deserialize_seq(Elements(PhantomData))
    }
}

/// Reads a list whose length is limited.
pub(super) fn few<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(mut list: A) -> Result<Vec<T>, A::Error> {
    let mut elements = Vec::new();
    while let Some(element) = list.next_element()? {
        if elements.len() == EVENT_LIST {
            return Err(A::Error::custom(format!("a list has more than {EVENT_LIST} elements")));
        }
        elements.push(element);
    }
    Ok(elements)
}

/// An error inside a stream: an object, or only a text.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct ErrorFrame<'a>(#[serde(borrow)] &'a RawValue);

/// A named error.
#[derive(Deserialize)]
struct ErrorObject<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    /// Most servers send a text, some an HTTP status code.
    #[serde(borrow)]
    code: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<Text<'a>>,
}

impl ErrorFrame<'_> {
    /// Returns the failure that the error means.
    pub(super) fn into_failure(self) -> StreamError {
        let json = self.0.get();
        let Ok(object) = serde_json::from_str::<ErrorObject<'_>>(json) else {
            let text = serde_json::from_str::<Text<'_>>(json).map_or(Cow::Borrowed(json), |text| text.0);
            return failure::in_stream(None, None, &text);
        };
        let message = object.message.map(Text::into_string).unwrap_or_default();
        let kind = object.kind.map(Text::into_string);
        let code = object.code.map(RawValue::get);
        let named = code.and_then(|code| serde_json::from_str::<Text<'_>>(code).ok()).map(Text::into_string);
        let status = named.as_deref().or(code).and_then(|code| code.parse().ok());
        failure::in_stream(status, kind.or(named).as_deref(), &message)
    }
}

/// Parses a frame.
pub(super) fn read<'a, T: Deserialize<'a>>(data: &'a [u8]) -> Result<T, StreamError> {
    // One check of the whole frame costs less than one for each of its strings.
    let text = std::str::from_utf8(data).map_err(mismatch)?;
    serde_json::from_str(text).map_err(mismatch)
}

fn mismatch(error: impl fmt::Display) -> StreamError {
    let message = format!("The provider sent data that does not match its API: {error}.");
    StreamError::new(FailureKind::Protocol, message)
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
