//! The extensions in the state.

use bowline_testkit::{Agent, Launch, Workspace, eventually};
use serde_json::{Value, json};

use crate::actor::{Actor, start, start_with, tool, wait_for_error};

/// Returns what the state says of an extension.
#[track_caller]
fn extension(agent: &mut Agent, name: &str) -> Value {
    let state = agent.get("get_state");
    let listed = state["extensions"].as_array().cloned().unwrap_or_default();
    listed.into_iter().find(|extension| extension["name"] == name).unwrap_or_default()
}

/// Waits until an extension has a status and returns what the state says of it.
#[track_caller]
fn wait_for_status(agent: &mut Agent, name: &str, status: &str) -> Value {
    let mut found = Value::Null;
    eventually(&format!("{name} is {status}"), || {
        found = extension(agent, name);
        found["status"] == status
    });
    found
}

#[test]
fn running_extension_is_listed_with_what_it_offers() {
    for dialect in ["pi", "omp"] {
        let (_server, workspace) = Workspace::with_server();
        let mut registration = tool("say");
        registration["commands"] = json!([{ "name": "greet" }]);
        registration["hooks"] = json!([{ "event": "tool_call" }, { "event": "input" }]);
        let actor = Actor::new(&workspace, "a", registration, json!({}));
        let mut agent = Launch::rpc(&workspace).dialect(dialect).model("mock/m1").start();
        let found = wait_for_status(&mut agent, "a", "running");
        let folder = workspace.configuration().display().to_string();
        let expected = json!({
            "name": "a",
            "path": actor.path(),
            "status": "running",
            "sourceInfo": {
                "path": actor.path(),
                "source": "auto",
                "scope": "user",
                "origin": "top-level",
                "baseDir": folder,
            },
            "tools": ["say"],
            "commands": ["greet"],
            "providers": [],
            "hooks": ["input", "tool_call"],
        });
        assert_eq!(found, expected, "{dialect}");
    }
}

#[test]
fn state_has_no_list_without_extensions() {
    let (_server, workspace) = Workspace::with_server();
    for dialect in ["pi", "omp"] {
        let mut agent = Launch::rpc(&workspace).dialect(dialect).model("mock/m1").start();
        assert!(agent.get("get_state").get("extensions").is_none(), "{dialect}");
    }
}

#[test]
fn state_is_answered_while_an_extension_starts() {
    let (_server, workspace) = Workspace::with_server();
    Actor::with_plan(&workspace, "slow", json!({ "start": [{ "sleep": 30 }] }));
    let mut agent = start(&workspace);
    let found = wait_for_status(&mut agent, "slow", "starting");
    assert_eq!((found["tools"].as_array().map(Vec::len), found.get("reason")), (Some(0), None));
}

#[test]
fn extensions_that_are_not_running_are_listed_with_the_reason() {
    let (_server, workspace) = Workspace::with_server();
    Actor::with_plan(&workspace, "crashing", json!({ "start": [{ "stderr": "no disk\n" }, { "exit": 3 }] }));
    Actor::new(
        &workspace,
        "exiting",
        json!({ "commands": [{ "name": "exit" }] }),
        json!({ "command:exit": [{ "exit": 4 }] }),
    );
    let workspace = workspace.file(".bowline/extensions/theirs.py", "");
    let mut agent = start_with(&workspace, &["-e", "gone.py"]);
    let reason = |found: &Value| found["reason"].as_str().unwrap_or_default().to_owned();

    let crashed = wait_for_status(&mut agent, "crashing", "failed");
    assert_eq!(reason(&crashed), "exited with code 3: no disk");
    let gone = wait_for_status(&mut agent, "gone", "failed");
    assert!(reason(&gone).ends_with("gone.py does not exist"), "{gone}");
    assert_eq!(gone["sourceInfo"]["scope"], "temporary");
    let theirs = wait_for_status(&mut agent, "theirs", "not_loaded");
    assert_eq!(reason(&theirs), "the project is not trusted");
    assert_eq!(theirs["sourceInfo"]["scope"], "project");

    agent.send(json!({ "type": "prompt", "message": "/exit" }));
    wait_for_error(&mut agent, "exited with code 4");
    let exited = wait_for_status(&mut agent, "exiting", "restarting");
    assert_eq!((reason(&exited), &exited["commands"]), ("exited with code 4".to_owned(), &json!(["exit"])));
    wait_for_status(&mut agent, "exiting", "running");
}
