//! The sessions of subagents on disk.

use std::path::PathBuf;

use bowline_session::children_of;
use bowline_testkit::{Launch, ModelServer, Reply, Workspace};
use serde_json::{Value, json};

use crate::{calling, start};

/// Runs a prompt with two subagents, one of which has one of its own. Returns the session's file too.
fn with_subagents() -> (ModelServer, Workspace, PathBuf) {
    let (server, workspace, mut agent) = start();
    server.reply(calling(&json!([{ "name": "one", "task": "first" }, { "name": "two", "task": "second" }])));
    server.reply_in("first", calling(&json!([{ "name": "inner", "task": "deep" }])));
    server.reply_in("second", Reply::text("The second answer."));
    agent.send(json!({ "type": "prompt", "message": "go" }));
    agent.collect_until_settled();
    agent.close_stdin();
    agent.wait();
    let file = workspace.session_files().remove(0);
    (server, workspace, file)
}

fn sessions(workspace: &Workspace, arguments: &[&str]) -> String {
    let finished = Launch::bowline(workspace).arguments(&[&["sessions"], arguments].concat()).run();
    assert_eq!(finished.code, 0, "{finished:?}");
    finished.stdout
}

#[test]
fn lists_do_not_show_subagents_and_their_parent_names_them() {
    let (_server, workspace, file) = with_subagents();
    assert_eq!(sessions(&workspace, &["list", "--all", "--json"]).lines().count(), 1);
    let path = file.to_str().unwrap();
    let shown: Value = serde_json::from_str(&sessions(&workspace, &["show", path, "--json"])).unwrap();
    let children = shown["subagents"].as_array().unwrap();
    let names: Vec<_> =
        children.iter().map(|child| child["path"].as_str().unwrap().rsplit('/').next().unwrap()).collect();
    assert_eq!(names, ["one.jsonl", "inner.jsonl", "two.jsonl"]);
    let shown = sessions(&workspace, &["show", path]);
    assert_eq!(shown.lines().filter(|line| line.starts_with("subagent  ")).count(), 3);
    assert!(sessions(&workspace, &["fsck"]).contains("4 checked, none damaged"));
}

#[test]
fn session_of_a_subagent_is_shown_exported_and_continued() {
    let (_server, workspace, file) = with_subagents();
    let child =
        children_of(&file).unwrap().into_iter().find(|child| child.file.ends_with("two.jsonl")).unwrap();
    let path = child.file.to_str().unwrap();
    assert!(sessions(&workspace, &["show", path]).contains("The second answer."));
    let exported = Launch::bowline(&workspace).arguments(&["export", path, "--out", "child.html"]).run();
    assert_eq!(exported.code, 0, "{exported:?}");
    assert!(
        std::fs::read_to_string(workspace.work().join("child.html")).unwrap().contains("The second answer.")
    );
    let mut agent = workspace.start();
    agent.send(json!({ "id": "w", "type": "switch_session", "sessionPath": path }));
    assert_eq!(agent.response("w")["success"], true);
    agent.send(json!({ "type": "prompt", "message": "And then?" }));
    agent.collect_until_settled();
    agent.send(json!({ "id": "m", "type": "get_messages" }));
    assert_eq!(agent.response("m")["data"]["messages"].as_array().unwrap().len(), 4);
}

#[test]
fn subagents_are_deleted_with_their_session() {
    let (_server, workspace, file) = with_subagents();
    sessions(&workspace, &["rm", file.to_str().unwrap()]);
    assert!(!file.exists() && !file.with_extension("").exists());

    let (_server, workspace, file) = with_subagents();
    let mut agent = workspace.start();
    agent.send(json!({ "id": "d", "type": "delete_session", "sessionPath": file.to_str().unwrap() }));
    assert_eq!(agent.response("d")["success"], true);
    assert!(!file.exists() && !file.with_extension("").exists());
}

#[test]
fn session_in_memory_leaves_nothing_of_its_subagents() {
    let (server, workspace, _) = start();
    server.reply(calling(&json!([{ "task": "look" }])));
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--no-session"]).start();
    agent.send(json!({ "type": "prompt", "message": "go" }));
    agent.collect_until_settled();
    assert!(workspace.session_files().is_empty());
    assert!(!workspace.configuration().join("sessions").exists());
}
