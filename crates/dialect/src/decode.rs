//! Decoding a line of the client with a protocol's envelope and command table.

use std::sync::Arc;

use bowline_core::command::{Origin, Request};
use bowline_wire::Line;
use serde_json::{Map, Value};

use crate::answer_table::AnswerRow;
use crate::envelope::Head;
use crate::fields::{Field, Fields};
use crate::protocol::Protocol;

/// A decoded line.
#[derive(Debug, PartialEq)]
pub(crate) enum Decoded {
    Request(Request),
    Answer(ClientAnswer),
    Quit(Origin),
    ProtocolInfo(Origin),
    /// The client chooses a version of the protocol, one that the command's field allows.
    Negotiated {
        origin: Origin,
        protocol_version: u64,
    },
    /// A command that the dialect carries out; the origin names it.
    Own {
        origin: Origin,
        fields: Fields,
    },
}

/// The client's answer to something that the agent asked.
#[derive(Debug, PartialEq)]
pub(crate) struct ClientAnswer {
    /// What kind of answer it is, in protocols that name it.
    pub row: Option<&'static AnswerRow>,
    /// The id of the question, as JSON text.
    pub id: Option<Arc<str>>,
    /// The whole line, a JSON object. Only the dialect that asked knows what to expect in it.
    pub line: String,
}

/// Why a line is not a command. Each dialect has its own error texts.
#[derive(Debug, PartialEq)]
pub(crate) enum Problem {
    /// Not JSON, not UTF-8, or too long. The id is known if it precedes the error.
    Unreadable { id: Option<Arc<str>>, reason: String },
    /// JSON, but not a command of this dialect. `None` when the line names no command.
    UnknownCommand { id: Option<Arc<str>>, name: Option<String> },
    /// A command with a missing or invalid field.
    BadField { origin: Origin, field: &'static Field, value: Option<Box<Value>>, reason: String },
}

impl Protocol {
    /// Decodes a line as one of the protocol's commands, or as the answer to a question.
    pub fn decode(&self, line: Line) -> Result<Decoded, Problem> {
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
        let head = Head::read(self.envelope, &text)?;
        let name = head.name.as_deref();
        let row = self.answers.iter().find(|row| Some(row.name) == name);
        if row.is_some() || self.envelope.is_answer(&head) {
            return Ok(Decoded::Answer(ClientAnswer { row, id: head.id, line: text }));
        }
        let Some(row) = self.commands.iter().find(|row| Some(row.name) == name) else {
            return Err(Problem::UnknownCommand { id: head.id, name: head.name });
        };
        let mut origin = Origin { id: head.id, name: row.name, echo: None };
        // Reading the head has validated the whole line, so a command without fields needs no second pass.
        if row.fields.is_empty() {
            return Ok(row.action.decoded(origin, Map::new()));
        }
        let mut fields: Map<String, Value> = match serde_json::from_str(&text) {
            Ok(members) => self.envelope.parameters(members),
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
            let is_given = |name: &str| fields.get(name).is_some_and(|value| !value.is_null());
            if let Some(other) = field.excludes
                && is_given(field.name)
                && is_given(other)
            {
                let reason = format!("\"{}\" cannot be given beside \"{other}\"", field.name);
                return Err(Problem::BadField { origin, field, value: None, reason });
            }
            if let Some(other) = field.needs
                && is_given(field.name)
                && !is_given(other)
            {
                let reason = format!("\"{}\" cannot be given without \"{other}\"", field.name);
                return Err(Problem::BadField { origin, field, value: None, reason });
            }
            if field.is_echoed {
                origin.echo = value.map(|value| value.to_string().into());
            }
        }
        Ok(row.action.decoded(origin, fields))
    }
}
