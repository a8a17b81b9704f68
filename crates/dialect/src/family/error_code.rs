//! The `code` of failure responses: why the engine refused a command, or what was wrong with the line.

use std::borrow::Cow;

use bowline_core::reply::RefusalCode;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// A stable name of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorCode {
    /// The line cannot be read.
    ParseError,
    UnknownCommand,
    /// The emulated agent has the command; bowline does not serve it.
    Unsupported,
    Refused(RefusalCode),
}

impl ErrorCode {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ParseError => "parse_error",
            Self::UnknownCommand => "unknown_command",
            Self::Unsupported => "unsupported",
            Self::Refused(code) => code.as_str(),
        }
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl JsonSchema for ErrorCode {
    fn schema_name() -> Cow<'static, str> {
        "ErrorCode".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let refused = RefusalCode::ALL.iter().map(|code| Self::Refused(*code));
        let all = [Self::ParseError, Self::UnknownCommand, Self::Unsupported].into_iter().chain(refused);
        let names: Vec<_> = all.map(Self::as_str).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}
