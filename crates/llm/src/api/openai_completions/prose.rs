//! The content of a delta: a text or, from Mistral, a list of typed chunks.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, de::MapAccess};

use crate::api::frame;

/// The content of a delta. Deserialised manually because it is most of every answer, and a derived untagged enum would
/// copy each text once more.
#[derive(Debug)]
pub(super) enum Prose<'a> {
    Text(Cow<'a, str>),
    Chunks(Vec<Chunk<'a>>),
}

/// A typed chunk; unknown kinds are ignored.
#[derive(Deserialize, Debug)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    text: Option<Prose<'a>>,
    #[serde(borrow)]
    thinking: Option<Prose<'a>>,
}

impl<'a> Prose<'a> {
    /// Calls `take` with every text in order, and whether it is thinking.
    pub(super) fn each(self, thinking: bool, take: &mut impl FnMut(Cow<'a, str>, bool)) {
        match self {
            Self::Text(text) => take(text, thinking),
            Self::Chunks(chunks) => {
                for chunk in chunks {
                    if let Some(inner) = chunk.thinking {
                        inner.each(true, take);
                    }
                    if let Some(inner) = chunk.text {
                        inner.each(thinking, take);
                    }
                }
            }
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Prose<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Prose<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text or a list of chunks")
            }

            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Prose<'de>, E> {
                Ok(Prose::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Prose<'de>, E> {
                Ok(Prose::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Prose<'de>, A::Error> {
                frame::few(list).map(Prose::Chunks)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Prose<'de>, A::Error> {
                // Not a known form; a new one should not fail the answer.
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Prose::Chunks(Vec::new()))
            }
        }

        deserializer.deserialize_any(Either)
    }
}
