//! Dialogs and what extensions show.

use std::time::{Duration, Instant};

use bowline_testkit::{Agent, Reply, Workspace, of_type};
use serde_json::{Value, json};

use crate::actor::{Actor, hooks, run, start};

fn request(id: &str, method: &str, params: Value) -> Value {
    json!({ "send": { "type": "request", "id": id, "method": method, "params": params } })
}

/// Answers the next dialog.
#[track_caller]
fn answer(agent: &mut Agent, answer: Value) -> Value {
    let is_dialog = |record: &Value| {
        let method = record["method"].as_str().unwrap_or_default();
        record["type"] == "extension_ui_request" && ["select", "confirm", "input", "editor"].contains(&method)
    };
    let dialog = agent.until(is_dialog).pop().unwrap();
    let mut response = json!({ "type": "extension_ui_response", "id": dialog["id"] });
    response.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
    agent.send(response);
    dialog
}

#[test]
fn every_dialog_is_asked_and_answered() {
    let cases = [
        ("select", json!({ "title": "Pick", "options": ["a", "b"] }), json!({ "value": "b" }), json!("b")),
        ("select", json!({ "title": "Pick", "options": ["a"] }), json!({ "cancelled": true }), json!(null)),
        ("confirm", json!({ "title": "Sure?", "message": "m" }), json!({ "confirmed": true }), json!(true)),
        ("confirm", json!({ "title": "Sure?" }), json!({ "value": "yes" }), json!(false)),
        ("input", json!({ "title": "Name", "placeholder": "p" }), json!({ "value": "" }), json!("")),
        ("editor", json!({ "title": "Edit", "prefill": "p" }), json!({ "value": "x\ny" }), json!("x\ny")),
    ];
    for (method, params, given, expected) in cases {
        let (_server, workspace) = Workspace::with_server();
        let on = json!({
            "command:ask": [request("q", &format!("ui.{method}"), params.clone())],
            "response:q": [{ "send": { "type": "result", "id": "$id of command:ask" } }],
        });
        let actor = Actor::new(&workspace, "a", json!({ "commands": [{ "name": "ask" }] }), on);
        let mut agent = start(&workspace);
        agent.send(json!({ "type": "prompt", "id": "1", "message": "/ask" }));
        let dialog = answer(&mut agent, given);
        assert_eq!(dialog["method"], method);
        for (name, value) in params.as_object().unwrap() {
            assert_eq!(dialog[name], *value, "{dialog}");
        }
        agent.response("1");
        let response = actor.wait_for(|record| record["type"] == "response");
        assert_eq!(response["result"], expected, "{method}");
    }
}

#[test]
fn dialog_times_out_and_can_be_withdrawn() {
    let (_server, workspace) = Workspace::with_server();
    let on = json!({
        "command:late": [request("q1", "ui.confirm", json!({ "title": "Sure?", "timeout": 30 }))],
        "response:q1": [{ "send": { "type": "result", "id": "$id of command:late" } }],
        "command:never": [
            request("q2", "ui.input", json!({ "title": "Name" })),
            { "send": { "type": "cancel", "id": "q2" } },
        ],
        "response:q2": [{ "send": { "type": "result", "id": "$id of command:never" } }],
    });
    let registration = json!({ "commands": [{ "name": "late" }, { "name": "never" }] });
    let actor = Actor::new(&workspace, "a", registration, on);
    let mut agent = start(&workspace);
    agent.carry_out(json!({ "type": "prompt", "message": "/late" }));
    agent.carry_out(json!({ "type": "prompt", "message": "/never" }));
    assert_eq!(actor.wait_for(|record| record["id"] == "q1")["result"], false);
    let withdrawn = actor.wait_for(|record| record["id"] == "q2");
    assert_eq!(withdrawn["result"], Value::Null);
}

#[test]
fn abort_with_a_dialog_open_is_answered_at_once() {
    let (server, workspace) = Workspace::with_server();
    let on = json!({
        "hook:tool_call": [request("q", "ui.confirm", json!({ "title": "May it?" }))],
        "response:q": [{ "send": { "type": "result", "id": "$id of hook:tool_call" } }],
    });
    let actor = Actor::new(&workspace, "a", hooks(&["tool_call"]), on);
    server.reply(Reply::text("").tool("bash", json!({ "command": "touch ran" })));
    let mut agent = start(&workspace);
    agent.send(json!({ "type": "prompt", "message": "go" }));
    agent.until(|record| record["method"] == "confirm");
    let begin = Instant::now();
    agent.send(json!({ "type": "abort", "id": "stop" }));
    agent.response("stop");
    assert!(begin.elapsed() < Duration::from_millis(100), "{:?}", begin.elapsed());
    agent.collect_until_settled();
    assert_eq!(actor.wait_for(|record| record["id"] == "q")["result"], false);
    assert!(!workspace.work().join("ran").exists());
}

#[test]
fn status_that_changes_often_is_passed_on_now_and_then_and_the_last_one_always() {
    let (_server, workspace) = Workspace::with_server();
    let status =
        json!({ "type": "notify", "method": "ui.setStatus", "params": { "key": "k", "text": "step #" } });
    let on = json!({
        "command:work": [{ "repeat": { "count": 400, "text": format!("{status}\n") } }, { "result": null }],
    });
    Actor::new(&workspace, "a", json!({ "commands": [{ "name": "work" }] }), on);
    let mut agent = start(&workspace);
    agent.carry_out(json!({ "type": "prompt", "message": "/work" }));
    let shown = of_type(agent.transcript(), "extension_ui_request");
    assert!(shown.len() < 200, "{}", shown.len());
    assert_eq!(shown.last().unwrap()["statusText"], "step 399");
}

#[test]
fn dialects_without_dialogs_take_the_default_at_once() {
    let (server, workspace) = Workspace::with_server();
    let on = json!({
        "hook:tool_call": [request("q", "ui.confirm", json!({ "title": "May it?" }))],
        "response:q": [{ "send": {
            "type": "result",
            "id": "$id of hook:tool_call",
            "result": { "block": true, "reason": "nobody said yes" },
        } }],
    });
    let actor = Actor::new(&workspace, "a", hooks(&["tool_call"]), on);
    server.reply(Reply::text("").tool("read", json!({ "path": "secret.txt" })));
    let mut agent = bowline_testkit::Launch::rpc(&workspace).model("mock/m1").dialect("opi").start_greeted();
    agent.send(json!({ "type": "prompt", "message": "go" }));
    // The model is told that the tool did not run.
    let requests = server.wait_for_requests(2, Duration::from_secs(20));
    assert!(requests[1].body["messages"].to_string().contains("nobody said yes"));
    assert_eq!(actor.wait_for(|record| record["type"] == "init")["hasUI"], false);
    assert_eq!(actor.wait_for(|record| record["id"] == "q")["result"], false);
}

#[test]
fn notifications_with_wrong_parameters_are_reported() {
    let (_server, workspace) = Workspace::with_server();
    let notify = |method: &str, params: Value| json!({ "send": { "type": "notify", "method": method, "params": params } });
    let on = json!({ "hook:session_start": [
        notify("ui.notify", json!({ "message": 7 })),
        notify("ui.shout", json!({})),
        { "result": null },
    ] });
    Actor::new(&workspace, "a", hooks(&["session_start"]), on);
    let mut agent = start(&workspace);
    run(&mut agent, "hi");
    let errors = crate::actor::errors(agent.transcript());
    assert!(errors[0].starts_with("notify: invalid parameters of ui.notify: "), "{errors:?}");
    assert_eq!(errors[1], "notify: there is no method ui.shout");
}
