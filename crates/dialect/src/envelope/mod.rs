//! The envelope of a protocol: where a line holds its id, the name of its command and its parameters, which lines answer
//! a question of the agent, and how commands and responses are laid out in the schema.
//!
//! [`json_rpc::JsonRpc`] is that of acp, and [`flat::Flat`] that of all others.

pub(crate) mod flat;
pub(crate) mod json_rpc;

use std::fmt;
use std::sync::Arc;

use schemars::SchemaGenerator;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::command_table::Row;
use crate::decode::Problem;

/// How deeply an id may be nested.
const ID_DEPTH: usize = 100;

/// The layout that all lines of a protocol share.
pub(crate) trait Envelope: fmt::Debug + Sync {
    /// Returns the member that names a command.
    fn name_member(&self) -> &'static str;

    /// Returns the members that mark a line as an answer, if any do.
    fn answer_members(&self) -> &'static [&'static str];

    /// Returns whether a line is the client's answer to something that the agent asked, if that does not show by its name.
    fn is_answer(&self, head: &Head) -> bool;

    /// Returns the parameters of a command, given the members of its line.
    fn parameters(&self, members: Map<String, Value>) -> Map<String, Value>;

    /// Describes a command. `id` describes its id.
    fn command(&self, row: &Row, id: Value) -> Value;

    /// Returns the keyword that combines the responses: `oneOf` if each names its command, else `anyOf`.
    fn response_union(&self) -> &'static str;

    /// Describes the success response to a command.
    fn success(&self, row: &Row, generator: &mut SchemaGenerator) -> Value;

    /// Describes the response to a command that failed.
    fn failure(&self, generator: &mut SchemaGenerator) -> Value;
}

/// The part of a line that every command has, whatever its parameters are.
#[derive(Debug, Default)]
pub(crate) struct Head {
    /// The id, as JSON text.
    pub id: Option<Arc<str>>,
    pub name: Option<String>,
    /// Whether one of the envelope's answer members is present.
    pub has_answer_member: bool,
}

/// What is said of a line that is not meant as an object at all.
pub(crate) const ONE_OBJECT: &str = "; each line must be one JSON object";

impl Head {
    /// Reads the head of a line.
    pub fn read(envelope: &dyn Envelope, text: &str) -> Result<Self, Problem> {
        let mut head = Self::default();
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let seed = HeadSeed { envelope, head: &mut head };
        let read = seed.deserialize(&mut deserializer).and_then(|()| deserializer.end());
        if head.id.as_deref().is_some_and(|id| !can_be_returned(id)) {
            let reason = format!(
                "the id cannot be returned: it is nested more than {ID_DEPTH} levels deep, or has a number or \
                 character that other programs cannot read"
            );
            return Err(Problem::Unreadable { id: None, reason });
        }
        match read {
            Ok(()) => Ok(head),
            Err(error) => {
                let hint = if text.trim_start().starts_with('{') { "" } else { ONE_OBJECT };
                Err(Problem::Unreadable { id: head.id, reason: format!("{error}{hint}") })
            }
        }
    }
}

/// Reads a head while skipping the rest of the line, so that the id is known even if something after it is broken.
struct HeadSeed<'head> {
    envelope: &'head dyn Envelope,
    head: &'head mut Head,
}

impl<'de> DeserializeSeed<'de> for HeadSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for HeadSeed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (name_member, answer_members) = (self.envelope.name_member(), self.envelope.answer_members());
        while let Some(member) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            if member == "id" {
                self.head.id = Some(map.next_value::<&RawValue>()?.get().into());
            } else if member == name_member {
                self.head.name = Some(name_of(map.next_value()?));
            } else {
                self.head.has_answer_member |= answer_members.contains(&&*member);
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    // Any other JSON is a line that names no command, which is not the same problem as an unreadable line.
    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

/// Tells whether a response with this id can be read by most parsers. Reading a head does not look into values.
fn can_be_returned(id: &str) -> bool {
    let is_plain_text = id.starts_with('"') && !id.contains('\\');
    let is_small_number = id.len() < 16 && id.bytes().all(|byte| byte.is_ascii_digit());
    // Brackets in texts count too, but few ids have any.
    let depth = || id.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count();
    is_plain_text || is_small_number || (depth() <= ID_DEPTH && serde_json::from_str::<Value>(id).is_ok())
}

/// Returns the name of a command; error texts show anything but a string as JSON.
fn name_of(value: Value) -> String {
    match value {
        Value::String(name) => name,
        other => other.to_string(),
    }
}
