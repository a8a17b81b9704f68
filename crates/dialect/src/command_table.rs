//! The rows of a dialect's command table. Decoding, the schema, `get_protocol_info` and the reference all come from them.

use bowline_core::command::{Command, Origin, Request};
use serde_json::{Map, Value, json};

use crate::decode::Decoded;
use crate::fields::{Field, Fields};
use crate::schema::SchemaFn;

/// A row of a dialect's table of commands.
#[derive(Debug)]
pub(crate) struct Row {
    pub name: &'static str,
    /// What the command does, as the reference describes it.
    pub about: &'static str,
    pub fields: &'static [Field],
    /// What a success response carries, if anything.
    pub result: Option<SchemaFn>,
    pub action: Action,
}

/// What a command triggers.
#[derive(Debug)]
pub(crate) enum Action {
    /// The engine carries out a command.
    Engine(fn(Fields) -> Command),
    /// The process ends.
    Quit,
    /// The dialect describes itself.
    ProtocolInfo,
    /// The client chooses the version of the protocol, in this field.
    Negotiate(&'static str),
    /// The dialect carries it out, because it takes several commands or none.
    Own,
}

impl Action {
    /// Returns the decoded line of a command whose fields have been checked.
    pub fn decoded(&self, origin: Origin, fields: Map<String, Value>) -> Decoded {
        match self {
            Self::Engine(build) => Decoded::Request(Request { origin, command: build(Fields::new(fields)) }),
            Self::Quit => Decoded::Quit(origin),
            Self::ProtocolInfo => Decoded::ProtocolInfo(origin),
            Self::Negotiate(field) => {
                let protocol_version = fields.get(*field).and_then(Value::as_u64).unwrap_or_default();
                Decoded::Negotiated { origin, protocol_version }
            }
            Self::Own => Decoded::Own { origin, fields: Fields::new(fields) },
        }
    }
}

impl Row {
    /// Describes the fields of the command as one object.
    pub fn parameters(&self) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        let mut either_name = Vec::new();
        for field in self.fields {
            properties.insert(field.name.to_owned(), field.schema());
            match field.alias {
                Some(alias) => {
                    let mut schema = field.schema();
                    schema["description"] = json!(format!("Alias of `{}`.", field.name));
                    properties.insert(alias.to_owned(), schema);
                    if field.is_required {
                        either_name = vec![field.name, alias];
                    }
                }
                None if field.is_required => required.push(field.name),
                None => {}
            }
        }
        let mut schema = json!({ "type": "object", "properties": properties, "required": required });
        if !either_name.is_empty() {
            schema["anyOf"] = either_name.iter().map(|name| json!({ "required": [name] })).collect();
        }
        schema
    }
}
