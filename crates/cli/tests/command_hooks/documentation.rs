//! The examples in docs/command-hooks.md do what the page says.

use std::fs;
use std::path::Path;

use bowline_testkit::{Agent, ModelServer, Reply, Workspace, eventually};
use serde_json::{Value, json};

use super::{last_request, notifications, results, text, written};

/// Returns the blocks of a language in the section with this heading.
#[track_caller]
fn blocks(heading: &str, language: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/command-hooks.md");
    let page = fs::read_to_string(path).unwrap();
    let begin = page.find(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no section {heading}"));
    let section = &page[begin + 1..];
    let section = &section[..section.find("\n## ").unwrap_or(section.len())];
    let fence = format!("```{language}\n");
    section.split(&fence).skip(1).map(|rest| rest[..rest.find("```").unwrap()].to_owned()).collect()
}

/// Starts bowline with the settings of an example.
#[track_caller]
fn start(heading: &str, index: usize) -> (ModelServer, Workspace, Agent) {
    let settings: Value = serde_json::from_str(&blocks(heading, "json")[index]).unwrap();
    let (server, workspace) = Workspace::with_server();
    let mut workspace = workspace.settings(settings);
    for script in blocks(heading, "python") {
        workspace = workspace.home_file(".bowline/hooks/protect.py", &script);
    }
    let agent = workspace.start();
    (server, workspace, agent)
}

/// Runs a tool call and returns its result's text and whether it failed.
#[track_caller]
fn call(server: &ModelServer, agent: &mut Agent, tool: &str, arguments: Value) -> (String, bool) {
    server.reply(Reply::new().tool(tool, arguments));
    server.reply(Reply::text("done"));
    let result = results(&agent.run("go")).remove(0);
    (text(&result["result"]).trim().to_owned(), result["isError"] == true)
}

#[test]
fn block_a_command() {
    let forced = "echo git push --force";
    for (index, command, reason) in [(0, forced, "Never force a push."), (1, "sudo ls", "No root here.")] {
        let (server, _workspace, mut agent) = start("Block a command", index);
        let run =
            |agent: &mut Agent, command: &str| call(&server, agent, "bash", json!({ "command": command }));
        assert_eq!(run(&mut agent, command), (reason.to_owned(), true));
        assert_eq!(run(&mut agent, "echo fine"), ("fine".to_owned(), false));
    }
}

#[test]
fn protect_files() {
    let (server, workspace, mut agent) = start("Protect files", 0);
    let mut write = |path: &str| call(&server, &mut agent, "write", json!({ "path": path, "content": "x" }));
    let (reason, is_error) = write("./.env");
    assert!(is_error && reason.ends_with("/.env is not yours to change"), "{reason}");
    assert!(!write("a.txt").1);
    fs::remove_file(workspace.configuration().join("hooks/protect.py")).unwrap();
    assert!(write("b.txt").1, "a hook that fails blocks");
}

#[test]
fn ask_first() {
    let (server, _workspace, mut agent) = start("Ask first", 0);
    assert_eq!(
        call(&server, &mut agent, "bash", json!({ "command": "echo fine" })),
        ("fine".to_owned(), false)
    );
    server.reply(Reply::new().tool("bash", json!({ "command": "cd . && git push origin" })));
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    let question = agent.until_type("extension_ui_request").pop().unwrap();
    assert!(question.to_string().contains("Push to the remote?"), "{question}");
}

#[test]
fn format_what_the_model_writes() {
    let (server, workspace, mut agent) = start("Format what the model writes", 0);
    call(&server, &mut agent, "write", json!({ "path": "a.txt", "content": "hello  \t\n" }));
    assert_eq!(written(&workspace, "a.txt"), "hello\n");
}

#[test]
fn change_a_call() {
    let (server, _workspace, mut agent) = start("Change a call", 0);
    // `nice` without a command prints how nice the process is.
    let lowered = call(&server, &mut agent, "bash", json!({ "command": "nice" }));
    let own = std::process::Command::new("nice").output().unwrap().stdout;
    let own: i32 = String::from_utf8(own).unwrap().trim().parse().unwrap();
    assert_eq!(lowered, ((own + 10).min(19).to_string(), false));
}

#[test]
fn add_to_a_prompt() {
    let (server, _workspace, mut agent) = start("Add to a prompt", 0);
    let blocked = agent.carry_out(json!({ "type": "prompt", "message": "BEGIN PRIVATE KEY" }));
    assert_eq!(blocked["disposition"], "handled");
    assert_eq!(notifications(&agent), ["That prompt holds a key."]);
    server.reply(Reply::text("done"));
    agent.run("go");
    let sent = last_request(&server);
    assert!(sent.contains("The branch is ") && sent.contains("It is "), "{sent}");
}

#[test]
fn keep_the_model_at_work() {
    let (server, workspace, mut agent) = start("Keep the model at work", 0);
    let workspace = workspace.file("Makefile", "test:\n\ttest -e fixed\n");
    server.reply(Reply::text("done"));
    server.reply(Reply::new().tool("bash", json!({ "command": "touch fixed" })));
    server.reply(Reply::text("now it is"));
    agent.run("go");
    assert_eq!(server.requests().len(), 3);
    assert!(workspace.work().join("fixed").exists());
}

#[test]
fn be_notified() {
    let settings: Value = serde_json::from_str(&blocks("Be notified", "json")[0]).unwrap();
    let (server, workspace) = Workspace::with_server();
    let mut settings = settings;
    let message = super::prints(&json!({ "systemMessage": "look here" }));
    settings["hooks"]["UserPromptSubmit"] =
        super::hook("UserPromptSubmit", &message)["hooks"]["UserPromptSubmit"].take();
    let workspace = workspace.settings(settings);
    let mut agent = workspace.start();
    server.reply(Reply::text("done"));
    agent.run("go");
    let file = workspace.home().join("notifications.txt");
    eventually("the command has run", || fs::read_to_string(&file).is_ok_and(|text| text == "look here\n"));
}
