//! Slash commands of extensions.

use bowline_testkit::{Workspace, of_type};
use serde_json::json;

use crate::actor::{Actor, errors, start};

#[test]
fn command_gets_what_follows_its_name_and_calls_no_model() {
    let (server, workspace) = Workspace::with_server();
    let on = json!({ "command:hi": [
        { "send": { "type": "notify", "method": "ui.notify", "params": { "message": "hello", "type": "info" } } },
        { "result": null },
    ] });
    let actor =
        Actor::new(&workspace, "a", json!({ "commands": [{ "name": "hi", "description": "Greets" }] }), on);
    let mut agent = start(&workspace);
    agent.send(json!({ "type": "prompt", "id": "1", "message": "/hi  two  words " }));
    let response = agent.response("1");
    assert_eq!(response["data"]["disposition"], "handled", "{response}");
    let call = actor.wait_for(|record| record["type"] == "command");
    assert_eq!(call["args"], " two  words ");
    let shown = of_type(agent.transcript(), "extension_ui_request");
    assert_eq!(
        (shown[0]["method"].as_str(), shown[0]["notifyType"].as_str()),
        (Some("notify"), Some("info"))
    );
    assert!(server.requests().is_empty());
}

#[test]
fn commands_are_listed_with_their_source_and_numbered_if_two_have_the_same_name() {
    let (_server, workspace) = Workspace::with_server();
    let registration = json!({ "commands": [{ "name": "hi", "description": "Greets" }] });
    let one = Actor::new(&workspace, "a", registration.clone(), json!({}));
    let two = Actor::new(&workspace, "b", registration, json!({}));
    let mut agent = start(&workspace);
    let listed = agent.carry_out(json!({ "type": "get_commands" }));
    let expected: Vec<_> = [("hi:1", one.path()), ("hi:2", two.path())]
        .map(|(name, path)| {
            json!({
                "name": name,
                "description": "Greets",
                "source": "extension",
                "sourceInfo": {
                    "path": path,
                    "source": "auto",
                    "scope": "user",
                    "origin": "top-level",
                    "baseDir": workspace.configuration().display().to_string(),
                },
            })
        })
        .into();
    assert_eq!(listed["commands"], json!(expected));
    agent.carry_out(json!({ "type": "prompt", "message": "/hi:2" }));
    let call = two.wait_for(|record| record["type"] == "command");
    assert_eq!(call["name"], "hi");
    assert!(one.received().iter().all(|record| record["type"] != "command"));
}

#[test]
fn failing_command_is_reported_and_answered() {
    let (_server, workspace) = Workspace::with_server();
    let on = json!({ "command:hi": [{ "error": "no greeting today" }], "command:bye": [{ "exit": 4 }] });
    let registration = json!({ "commands": [{ "name": "hi" }, { "name": "bye" }] });
    Actor::new(&workspace, "a", registration, on);
    let mut agent = start(&workspace);
    agent.carry_out(json!({ "type": "prompt", "message": "/hi" }));
    agent.carry_out(json!({ "type": "prompt", "message": "/bye" }));
    let failed = of_type(agent.transcript(), "extension_error");
    assert_eq!(failed[0]["extensionPath"], "command:hi");
    assert_eq!(
        (failed[0]["event"].as_str(), failed[0]["error"].as_str()),
        (Some("command"), Some("no greeting today"))
    );
    let errors = errors(agent.transcript());
    assert!(errors.contains(&"command: Extension \"a\" exited".to_owned()), "{errors:?}");
}

#[test]
fn commands_of_a_session_that_is_left_are_cancelled() {
    let (_server, workspace) = Workspace::with_server();
    let on = json!({ "command:wait": [] });
    let actor = Actor::new(&workspace, "a", json!({ "commands": [{ "name": "wait" }] }), on);
    let mut agent = start(&workspace);
    agent.send(json!({ "type": "prompt", "id": "1", "message": "/wait" }));
    actor.wait_for(|record| record["type"] == "command");
    agent.carry_out(json!({ "type": "new_session" }));
    agent.response("1");
    assert_eq!(actor.wait_for(|record| record["type"] == "cancel")["reason"], "abort");
}
