//! MCP servers in sessions and on the command line. The server is the script in `tests/mcp`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers report failures by panicking")]

mod calls;
mod configuration;
mod failures;
mod questions;
mod start;
mod subcommands;

use std::path::Path;

use bowline_testkit::{ModelServer, Reply, Request, Workspace};
use serde_json::{Value, json};

/// Returns the description of a server with flags.
fn server(flags: &[&str]) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp/server.py");
    let mut arguments = vec![script.display().to_string()];
    arguments.extend(flags.iter().map(|flag| (*flag).to_owned()));
    json!({ "command": "python3", "args": arguments })
}

/// Adds a member to a description.
fn with(mut description: Value, name: &str, value: Value) -> Value {
    description[name] = value;
    description
}

/// Adds servers to a workspace.
fn add(workspace: Workspace, servers: &Value) -> Workspace {
    workspace.home_file(".bowline/mcp.json", &json!({ "mcpServers": servers }).to_string())
}

/// Returns a model and a workspace with one server, named `s`.
fn with_server(flags: &[&str]) -> (ModelServer, Workspace) {
    let (model, workspace) = Workspace::with_server();
    (model, add(workspace, &json!({ "s": server(flags) })))
}

/// Has the model call a tool, and end after its result.
fn script_call(model: &ModelServer, tool: &str, arguments: Value) {
    model.reply(Reply::new().tool(tool, arguments));
    model.reply(Reply::text("done"));
}

/// Returns the names of the tools that a request offers to the model.
fn tools(request: &Request) -> Vec<String> {
    let tools = request.body["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Returns the result of the only tool call.
#[track_caller]
fn result(records: &[Value]) -> Value {
    let ends: Vec<_> = records.iter().filter(|record| record["type"] == "tool_execution_end").collect();
    let [end] = &ends[..] else { panic!("not one call: {ends:?}") };
    (*end).clone()
}

/// Returns the text of the result of the only tool call.
#[track_caller]
fn result_text(records: &[Value]) -> String {
    result(records)["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

/// Returns the messages that a server with `--log FILE` has received.
fn log(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
