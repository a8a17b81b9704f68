//! The messages to the client.

use bowline_core::command::Origin;
use bowline_wire::{Delta, Record};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::value::RawValue;

use super::files::{ReadParams, WriteParams};
use super::forms::FormParams;
use super::results::{PermissionOption, ToolCallFields, Update};
use crate::json;

pub(super) const UPDATE: &str = "session/update";
pub(super) const PERMISSION: &str = "session/request_permission";
pub(super) const READ_FILE: &str = "fs/read_text_file";
pub(super) const WRITE_FILE: &str = "fs/write_text_file";
pub(super) const FORM: &str = "elicitation/create";
pub(super) const CANCEL_REQUEST: &str = "$/cancel_request";

#[derive(Serialize)]
struct Answer<'answer, T> {
    jsonrpc: &'static str,
    id: &'answer RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'answer T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'answer T>,
}

#[derive(Serialize)]
struct Message<'message, T> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'message str>,
    method: &'static str,
    params: T,
}

/// The parameters of an update.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct UpdateParams<'update> {
    session_id: &'update str,
    update: &'update Update<'update>,
}

/// The parameters of a question about a tool call.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PermissionParams<'ask> {
    pub session_id: &'ask str,
    pub tool_call: ToolCallFields,
    pub options: Vec<PermissionOption>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CancelParams<'id> {
    request_id: &'id str,
}

/// Encodes the answer to the request with this id; `member` is `result` or `error`.
pub(super) fn answer<T: Serialize>(id: &str, member: &'static str, value: &T) -> Record {
    let id = json::verbatim(id).unwrap_or(RawValue::NULL);
    let (result, error) = if member == "result" { (Some(value), None) } else { (None, Some(value)) };
    Record::Plain(json::to_line(&Answer { jsonrpc: "2.0", id, result, error }))
}

/// Encodes the result of a request; a notification gets none.
pub(super) fn result<T: Serialize>(origin: &Origin, value: &T) -> Option<Record> {
    super::id_of(origin).map(|id| answer(id, "result", value))
}

pub(super) fn update(session_id: &str, update: &Update<'_>) -> Record {
    message(None, UPDATE, UpdateParams { session_id, update })
}

/// Encodes a request to the client.
pub(super) fn request<T: Serialize>(id: &str, method: &'static str, params: T) -> Record {
    message(Some(id), method, params)
}

/// Encodes that a question does not need an answer any more.
pub(super) fn withdrawal(request_id: &str) -> Record {
    message(None, CANCEL_REQUEST, CancelParams { request_id })
}

fn message<T: Serialize>(id: Option<&str>, method: &'static str, params: T) -> Record {
    Record::Plain(json::to_line(&Message { jsonrpc: "2.0", id, method, params }))
}

/// Encodes a piece of an answer, which joins with the next one if the client lags.
pub(super) fn chunk(session_id: &str, kind: &str, message_id: &str, text: &str, key: u64) -> Record {
    let mut prefix = Vec::with_capacity(220);
    prefix.extend_from_slice(br#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"#);
    json::write(&mut prefix, &session_id);
    prefix.extend_from_slice(br#","update":{"sessionUpdate":""#);
    prefix.extend_from_slice(kind.as_bytes());
    prefix.extend_from_slice(br#"","messageId":"#);
    json::write(&mut prefix, &message_id);
    prefix.extend_from_slice(br#","content":{"type":"text","text":""#);
    let suffix = br#""}}}}"#.to_vec();
    Delta { key, prefix: prefix.into(), body: json::string_body(text), suffix: suffix.into() }.into()
}

/// Describes the messages that are not answers.
pub(super) fn described(generator: &mut SchemaGenerator) -> Vec<Schema> {
    let updates = UpdateParams::json_schema(generator);
    let permissions = PermissionParams::json_schema(generator);
    let forms = FormParams::json_schema(generator);
    let reads = ReadParams::json_schema(generator);
    let writes = WriteParams::json_schema(generator);
    let cancels = CancelParams::json_schema(generator);
    vec![
        described_message("Something happened in a session.", UPDATE, false, &updates),
        described_message("Asks the user whether a tool call may run.", PERMISSION, true, &permissions),
        described_message("Asks the user to fill in a form.", FORM, true, &forms),
        described_message("Asks for what the client has of a file, saved or not.", READ_FILE, true, &reads),
        described_message("Has the client write a file and save it.", WRITE_FILE, true, &writes),
        described_message(
            "A request of the agent does not need an answer any more.",
            CANCEL_REQUEST,
            false,
            &cancels,
        ),
    ]
}

fn described_message(about: &str, method: &str, has_id: bool, params: &Schema) -> Schema {
    let mut schema = json_schema!({
        "description": about,
        "type": "object",
        "properties": { "jsonrpc": { "const": "2.0" }, "method": { "const": method }, "params": params },
        "required": ["jsonrpc", "method", "params"],
    });
    if has_id && let Some(members) = schema.as_object_mut() {
        members["properties"]["id"] = serde_json::json!({ "type": "string" });
        members["required"] = serde_json::json!(["jsonrpc", "id", "method", "params"]);
    }
    schema
}
