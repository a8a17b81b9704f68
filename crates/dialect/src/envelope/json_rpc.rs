//! The envelope of JSON-RPC 2.0: `method` names a command, its parameters are in `params`, a line without an `id` is a
//! notification, and a line with a `result` or an `error` answers a request of the other side.

use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use super::{Envelope, Head};
use crate::command_table::Row;

/// A line is a request, a notification or a response of JSON-RPC 2.0. A missing `jsonrpc` is tolerated.
#[derive(Debug)]
pub(crate) struct JsonRpc;

impl Envelope for JsonRpc {
    fn name_member(&self) -> &'static str {
        "method"
    }

    fn answer_members(&self) -> &'static [&'static str] {
        &["result", "error"]
    }

    fn is_answer(&self, head: &Head) -> bool {
        head.name.is_none() && head.id.is_some() && head.has_answer_member
    }

    /// Returns `params`. Without names they cannot be matched to fields, so a list counts as no parameters.
    fn parameters(&self, mut members: Map<String, Value>) -> Map<String, Value> {
        match members.remove("params") {
            Some(Value::Object(parameters)) => parameters,
            _ => Map::new(),
        }
    }

    fn command(&self, row: &Row, mut id: Value) -> Value {
        id["description"] = json!("Returned in the response, unchanged; without it, there is no response.");
        let needs_parameters = row.fields.iter().any(|field| field.is_required);
        let mut required = vec!["jsonrpc", "method"];
        required.extend(needs_parameters.then_some("params"));
        json!({
            "description": row.about,
            "type": "object",
            "properties": {
                "jsonrpc": { "const": "2.0" },
                "id": id,
                "method": { "const": row.name },
                "params": row.parameters(),
            },
            "required": required,
        })
    }

    fn response_union(&self) -> &'static str {
        "anyOf"
    }

    fn success(&self, row: &Row, generator: &mut SchemaGenerator) -> Value {
        let result = row.result.map_or_else(|| json!({}), |result| result.with(generator).to_value());
        json!({
            "description": format!("The success response to `{}`.", row.name),
            "type": "object",
            "properties": { "jsonrpc": { "const": "2.0" }, "id": {}, "result": result },
            "required": ["jsonrpc", "id", "result"],
        })
    }

    fn failure(&self, _: &mut SchemaGenerator) -> Value {
        json!({
            "description": "The response to a request that failed.",
            "type": "object",
            "properties": {
                "jsonrpc": { "const": "2.0" },
                "id": { "description": "The id of the request; `null` if it is not known." },
                "error": {
                    "type": "object",
                    "properties": {
                        "code": { "type": "integer" },
                        "message": { "type": "string" },
                        "data": {
                            "description": "More about the error.",
                            "type": "object",
                            "properties": {
                                "details": { "type": "string", "description": "The error in words." },
                                "code": { "type": "string", "description": "A stable name of a refusal." },
                            },
                        },
                    },
                    "required": ["code", "message"],
                },
            },
            "required": ["jsonrpc", "id", "error"],
        })
    }
}
