//! The recording of pi in which a run is aborted while an extension asks about a tool call, replayed. pi answers `abort`
//! only when the client answers the dialog; bowline answers it at once, and everything else is as recorded.

use std::time::{Duration, Instant};

use bowline_testkit::{Reply, Workspace};
use serde_json::{Value, json};

use crate::actor::{Actor, hooks, start};

const ABORT: &str = include_str!("../../../../tests/conformance/extensions/dlg-abort.jsonl");

/// How soon an abort is answered while a dialog is open.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Returns the records that pi wrote, without the turn that it adds by mistake: it calls the model after the abort.
fn recorded() -> Vec<Value> {
    let lines = ABORT.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let written = lines.filter(|line| line["dir"] == "out");
    let mut records: Vec<Value> =
        written.map(|line| serde_json::from_str(line["line"].as_str().unwrap()).unwrap()).collect();
    let is_end = |record: &Value| record["type"] == "turn_end";
    let first = records.iter().position(is_end).unwrap();
    let mistaken = records.iter().rposition(is_end).unwrap();
    records.drain(first + 1..=mistaken);
    records
}

/// Returns what is compared of a record: all but ids, times, usage, the pieces of an answer and what bowline adds.
fn compared(record: &Value) -> Option<Value> {
    if matches!(record["type"].as_str(), Some("message_update")) || record["message"]["role"] == "system" {
        return None;
    }
    let fields = ["type", "command", "success", "method", "title", "toolName", "args", "result", "isError"];
    let mut kept = json!({});
    for name in fields.into_iter().filter(|name| record.get(name).is_some()) {
        kept[name] = record[name].clone();
    }
    kept["message"] = message(&record["message"], record["type"] == "message_start");
    for name in ["messages", "toolResults"] {
        if let Some(messages) = record[name].as_array() {
            let messages = messages.iter().filter(|message| message["role"] != "system");
            let messages: Vec<_> = messages.map(|given| message(given, false)).collect();
            kept[name] = json!(messages);
        }
    }
    Some(kept)
}

/// Returns what is compared of a message. pi shows a part of the answer when it begins.
fn message(message: &Value, begins: bool) -> Value {
    if message.is_string() || message.is_null() {
        return message.clone();
    }
    let is_answer = message["role"] == "assistant";
    let mut content = if begins && is_answer { json!([]) } else { message["content"].clone() };
    for block in content.as_array_mut().unwrap() {
        block.as_object_mut().unwrap().remove("id");
    }
    let mut kept = json!({ "role": message["role"], "content": content, "isError": message["isError"] });
    if is_answer && !begins {
        kept["stopReason"] = message["stopReason"].clone();
    }
    kept
}

#[test]
fn recorded_abort_with_a_dialog_open_is_replayed_and_answered_at_once() {
    let (server, workspace) = Workspace::with_server();
    let on = json!({
        "hook:tool_call": [{ "send": {
            "type": "request",
            "id": "r",
            "method": "ui.confirm",
            "params": { "title": "Run?", "message": "echo ASK" },
        } }],
        "response:r": [{ "send": {
            "type": "result",
            "id": "$id of hook:tool_call",
            "result": { "block": true, "reason": "declined" },
        } }],
    });
    let actor = Actor::new(&workspace, "a", hooks(&["tool_call"]), on);
    let mut agent = start(&workspace);
    server.reply(Reply::new().tool("bash", json!({ "command": "echo ASK" })));
    let prompt = r#"PLAN [{"tools": [{"name": "bash", "args": {"command": "echo ASK"}}]}, {"text": "x"}]"#;
    agent.send(json!({ "id": "p", "type": "prompt", "message": prompt }));
    let mut written = agent.until(|record| record["type"] == "extension_ui_request");
    let dialog = written.last().unwrap()["id"].clone();

    let asked = Instant::now();
    agent.send(json!({ "id": "ab", "type": "abort" }));
    written.extend(agent.until(|record| record["id"] == "ab"));
    assert!(asked.elapsed() < AT_ONCE, "{:?}", asked.elapsed());
    // The late answer is ignored.
    agent.send(json!({ "type": "extension_ui_response", "id": dialog, "confirmed": true }));
    agent.get("get_state");

    let expected: Vec<_> = recorded().iter().filter_map(compared).collect();
    let compared: Vec<_> = written.iter().filter_map(compared).collect();
    assert_eq!(compared.len(), expected.len(), "{compared:#?}");
    for (written, recorded) in compared.iter().zip(&expected) {
        let mut recorded = recorded.clone();
        // The mistaken turn is in this list, too.
        if let Some(messages) = recorded.get_mut("messages").and_then(Value::as_array_mut) {
            messages.retain(|message| message["stopReason"] != "error");
        }
        assert_eq!(*written, recorded);
    }
    assert_eq!(actor.wait_for(|record| record["type"] == "response")["result"], false);
    assert_eq!(server.requests().len(), 1, "the model is not called again");
}
