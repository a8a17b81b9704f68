//! The events of a run and its single end.

use bowline_testkit::{Api, ModelServer, Reply, Usage, Workspace, of_type, types};
use serde_json::{Value, json};

use super::{conversation, run};

fn without_updates(records: &[Value]) -> Vec<&str> {
    types(records)
        .into_iter()
        .filter(|kind| *kind != "message_update" && *kind != "tool_execution_update")
        .collect()
}

#[test]
fn events_of_a_run_with_a_tool_are_in_order() {
    let server = ModelServer::start();
    server.reply(Reply::text("I look.").tool("bash", json!({ "command": "echo one; sleep 0.2; echo two" })));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start_in("omp");
    let records = run(&mut agent, "go");
    let turn_with_tool = [
        "agent_start",
        "turn_start",
        "message_start",
        "message_end",
        "message_start",
        "message_end",
        "tool_execution_start",
        "tool_execution_end",
        "message_start",
        "message_end",
        "turn_end",
    ];
    let last_turn = ["turn_start", "message_start", "message_end", "turn_end", "agent_end"];
    assert_eq!(without_updates(&records), [&turn_with_tool[..], &last_turn[..]].concat());
    assert!(!of_type(&records, "tool_execution_update").is_empty());
    let end = of_type(&records, "tool_execution_end")[0];
    assert_eq!(end["result"]["content"][0]["text"], "one\ntwo\n");
    let answer = &of_type(&records, "turn_end")[0]["message"];
    assert!(answer["duration"].is_u64() && answer["ttft"].is_u64() && answer["completedAt"].is_u64());
    let end = records.last().unwrap();
    assert_eq!((end["messages"].as_array().unwrap().len(), &end["isTerminal"]), (4, &json!(true)));
}

fn quick_retries() -> Value {
    json!({ "retry": { "enabled": true, "maxRetries": 2, "baseDelayMs": 10 } })
}

#[test]
fn retried_run_has_one_end_with_the_last_attempt() {
    let server = ModelServer::start();
    server.reply(Reply::text("half").interrupt_after(1));
    let workspace = Workspace::new(&server, Api::AnthropicMessages).settings(quick_retries());
    let mut agent = workspace.start_in("omp");
    let records = run(&mut agent, "go");
    let reported = types(&records);
    assert!(!reported.contains(&"entry_appended"), "omp has no such event");
    for (name, count) in
        [("agent_start", 2), ("auto_retry_start", 1), ("auto_retry_end", 1), ("agent_end", 1)]
    {
        assert_eq!(reported.iter().filter(|kind| **kind == name).count(), count, "{name}");
    }
    let messages = records.last().unwrap()["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0]["stopReason"], "stop");
    assert_eq!(of_type(&records, "auto_retry_end")[0]["success"], true);
}

#[test]
fn aborted_retry_ends_the_run() {
    let server = ModelServer::start();
    server.default_reply(Reply::status(503));
    let settings = json!({ "retry": { "enabled": true, "maxRetries": 3, "baseDelayMs": 60_000 } });
    let workspace = Workspace::new(&server, Api::AnthropicMessages).settings(settings);
    let mut agent = workspace.start_in("omp");
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("auto_retry_start");
    agent.send(json!({ "id": "r", "type": "abort_retry" }));
    let records = agent.until_type("agent_end");
    assert_eq!(of_type(&records, "auto_retry_end")[0]["finalError"], "Retry cancelled");
    agent.carry_out(json!({ "type": "set_auto_retry", "enabled": false }));
    assert!(of_type(&run(&mut agent, "again"), "auto_retry_start").is_empty());
}

/// A model whose window is soon full.
fn small_window(server: &ModelServer) -> Workspace {
    Workspace::new(server, Api::AnthropicMessages).settings(json!({
        "compaction": { "enabled": true, "reserveTokens": 1000, "keepRecentTokens": 1 },
        "retry": { "baseDelayMs": 1 },
    }))
}

#[test]
fn automatic_compaction_precedes_the_one_agent_end() {
    let server = ModelServer::start();
    server.reply(Reply::text("first"));
    server.reply(Reply::text("second").usage(Usage { input: 199_500, ..Usage::default() }));
    server.reply(Reply::status(503));
    server.reply(Reply::text("a summary"));
    let workspace = small_window(&server);
    let mut agent = workspace.start_in("omp");
    run(&mut agent, "one");
    let records = run(&mut agent, "two");
    assert_eq!(server.replies_left(), 0, "the summary is requested twice, which these clients do not see");
    let reported = without_updates(&records);
    assert_eq!(
        reported[reported.len() - 4..],
        ["turn_end", "auto_compaction_start", "auto_compaction_end", "agent_end"]
    );
    let end = of_type(&records, "auto_compaction_end")[0];
    assert_eq!((&end["aborted"], &end["willRetry"]), (&json!(false), &json!(false)));
    assert!(end["result"]["summary"].as_str().unwrap().contains("a summary"));
    assert_eq!(of_type(&records, "auto_compaction_start")[0]["reason"], "threshold");
}

#[test]
fn truncated_answer_ends_the_run() {
    let server = ModelServer::start();
    let workspace = small_window(&server);
    let mut agent = workspace.start_in("omp");
    run(&mut agent, "one");
    run(&mut agent, "two");
    server.reply(Reply::text("half").stop_reason("max_tokens"));
    let records = run(&mut agent, "three");
    assert!(!types(&records).contains(&"auto_compaction_start"));
    assert_eq!(records.last().unwrap()["messages"][1]["stopReason"], "length");
}

#[test]
fn requested_compaction_is_reported_by_its_response_only() {
    let server = ModelServer::start();
    let workspace = small_window(&server);
    let mut agent = workspace.start_in("omp");
    run(&mut agent, "one");
    run(&mut agent, "two");
    server.reply(Reply::text("a summary"));
    let before = agent.transcript().len();
    let data = agent.carry_out(json!({ "type": "compact", "customInstructions": "be brief" }));
    assert!(data["summary"].as_str().unwrap().contains("a summary"));
    assert!(data["firstKeptEntryId"].is_string() && data["tokensBefore"].is_u64());
    assert_eq!(agent.transcript().len(), before + 1);
    assert!(server.requests().iter().any(|request| request.body.to_string().contains("be brief")));
}

#[test]
fn provider_refusal_is_reported_in_the_answer() {
    let server = ModelServer::start();
    server.reply(Reply::status(401));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start_in("omp");
    let records = run(&mut agent, "go");
    assert_eq!(conversation(&records), ["go", "<assistant>"]);
    let messages = &records.last().unwrap()["messages"];
    assert_eq!(messages[1]["stopReason"], "error");
    assert!(messages[1]["errorMessage"].is_string());
}
