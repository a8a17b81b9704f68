//! Steering while tools run.

use std::fs;

use bowline_testkit::{Agent, Api, Gate, ModelServer, Reply, Workspace, of_type, types};
use serde_json::{Value, json};

use super::conversation;

/// Starts a turn with three calls and steers while the first runs. Returns the records up to the end.
fn steered(mode: Option<&str>) -> Vec<Value> {
    let server = ModelServer::start();
    let wait = "until [ -e go ]; do sleep 0.01; done";
    server.reply(
        Reply::new()
            .tool("bash", json!({ "command": wait }))
            .tool("bash", json!({ "command": "echo second" }))
            .tool("bash", json!({ "command": "echo third" })),
    );
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start_in("omp");
    if let Some(mode) = mode {
        agent.carry_out(json!({ "type": "set_interrupt_mode", "mode": mode }));
    }
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("tool_execution_start");
    agent.carry_out(json!({ "type": "steer", "message": "stop that" }));
    fs::write(workspace.work().join("go"), "").unwrap();
    agent.until_type("agent_end");
    let reported =
        ["go", "<assistant>", "<toolResult>", "<toolResult>", "<toolResult>", "stop that", "<assistant>"];
    assert_eq!(conversation(agent.transcript()), reported);
    agent.transcript().to_vec()
}

fn results(records: &[Value]) -> Vec<(bool, String)> {
    let results = of_type(records, "turn_end")[0]["toolResults"].as_array().unwrap();
    let reported = results.iter().map(|result| {
        let text = result["content"][0]["text"].as_str().unwrap_or_default().trim().to_owned();
        (result["isError"].as_bool().unwrap(), text)
    });
    reported.collect()
}

#[test]
fn immediate_steering_skips_the_remaining_calls() {
    for mode in [None, Some("immediate")] {
        let records = steered(mode);
        let reported = results(&records);
        assert!(!reported[0].0);
        for (is_error, text) in &reported[1..] {
            assert!(is_error);
            assert_eq!(text, "Skipped due to queued user message.");
        }
        // Each call has all its records before the next call starts.
        let about_tools: Vec<_> = records
            .iter()
            .filter(|record| record["message"]["role"] == "toolResult" || record.get("toolCallId").is_some())
            .filter(|record| record["type"] != "tool_execution_update")
            .cloned()
            .collect();
        let one = ["tool_execution_start", "tool_execution_end", "message_start", "message_end"];
        assert_eq!(types(&about_tools), [one, one, one].concat());
    }
}

#[test]
fn waiting_steering_lets_every_call_run() {
    let reported = results(&steered(Some("wait")));
    assert!(reported.iter().all(|(is_error, _)| !is_error));
    assert!(
        reported.iter().any(|(_, text)| text == "second") && reported.iter().any(|(_, text)| text == "third")
    );
}

fn with_two_queued(mode: &str) -> (ModelServer, Agent) {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.reply(Reply::text("one").gate(&gate).then_text("two"));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start_in("omp");
    agent.carry_out(json!({ "type": "set_steering_mode", "mode": mode }));
    agent.carry_out(json!({ "type": "set_follow_up_mode", "mode": mode }));
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("message_update");
    for text in ["a", "b"] {
        agent.carry_out(json!({ "type": "steer", "message": text }));
        agent.carry_out(json!({ "type": "follow_up", "message": text.to_uppercase() }));
    }
    assert_eq!(agent.get("get_state")["queuedMessageCount"], 4);
    gate.open();
    agent.until_type("agent_end");
    (server, agent)
}

#[test]
fn queues_deliver_one_message_or_all() {
    let (_, agent) = with_two_queued("one-at-a-time");
    let answer = "<assistant>";
    let reported = ["go", answer, "a", answer, "b", answer, "A", answer, "B", answer];
    assert_eq!(conversation(agent.transcript()), reported);
    let (_, agent) = with_two_queued("all");
    assert_eq!(conversation(agent.transcript()), ["go", answer, "a", "b", answer, "A", "B", answer]);
}
