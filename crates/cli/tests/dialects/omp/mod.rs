//! The dialect `omp`. [`table`] maps each sentence of omp's documentation to a test.

mod commands;
mod extensions;
mod later_commands;
mod logins;
mod prompting;
mod rules_and_todos;
mod runs;
mod slash_commands;
mod snapshots;
mod starting;
mod steering;
mod table;

use bowline_testkit::Agent;
use serde_json::{Value, json};

/// Sends a prompt and returns the records up to its end.
#[track_caller]
fn run(agent: &mut Agent, text: &str) -> Vec<Value> {
    agent.carry_out(json!({ "type": "prompt", "message": text }));
    agent.until_type("agent_end")
}

/// Returns the completed messages in order: user texts as they are, answers and results by their role.
fn conversation(records: &[Value]) -> Vec<String> {
    let reported =
        bowline_testkit::announced(records).into_iter().map(|message| match message["role"].as_str() {
            Some("user") => message["content"][0]["text"].as_str().unwrap_or_default().to_owned(),
            role => format!("<{}>", role.unwrap_or_default()),
        });
    reported.collect()
}
