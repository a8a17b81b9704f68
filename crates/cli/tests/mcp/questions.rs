//! Questions of servers to the user.

use std::time::{Duration, Instant};

use bowline_testkit::{Launch, Reply};
use serde_json::{Value, json};

use crate::{log, result_text, script_call, with_server};

fn is_dialog(record: &Value) -> bool {
    record["type"] == "extension_ui_request" && (record["method"] == "select" || record["method"] == "input")
}

#[test]
fn user_answers_a_form_field_by_field() {
    for dialect in ["pi", "omp"] {
        let (model, workspace) = with_server(&[]);
        script_call(&model, "mcp__s__order", json!({}));
        let mut agent = workspace.start_in(dialect);
        agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
        let choice = agent.until(is_dialog).pop().unwrap();
        assert_eq!((&choice["method"], &choice["options"]), (&json!("select"), &json!(["small", "large"])));
        assert_eq!(choice["title"], "s: What do you want?\nsize");
        agent.send(json!({ "type": "extension_ui_response", "id": choice["id"], "value": "large" }));
        let input = agent.until(is_dialog).pop().unwrap();
        assert_eq!((&input["method"], &input["title"]), (&json!("input"), &json!("s: count")));
        agent.send(json!({ "type": "extension_ui_response", "id": input["id"], "value": "3" }));
        let end = agent.until_type("tool_execution_end").pop().unwrap();
        let text = end["result"]["content"][0]["text"].as_str().unwrap();
        let answer: Value = serde_json::from_str(text).unwrap();
        assert_eq!(
            answer,
            json!({ "action": "accept", "content": { "size": "large", "count": 3 } }),
            "{dialect}"
        );
    }
}

#[test]
fn closed_dialog_cancels_the_form() {
    let (model, workspace) = with_server(&[]);
    script_call(&model, "mcp__s__order", json!({}));
    let mut agent = workspace.start();
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    let choice = agent.until(is_dialog).pop().unwrap();
    agent.send(json!({ "type": "extension_ui_response", "id": choice["id"], "cancelled": true }));
    let answer: Value = serde_json::from_str(&result_text(&agent.collect_until_settled())).unwrap();
    assert_eq!(answer, json!({ "action": "cancel" }));
}

#[test]
fn abort_with_an_open_dialog_is_answered_at_once() {
    let (model, workspace) = with_server(&[]);
    model.reply(Reply::new().tool("mcp__s__order", json!({})));
    let mut agent = workspace.start();
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    agent.until(is_dialog);
    let began = Instant::now();
    agent.carry_out(json!({ "type": "abort" }));
    assert!(began.elapsed() < Duration::from_millis(100), "{:?}", began.elapsed());
    agent.collect_until_settled();
    script_call(&model, "mcp__s__echo", json!({ "text": "fine" }));
    assert_eq!(result_text(&agent.run("again")), "fine");
}

#[test]
fn servers_are_told_whether_anybody_can_be_asked() {
    for (dialect, can_ask) in [("pi", true), ("opi", false)] {
        let (model, workspace) = with_server(&["--log", "log"]);
        model.default_reply(Reply::text("done"));
        let mut agent = Launch::rpc(&workspace).dialect(dialect).model("mock/m1").start_greeted();
        agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
        model.wait_for_requests(1, Duration::from_secs(20));
        let log = log(&workspace.work().join("log"));
        let capabilities = &log[0]["params"]["capabilities"];
        assert_eq!(capabilities["elicitation"].is_object(), can_ask, "{dialect}: {capabilities}");
        assert_eq!((&capabilities["sampling"], capabilities["roots"].is_object()), (&Value::Null, true));
    }
}
