//! What is said about the sandbox: to clients, to people, in session files; and how it is chosen.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers report failures by panicking")]

mod choosing;
mod report;
mod subcommands;

use bowline_testkit::{Agent, Launch, ModelServer, Reply, Workspace, of_type};
use serde_json::{Value, json};

/// Returns a workspace with settings that accept what every system of the tests offers.
fn workspace(sandbox: &Value) -> (ModelServer, Workspace) {
    let (server, workspace) = Workspace::with_server();
    let mut settings = json!({ "minimum": "landlock" });
    settings.as_object_mut().unwrap().extend(sandbox.as_object().unwrap().clone());
    (server, workspace.settings(json!({ "sandbox": settings })))
}

/// Starts an agent whose tools are confined.
fn start(arguments: &[&str]) -> (ModelServer, Workspace, Agent) {
    let (server, workspace) = workspace(&json!({ "mode": "workspace-write" }));
    let agent = Launch::rpc(&workspace).arguments(arguments).start();
    (server, workspace, agent)
}

/// Has the model run a command and returns what it reads.
fn bash(agent: &mut Agent, server: &ModelServer, command: &str) -> String {
    server.reply(Reply::new().tool("bash", json!({ "command": command })));
    let records = agent.run("go");
    let end = of_type(&records, "tool_execution_end")[0];
    end["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

/// Sends a command and returns the whole response.
fn ask(agent: &mut Agent, mut command: Value) -> Value {
    command["id"] = json!("ask");
    agent.send(command);
    agent.response("ask")
}
