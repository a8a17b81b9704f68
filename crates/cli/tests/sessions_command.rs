//! `bowline sessions` and `--fork`: sessions on disk without a client.

#![expect(clippy::unwrap_used, reason = "what helps a test fails it by panicking")]

use std::fs::OpenOptions;
use std::io::Write as _;
use std::process::{Command, Output};

use bowline_testkit::{Agent, Api, ModelServer, Reply, Workspace};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_bowline");

/// Makes a session in a workspace, with a name, and returns its id.
fn make_session(server: &ModelServer, workspace: &Workspace, name: &str) -> String {
    server.reply(Reply::text("done"));
    let mut agent = Agent::start(BINARY, workspace, &["--mode", "rpc", "--model", "mock/m1"]);
    agent.run("do something");
    agent.carry_out(json!({ "type": "set_session_name", "name": name }));
    let id = agent.get("get_state")["sessionId"].as_str().unwrap().to_owned();
    agent.finish();
    id
}

fn sessions(workspace: &Workspace, arguments: &[&str]) -> Output {
    let mut command = Command::new(BINARY);
    command.arg("sessions").args(arguments).current_dir(workspace.work());
    command.env_clear().env("HOME", workspace.home()).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn prepare() -> (ModelServer, Workspace) {
    let server = ModelServer::start();
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    (server, workspace)
}

#[test]
fn sessions_are_listed_shown_and_deleted() {
    let (server, workspace) = prepare();
    let first = make_session(&server, &workspace, "one");
    let second = make_session(&server, &workspace, "two");
    let listed = stdout(&sessions(&workspace, &["list"]));
    assert!(listed.contains(&first) && listed.contains("one") && listed.contains("two"), "{listed}");
    let found = stdout(&sessions(&workspace, &["list", "--all", "--search", "TWO", "--json"]));
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(
        (&found["id"], &found["name"], &found["messageCount"]),
        (&json!(second), &json!("two"), &json!(2))
    );
    assert_eq!(found["firstMessage"], "do something");
    let shown: Value =
        serde_json::from_str(&stdout(&sessions(&workspace, &["show", &first, "--json"]))).unwrap();
    assert_eq!((&shown["name"], &shown["userMessages"]), (&json!("one"), &json!(1)));
    assert_eq!(shown["byModel"][0]["model"], "m1");
    assert!(sessions(&workspace, &["rm", &first]).status.success());
    assert!(!stdout(&sessions(&workspace, &["list"])).contains(&first));
    let gone = sessions(&workspace, &["show", &first]);
    assert_eq!((gone.status.code(), stdout(&gone)), (Some(1), String::new()), "people read stderr");
}

#[test]
fn a_session_in_use_is_not_deleted() {
    let (server, workspace) = prepare();
    server.reply(Reply::text("done"));
    let mut agent = Agent::start(BINARY, &workspace, &["--mode", "rpc", "--model", "mock/m1"]);
    agent.run("do something");
    let id = agent.get("get_state")["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(sessions(&workspace, &["rm", &id]).status.code(), Some(1));
    assert_eq!(workspace.session_files().len(), 1);
    agent.finish();
}

#[test]
fn damage_is_found_and_set_aside() {
    let (server, workspace) = prepare();
    make_session(&server, &workspace, "one");
    assert_eq!(sessions(&workspace, &["fsck"]).status.code(), Some(0));
    let path = workspace.session_files().remove(0);
    let whole = std::fs::read(&path).unwrap();
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"not json\n{\"torn").unwrap();
    let found = sessions(&workspace, &["fsck"]);
    assert_eq!(found.status.code(), Some(1));
    assert!(
        stdout(&found).contains("is not JSON") && stdout(&found).contains("is incomplete"),
        "{}",
        stdout(&found)
    );
    assert_eq!(sessions(&workspace, &["fsck", "--repair"]).status.code(), Some(0));
    assert_eq!(std::fs::read(&path).unwrap(), whole);
    let aside = std::fs::read_to_string(format!("{}.bad", path.display())).unwrap();
    assert!(aside.contains("not json") && aside.contains("{\"torn"), "{aside}");
}

#[test]
fn a_fork_begins_with_all_of_another_session() {
    let (server, workspace) = prepare();
    let id = make_session(&server, &workspace, "one");
    let arguments = ["--mode", "rpc", "--model", "mock/m1", "--fork", &id];
    let mut agent = Agent::start(BINARY, &workspace, &arguments);
    let state = agent.get("get_state");
    assert_ne!(state["sessionId"], json!(id));
    assert_eq!(state["sessionName"], "one");
    assert_eq!(agent.get("get_messages")["messages"].as_array().unwrap().len(), 2);
    agent.finish();
}
