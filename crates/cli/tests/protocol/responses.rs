//! Every command gets exactly one response, whatever happens after.

use bowline_testkit::{Agent, Api, Gate, Launch, ModelServer, Reply, Workspace, assert_well_formed, of_type};
use serde_json::{Value, json};

/// Every command of the dialect; those that end a run come last.
fn commands() -> Vec<Value> {
    vec![
        json!({ "type": "prompt", "message": "hello" }),
        json!({ "type": "steer", "message": "this way" }),
        json!({ "type": "follow_up", "message": "and then" }),
        json!({ "type": "clear_queue" }),
        json!({ "type": "get_state" }),
        json!({ "type": "get_messages" }),
        json!({ "type": "get_commands" }),
        json!({ "type": "set_model", "provider": "mock", "modelId": "m2" }),
        json!({ "type": "cycle_model" }),
        json!({ "type": "get_available_models" }),
        json!({ "type": "set_thinking_level", "level": "high" }),
        json!({ "type": "cycle_thinking_level" }),
        json!({ "type": "get_available_thinking_levels" }),
        json!({ "type": "set_steering_mode", "mode": "all" }),
        json!({ "type": "set_follow_up_mode", "mode": "all" }),
        json!({ "type": "compact" }),
        json!({ "type": "set_auto_compaction", "enabled": false }),
        json!({ "type": "set_auto_retry", "enabled": false }),
        json!({ "type": "set_limits", "run": { "tokens": 1_000_000 } }),
        json!({ "type": "get_limits" }),
        json!({ "type": "abort_retry" }),
        json!({ "type": "bash", "command": "echo by hand" }),
        json!({ "type": "abort_bash" }),
        json!({ "type": "fork", "entryId": "00000000" }),
        json!({ "type": "clone" }),
        json!({ "type": "get_fork_messages" }),
        json!({ "type": "get_entries" }),
        json!({ "type": "get_tree" }),
        json!({ "type": "get_session_stats" }),
        json!({ "type": "export_html" }),
        json!({ "type": "get_last_assistant_text" }),
        json!({ "type": "set_session_name", "name": "everything" }),
        json!({ "type": "get_sandbox" }),
        json!({ "type": "set_approvals", "ask": "untrusted" }),
        json!({ "type": "set_client_capabilities", "approvals": "record", "changes": true }),
        json!({ "type": "widget_input", "widgetKey": "game:1", "data": "x" }),
        json!({ "type": "approval_response", "approvalId": "ap_1", "decision": "once" }),
        json!({ "type": "get_changes" }),
        json!({ "type": "undo" }),
        json!({ "type": "redo" }),
        json!({ "type": "get_pending_changes", "diff": true }),
        json!({ "type": "accept_changes", "paths": ["a"] }),
        json!({ "type": "discard_changes", "force": true }),
        json!({ "type": "set_sandbox", "mode": "external" }),
        json!({ "type": "abort" }),
        json!({ "type": "switch_session", "sessionPath": "nowhere.jsonl" }),
        json!({ "type": "new_session" }),
    ]
}

/// Sends every command in one write, each with its name as its id.
fn send_all(agent: &mut Agent) {
    let mut lines = String::new();
    for mut command in commands() {
        command["id"] = command["type"].clone();
        lines.push_str(&format!("{command}\n"));
    }
    agent.send_raw(lines.as_bytes());
}

/// Waits for the end, which follows every response, and checks that each command has exactly one.
#[track_caller]
fn check_answers(agent: &mut Agent) {
    for command in commands() {
        agent.response(command["type"].as_str().unwrap_or_default());
    }
    agent.close_stdin();
    agent.rest();
    assert_eq!(agent.wait(), 0);
    assert_well_formed(agent.transcript());
    let responses = of_type(agent.transcript(), "response");
    for command in commands() {
        let name = &command["type"];
        let answers: Vec<_> = responses.iter().filter(|response| response["id"] == *name).collect();
        assert_eq!(answers.len(), 1, "{name}: {answers:?}");
        assert_eq!(answers[0]["command"], *name);
        assert!(answers[0]["success"].is_boolean());
        assert_eq!(answers[0]["success"] == false, answers[0]["error"].is_string());
    }
}

#[test]
fn every_command_gets_one_response_when_all_come_in_one_write() {
    assert_eq!(commands().len(), 47);
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    send_all(&mut agent);
    check_answers(&mut agent);
}

#[test]
fn every_command_gets_one_response_while_an_answer_streams() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.reply(Reply::text("begun").gate(&gate).then_text(" and done"));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start();
    agent.send(json!({ "id": "first", "type": "prompt", "message": "go" }));
    agent.until_type("message_update");
    send_all(&mut agent);
    check_answers(&mut agent);
    let refused: Vec<_> = agent.transcript().iter().filter(|record| record["code"] == "busy").collect();
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0]["id"], "prompt");
}

#[test]
fn every_command_gets_one_response_while_a_tool_runs() {
    let server = ModelServer::start();
    server.reply(Reply::new().tool("bash", json!({ "command": "sleep 300" })));
    let workspace = Workspace::new(&server, Api::OpenaiCompletions);
    let mut agent = workspace.start();
    agent.send(json!({ "id": "first", "type": "prompt", "message": "go" }));
    agent.until_type("tool_execution_start");
    send_all(&mut agent);
    check_answers(&mut agent);
    agent.assert_no_survivors();
}

#[test]
fn ids_are_echoed_unchanged() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).start();
    let ids = [
        json!("text"),
        json!(""),
        json!("\u{2028} \" \\ \n é"),
        json!(5),
        json!(-1.25),
        json!(18_446_744_073_709_551_615_u64),
        json!(true),
        json!(null),
        json!({ "nested": [1, { "deep": null }] }),
        json!(["a", 2]),
    ];
    for id in ids {
        for command in ["get_state", "set_session_name", "bogus"] {
            agent.send(json!({ "type": command, "id": id }));
            let response = agent.next();
            assert_eq!(response.get("id"), Some(&id), "{response}");
            assert_eq!(response["success"], command == "get_state");
        }
    }
}

#[test]
fn command_without_id_gets_a_response_without_id() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).start();
    for command in ["get_state", "prompt", "bogus"] {
        agent.send(json!({ "type": command }));
        let response = agent.next();
        assert_eq!(response["command"], command);
        assert_eq!(response.get("id"), None);
    }
}

#[test]
fn every_abort_is_answered_after_the_run_ends() {
    let server = ModelServer::start();
    server.reply(Reply::new().tool("bash", json!({ "command": "sleep 300" })));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start();
    agent.send(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("tool_execution_start");
    agent.send_raw(
        b"{\"id\":1,\"type\":\"abort\"}\n{\"id\":2,\"type\":\"abort\"}\n{\"id\":3,\"type\":\"get_state\"}\n",
    );
    let records = agent.until(|record| record["id"] == 2);
    let position = |wanted: &dyn Fn(&Value) -> bool| records.iter().position(wanted).unwrap();
    let settled = position(&|record| record["type"] == "agent_settled");
    assert!(position(&|record| record["id"] == 3) < settled, "a question does not wait for an abort");
    assert!(settled < position(&|record| record["id"] == 1));
    assert_well_formed(agent.transcript());
}
