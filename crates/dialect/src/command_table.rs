//! Reading a line of the client as a command, by a table: one row names the command, its fields and what becomes of
//! them.

use std::sync::Arc;

use bowline_core::command::{Command, Origin, Request};
use bowline_wire::Line;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::fields::{Field, Fields};
use crate::schema::Shape;

/// The type of an answer of the extension UI. Nobody waits for a response to it.
pub(crate) const UI_RESPONSE: &str = "extension_ui_response";

/// A row of a dialect's table of commands.
#[derive(Debug)]
pub(crate) struct Row {
    pub name: &'static str,
    /// What it does, in the words of the reference.
    pub about: &'static str,
    pub fields: &'static [Field],
    /// What goes along with an answer that says yes, if anything does.
    pub answer: Option<Shape>,
    pub meaning: Meaning,
}

/// What a command is for.
#[derive(Debug)]
pub(crate) enum Meaning {
    /// The engine is to do something.
    Engine(fn(Fields) -> Command),
    /// The process is to end.
    Quit,
    /// The dialect is to tell what it is.
    ProtocolInfo,
}

/// A line that was read.
#[derive(Debug, PartialEq)]
pub(crate) enum Meant {
    Request(Request),
    Quit(Origin),
    ProtocolInfo(Origin),
}

/// Why a line is not a command. Dialects word it their own way.
#[derive(Debug, PartialEq)]
pub(crate) enum Problem {
    /// Not JSON, not UTF-8, or too long. The id is there if it came before the trouble.
    Unreadable { id: Option<Arc<str>>, reason: String },
    /// JSON, but no command of this dialect has this name. `None` when there is no name at all.
    UnknownCommand { id: Option<Arc<str>>, name: Option<String> },
    /// A command with a field that is missing or wrong.
    BadField { origin: Origin, field: &'static Field, value: Option<Box<Value>>, reason: String },
}

/// Reads a line as one of the commands of `table`.
pub(crate) fn decode(table: &'static [Row], line: Line) -> Result<Meant, Problem> {
    let text = match line {
        Line::Text(text) => text,
        Line::TooLong { limit } => {
            let reason = format!("the line is longer than {limit} bytes; it was skipped");
            return Err(Problem::Unreadable { id: None, reason });
        }
        Line::NotUtf8 => {
            return Err(Problem::Unreadable { id: None, reason: "the line is not UTF-8".to_owned() });
        }
    };
    let head = Head::read(&text)?;
    let Some(row) = table.iter().find(|row| Some(row.name) == head.name.as_deref()) else {
        return Err(Problem::UnknownCommand { id: head.id, name: head.name });
    };
    let mut origin = Origin { id: head.id, name: row.name, echo: None };
    // The head has been read to the end of the line, so what has no fields needs no second look.
    if row.fields.is_empty() {
        return Ok(row.meaning.of(origin, Map::new()));
    }
    let mut fields: Map<String, Value> = match serde_json::from_str(&text) {
        Ok(fields) => fields,
        Err(error) => return Err(Problem::Unreadable { id: origin.id, reason: error.to_string() }),
    };
    for field in row.fields {
        if let Some(alias) = field.alias
            && !fields.contains_key(field.name)
            && let Some(value) = fields.remove(alias)
        {
            fields.insert(field.name.to_owned(), value);
        }
        let value = fields.get(field.name);
        if let Err(reason) = field.check(value) {
            let value = value.cloned().map(Box::new);
            return Err(Problem::BadField { origin, field, value, reason });
        }
        if field.is_echoed {
            origin.echo = value.map(|value| value.to_string().into());
        }
    }
    Ok(row.meaning.of(origin, fields))
}

impl Meaning {
    fn of(&self, origin: Origin, fields: Map<String, Value>) -> Meant {
        match self {
            Self::Engine(build) => Meant::Request(Request { origin, command: build(Fields::new(fields)) }),
            Self::Quit => Meant::Quit(origin),
            Self::ProtocolInfo => Meant::ProtocolInfo(origin),
        }
    }
}

/// The two fields that every command has.
#[derive(Debug, Default)]
struct Head {
    id: Option<Arc<str>>,
    name: Option<String>,
}

impl Head {
    fn read(text: &str) -> Result<Self, Problem> {
        let mut head = Self::default();
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let result = HeadSeed(&mut head).deserialize(&mut deserializer).and_then(|()| deserializer.end());
        match result {
            Ok(()) => Ok(head),
            Err(error) => Err(Problem::Unreadable { id: head.id, reason: error.to_string() }),
        }
    }
}

/// Reads a head while the rest of the line is skipped, so that the id is known even if something after it is broken.
struct HeadSeed<'head>(&'head mut Head);

impl<'de> DeserializeSeed<'de> for HeadSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for HeadSeed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            match &*name {
                "id" => self.0.id = Some(escape_separators(map.next_value::<&RawValue>()?.get()).into()),
                "type" => self.0.name = Some(name_of(&map.next_value::<Value>()?)),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    // Any other JSON is a line without a command, which is another problem than a line that cannot be read.
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

fn name_of(value: &Value) -> String {
    match value {
        Value::String(name) => name.clone(),
        other => other.to_string(),
    }
}

/// An id is echoed as it came, but for the characters that never go out unescaped.
fn escape_separators(id: &str) -> String {
    id.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}
