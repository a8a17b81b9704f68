//! The dialect `omp` through the real binary. [`table`] says which test shows which sentence of omp's document.

#![expect(clippy::unwrap_used, reason = "what helps a test fails it by panicking")]

mod commands;
mod ending;
mod prompting;
mod snapshots;
mod steering;
mod table;

use bowline_testkit::{Agent, Workspace};
use serde_json::{Value, json};

fn start(workspace: &Workspace) -> Agent {
    start_with(workspace, &["--model", "mock/m1"])
}

fn start_with(workspace: &Workspace, more: &[&str]) -> Agent {
    let arguments = [&["--mode", "rpc", "--dialect", "omp"], more].concat();
    let mut agent = Agent::start(env!("CARGO_BIN_EXE_bowline"), workspace, &arguments);
    assert_eq!(agent.next(), json!({ "type": "ready" }));
    agent
}

/// Sends a prompt and returns the records up to its end.
#[track_caller]
fn run(agent: &mut Agent, text: &str) -> Vec<Value> {
    agent.carry_out(json!({ "type": "prompt", "message": text }));
    agent.until_type("agent_end")
}

/// Returns who said what in the messages that were completed: texts as they are, answers and results by their role.
fn conversation(records: &[Value]) -> Vec<String> {
    let told =
        bowline_testkit::announced(records).into_iter().map(|message| match message["role"].as_str() {
            Some("user") => message["content"][0]["text"].as_str().unwrap_or_default().to_owned(),
            role => format!("<{}>", role.unwrap_or_default()),
        });
    told.collect()
}
