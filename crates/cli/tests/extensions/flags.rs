//! Flags of extensions on the command line.

use bowline_testkit::Workspace;
use serde_json::json;

use crate::actor::{Actor, errors, run, start_with};

#[test]
fn flags_reach_only_the_extension_that_has_them() {
    let (_server, workspace) = Workspace::with_server();
    let flags = json!({ "flags": [
        { "name": "map", "type": "boolean" },
        { "name": "depth", "type": "string", "default": "1" },
        { "name": "quiet", "type": "boolean", "default": false },
    ] });
    let one = Actor::new(&workspace, "a", flags, json!({}));
    let two =
        Actor::new(&workspace, "b", json!({ "flags": [{ "name": "style", "type": "string" }] }), json!({}));
    let mut agent = start_with(&workspace, &["--map", "--depth", "3", "--style=round"]);
    run(&mut agent, "hi");
    let flags = |actor: &Actor| {
        let state = actor.wait_for(|record| record["patch"]["flags"].is_object());
        state["patch"]["flags"].clone()
    };
    assert_eq!(flags(&one), json!({ "map": true, "depth": "3", "quiet": false }));
    assert_eq!(flags(&two), json!({ "style": "round" }));
    assert_eq!(errors(agent.transcript()), [""; 0]);
    assert_eq!(agent.stderr(), "");
}

#[test]
fn flags_that_nobody_has_are_reported() {
    let (_server, workspace) = Workspace::with_server();
    let registration = json!({ "flags": [{ "name": "depth", "type": "string" }] });
    Actor::new(&workspace, "a", registration, json!({}));
    let mut agent = start_with(&workspace, &["--planet=secret", "--depth"]);
    run(&mut agent, "hi");
    let errors = errors(agent.transcript());
    assert_eq!(errors, ["load: --depth needs a value", "load: unknown option --planet: no extension has it"]);
    agent.wait_for_stderr("unknown option --planet");
    assert!(!agent.stderr().contains("secret"));
}

#[test]
fn flags_that_restrict_the_agent_need_an_extension_that_has_them() {
    let (server, workspace) = Workspace::with_server();
    let flags = json!({ "flags": [
        { "name": "plan", "type": "boolean" },
        { "name": "no-sandbox", "type": "boolean" },
    ] });
    let actor = Actor::new(&workspace, "a", flags, json!({}));
    let mut agent = start_with(&workspace, &["--plan", "--no-sandbox"]);
    run(&mut agent, "hi");
    let state = actor.wait_for(|record| record["patch"]["flags"].is_object());
    assert_eq!(state["patch"]["flags"], json!({ "plan": true, "no-sandbox": true }));
    assert_eq!((errors(agent.transcript()), agent.stderr()), (Vec::<String>::new(), String::new()));

    Actor::new(&workspace, "a", json!({}), json!({}));
    let calls = server.requests().len();
    let mut agent = start_with(&workspace, &["--plan"]);
    agent.send(json!({ "type": "prompt", "message": "hi" }));
    assert_eq!(agent.wait(), 1);
    assert!(agent.stderr().contains("unknown option --plan: no extension has it"), "{}", agent.stderr());
    assert_eq!(
        errors(&agent.rest()),
        ["load: unknown option --plan: no extension has it"],
        "what was emitted arrives"
    );
    assert_eq!(server.requests().len(), calls, "no model is called");
}

#[test]
fn flags_of_a_manifest_are_known_before_the_extension_registers() {
    let (_server, workspace) = Workspace::with_server();
    let actor = Actor::new(&workspace, "x/a", json!({}), json!({}));
    let manifest = json!({
        "name": "x",
        "command": ["python3", "{dir}/a.py"],
        "flags": [{ "name": "map", "type": "boolean" }],
    });
    let workspace = workspace.home_file(".bowline/extensions/x/extension.json", &manifest.to_string());
    let mut agent = start_with(&workspace, &["--map"]);
    run(&mut agent, "hi");
    assert_eq!(actor.wait_for(|record| record["type"] == "init")["flags"], json!({ "map": true }));
    assert_eq!(errors(agent.transcript()), [""; 0]);
}
