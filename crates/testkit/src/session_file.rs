//! Session files, read independently of bowline.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// Returns the lines of a session file, each of which must be a JSON object.
#[track_caller]
pub fn session_lines(path: impl AsRef<Path>) -> Vec<Value> {
    let path = path.as_ref();
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(text.ends_with('\n'), "the last line of {} has no newline", path.display());
    let lines = text.lines().map(|line| match serde_json::from_str(line) {
        Ok(value @ Value::Object(_)) => value,
        other => panic!("{} has the line {line:?}, which is not an object: {other:?}", path.display()),
    });
    lines.collect()
}

/// Returns the messages in a session file, in the order of its lines.
#[track_caller]
pub fn session_messages(path: impl AsRef<Path>) -> Vec<Value> {
    let entries = session_lines(path).into_iter().filter(|line| line["type"] == "message");
    entries.map(|mut entry| entry["message"].take()).collect()
}

/// Returns the keys of an object in their order.
#[track_caller]
pub fn keys(value: &Value) -> Vec<&str> {
    let fields = value.as_object().unwrap_or_else(|| panic!("{value} is not an object"));
    fields.keys().map(String::as_str).collect()
}
