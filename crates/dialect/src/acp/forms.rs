//! Dialogs of extensions as forms, for clients that fill them in.

use bowline_core::ui::{Dialog, DialogAnswer, DialogKind};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// The only field of a form.
const FIELD: &str = "answer";

/// The parameters of a form.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct FormParams<'ask> {
    pub session_id: &'ask str,
    #[schemars(extend("const" = "form"))]
    pub mode: &'static str,
    pub message: String,
    /// The fields of the form, as a JSON Schema.
    pub requested_schema: Value,
}

/// Returns the form of a dialog.
pub(super) fn form<'ask>(session_id: &'ask str, dialog: &Dialog) -> FormParams<'ask> {
    let field = match &dialog.kind {
        DialogKind::Select { options, .. } => {
            json!({ "type": "string", "title": "Answer", "enum": options })
        }
        DialogKind::Confirm { .. } => json!({ "type": "boolean", "title": "Answer", "default": true }),
        DialogKind::Input { placeholder } => {
            json!({ "type": "string", "title": "Answer", "description": placeholder })
        }
        DialogKind::Editor { prefill, .. } => {
            json!({ "type": "string", "title": "Answer", "default": prefill })
        }
    };
    let message = match &dialog.kind {
        DialogKind::Confirm { message } => format!("{}\n\n{message}", dialog.title),
        _ => dialog.title.clone(),
    };
    let requested_schema = json!({ "type": "object", "properties": { FIELD: field }, "required": [FIELD] });
    FormParams { session_id, mode: "form", message, requested_schema }
}

/// Returns what a client's answer to a form means.
pub(super) fn answer(result: &Value) -> DialogAnswer {
    if result["action"] != "accept" {
        return DialogAnswer::Cancelled;
    }
    match &result["content"][FIELD] {
        Value::String(text) => DialogAnswer::Value(text.clone()),
        Value::Bool(yes) => DialogAnswer::Confirmed(*yes),
        _ => DialogAnswer::Cancelled,
    }
}
