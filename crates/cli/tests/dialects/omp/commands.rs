//! Commands and their responses.

use std::fs;

use bowline_testkit::{Launch, Workspace};
use serde_json::{Value, json};

use super::run;

/// Every documented command, with its fields.
const COMMANDS: &[&str] = &[
    r#"{ "id": "1", "type": "steer", "message": "hello" }"#,
    r#"{ "id": "2", "type": "follow_up", "message": "and then" }"#,
    r#"{ "id": "3", "type": "abort" }"#,
    r#"{ "id": "4", "type": "prompt", "message": "hello", "images": [], "streamingBehavior": "steer" }"#,
    r#"{ "id": "5", "type": "abort_and_prompt", "message": "hello" }"#,
    r#"{ "id": "6", "type": "abort" }"#,
    r#"{ "id": "7", "type": "get_state" }"#,
    r#"{ "id": "8", "type": "set_model", "provider": "mock", "modelId": "m2" }"#,
    r#"{ "id": "9", "type": "cycle_model" }"#,
    r#"{ "id": "10", "type": "get_available_models" }"#,
    r#"{ "id": "11", "type": "set_thinking_level", "level": "off" }"#,
    r#"{ "id": "12", "type": "cycle_thinking_level" }"#,
    r#"{ "id": "13", "type": "set_steering_mode", "mode": "all" }"#,
    r#"{ "id": "14", "type": "set_follow_up_mode", "mode": "one-at-a-time" }"#,
    r#"{ "id": "15", "type": "set_interrupt_mode", "mode": "immediate" }"#,
    r#"{ "id": "16", "type": "set_auto_compaction", "enabled": true }"#,
    r#"{ "id": "17", "type": "set_auto_retry", "enabled": true }"#,
    r#"{ "id": "18", "type": "abort_retry" }"#,
    r#"{ "id": "19", "type": "bash", "command": "true" }"#,
    r#"{ "id": "20", "type": "abort_bash" }"#,
    r#"{ "id": "21", "type": "get_session_stats" }"#,
    r#"{ "id": "22", "type": "get_branch_messages" }"#,
    r#"{ "id": "23", "type": "get_last_assistant_text" }"#,
    r#"{ "id": "24", "type": "set_session_name", "name": "a name" }"#,
    r#"{ "id": "25", "type": "get_messages" }"#,
    r#"{ "id": "26", "type": "new_session" }"#,
];

#[test]
fn every_documented_command_is_answered_with_its_id() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start_in("omp");
    for line in COMMANDS {
        let command: Value = serde_json::from_str(line).unwrap();
        agent.send_raw(format!("{line}\n").as_bytes());
        let response = agent.response(command["id"].as_str().unwrap());
        assert_eq!(response["command"], command["type"]);
        assert_eq!(response["success"], true, "{response}");
    }
    // Commands that lack something report it, also with their ids.
    for (command, field) in
        [("switch_session", "sessionPath"), ("branch", "entryId"), ("compact", "customInstructions")]
    {
        let response = agent.ask(json!({ "type": command, field: "absent" }));
        assert_eq!((&response["command"], &response["success"]), (&json!(command), &json!(false)));
    }
    let response = agent.ask(json!({ "type": "export_html" }));
    assert_eq!(response["command"], "export_html");
}

#[test]
fn invalid_json_costs_one_line() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).dialect("omp").start_greeted();
    for line in ["not json\n", "{\"id\":\"a\",\"type\":\"abort\"\n", "\u{fe}\n"] {
        agent.send_raw(line.as_bytes());
        let response = agent.next();
        assert_eq!(response["command"], "parse");
        assert_eq!(response["success"], false);
        assert_eq!(response.get("id"), None);
        assert!(response["error"].as_str().unwrap().starts_with("Failed to parse command: "));
    }
    agent.send_raw(b"\n  \n{\"id\":\"c\",\"type\":\"abort\"}\r\n");
    assert_eq!(agent.next(), json!({ "id": "c", "type": "response", "command": "abort", "success": true }));
}

#[test]
fn process_survives_failed_commands() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start_in("omp");
    for (command, error) in [
        (
            json!({ "type": "set_model", "provider": "mock", "modelId": "absent" }),
            "Model not found: mock/absent",
        ),
        (json!({ "type": "set_session_name", "name": " " }), "Session name cannot be empty"),
        (json!({ "type": "branch", "entryId": "nope" }), "Invalid entry ID for branching"),
        (json!({ "type": "compact" }), "Nothing to compact (session too small)"),
        (json!({ "type": "prompt" }), "prompt: \"message\" is missing; it must be a string"),
    ] {
        assert_eq!(agent.refuse(command), error);
    }
    assert_eq!(run(&mut agent, "go").last().unwrap()["isTerminal"], true);
}

#[test]
fn state_has_the_documented_fields() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start_in("omp");
    agent.carry_out(json!({ "type": "set_session_name", "name": "a name" }));
    let state = agent.get("get_state");
    assert_eq!(state["model"]["id"], "m1");
    assert_eq!(state["model"]["provider"], "mock");
    for (field, value) in [
        ("thinkingLevel", json!("off")),
        ("isStreaming", json!(false)),
        ("isCompacting", json!(false)),
        ("steeringMode", json!("one-at-a-time")),
        ("followUpMode", json!("one-at-a-time")),
        ("interruptMode", json!("immediate")),
        ("sessionName", json!("a name")),
        ("autoCompactionEnabled", json!(true)),
        ("messageCount", json!(0)),
        ("queuedMessageCount", json!(0)),
    ] {
        assert_eq!(state[field], value, "{field}");
    }
    assert!(fs::exists(state["sessionFile"].as_str().unwrap()).is_ok());
    assert!(state["sessionId"].is_string());
    assert!(state["systemPrompt"][0].as_str().unwrap().contains("bash"));
    let tools = state["dumpTools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "read" && tool["parameters"]["type"] == "object"));
}

#[test]
fn documented_examples_work_unchanged() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start_in("omp");
    agent.send_raw(b"{ \"id\": \"req_1\", \"type\": \"prompt\", \"message\": \"Summarize this repo\" }\n");
    agent.send_raw(b"{ \"id\": \"req_2\", \"type\": \"prompt\", \"message\": \"Also include risks\", \"streamingBehavior\": \"followUp\" }\n");
    assert_eq!(
        agent.next(),
        json!({ "id": "req_1", "type": "response", "command": "prompt", "success": true })
    );
    let records = agent.until_type("agent_end");
    assert_eq!(records[0], json!({ "type": "agent_start" }));
    let texts = ["Summarize this repo", "<assistant>", "Also include risks", "<assistant>"];
    assert_eq!(super::conversation(&records), texts);
    agent.send_raw(b"{ \"id\": \"q1\", \"type\": \"get_state\" }\n{ \"id\": \"q2\", \"type\": \"set_steering_mode\", \"mode\": \"all\" }\n{ \"id\": \"q3\", \"type\": \"set_interrupt_mode\", \"mode\": \"wait\" }\n");
    for id in ["q1", "q2", "q3"] {
        assert_eq!(agent.response(id)["success"], true);
    }
    let state = agent.get("get_state");
    assert_eq!((&state["steeringMode"], &state["interruptMode"]), (&json!("all"), &json!("wait")));
}

#[test]
fn unknown_ui_responses_are_ignored() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).dialect("omp").start_greeted();
    for line in [
        r#"{ "type": "extension_ui_response", "id": "ui_7", "value": "feature/rpc-host" }"#,
        r#"{ "type": "extension_ui_response", "id": "ui_8", "confirmed": true }"#,
        r#"{ "type": "extension_ui_response", "id": "ui_9", "cancelled": true }"#,
    ] {
        agent.send_raw(format!("{line}\n").as_bytes());
    }
    agent.send(json!({ "id": "after", "type": "abort_bash" }));
    assert_eq!(agent.next()["id"], "after");
}

#[test]
fn abort_bash_overtakes_bash() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).dialect("omp").start_greeted();
    let done = agent.carry_out(json!({ "type": "bash", "command": "echo hi; exit 2" }));
    assert_eq!(done, json!({ "output": "hi\n", "exitCode": 2, "cancelled": false, "truncated": false }));
    agent.send(json!({ "id": "b", "type": "bash", "command": "sleep 30" }));
    agent.send(json!({ "id": "a", "type": "abort_bash" }));
    assert_eq!(agent.next()["id"], "a");
    let data = agent.response("b")["data"].take();
    assert_eq!(data, json!({ "output": "[Command cancelled]\n", "cancelled": true, "truncated": false }));
}

#[test]
fn sessions_are_created_branched_and_switched() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start_in("omp");
    run(&mut agent, "first");
    run(&mut agent, "second");
    let reported = agent.get("get_messages")["messages"].take();
    assert!(
        reported[1]["duration"].is_u64()
            && reported[1]["ttft"].is_u64()
            && reported[1]["completedAt"].is_u64()
    );
    let first_session = agent.get("get_state")["sessionFile"].take();
    let entries = agent.get("get_branch_messages");
    let texts: Vec<_> = entries["messages"].as_array().unwrap().iter().map(|entry| &entry["text"]).collect();
    assert_eq!(texts, ["first", "second"]);
    let branched = agent.carry_out(json!({ "type": "branch", "entryId": entries["messages"][1]["entryId"] }));
    assert_eq!(branched, json!({ "text": "second", "cancelled": false }));
    assert_eq!(
        agent.get("get_messages")["messages"].as_array().unwrap()[..],
        reported.as_array().unwrap()[..2]
    );
    assert_eq!(agent.get("get_last_assistant_text"), json!({ "text": "ok" }));

    let switched = agent.carry_out(json!({ "type": "switch_session", "sessionPath": first_session }));
    assert_eq!(switched, json!({ "cancelled": false }));
    assert_eq!(agent.get("get_state")["messageCount"], 4);
    let begun = agent.carry_out(json!({ "type": "new_session", "parentSession": first_session }));
    assert_eq!(begun, json!({ "cancelled": false }));
    assert_eq!(agent.get("get_last_assistant_text"), json!({ "text": null }));
    run(&mut agent, "third");
    let file = agent.get("get_state")["sessionFile"].take();
    let header = fs::read_to_string(file.as_str().unwrap()).unwrap();
    let header: Value = serde_json::from_str(header.lines().next().unwrap()).unwrap();
    assert_eq!(header["parentSession"], first_session);
}

#[test]
fn at_file_arguments_are_rejected() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).dialect("omp").arguments(&["@notes.md"]).start();
    assert!(agent.fatal_error().contains("@file arguments are not supported in RPC mode"));
}

#[test]
fn process_exits_at_end_of_stdin() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start_in("omp");
    run(&mut agent, "go");
    agent.finish();
}

#[test]
fn first_state_keeps_its_place_among_other_commands() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = Launch::rpc(&workspace).dialect("omp").model("mock/m2").start_greeted();
    let lines = [
        json!({ "id": "1", "type": "get_state" }),
        json!({ "id": "2", "type": "set_thinking_level", "level": "low" }),
        json!({ "id": "3", "type": "get_state" }),
        json!({ "id": "4", "type": "set_thinking_level", "level": "high" }),
        json!({ "id": "5", "type": "get_state" }),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    agent.send_raw(text.as_bytes());
    let responses: Vec<_> = (0..5).map(|_| agent.until_type("response").pop().unwrap()).collect();
    let ids: Vec<_> = responses.iter().map(|response| response["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["1", "2", "3", "4", "5"]);
    let levels: Vec<_> = responses.iter().filter_map(|one| one["data"]["thinkingLevel"].as_str()).collect();
    assert_eq!(levels, ["medium", "low", "high"]);
}
