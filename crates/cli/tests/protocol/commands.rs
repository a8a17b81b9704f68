//! What each command returns, and that session settings stay in the session.

use std::fs;
use std::time::{Duration, Instant};

use bowline_testkit::{Gate, Reply, Workspace, keys};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(10);

#[test]
fn state_has_pi_fields_in_pi_order_before_bowline_fields() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    let without_name = [
        "model",
        "thinkingLevel",
        "isStreaming",
        "isCompacting",
        "steeringMode",
        "followUpMode",
        "sessionFile",
        "sessionId",
        "autoCompactionEnabled",
        "messageCount",
        "pendingMessageCount",
        "autoRetryEnabled",
        "tools",
        "cwd",
        "contextUsage",
        "sandbox",
    ];
    let state = agent.get("get_state");
    assert_eq!(keys(&state), without_name);
    for (field, expected) in [
        ("thinkingLevel", json!("off")),
        ("isStreaming", json!(false)),
        ("isCompacting", json!(false)),
        ("steeringMode", json!("one-at-a-time")),
        ("followUpMode", json!("one-at-a-time")),
        ("autoCompactionEnabled", json!(true)),
        ("messageCount", json!(0)),
        ("pendingMessageCount", json!(0)),
        ("autoRetryEnabled", json!(true)),
        ("tools", json!(["read", "bash", "edit", "write"])),
        ("cwd", json!(workspace.work())),
    ] {
        assert_eq!(state[field], expected, "{field}");
    }
    agent.carry_out(json!({ "type": "set_session_name", "name": "named" }));
    let state = agent.get("get_state");
    let place = keys(&state).iter().position(|key| *key == "sessionName");
    assert_eq!(place, Some(8));

    let gate = Gate::new();
    server.reply(Reply::text("busy").gate(&gate));
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    gate.wait_until_reached(LIMIT);
    agent.carry_out(json!({ "type": "steer", "message": "left" }));
    agent.carry_out(json!({ "type": "follow_up", "message": "then right" }));
    let state = agent.get("get_state");
    assert_eq!((&state["isStreaming"], &state["pendingMessageCount"]), (&json!(true), &json!(2)));
    gate.open();
    agent.collect_until_settled();
    let state = agent.get("get_state");
    assert_eq!((&state["isStreaming"], &state["pendingMessageCount"]), (&json!(false), &json!(0)));
    assert_eq!(state["messageCount"], 6);
}

#[test]
fn response_keys_are_in_pi_order() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    for (command, expected) in [
        (json!({ "type": "get_commands" }), vec!["id", "type", "command", "success", "data"]),
        (json!({ "type": "abort" }), vec!["id", "type", "command", "success"]),
        (json!({ "type": "bogus" }), vec!["id", "type", "command", "success", "error", "code"]),
    ] {
        let response = agent.ask(command);
        assert_eq!(keys(&response), expected);
        assert_eq!(response["type"], "response");
    }
}

#[test]
fn commands_with_nothing_to_do_succeed() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    for command in ["abort", "abort_bash", "abort_retry"] {
        let response = agent.ask(json!({ "type": command }));
        assert_eq!((&response["success"], response.get("data")), (&json!(true), None), "{command}");
    }
    assert_eq!(agent.get("clear_queue"), json!({ "steering": [], "followUp": [] }));
    assert_eq!(agent.get("get_messages"), json!({ "messages": [] }));
    assert_eq!(agent.get("get_commands"), json!({ "commands": [] }));
}

#[test]
fn last_assistant_text_is_the_latest_text() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    assert_eq!(agent.get("get_last_assistant_text"), json!({ "text": null }));
    server.reply(Reply::text("It ").then_text("works.").tool("bash", json!({ "command": "true" })));
    server.reply(Reply::new().tool("bash", json!({ "command": "true" })));
    server.reply(Reply::status(400));
    agent.run("go");
    assert_eq!(agent.get("get_last_assistant_text"), json!({ "text": "It works." }));
    agent.carry_out(json!({ "type": "new_session" }));
    assert_eq!(agent.get("get_last_assistant_text"), json!({ "text": null }));
}

#[test]
fn client_settings_stay_in_the_session() {
    let (_server, workspace) = Workspace::with_server();
    let settings = "{ \"steeringMode\": \"all\",\n  \"retry\": { \"enabled\": false } }\n";
    let workspace = workspace.home_file(".bowline/settings.json", settings);
    let mut agent = workspace.start();
    let state = agent.get("get_state");
    assert_eq!((&state["steeringMode"], &state["autoRetryEnabled"]), (&json!("all"), &json!(false)));
    for command in [
        json!({ "type": "set_steering_mode", "mode": "one-at-a-time" }),
        json!({ "type": "set_follow_up_mode", "mode": "all" }),
        json!({ "type": "set_auto_retry", "enabled": true }),
        json!({ "type": "set_auto_compaction", "enabled": false }),
        json!({ "type": "set_model", "provider": "mock", "modelId": "m2" }),
        json!({ "type": "set_thinking_level", "level": "high" }),
    ] {
        agent.carry_out(command);
    }
    let state = agent.get("get_state");
    for (field, expected) in [
        ("steeringMode", json!("one-at-a-time")),
        ("followUpMode", json!("all")),
        ("autoRetryEnabled", json!(true)),
        ("autoCompactionEnabled", json!(false)),
    ] {
        assert_eq!(state[field], expected, "{field}");
    }
    agent.finish();
    let file = workspace.configuration().join("settings.json");
    assert_eq!(
        fs::read_to_string(file).unwrap(),
        settings,
        "other clients of the same user are not affected"
    );
    let mut agent = workspace.start();
    assert_eq!(agent.get("get_state")["steeringMode"], "all");
}

#[test]
fn unknown_mode_or_switch_is_refused() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    for (command, expected) in [
        (json!({ "type": "set_steering_mode", "mode": "weird" }), "\"one-at-a-time\""),
        (json!({ "type": "set_follow_up_mode" }), "\"mode\" is missing"),
        (json!({ "type": "set_auto_retry", "enabled": "yes" }), "\"enabled\""),
        (json!({ "type": "bash" }), "\"command\" is missing"),
        (json!({ "type": "set_session_name" }), "\"name\" is missing"),
        (json!({ "type": "prompt", "message": "x", "images": [{ "type": "image" }] }), "images"),
    ] {
        let error = agent.refuse(command.clone());
        assert!(error.contains(expected), "{command}: {error}");
    }
    assert_eq!(agent.get("get_messages"), json!({ "messages": [] }));
}

#[test]
fn retries_can_be_disabled() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    agent.carry_out(json!({ "type": "set_auto_retry", "enabled": false }));
    server.reply(Reply::status(503));
    let records = agent.run("go");
    assert!(records.iter().all(|record| record["type"] != "auto_retry_start"));
    assert_eq!(server.requests().len(), 1);
    agent.carry_out(json!({ "type": "set_auto_retry", "enabled": true }));
    server.reply(Reply::status(503));
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    let records = agent.until_type("auto_retry_start");
    let retry = records.last().unwrap();
    assert_eq!((&retry["attempt"], &retry["maxAttempts"]), (&json!(1), &json!(3)));
    // A quarter of the delay is random.
    assert!((1500..=2000).contains(&retry["delayMs"].as_u64().unwrap()), "{retry}");
    agent.until_type("entry_appended");
    agent.carry_out(json!({ "type": "abort_retry" }));
    let records = agent.collect_until_settled();
    assert_eq!(
        records[0],
        json!({ "type": "auto_retry_end", "success": false, "attempt": 1, "finalError": "Retry cancelled" })
    );
}

#[test]
fn user_initiated_bash_streams_its_output_and_returns_all_of_it() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    agent.send(
        json!({ "id": "b", "type": "bash", "command": "printf '\\033[31mred\\033[0m\\r\\n'; pwd; exit 3" }),
    );
    let records = agent.until(|record| record["type"] == "response");
    let (response, updates) = records.split_last().unwrap();
    let output = format!("red\n{}\n", workspace.work().display());
    let pieces: String = updates.iter().map(|update| update["delta"].as_str().unwrap()).collect();
    assert!(updates.iter().all(|update| update["type"] == "bash_execution_update" && update["id"] == "b"));
    assert_eq!(pieces, output);
    assert_eq!(
        response["data"],
        json!({ "output": output, "exitCode": 3, "cancelled": false, "truncated": false })
    );
    let data = agent.carry_out(json!({ "type": "bash", "command": "seq 2500" }));
    assert_eq!(data["truncated"], true);
    let path = data["fullOutputPath"].as_str().unwrap();
    assert_eq!(fs::read_to_string(path).unwrap().lines().count(), 2500);
    fs::remove_file(path).unwrap();
}

#[test]
fn cancelled_user_initiated_bash_has_no_exit_code() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    agent.send(json!({ "id": "b", "type": "bash", "command": "echo begun; sleep 60" }));
    agent.until_type("bash_execution_update");
    let started = Instant::now();
    agent.carry_out(json!({ "type": "abort_bash" }));
    let data = agent.response("b")["data"].clone();
    assert!(started.elapsed() < Duration::from_secs(3));
    assert_eq!(data, json!({ "output": "begun\n", "cancelled": true, "truncated": false }));
}

#[test]
fn id_is_returned_as_sent() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    for id in [json!(5), json!("text"), json!(null), json!(true), json!({ "a": [1, 2.5] }), json!(1e300)] {
        agent.send(json!({ "id": id, "type": "get_commands" }));
        let response = agent.next();
        assert_eq!(response.get("id"), Some(&id));
    }
    agent.send(json!({ "type": "get_commands" }));
    assert_eq!(agent.next().get("id"), None::<&Value>);
}
