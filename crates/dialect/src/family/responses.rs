//! The form of `response` that every dialect of the family with responses has.

use bowline_core::command::Origin;
use bowline_core::reply::{Answer, Reply};
use bowline_wire::Record;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::command_table::Problem;
use crate::json;

/// A response; keys in pi's order.
#[derive(Serialize)]
struct Response<'reply, D> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'reply RawValue>,
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'reply str>,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<D>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'reply str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
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

/// Tells whether nobody waits for a response: answers of the extension UI carry a type of their own.
pub(crate) fn needs_none(problem: &Problem) -> bool {
    const UI_RESPONSE: &str = "extension_ui_response";
    matches!(problem, Problem::UnknownCommand { name: Some(name), .. } if name == UI_RESPONSE)
}

/// Words a problem with a line the way clients know it.
pub(crate) fn refuse(problem: &Problem) -> Record {
    match problem {
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
        Problem::BadField { origin, reason } => {
            let error = format!("{}: {reason}", origin.name);
            failure(origin.id.as_deref(), Some(origin.name), &error, "invalid_argument")
        }
    }
}
