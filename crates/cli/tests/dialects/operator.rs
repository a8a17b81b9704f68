//! The dialect `operator`: each statement of operator-use's RPC documentation.

use std::path::{Path, PathBuf};
use std::process::Command;

use bowline_testkit::{Api, Gate, Launch, ModelServer, Reply, Workspace, bowline, types};
use serde_json::{Value, json};

/// Each statement of the documentation, and the test that checks it.
const DOCUMENT: &[(&str, &str)] = &[
    (
        "Commands arrive on stdin; responses and agent events flow out on stdout.",
        "documented_example_works_unchanged",
    ),
    (
        "Every line is a self-contained JSON object terminated by a single LF.",
        "documented_example_works_unchanged",
    ),
    (
        "usable as a subprocess by any language that can read/write JSON lines",
        "python_client_holds_a_conversation",
    ),
    ("Command (stdin): prompt with id and text", "documented_example_works_unchanged"),
    ("Response (stdout): type, command, id, success, data", "documented_example_works_unchanged"),
    ("Event (stdout, async): type event around the event", "documented_example_works_unchanged"),
    ("The id field on commands is optional.", "id_is_optional_and_echoed_unchanged"),
    ("When present it is echoed back in the response", "id_is_optional_and_echoed_unchanged"),
    ("prompt: text, options?: Run a user turn with the given text", "prompt_text_has_two_accepted_names"),
    ("compact: custom_instructions?: Run compaction now", "compact_response_has_the_result"),
    ("compact: (agent must be idle)", "commands_run_one_at_a_time"),
    ("abort: Abort the current turn", "abort_overtakes_the_turn_it_aborts"),
    ("new_session: Start a new session", "sessions_are_created_forked_and_switched"),
    ("fork: entry_id: Fork the session from a specific entry", "sessions_are_created_forked_and_switched"),
    (
        "switch_session: session_file: Switch to a different session file",
        "sessions_are_created_forked_and_switched",
    ),
    ("get_state: Return current agent state snapshot", "state_is_a_snapshot"),
    ("All commands return a response with success: true on completion", "commands_run_one_at_a_time"),
    ("or success: false, error: \"...\" on failure", "failed_turn_fails_the_prompt"),
    (
        "The server subscribes to Engine events and writes them to stdout as they occur",
        "documented_example_works_unchanged",
    ),
    (
        "agent_start, message_update, message_end, agent_end with messages",
        "documented_example_works_unchanged",
    ),
    ("serve() reads stdin until EOF", "run_ends_before_the_process_does"),
    ("Each line is parsed as JSON and dispatched", "bad_line_costs_one_line"),
    ("The server is single-threaded on commands: one command runs at a time.", "commands_run_one_at_a_time"),
    ("Agent events are emitted concurrently", "commands_run_one_at_a_time"),
    ("a Python client that wraps the subprocess protocol", "python_client_holds_a_conversation"),
];

#[test]
fn every_statement_of_the_document_has_a_test() {
    for (statement, test) in DOCUMENT {
        assert!(include_str!("operator.rs").contains(&format!("fn {test}()")), "{statement}: {test}");
    }
}

fn workspace(server: &ModelServer) -> Workspace {
    Workspace::new(server, Api::AnthropicMessages)
}

/// Returns the wrapped events; there must be no other records.
#[track_caller]
fn events(records: &[Value]) -> Vec<Value> {
    let unwrap = |record: &Value| {
        assert_eq!(record["type"], "event", "{record}");
        assert_eq!(record.as_object().unwrap().len(), 2, "{record}");
        record["event"].clone()
    };
    records.iter().map(unwrap).collect()
}

#[test]
fn documented_example_works_unchanged() {
    let server = ModelServer::start();
    server.reply(Reply::text("It is ").then_text("a file."));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("operator");
    agent.send_raw(b"{\"type\": \"prompt\", \"id\": \"req-1\", \"text\": \"explain this file\"}\n");
    let mut records = agent.until_type("response");
    let response = records.pop().unwrap();
    let expected = r#"{"type":"response","command":"prompt","id":"req-1","success":true,"data":{}}"#;
    assert_eq!(response.to_string(), expected);
    let events = events(&records);
    let expected = [
        "agent_start",
        "turn_start",
        "input",
        "message_start",
        "message_update",
        "message_update",
        "message_end",
        "turn_end",
        "agent_end",
        "settled",
    ];
    assert_eq!(types(&events), expected);
    assert_eq!(events[0], json!({ "type": "agent_start" }));
    assert_eq!(events[4]["message"]["role"], "assistant");
    assert_eq!(events[4]["message"]["contents"], json!([{ "type": "text", "content": "It is " }]));
    assert_eq!(events[5]["message"]["contents"][0]["content"], "a file.", "an update holds only what is new");
    let answer = &events[6]["message"];
    assert_eq!(answer["contents"], json!([{ "type": "text", "content": "It is a file." }]));
    let messages = events[8]["messages"].as_array().unwrap();
    assert_eq!(messages[0]["contents"], json!([{ "type": "text", "content": "explain this file" }]));
    assert_eq!(messages[1], *answer);
}

#[test]
fn id_is_optional_and_echoed_unchanged() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).dialect("operator").start_greeted();
    agent.send(json!({ "type": "get_state" }));
    assert_eq!(agent.next().get("id"), None);
    for id in [json!("a"), json!(7), json!({ "n": [1] }), json!("")] {
        agent.send(json!({ "type": "get_state", "id": id }));
        assert_eq!(agent.next()["id"], id);
    }
}

#[test]
fn prompt_text_has_two_accepted_names() {
    let server = ModelServer::start();
    server.default_reply(Reply::text("ok"));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("operator");
    for (name, id) in [("text", "t"), ("message", "m")] {
        agent.send(json!({ "type": "prompt", "id": id, name: format!("by {name}"), "options": { "x": 1 } }));
        assert_eq!(agent.response(id)["data"], json!({}));
        let request = server.requests().pop().unwrap();
        assert!(request.body.to_string().contains(&format!("by {name}")), "{}", request.body);
    }
    assert_eq!(agent.refuse(json!({ "type": "prompt" })), "'text' is required");
}

#[test]
fn compact_response_has_the_result() {
    let server = ModelServer::start();
    server.reply(Reply::text("a long answer that need not be kept"));
    server.reply(Reply::text("another answer"));
    server.default_reply(Reply::text("what was said"));
    let workspace = workspace(&server).settings(json!({ "compaction": { "keepRecentTokens": 1 } }));
    let mut agent = workspace.start_in("operator");
    let nothing = agent.refuse(json!({ "type": "compact" }));
    assert!(nothing.contains("Nothing to compact"), "{nothing}");
    agent.carry_out(json!({ "type": "prompt", "text": "one" }));
    agent.carry_out(json!({ "type": "prompt", "text": "two" }));
    let data = agent.carry_out(json!({ "type": "compact", "custom_instructions": "only the names" }));
    assert!(data["summary"].as_str().unwrap().contains("what was said"), "{data}");
    let is_asked =
        |wish: &str| server.requests().iter().any(|request| request.body.to_string().contains(wish));
    assert!(is_asked("only the names"));
}

#[test]
fn abort_overtakes_the_turn_it_aborts() {
    let server = ModelServer::start();
    server.reply(Reply::text("I begin").hang_after(1));
    server.reply(Reply::text("again"));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("operator");
    agent.send(json!({ "type": "prompt", "id": "p", "text": "go" }));
    agent.until(|record| record["event"]["type"] == "message_update");
    agent.send(json!({ "type": "get_state", "id": "s" }));
    agent.send(json!({ "type": "abort", "id": "a" }));
    let records = agent.until(|record| record["id"] == "s");
    let responses: Vec<_> = records.iter().filter(|record| record["type"] == "response").collect();
    let ids: Vec<_> = responses.iter().map(|response| response["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["p", "a", "s"], "commands that waited for the turn run after it");
    assert_eq!((&responses[0]["success"], &responses[1]["success"]), (&json!(false), &json!(true)));
    assert_eq!(responses[0]["error"], "the run was aborted");
    assert_eq!(responses[1]["data"], json!({}));
    let ends: Vec<_> = records.iter().filter(|record| record["event"]["type"] == "agent_end").collect();
    assert_eq!(ends.len(), 1);
    assert_eq!(ends[0]["event"]["reason"], "aborted");
    agent.carry_out(json!({ "type": "abort" }));
    agent.carry_out(json!({ "type": "prompt", "text": "go on" }));
}

#[test]
fn sessions_are_created_forked_and_switched() {
    let server = ModelServer::start();
    server.default_reply(Reply::text("an answer"));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("operator");
    agent.carry_out(json!({ "type": "prompt", "text": "one" }));
    agent.carry_out(json!({ "type": "prompt", "text": "two" }));
    let ends: Vec<_> = agent
        .transcript()
        .iter()
        .filter(|record| record["event"]["type"] == "message_end")
        .map(|record| record["event"]["entry_id"].clone())
        .collect();
    let first = agent.get("get_state");
    assert_eq!(first["message_count"], 4);

    let data = agent.carry_out(json!({ "type": "fork", "entry_id": ends[0] }));
    assert_eq!(data, json!({ "entry_id": ends[0], "cancelled": false }));
    let forked = agent.get("get_state");
    assert_eq!(forked["message_count"], 2, "the entry is part of the fork");
    assert_ne!(forked["session_id"], first["session_id"]);
    assert_eq!(
        agent.refuse(json!({ "type": "fork", "entry_id": "none" })),
        "\"Entry 'none' not found in session.\""
    );

    agent.carry_out(json!({ "type": "new_session" }));
    let new = agent.get("get_state");
    assert_eq!(new["message_count"], 0);
    assert_ne!(new["session_id"], first["session_id"]);

    for name in ["session_file", "session_path"] {
        agent.carry_out(json!({ "type": "new_session" }));
        agent.carry_out(json!({ "type": "switch_session", name: first["session_file"] }));
        assert_eq!(agent.get("get_state")["session_id"], first["session_id"]);
    }
    assert_eq!(agent.refuse(json!({ "type": "switch_session" })), "'session_file' is required");
    agent.refuse(json!({ "type": "switch_session", "session_file": "/nowhere.jsonl" }));
    assert_eq!(
        agent.get("get_state")["session_id"],
        first["session_id"],
        "a switch that fails changes nothing"
    );
}

#[test]
fn state_is_a_snapshot() {
    let server = ModelServer::start();
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("operator");
    let state = agent.get("get_state");
    let expected = json!({
        "phase": "idle", "is_streaming": false, "session_file": state["session_file"],
        "session_id": state["session_id"], "session_name": null, "context_tokens": 0,
        "context_window": 200_000, "message_count": 0, "model_id": "m1", "provider": "mock",
        "thinking_level": "off", "pending_message_count": 0,
    });
    assert_eq!(state, expected);
    assert!(state["session_file"].is_string() && state["session_id"].is_string());
}

#[test]
fn commands_run_one_at_a_time() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.reply(Reply::text("wait").gate(&gate).then_text(" for it"));
    server.reply(Reply::text("second"));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("operator");
    agent.send_raw(
        b"{\"type\":\"prompt\",\"id\":1,\"text\":\"one\"}\n{\"type\":\"get_state\",\"id\":2}\n{\"type\":\"prompt\",\"id\":3,\"text\":\"two\"}\n{\"type\":\"compact\",\"id\":4}\n",
    );
    agent.until(|record| record["event"]["type"] == "message_update");
    gate.open();
    let records = agent.until(|record| record["id"] == 4);
    let responses: Vec<_> = records.iter().filter(|record| record["type"] == "response").collect();
    let ids: Vec<_> = responses.iter().map(|response| response["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [1, 2, 3, 4]);
    assert_eq!(responses[1]["data"]["phase"], "idle");
    assert_eq!(responses[1]["data"]["message_count"], 2);
    let before = |id: u64| records.iter().take_while(|record| record["id"] != id).count();
    let settled =
        |up_to: usize| records[..up_to].iter().filter(|record| record["event"]["type"] == "settled").count();
    assert_eq!((settled(before(1)), settled(before(3))), (1, 2), "a prompt is answered after its turn");
}

#[test]
fn failed_turn_fails_the_prompt() {
    let server = ModelServer::start();
    server.reply(Reply::status(400).body("{\"error\":{\"message\":\"no such thing\"}}"));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("operator");
    agent.send(json!({ "type": "prompt", "id": "p", "text": "go" }));
    let mut records = agent.until_type("response");
    let response = records.pop().unwrap();
    assert_eq!(response["success"], false);
    assert!(response.get("data").is_none(), "{response}");
    let error = response["error"].as_str().unwrap();
    assert!(error.contains("no such thing"), "{error}");
    let events = events(&records);
    let end = &events[events.len() - 3..];
    assert_eq!(types(end), ["agent_error", "agent_end", "settled"]);
    assert_eq!((&end[0]["error"], &end[1]["reason"]), (&json!(error), &json!("error")));

    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).dialect("operator").start_greeted();
    assert!(agent.refuse(json!({ "type": "prompt", "text": "go" })).starts_with("No model selected"));
}

#[test]
fn bad_line_costs_one_line() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).dialect("operator").start_greeted();
    for line in ["{", "[1]", "null", "{\"type\":\"fly\"}", "{\"type\":3}"] {
        agent.send_raw(format!("{line}\n").as_bytes());
        let response = agent.next();
        assert_eq!(
            (&response["type"], &response["success"]),
            (&json!("response"), &json!(false)),
            "{response}"
        );
    }
    agent.get("get_state");
}

#[test]
fn run_ends_before_the_process_does() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.reply(Reply::text("I begin").gate(&gate).then_text(" and end"));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("operator");
    agent.send(json!({ "type": "prompt", "id": "p", "text": "go" }));
    agent.until(|record| record["event"]["type"] == "message_update");
    agent.close_stdin();
    gate.open();
    let records = agent.rest();
    let response = records.last().unwrap();
    assert_eq!((&response["id"], &response["success"]), (&json!("p"), &json!(true)));
    assert_eq!(agent.wait(), 0);
}

/// Runs the Python client against one of the two dialects.
#[track_caller]
fn converse(form: &str) {
    let server = ModelServer::start();
    server.default_reply(Reply::text("well, ").then_text("hello"));
    let workspace = workspace(&server);
    let client: PathBuf =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dialects/clients/operator_client.py");
    let output = Command::new("python3")
        .arg(client)
        .arg(form)
        .arg(bowline())
        .args(["--mode", "rpc", "--dialect", form, "--model", "mock/m1"])
        .current_dir(workspace.work())
        .env("HOME", workspace.home())
        .output()
        .unwrap_or_else(|error| panic!("python3 cannot be started: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn python_client_holds_a_conversation() {
    converse("operator");
    converse("operator-flat");
}
