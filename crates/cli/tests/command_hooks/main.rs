//! Command hooks in Claude Code's format.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers report failures by panicking")]

mod documentation;
mod prompts;
mod published;
mod sessions;
mod sources;
mod tool_calls;

use std::fs;

use bowline_testkit::{Agent, ModelServer, Workspace};
use serde_json::{Value, json};

/// Settings with one command at one event.
fn hook(event: &str, command: &str) -> Value {
    json!({ "hooks": { event: [{ "hooks": [{ "type": "command", "command": command }] }] } })
}

/// A command that prints an object.
fn prints(object: &Value) -> String {
    format!("cat > /dev/null; printf '%s' '{object}'")
}

/// What a command wrote to a file in the working folder.
fn written(workspace: &Workspace, name: &str) -> String {
    fs::read_to_string(workspace.work().join(name)).unwrap_or_default()
}

/// The objects that a command wrote to a file, one per line.
#[track_caller]
fn written_objects(workspace: &Workspace, name: &str) -> Vec<Value> {
    let text = written(workspace, name);
    text.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The text of a tool result or a message.
fn text(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// The results of tools in some records.
fn results(records: &[Value]) -> Vec<Value> {
    bowline_testkit::of_type(records, "tool_execution_end").into_iter().cloned().collect()
}

/// All texts that the model was sent with a request, the last request first.
fn last_request(server: &ModelServer) -> String {
    server.requests().last().map(|request| request.body["messages"].to_string()).unwrap_or_default()
}

/// The errors of hooks that the client was told so far.
fn errors(agent: &Agent) -> Vec<Value> {
    bowline_testkit::of_type(agent.transcript(), "extension_error").into_iter().cloned().collect()
}

/// The notifications that the client was shown so far.
fn notifications(agent: &Agent) -> Vec<String> {
    let requests = bowline_testkit::of_type(agent.transcript(), "extension_ui_request");
    let notify = requests.into_iter().filter(|request| request["method"] == "notify");
    notify.map(|request| request["message"].as_str().unwrap().to_owned()).collect()
}
