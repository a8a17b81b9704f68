//! What users are asked about tool calls, and what becomes of their answers.

#![expect(clippy::unwrap_used, reason = "helpers report failures by panicking")]

mod answers;
mod dialects;
mod endings;
#[cfg(target_os = "linux")]
mod granted_files;
mod invalid_calls;
mod memory;
mod records;
mod rules;
#[cfg(target_os = "linux")]
mod sandbox;

use bowline_testkit::{Agent, Launch, ModelServer, Reply, Workspace, of_type};
use serde_json::{Value, json};

/// Starts an agent that asks in this mode; the model then calls `bash` with each of these commands in one answer.
fn asking(mode: &str, settings: Value, commands: &[&str]) -> (ModelServer, Workspace, Agent) {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(settings);
    calling(&server, commands);
    let agent = start(&workspace, mode);
    (server, workspace, agent)
}

fn calling(server: &ModelServer, commands: &[&str]) {
    let calls = commands
        .iter()
        .fold(Reply::new(), |reply, command| reply.tool("bash", json!({ "command": command })));
    server.reply(calls);
    server.reply(Reply::text("done"));
}

fn start(workspace: &Workspace, mode: &str) -> Agent {
    Launch::rpc(workspace).model("mock/m1").arguments(&["--ask", mode]).start()
}

fn prompt(agent: &mut Agent) {
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
}

/// Returns the next dialog.
#[track_caller]
fn dialog(agent: &mut Agent) -> Value {
    agent.until_type("extension_ui_request").pop().unwrap()
}

/// Answers a dialog of `pi`.
fn confirm(agent: &mut Agent, dialog: &Value, confirmed: bool) {
    agent.send(json!({ "type": "extension_ui_response", "id": dialog["id"], "confirmed": confirmed }));
}

/// Returns the texts of the results, in the order in which the calls ended.
fn results(records: &[Value]) -> Vec<String> {
    let ends = of_type(records, "tool_execution_end").into_iter();
    ends.map(|end| end["result"]["content"][0]["text"].as_str().unwrap_or_default().trim().to_owned())
        .collect()
}

/// Returns what the session's file says about approvals.
fn entries(workspace: &Workspace) -> Vec<Value> {
    let files = workspace.session_files();
    let lines = files.iter().flat_map(bowline_testkit::session_lines);
    lines.filter(|line| line["customType"] == "bowline.approval").map(|line| line["data"].clone()).collect()
}
