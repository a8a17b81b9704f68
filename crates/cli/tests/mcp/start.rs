//! When servers start, and what waits for them.

use std::time::{Duration, Instant};

use bowline_testkit::{Reply, Workspace, eventually};
use serde_json::json;

use crate::{add, log, server, tools, with, with_server};

#[test]
fn nothing_starts_before_the_first_message() {
    let (model, workspace) = with_server(&[]);
    model.reply(Reply::text("done"));
    let mut agent = workspace.start();
    agent.get("get_state");
    agent.get("get_commands");
    assert!(agent.children().is_empty(), "{:?}", agent.children());
    agent.run("go");
    assert_eq!(agent.children().len(), 1);
    agent.finish();
}

#[test]
fn server_that_is_to_start_early_does() {
    let (_model, workspace) = Workspace::with_server();
    let workspace =
        add(workspace, &json!({ "s": with(server(&[]), "start", json!("at-start")), "t": server(&[]) }));
    let mut agent = workspace.start();
    agent.get("get_state");
    eventually("it runs", || agent.children().len() == 1);
}

#[test]
fn slow_server_holds_up_the_first_prompt_no_longer_than_the_limit_and_nothing_else() {
    let (model, workspace) = with_server(&["--hang-at", "initialize"]);
    let workspace = workspace.settings(json!({ "mcpStartTimeoutMs": 600 }));
    model.default_reply(Reply::text("done"));
    let mut agent = workspace.start();
    let began = Instant::now();
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    agent.get("get_state");
    assert!(began.elapsed() < Duration::from_millis(500), "get_state waits for nobody");
    assert_eq!(agent.response("p")["success"], true);
    agent.collect_until_settled();
    assert!(began.elapsed() >= Duration::from_millis(600));
    agent.wait_for_stderr("The MCP server s is not ready after 0.6 s");
    let shown = agent.transcript().iter().any(|record| {
        record["method"] == "notify" && record["message"].as_str().unwrap_or_default().contains("not ready")
    });
    assert!(shown, "the client is told, too");
    // It waits once.
    let began = Instant::now();
    agent.run("again");
    assert!(began.elapsed() < Duration::from_millis(500));
}

#[test]
fn late_server_is_added_when_it_is_ready() {
    let (model, workspace) = with_server(&["--delay", "1", "--log", "log"]);
    let workspace = workspace.settings(json!({ "mcpStartTimeoutMs": 100 }));
    model.default_reply(Reply::text("done"));
    let mut agent = workspace.start();
    agent.run("go");
    let path = workspace.work().join("log");
    eventually("it is ready", || log(&path).iter().any(|message| message["method"] == "prompts/list"));
    eventually("its tools are there", || {
        agent.run("again");
        model.requests().last().is_some_and(|request| tools(request).contains(&"mcp__s__echo".to_owned()))
    });
}

#[test]
fn abort_ends_the_wait_for_servers() {
    let (_model, workspace) = with_server(&["--hang-at", "initialize"]);
    let mut agent = workspace.start();
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    eventually("it starts", || agent.children().len() == 1);
    let began = Instant::now();
    agent.carry_out(json!({ "type": "abort" }));
    assert!(began.elapsed() < Duration::from_millis(300), "{:?}", began.elapsed());
    agent.response("p");
    agent.close_stdin();
    agent.wait();
    agent.assert_no_survivors();
}
