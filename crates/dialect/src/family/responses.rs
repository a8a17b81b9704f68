//! The `response` record of the family.

use bowline_core::command::Origin;
use bowline_core::reply::{Answer, RefusalCode, Reply};
use bowline_wire::Record;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::value::RawValue;

use super::error_code::ErrorCode;
use crate::decode::Problem;
use crate::json;
use crate::local_data::LocalData;
use crate::schema::CommandId;

/// A response; keys in pi's order.
#[derive(Serialize, JsonSchema)]
struct Response<'reply, D> {
    /// The command's id, unchanged; absent if it had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<CommandId>")]
    id: Option<&'reply RawValue>,
    #[schemars(extend("const" = "response"))]
    r#type: &'static str,
    /// The command's type; `parse` for an unreadable line, absent for a line without a type.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'reply str>,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<D>,
    /// The error, as a sentence for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'reply str>,
    /// A stable name of the error, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<ErrorCode>,
}

/// Describes a response.
pub(crate) fn schema(generator: &mut SchemaGenerator) -> Schema {
    Response::<()>::json_schema(generator)
}

/// Encodes the response to a command; `data_of` returns what a success response carries.
pub(crate) fn encode<'reply, D: Serialize>(
    reply: &'reply Reply,
    data_of: impl FnOnce(&'reply Answer) -> Option<D>,
) -> Record {
    match &reply.result {
        Ok(answer) => success(&reply.origin, data_of(answer)),
        Err(refusal) => failure(
            reply.origin.id.as_deref(),
            Some(reply.origin.name),
            &refusal.message,
            ErrorCode::Refused(refusal.code),
        ),
    }
}

/// Encodes the response to a command that the dialect carries out itself.
pub(crate) fn local(origin: &Origin, data: Option<LocalData>) -> Record {
    success(origin, data)
}

/// Encodes a success response.
pub(crate) fn success<D: Serialize>(origin: &Origin, data: Option<D>) -> Record {
    Record::Plain(json::to_line(&Response {
        id: origin.id.as_deref().and_then(json::verbatim),
        r#type: "response",
        command: Some(origin.name),
        success: true,
        data,
        error: None,
        code: None,
    }))
}

/// Encodes a failure response.
pub(crate) fn failure(id: Option<&str>, command: Option<&str>, error: &str, code: ErrorCode) -> Record {
    Record::Plain(json::to_line(&Response::<()> {
        id: id.and_then(json::verbatim),
        r#type: "response",
        command,
        success: false,
        data: None,
        error: Some(error),
        code: Some(code),
    }))
}

/// Encodes the response to an invalid line, with the error texts that clients know.
pub(crate) fn refuse(problem: &Problem) -> Record {
    match problem {
        Problem::Unreadable { id, reason } => {
            let error = format!("Failed to parse command: {reason}");
            failure(id.as_deref(), Some("parse"), &error, ErrorCode::ParseError)
        }
        Problem::UnknownCommand { id, name } => {
            // Clients expect this word when a line has no "type".
            let shown = name.as_deref().unwrap_or("undefined");
            let error = format!("Unknown command: {shown}");
            failure(id.as_deref(), name.as_deref(), &error, ErrorCode::UnknownCommand)
        }
        Problem::BadField { origin, reason, .. } => {
            let error = format!("{}: {reason}", origin.name);
            failure(
                origin.id.as_deref(),
                Some(origin.name),
                &error,
                ErrorCode::Refused(RefusalCode::InvalidArgument),
            )
        }
    }
}
