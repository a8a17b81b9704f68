//! Which extensions are loaded.

use bowline_testkit::{Reply, Workspace, of_type};
use serde_json::json;

use crate::actor::{Actor, errors, hooks, run, start, start_with};

#[test]
fn extensions_of_a_project_are_loaded_if_it_is_trusted() {
    let (_server, workspace) = Workspace::with_server();
    let registration = json!({ "commands": [{ "name": "hi" }] });
    let actor = Actor::new(&workspace, "moved", registration, json!({}));
    let folder = workspace.work().join(".bowline/extensions");
    std::fs::create_dir_all(&folder).unwrap();
    for ending in ["py", "json"] {
        let from = std::path::PathBuf::from(actor.path()).with_extension(ending);
        std::fs::rename(&from, folder.join(format!("own.{ending}"))).unwrap();
    }
    let names = |arguments: &[&str]| {
        let mut agent = start_with(&workspace, arguments);
        let commands = agent.carry_out(json!({ "type": "get_commands" }));
        commands["commands"].as_array().unwrap().len()
    };
    assert_eq!(names(&[]), 0);
    assert_eq!(names(&["--approve"]), 1);
    assert_eq!(names(&["--approve", "--no-extensions"]), 0);
}

#[test]
fn command_line_names_extensions_and_turns_the_others_off() {
    let (_server, workspace) = Workspace::with_server();
    let one = Actor::new(&workspace, "a", json!({ "commands": [{ "name": "one" }] }), json!({}));
    Actor::new(&workspace, "b", json!({ "commands": [{ "name": "two" }] }), json!({}));
    let mut agent = start_with(&workspace, &["-ne", "-e", &one.path()]);
    let commands = agent.carry_out(json!({ "type": "get_commands" }));
    assert_eq!(commands["commands"].as_array().unwrap().len(), 1);
    assert_eq!(commands["commands"][0]["sourceInfo"]["source"], "cli");
}

#[test]
fn file_that_does_not_exist_or_is_no_extension_is_reported_and_the_others_work() {
    let (_server, workspace) = Workspace::with_server();
    Actor::new(&workspace, "a", json!({ "commands": [{ "name": "one" }] }), json!({}));
    let workspace = workspace.file("notes.md", "");
    let mut agent = start_with(&workspace, &["-e", "gone.py", "-e", "notes.md"]);
    run(&mut agent, "hi");
    let errors = errors(agent.transcript());
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].starts_with("load: ") && errors[0].ends_with("gone.py does not exist"), "{errors:?}");
    assert!(errors[1].contains("notes.md is not an extension"), "{errors:?}");
    let commands = agent.carry_out(json!({ "type": "get_commands" }));
    assert_eq!(commands["commands"][0]["name"], "one");
}

#[test]
fn state_is_answered_before_slow_extensions_have_started_and_commands_after() {
    let (_server, workspace) = Workspace::with_server();
    let plan = json!({
        "start": [{ "sleep": 1 }],
        "registration": { "commands": [{ "name": "one" }] },
    });
    let actor = Actor::with_plan(&workspace, "a", plan);
    let mut agent = start(&workspace);
    agent.send_raw(b"{\"type\":\"get_commands\",\"id\":\"c\"}\n{\"type\":\"get_state\",\"id\":\"s\"}\n");
    let first = agent.next();
    assert_eq!(first["id"], "s");
    assert!(actor.received().is_empty());
    let commands = agent.response("c");
    assert_eq!(commands["data"]["commands"][0]["name"], "one");
}

#[test]
fn message_of_an_extension_waits_for_guards_that_start_slowly() {
    let message = json!({ "customType": "early", "content": "go", "display": true });
    for (method, params) in [
        ("session.sendUserMessage", json!({ "content": "go" })),
        ("session.sendMessage", json!({ "message": message, "triggerTurn": true })),
    ] {
        let (server, workspace) = Workspace::with_server();
        server.reply(Reply::new().tool("bash", json!({ "command": "touch slipped" })));
        server.reply(Reply::text("done"));
        let init = json!([
            { "send": { "type": "registered", "protocol": 1, "extensions": [{}] } },
            { "send": { "type": "notify", "method": method, "params": params } },
        ]);
        Actor::new(&workspace, "a", json!({}), json!({ "init": init }));
        let plan = json!({
            "start": [{ "sleep": 1 }],
            "registration": hooks(&["tool_call"]),
            "on": { "hook:tool_call": [{ "result": { "block": true, "reason": "guarded" } }] },
        });
        Actor::with_plan(&workspace, "z", plan);
        let mut agent = start(&workspace);
        let records = agent.collect_until_settled();
        let end = of_type(&records, "tool_execution_end").pop().unwrap();
        assert_eq!(end["result"]["content"][0]["text"], "guarded", "{method}");
        assert!(!workspace.work().join("slipped").exists());
    }
}

#[test]
fn abort_ends_messages_of_extensions_that_wait_for_the_start() {
    let (_server, workspace) = Workspace::with_server();
    let init = json!([
        { "send": { "type": "notify", "method": "session.sendUserMessage", "params": { "content": "go" } } },
        { "send": { "type": "notify", "method": "ui.notify", "params": { "message": "sent" } } },
        { "sleep": 1 },
        { "send": { "type": "registered", "protocol": 1, "extensions": [{}] } },
    ]);
    Actor::new(&workspace, "a", json!({}), json!({ "init": init }));
    let mut agent = start(&workspace);
    agent.until_type("extension_ui_request");
    agent.carry_out(json!({ "type": "abort" }));
    assert_eq!(errors(agent.transcript()), ["send_user_message: aborted before it started"]);
    agent.carry_out(json!({ "type": "get_commands" }));
    assert_eq!(agent.carry_out(json!({ "type": "get_messages" }))["messages"], json!([]));
}

#[test]
fn init_describes_the_session() {
    let (_server, workspace) = Workspace::with_server();
    let actor = Actor::new(&workspace, "a", json!({}), json!({}));
    let mut agent = start(&workspace);
    let state = agent.carry_out(json!({ "type": "get_state" }));
    run(&mut agent, "hi");
    let init = actor.wait_for(|record| record["type"] == "init");
    assert_eq!(init["session"]["id"], state["sessionId"]);
    assert_eq!(init["session"]["file"], state["sessionFile"]);
    assert_eq!(init["session"]["cwd"], workspace.work().display().to_string());
    assert_eq!((init["hasUI"].as_bool(), init["dialect"].as_str()), (Some(true), Some("pi")));
    assert_eq!(init["extensions"][0]["path"], actor.path());
    assert!(of_type(agent.transcript(), "extension_error").is_empty());
}
