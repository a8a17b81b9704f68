//! A model that calls tools without end is stopped after a number of turns.

use std::time::Duration;

use bowline_testkit::{Api, Gate, ModelServer, Reply, Workspace, announced, assert_well_formed, of_type};
use serde_json::json;

fn workspace(server: &ModelServer, turns: u32) -> Workspace {
    Workspace::new(server, Api::AnthropicMessages).settings(json!({ "maxTurns": turns }))
}

fn call() -> Reply {
    Reply::new().tool("ls", json!({ "path": "." }))
}

#[test]
fn endless_tool_calls_end_at_the_turn_limit() {
    let server = ModelServer::start();
    server.default_reply(call());
    let mut agent = workspace(&server, 3).start();
    let records = agent.run("go");
    let settled = &records[records.len() - 1];
    assert_eq!(settled["errorKind"], "too_many_turns");
    assert!(
        settled["error"]
            .as_str()
            .unwrap()
            .contains("raise the limit: --max-turns, or limits.run.turns in settings.json"),
        "{settled}"
    );
    assert_eq!(server.requests().len(), 3);
    assert_eq!(of_type(&records, "tool_execution_end").len(), 3, "what was called was carried out");
    assert_eq!(announced(&records).pop().unwrap()["errorKind"], "too_many_turns");
    server.reply(Reply::text("done"));
    let records = agent.run("go on");
    assert_eq!(records[records.len() - 1], json!({ "type": "agent_settled", "aborted": false }));
    assert_well_formed(agent.transcript());
}

#[test]
fn limit_of_one_turn_is_told_in_the_singular() {
    let server = ModelServer::start();
    server.default_reply(call());
    let mut agent = workspace(&server, 1).start();
    let records = agent.run("go");
    let text = records[records.len() - 1]["error"].as_str().unwrap().to_owned();
    assert!(text.starts_with("The run was stopped after 1 turn without"), "{text}");
}

#[test]
fn message_of_the_user_renews_the_turns() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.reply(call());
    server.reply(call().gate(&gate));
    server.reply(call());
    server.reply(Reply::text("done"));
    let mut agent = workspace(&server, 2).start();
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    gate.wait_until_reached(Duration::from_secs(20));
    agent.send(json!({ "id": "s", "type": "steer", "message": "and this" }));
    agent.response("s");
    gate.open();
    let records = agent.collect_until_settled();
    assert_eq!(records[records.len() - 1], json!({ "type": "agent_settled", "aborted": false }));
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn zero_is_no_limit() {
    let server = ModelServer::start();
    for _ in 0..3 {
        server.reply(call());
    }
    server.reply(Reply::text("done"));
    let mut agent = workspace(&server, 0).start();
    let records = agent.run("go");
    assert_eq!(records[records.len() - 1], json!({ "type": "agent_settled", "aborted": false }));
}
