//! The dialect `operator-flat`: the behaviour of operator-use's server and client code.

use bowline_testkit::{Agent, Api, Gate, ModelServer, Reply, Workspace, of_type, types};
use serde_json::{Value, json};

fn workspace(server: &ModelServer) -> Workspace {
    Workspace::new(server, Api::AnthropicMessages).settings(json!({ "retry": { "baseDelayMs": 1 } }))
}

#[track_caller]
fn run(agent: &mut Agent, message: &str) -> Vec<Value> {
    agent.carry_out(json!({ "type": "prompt", "message": message }));
    agent.until_type("settled")
}

#[test]
fn prompt_is_acknowledged_immediately_and_events_are_flat() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.reply(Reply::new().thinking("hm").then_text("Hel").gate(&gate).then_text("lo"));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("operator-flat");
    agent.send(json!({ "id": "req_1", "type": "prompt", "message": "hi" }));
    let expected = r#"{"type":"response","command":"prompt","success":true,"id":"req_1"}"#;
    assert_eq!(agent.next().to_string(), expected);
    gate.open();
    let records = agent.until_type("settled");
    let updates = of_type(&records, "message_update");
    let contents: Vec<_> = updates.iter().map(|update| update["message"]["contents"].clone()).collect();
    assert_eq!(contents[0], json!([{ "type": "thinking", "content": "hm", "signature": null }]));
    assert_eq!(contents[1], json!([{ "type": "text", "content": "Hel" }]));
    assert_eq!(contents[2], json!([{ "type": "text", "content": "lo" }]));
    let message = &updates[0]["message"];
    let id = &of_type(&records, "message_end")[0]["message"]["id"];
    assert_eq!(message["id"], *id, "an update belongs to the message that it is of");
    assert!(message["timestamp"].as_f64().unwrap() > 1e9, "seconds, not milliseconds: {message}");
    assert_eq!(message["usage"]["cost"]["total"].as_f64().map(f64::is_finite), Some(true));
    let answer = &of_type(&records, "message_end")[0]["message"];
    let expected = json!({ "role": "assistant", "stop_reason": "stop", "error": "" });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(answer[name], *value);
    }
}

#[test]
fn results_of_a_turn_are_one_message() {
    let server = ModelServer::start();
    let call = |command: &str| json!({ "command": command });
    server.reply(Reply::new().tool("bash", call("echo one")).tool("bash", call("exit 3")));
    server.reply(Reply::text("done"));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("operator-flat");
    let records = run(&mut agent, "go");
    let ends: Vec<_> =
        of_type(&records, "message_end").into_iter().map(|record| record["message"].clone()).collect();
    let roles: Vec<_> = ends.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["assistant", "tool", "assistant"]);
    let results = ends[1]["contents"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!(results[0]["type"], "tool_result");
    assert_eq!((&results[0]["content"], &results[0]["is_error"]), (&json!("one\n"), &json!(false)));
    assert_eq!(results[1]["is_error"], true);
    assert_eq!(ends[0]["stop_reason"], "tool_calls");
    let calls = ends[0]["contents"].as_array().unwrap();
    assert_eq!((&calls[0]["type"], &calls[0]["args"]), (&json!("tool_call"), &call("echo one")));
    for name in ["tool_call", "tool_execution_start", "tool_result", "tool_execution_end"] {
        assert_eq!(of_type(&records, name).len(), 2, "{name}");
    }
    let results = of_type(&records, "tool_result");
    let first = results.iter().find(|result| result["input"] == call("echo one")).unwrap();
    assert_eq!(first["content"], "one\n");
    let end = of_type(&records, "agent_end");
    let roles: Vec<_> = end[0]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
}

#[test]
fn all_17_commands_are_answered() {
    let server = ModelServer::start();
    server.default_reply(Reply::text("an answer"));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("operator-flat");
    run(&mut agent, "hello");
    let entry = of_type(agent.transcript(), "message_end")[0]["entry_id"].clone();
    let file = agent.get("get_state")["session_file"].clone();
    let id = agent.get("get_state")["session_id"].clone();
    let table = [
        (json!({ "type": "steer", "message": "s" }), Value::Null),
        (json!({ "type": "follow_up", "message": "f" }), Value::Null),
        (json!({ "type": "abort" }), Value::Null),
        (json!({ "type": "set_session_name", "name": " n " }), Value::Null),
        (json!({ "type": "get_last_assistant_text" }), json!({ "text": "an answer" })),
        (
            json!({ "type": "get_session_stats" }),
            json!({ "session_id": id, "session_name": "n", "entry_count": 2, "context_tokens": 110, "context_window": 200_000 }),
        ),
        (json!({ "type": "set_model", "model_id": "m2" }), json!({ "model_id": "m2", "provider": "mock" })),
        (json!({ "type": "set_thinking_level", "level": "high" }), json!({ "level": "high" })),
        (json!({ "type": "set_auto_compaction", "enabled": false }), json!({ "enabled": false })),
        (json!({ "type": "fork", "entry_id": entry }), json!({ "entry_id": entry, "cancelled": false })),
        (json!({ "type": "switch_session", "session_path": file }), json!({ "cancelled": false })),
        (json!({ "type": "compact" }), Value::Null),
        (json!({ "type": "new_session" }), json!({ "cancelled": false })),
    ];
    for (command, data) in table {
        assert_eq!(agent.carry_out(command.clone()), data, "{command}");
    }
    assert_eq!(agent.get("get_messages"), json!({ "messages": [] }));
    agent.send(json!({ "type": "extension_ui_response", "id": "x", "value": 1 }));
    assert_eq!(agent.get("get_state")["model_id"], "m2", "the model was really changed");
    assert!(of_type(agent.transcript(), "response").iter().all(|response| response["id"] != "x"));
}

#[test]
fn busy_agent_refuses_with_its_state() {
    let server = ModelServer::start();
    server.reply(Reply::text("I begin").hang_after(1));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("operator-flat");
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("message_update");
    assert_eq!(agent.refuse(json!({ "type": "prompt", "message": "again" })), "Agent is busy (phase=turn)");
    assert_eq!(agent.refuse(json!({ "type": "compact" })), "Agent is busy (phase=turn)");
    let state = agent.get("get_state");
    assert_eq!((&state["phase"], &state["is_streaming"]), (&json!("turn"), &json!(true)));
    agent.carry_out(json!({ "type": "steer", "message": "left" }));
    agent.carry_out(json!({ "type": "follow_up", "message": "later" }));
    agent.send(json!({ "type": "abort", "id": "a" }));
    let records = agent.until_type("settled");
    let updates = of_type(&records, "queue_update");
    assert_eq!(
        *updates[0],
        json!({ "type": "queue_update", "queue": "steering", "message": "left", "messages": ["left"] })
    );
    assert_eq!(updates[1]["queue"], "followup");
    let at = |name: &str| types(&records).iter().position(|found| *found == name).unwrap();
    assert!(at("response") < at("agent_end"), "an abort is answered at once");
    assert_eq!(of_type(&records, "agent_end")[0]["reason"], "aborted");
}

#[test]
fn error_after_acknowledgement_is_reported_once() {
    let server = ModelServer::start();
    server.reply(Reply::status(400).body("{\"error\":{\"message\":\"no such thing\"}}"));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("operator-flat");
    let records = run(&mut agent, "go");
    let end = &records[records.len() - 3..];
    assert_eq!(types(end), ["agent_error", "agent_end", "settled"]);
    assert!(end[0]["error"].as_str().unwrap().contains("no such thing"), "{}", end[0]);
    assert_eq!(end[1]["reason"], "error");
    assert_eq!(of_type(&records, "agent_end").len(), 1);
}

#[test]
fn retry_is_part_of_its_run() {
    let server = ModelServer::start();
    server.reply(Reply::status(529));
    server.reply(Reply::text("at last"));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("operator-flat");
    let records = run(&mut agent, "go");
    for name in ["agent_start", "agent_end", "settled", "retry_start", "retry_end"] {
        assert_eq!(of_type(&records, name).len(), 1, "{name}");
    }
    assert_eq!(of_type(&records, "retry_end")[0]["success"], true);
    let messages = &of_type(&records, "agent_end")[0]["messages"];
    assert_eq!(messages.as_array().unwrap().len(), 2, "the failed answer is not part of it: {messages}");
}

#[test]
fn compaction_is_acknowledged_and_its_end_has_the_result() {
    let server = ModelServer::start();
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("operator-flat");
    agent.carry_out(json!({ "type": "compact" }));
    let records = agent.until_type("compaction_end");
    let end = records.last().unwrap();
    assert!(end["error"].as_str().unwrap().contains("Nothing to compact"), "{end}");
    assert_eq!(end["summary"], Value::Null);
}
