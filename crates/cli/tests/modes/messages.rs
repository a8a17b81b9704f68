//! What messages are made of: arguments, stdin and files.

use std::fs;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use bowline_testkit::{Reply, Workspace};
use serde_json::{Value, json};

use crate::{launch, once, parts};

/// The smallest image.
const DOT: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/// Returns the content of the user's message in the only request.
#[track_caller]
fn sent(server: &bowline_testkit::ModelServer) -> Value {
    let mut requests = server.requests();
    assert_eq!(requests.len(), 1);
    requests.pop().unwrap().body["messages"][0]["content"].clone()
}

#[test]
fn stdin_and_files_come_before_the_first_message() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.file("a.md", "text\n");
    fs::write(workspace.work().join("dot.png"), BASE64.decode(DOT).unwrap()).unwrap();
    server.reply(Reply::text("done"));
    let finished =
        launch(&workspace, &["-p", "what is it?", "@a.md", "@dot.png"]).run_with_input("\n piped \n");
    assert_eq!(parts(&finished), (0, "done\n", ""));
    let work = fs::canonicalize(workspace.work()).unwrap().display().to_string();
    let text = format!(
        "piped<file name=\"{work}/a.md\">\ntext\n\n</file>\n<file name=\"{work}/dot.png\"></file>\nwhat is it?"
    );
    let content = sent(&server);
    assert_eq!(content[0]["text"], text);
    assert_eq!(content[1]["source"]["data"], DOT);
}

#[test]
fn stdin_alone_is_a_message() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::text("done"));
    let finished = launch(&workspace, &["-p"]).run_with_input("from the pipe");
    assert_eq!(parts(&finished), (0, "done\n", ""));
    assert_eq!(sent(&server)[0]["text"], "from the pipe");
}

#[test]
fn large_message_arrives_whole() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::text("done"));
    let text = "word ".repeat(200_000);
    let finished = launch(&workspace, &["-p", "--model", "mock/m1"]).run_with_input(&text);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert_eq!(sent(&server)[0]["text"], text.trim());
}

#[test]
fn words_after_two_dashes_are_messages() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::text("done"));
    let finished = once(&workspace, &["-p", "--", "--not-a-flag"]);
    assert_eq!(parts(&finished), (0, "done\n", ""));
    assert_eq!(sent(&server)[0]["text"], "--not-a-flag");
}

#[test]
fn names_of_subcommands_are_messages_after_the_flag() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::text("done"));
    let finished = once(&workspace, &["-p", "sessions", "--no-session"]);
    assert_eq!(parts(&finished), (0, "done\n", ""));
    assert_eq!(sent(&server)[0]["text"], "sessions");
}

#[test]
fn session_is_continued() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::text("one"));
    server.reply(Reply::text("two"));
    once(&workspace, &["-p", "first"]).succeeded();
    once(&workspace, &["-p", "-c", "second"]).succeeded();
    let messages = server.requests().pop().unwrap().body["messages"].clone();
    assert_eq!(messages.as_array().unwrap().len(), 3, "{messages}");
    assert_eq!(workspace.session_files().len(), 1);
}

#[test]
fn instructions_are_read_from_files_and_at_signs() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.file("more.txt", "FROM-FILE").file("other", "FROM-OTHER");
    server.reply(Reply::text("done"));
    let arguments = ["-p", "x", "--append-system-prompt", "more.txt", "--append-system-prompt", "@other"];
    once(&workspace, &arguments).succeeded();
    let system = server.requests()[0].body["system"].to_string();
    assert!(system.contains("FROM-FILE") && system.contains("FROM-OTHER"), "{system}");
}

#[test]
fn skill_commands_are_expanded_as_over_the_protocol() {
    let (server, workspace) = Workspace::with_server();
    let skill = "---\nname: greet\ndescription: greets\n---\nSAY-HELLO";
    let workspace = workspace.file("greet/SKILL.md", skill);
    server.reply(Reply::text("done"));
    once(&workspace, &["-p", "/skill:greet now", "--skill", "greet"]).succeeded();
    assert!(sent(&server)[0]["text"].as_str().unwrap().contains("SAY-HELLO"), "{}", json!(sent(&server)));
}
