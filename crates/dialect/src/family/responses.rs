//! The form of `response` that every dialect of the family with responses has.

use bowline_core::command::Origin;
use bowline_core::reply::{Answer, Reply};
use bowline_wire::Record;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::command_table::{Meant, Problem, UI_RESPONSE};
use crate::protocol_info::ProtocolInfo;
use crate::schema::Protocol;
use crate::{Incoming, json};

/// A response; keys in pi's order.
#[derive(Serialize, JsonSchema)]
struct Response<'reply, D> {
    /// That of the command, as it was written; absent if it had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'reply RawValue>,
    #[schemars(extend("const" = "response"))]
    r#type: &'static str,
    /// The command's type; `parse` for a line that cannot be read, absent for one without a type.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'reply str>,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<D>,
    /// A sentence for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'reply str>,
    /// A stable name for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
}

/// Describes a response.
pub(crate) fn shape(generator: &mut SchemaGenerator) -> Schema {
    Response::<()>::json_schema(generator)
}

/// Passes a line on, or answers it if that is for the dialect to do.
pub(crate) fn take(meant: Meant, protocol: &Protocol, records: &mut Vec<Record>) -> Option<Incoming> {
    match meant {
        Meant::Request(request) => Some(Incoming::for_only_session(request)),
        Meant::Quit(origin) => {
            records.push(success::<()>(&origin, None));
            Some(Incoming::Quit)
        }
        Meant::ProtocolInfo(origin) => {
            records.push(success(&origin, Some(ProtocolInfo::from(protocol))));
            None
        }
    }
}

/// Encodes the answer to a command; `tell` says what goes along with it.
pub(crate) fn encode<'reply, D: Serialize>(
    reply: &'reply Reply,
    tell: impl FnOnce(&'reply Answer) -> Option<D>,
) -> Record {
    match &reply.result {
        Ok(answer) => success(&reply.origin, tell(answer)),
        Err(refusal) => failure(
            reply.origin.id.as_deref(),
            Some(reply.origin.name),
            &refusal.message,
            refusal.code.as_str(),
        ),
    }
}

/// Encodes a response that says yes.
pub(crate) fn success<D: Serialize>(origin: &Origin, data: Option<D>) -> Record {
    Record::Plain(json::to_line(&Response {
        id: origin.id.as_deref().and_then(|id| serde_json::from_str(id).ok()),
        r#type: "response",
        command: Some(origin.name),
        success: true,
        data,
        error: None,
        code: None,
    }))
}

/// Encodes a response that says no.
pub(crate) fn failure(id: Option<&str>, command: Option<&str>, error: &str, code: &'static str) -> Record {
    Record::Plain(json::to_line(&Response::<()> {
        id: id.and_then(|id| serde_json::from_str(id).ok()),
        r#type: "response",
        command,
        success: false,
        data: None,
        error: Some(error),
        code: Some(code),
    }))
}

/// Words a problem with a line the way clients know it. Nobody waits for a response to an answer of the extension UI.
pub(crate) fn refuse(problem: &Problem) -> Option<Record> {
    Some(match problem {
        Problem::UnknownCommand { name: Some(name), .. } if name == UI_RESPONSE => return None,
        Problem::Unreadable { id, reason } => {
            let error = format!("Failed to parse command: {reason}");
            failure(id.as_deref(), Some("parse"), &error, "parse_error")
        }
        Problem::UnknownCommand { id, name } => {
            // Clients look for this word where a line has no "type".
            let shown = name.as_deref().unwrap_or("undefined");
            let error = format!("Unknown command: {shown}");
            failure(id.as_deref(), name.as_deref(), &error, "unknown_command")
        }
        Problem::BadField { origin, reason, .. } => {
            let error = format!("{}: {reason}", origin.name);
            failure(origin.id.as_deref(), Some(origin.name), &error, "invalid_argument")
        }
    })
}
