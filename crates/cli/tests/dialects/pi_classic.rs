//! The dialect `pi-classic` through the real binary. The table at the end says which test shows which sentence of the
//! first pi's document.

use std::process::Command;

use bowline_testkit::{
    Agent, Api, Gate, Launch, ModelServer, Reply, Workspace, announced, bowline, of_type, types,
};
use serde_json::{Value, json};

/// Every record type of this dialect.
const RECORDS: &[&str] = &[
    "agent_start",
    "agent_end",
    "turn_start",
    "turn_end",
    "message_start",
    "message_update",
    "message_end",
    "tool_execution_start",
    "tool_execution_end",
    "error",
];

/// Sends a prompt and returns the records up to its end.
#[track_caller]
fn run(agent: &mut Agent, prompt: Value) -> Vec<Value> {
    agent.send(prompt);
    let records = agent.until_type("agent_end");
    assert!(types(agent.transcript()).iter().all(|name| RECORDS.contains(name)), "an unknown type");
    records
}

fn prompt(text: &str) -> Value {
    json!({ "type": "prompt", "message": text })
}

fn keys(record: &Value) -> Vec<&str> {
    record.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn documented_example_has_its_events_in_order() {
    let server = ModelServer::start();
    server.reply(Reply::text("I'll list").tool("bash", json!({ "command": "ls -la" })));
    server.reply(Reply::text("Here are the files"));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start_in("pi-classic");
    agent.send_raw(b"{\"type\": \"prompt\", \"message\": \"List files in the current directory\"}\n");
    let records = agent.until_type("agent_end");
    let reported: Vec<_> = types(&records).into_iter().filter(|name| *name != "message_update").collect();
    let first_turn = [
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
    let second_turn = ["turn_start", "message_start", "message_end", "turn_end", "agent_end"];
    assert_eq!(reported, [&first_turn[..], &second_turn[..]].concat());
    assert_eq!(records[0], json!({ "type": "agent_start" }));
    assert_eq!(records[1], json!({ "type": "turn_start" }));

    let begun = &of_type(&records, "message_start")[1]["message"];
    let members = ["role", "content", "api", "provider", "model", "usage", "stopReason", "timestamp"];
    assert!(keys(begun).starts_with(&members), "{begun}");
    assert_eq!((&begun["content"], &begun["stopReason"]), (&json!([]), &json!("stop")));
    let answer = &of_type(&records, "message_end")[1]["message"];
    for name in ["duration", "ttft", "completedAt"] {
        assert!(begun.get(name).is_none() && answer[name].is_u64(), "{name}: {begun} {answer}");
    }
    let call = of_type(&records, "tool_execution_start")[0];
    assert_eq!(keys(call), ["type", "toolCallId", "toolName", "args"]);
    assert_eq!((&call["toolName"], &call["args"]), (&json!("bash"), &json!({ "command": "ls -la" })));
    let ended = of_type(&records, "tool_execution_end")[0];
    assert_eq!((&ended["toolCallId"], &ended["isError"]), (&call["toolCallId"], &json!(false)));
    assert!(ended["result"]["content"][0]["text"].as_str().unwrap().contains("total"));
    let turn = of_type(&records, "turn_end")[0];
    assert_eq!(turn["message"]["content"][1]["id"], turn["toolResults"][0]["toolCallId"]);
    let roles: Vec<_> = records.last().unwrap()["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| &message["role"])
        .collect();
    assert_eq!(roles, ["user", "assistant", "toolResult", "assistant"]);
}

#[test]
fn every_update_has_message_and_partial() {
    let server = ModelServer::start();
    server.reply(
        Reply::new()
            .thinking("hm")
            .then_text("one ")
            .then_text("two")
            .tool("read", json!({ "path": "absent" })),
    );
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start_in("pi-classic");
    let records = run(&mut agent, prompt("go"));
    let updates = of_type(&records, "message_update");
    let mut seen: Vec<&str> = Vec::new();
    for update in &updates {
        assert_eq!(keys(update), ["type", "message", "assistantMessageEvent"]);
        let step = &update["assistantMessageEvent"];
        assert_eq!(update["message"], step["partial"]);
        assert_eq!(step.as_object().unwrap().keys().next_back().unwrap(), "partial");
        seen.push(step["type"].as_str().unwrap());
    }
    for kind in ["text", "thinking", "toolcall"] {
        for step in ["start", "delta", "end"] {
            let name = format!("{kind}_{step}");
            assert!(seen.contains(&name.as_str()), "no {name}");
        }
    }
    let answers: Vec<_> =
        announced(&records).into_iter().filter(|message| message["role"] == "assistant").collect();
    let last =
        updates.iter().rfind(|update| update["message"]["timestamp"] == answers[0]["timestamp"]).unwrap();
    assert_eq!(last["message"]["content"][1], answers[0]["content"][1]);
    assert_eq!(last["message"]["content"][2], answers[0]["content"][2]);
}

#[test]
fn attachments_reach_the_model() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start_in("pi-classic");
    let attachment = |kind: &str, name: &str, mime_type: &str, content: &str| json!({ "id": name, "type": kind, "fileName": name, "mimeType": mime_type, "size": 3, "content": content });
    let mut report = attachment("document", "report.pdf", "application/pdf", "JVBERg==");
    report["extractedText"] = json!("what the report says");
    let attachments = [
        attachment("image", "a.png", "image/png", "aGk="),
        report,
        attachment("document", "notes.txt", "text/plain", "dGhlIG5vdGVz"),
        attachment("document", "data.bin", "application/octet-stream", "AAEC"),
    ];
    let records = run(&mut agent, json!({ "type": "prompt", "message": "look", "attachments": attachments }));
    let content = &announced(&records)[0]["content"];
    assert_eq!(content[0], json!({ "type": "text", "text": "look" }));
    let sent = server.requests()[0].body.to_string();
    for part in ["aGk=", "report.pdf", "what the report says", "notes.txt", "the notes", "data.bin"] {
        assert!(sent.contains(part), "{part} is not sent");
    }
    run(&mut agent, json!({ "type": "prompt", "message": "and none", "attachments": [] }));
}

#[test]
fn bad_input_is_one_error_record() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.reply(Reply::text("one").gate(&gate).then_text("two"));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start_in("pi-classic");
    for (line, part) in [
        ("not json", "Failed to parse command"),
        (r#"{"type":"bogus"}"#, "Unknown command: bogus"),
        (r#"{"message":"hello"}"#, "no \"type\""),
        ("42", "no \"type\""),
        (r#"{"type":"prompt"}"#, "\"message\" is missing"),
        (r#"{"type":"prompt","message":7}"#, "\"message\" must be a string"),
        (r#"{"type":"prompt","message":"x","attachments":[{"type":"video"}]}"#, "\"attachments\" [0].type"),
    ] {
        agent.send_raw(format!("{line}\n").as_bytes());
        let record = agent.next();
        assert_eq!(keys(&record), ["type", "error"]);
        assert_eq!(record["type"], "error");
        assert!(record["error"].as_str().unwrap().contains(part), "{line}: {record}");
    }
    agent.send(prompt("go"));
    agent.until_type("message_update");
    agent.send(prompt("again"));
    let refused = agent.until_type("error");
    let text = "Agent is already processing. Wait until it has ended, or abort it.";
    assert_eq!(refused.last().unwrap()["error"], text, "it names no command that this dialect lacks");
    gate.open();
    agent.until_type("agent_end");
    // An abort with nothing to abort is silent.
    agent.send(json!({ "type": "abort" }));
    assert_eq!(types(&run(&mut agent, prompt("more")))[0], "agent_start");
}

#[test]
fn prompt_without_a_model_is_an_error_with_instructions() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).dialect("pi-classic").start();
    agent.send(prompt("go"));
    let error = agent.next()["error"].as_str().unwrap().to_owned();
    assert!(error.starts_with("No model selected.") && error.contains("--model"), "{error}");
    assert!(!error.contains("set_model"), "this dialect has no such command: {error}");
}

#[test]
fn abort_ends_the_run_once() {
    let server = ModelServer::start();
    server.reply(Reply::text("one").gate(&Gate::new()));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start_in("pi-classic");
    agent.send(prompt("go"));
    agent.until_type("message_update");
    let records = run(&mut agent, json!({ "type": "abort" }));
    assert_eq!(records.last().unwrap()["messages"][1]["stopReason"], "aborted");
}

#[test]
fn failed_answer_has_the_usual_events() {
    let server = ModelServer::start();
    server.reply(Reply::status(400));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let records = run(&mut workspace.start_in("pi-classic"), prompt("go"));
    let begun = &of_type(&records, "message_start")[1]["message"];
    let members = ["role", "content", "api", "provider", "model", "usage", "stopReason", "timestamp"];
    assert_eq!((keys(begun), &begun["stopReason"]), (members.to_vec(), &json!("stop")));
    let ended = &of_type(&records, "message_end")[1]["message"];
    assert_eq!(ended["stopReason"], "error");
    assert!(ended["errorMessage"].is_string() && ended["duration"].is_u64(), "{ended}");
}

#[test]
fn retries_are_part_of_one_run() {
    let server = ModelServer::start();
    server.reply(Reply::text("half").interrupt_after(1));
    let settings = json!({ "retry": { "enabled": true, "maxRetries": 2, "baseDelayMs": 10 } });
    let workspace = Workspace::new(&server, Api::AnthropicMessages).settings(settings);
    let mut agent = workspace.start_in("pi-classic");
    let records = run(&mut agent, prompt("go"));
    for name in ["agent_start", "agent_end"] {
        assert_eq!(of_type(&records, name).len(), 1);
    }
    let messages = records.last().unwrap()["messages"].as_array().unwrap();
    let reasons: Vec<_> = messages.iter().map(|message| &message["stopReason"]).collect();
    assert_eq!(reasons, [&Value::Null, &json!("error"), &json!("stop")]);
}

/// Runs the client with a prompt and returns what it prints.
fn node(workspace: &Workspace, model: &str, text: &str) -> String {
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/dialects/clients/pi_classic.mjs");
    let output = Command::new("node")
        .arg(client)
        .arg(bowline())
        .args(["--mode", "rpc", "--dialect", "pi-classic", "--no-session", "--model", model])
        .args(["--", text])
        .env("HOME", workspace.home())
        .current_dir(workspace.work())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn documented_client_works() {
    let server = ModelServer::start();
    server.reply(Reply::text("Let me look.").tool("bash", json!({ "command": "echo one" })));
    server.reply(Reply::text("It says ").then_text("one."));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    assert_eq!(
        node(&workspace, "mock/m1", "Hello"),
        "Let me look.\n[Tool: bash]\n$ echo one\none\n\n[Result of bash: fine]\nIt says one.\n\
         [End: user assistant toolResult assistant]\n[Exit: 0]\n"
    );
}

/// A sentence or table row of the documentation, and the test that checks it.
const TABLE: &[(&str, &str)] = &[
    ("pi --mode rpc [--no-session]", "documented_client_works"),
    ("Send JSON messages to stdin, one per line", "bad_input_is_one_error_record"),
    ("Prompt Message: type, message", "documented_example_has_its_events_in_order"),
    ("attachments is optional and supports images and documents", "attachments_reach_the_model"),
    ("Abort the current agent operation", "abort_ends_the_run_once"),
    ("The agent emits JSON events to stdout, one per line", "run"),
    ("Event Types Overview", "run"),
    ("agent_start: Agent begins processing a prompt", "documented_example_has_its_events_in_order"),
    ("agent_end: Contains all messages generated during this prompt", "retries_are_part_of_one_run"),
    ("turn_start", "documented_example_has_its_events_in_order"),
    ("turn_end: message, toolResults", "documented_example_has_its_events_in_order"),
    ("message_start: user, assistant, or tool result", "documented_example_has_its_events_in_order"),
    (
        "message_update: both the partial message and the streaming event",
        "every_update_has_message_and_partial",
    ),
    ("text_delta, thinking_delta, toolcall_delta", "every_update_has_message_and_partial"),
    ("message_end: Complete AppMessage", "every_update_has_message_and_partial"),
    ("tool_execution_start: toolCallId, toolName, args", "documented_example_has_its_events_in_order"),
    ("tool_execution_end: result, isError", "documented_example_has_its_events_in_order"),
    ("error: Emitted when an error occurs during input processing", "bad_input_is_one_error_record"),
    ("AssistantMessage, Usage, StopReason", "documented_example_has_its_events_in_order"),
    ("Attachment", "attachments_reach_the_model"),
    ("AssistantMessageEvent", "every_update_has_message_and_partial"),
    ("Correlating Tool Calls with Results; using turn_end", "documented_client_works"),
    ("Example Session", "documented_example_has_its_events_in_order"),
    ("Example Client", "documented_client_works"),
];

#[test]
fn every_test_in_the_table_exists() {
    for (sentence, test) in TABLE {
        let function = format!("fn {test}(");
        assert!(include_str!("pi_classic.rs").contains(&function), "{sentence}: there is no {test}");
    }
}
