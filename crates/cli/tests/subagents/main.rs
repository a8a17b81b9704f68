//! Subagents: sessions that calls of `task` start.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers report failures by panicking")]

mod enabling;
mod ending;
mod files;
mod following;

use bowline_testkit::{Agent, Launch, ModelServer, Reply, Workspace, of_type};
use serde_json::{Value, json};

/// Starts an agent of the dialect `pi` with the tool `task`, and the model of its client.
fn start() -> (ModelServer, Workspace, Agent) {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(json!({ "task": { "enabled": true } }));
    let agent = workspace.start();
    (server, workspace, agent)
}

/// Returns a call of `task` with these tasks.
fn calling(tasks: &Value) -> Reply {
    Reply::new().tool("task", json!({ "tasks": tasks }))
}

/// Returns the result of the only call of `task`.
#[track_caller]
fn result(records: &[Value]) -> &Value {
    let ends = of_type(records, "tool_execution_end");
    let [end] = &ends[..] else { panic!("{ends:?}") };
    assert_eq!(end["toolName"], "task");
    end
}

/// Returns the text of a result.
fn text(end: &Value) -> &str {
    end["result"]["content"][0]["text"].as_str().unwrap()
}

/// Starts bowline with arguments and returns the tools that it offers to the model.
fn tools(workspace: &Workspace, launch: impl FnOnce(Launch) -> Launch) -> Vec<String> {
    let mut agent = launch(Launch::rpc(workspace).model("mock/m1")).start();
    agent.send(json!({ "id": "s", "type": "get_state" }));
    let state = agent.response("s")["data"].clone();
    let names = match &state["tools"] {
        Value::Array(names) => names.clone(),
        _ => state["dumpTools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect(),
    };
    names.into_iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}
