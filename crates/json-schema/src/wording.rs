//! How values and types are named in what is reported of a check.

use serde_json::Value;

/// How much of a value is shown.
const SHOWN_VALUE: usize = 100;

/// Returns a value as it is shown.
pub(crate) fn shown(value: &Value) -> String {
    shorten(&value.to_string(), SHOWN_VALUE)
}

/// Returns a text, or its beginning and its length.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}… ({} bytes in all)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

/// Returns what a value of a type is called.
pub(crate) fn noun(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "string" => "a string",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "an object",
        "null" => "null",
        _ => return None,
    })
}
