//! Servers that crash, flood, hang or leave something behind: bowline goes on and says what happened.

use std::time::{Duration, Instant};

use bowline_testkit::{Reply, Workspace, eventually, is_alive};
use serde_json::{Value, json};

use crate::{add, result, result_text, script_call, server, tools, with_server};

#[test]
fn broken_servers_are_reported_and_the_others_work() {
    let (model, workspace) = Workspace::with_server();
    let workspace = add(
        workspace,
        &json!({
            "missing": { "command": "no-such-program" },
            "wrong": { "args": [] },
            "dies": server(&["--die-with", "there is no database"]),
            "s": server(&["--garbage", "--noise"]),
        }),
    );
    script_call(&model, "mcp__s__echo", json!({ "text": "hello" }));
    let mut agent = workspace.start();
    let records = agent.run("go");
    assert_eq!(result_text(&records), "hello");
    let errors: Vec<String> = agent
        .transcript()
        .iter()
        .filter(|record| record["type"] == "extension_error")
        .map(|record| format!("{} {} {}", record["extensionPath"], record["event"], record["error"]))
        .collect();
    let text = errors.join("\n");
    assert!(
        text.contains("\"mcp\" \"load\"")
            && text.contains("the server \\\"wrong\\\": it needs a command or a url"),
        "{text}"
    );
    assert!(
        text.contains("The MCP server missing cannot be used: could not start no-such-program"),
        "{text}"
    );
    assert!(
        text.contains(
            "The MCP server dies failed: it exited with code 3; its last output: there is no database"
        ),
        "{text}"
    );
    agent.wait_for_stderr("The MCP server missing cannot be used");
    agent.finish();
}

#[test]
fn crash_in_a_call_costs_the_call_and_the_server_comes_back() {
    let (model, workspace) = with_server(&[]);
    script_call(&model, "mcp__s__die", json!({}));
    let mut agent = workspace.start();
    let end = result(&agent.run("go"));
    assert_eq!(end["isError"], true);
    let text = end["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("The MCP server s ended before it answered"), "{text}");
    script_call(&model, "mcp__s__echo", json!({ "text": "x" }));
    let text = result_text(&agent.run("while it is away"));
    assert!(
        text.contains("is not available: it exited with code 9") && text.contains("It is restarted in 1 s"),
        "{text}"
    );
    eventually("it is back", || {
        script_call(&model, "mcp__s__echo", json!({ "text": "back" }));
        result_text(&agent.run("and now?")) == "back"
    });
}

#[test]
fn flood_costs_the_server_and_bounded_memory() {
    let (model, workspace) = with_server(&["--flood"]);
    model.default_reply(Reply::text("done"));
    let mut agent = workspace.start();
    agent.run("go");
    agent.wait_for_stderr("it sent a message of more than 16 MB");
    agent.run("still there?");
    let memory = agent.memory_kib();
    assert!(memory.resident < 120 * 1024, "{memory:?}");
}

#[test]
fn long_results_are_truncated() {
    let (model, workspace) = with_server(&[]);
    script_call(&model, "mcp__s__long", json!({ "bytes": 5_000_000 }));
    let mut agent = workspace.start();
    let text = result_text(&agent.run("go"));
    assert!(text.len() < 60_000 && text.contains("[Truncated to 2000 lines or 50KB"), "{}", text.len());
}

#[test]
fn hundreds_of_tools_are_cut() {
    let (model, workspace) = with_server(&["--tools", "3000", "--duplicates"]);
    model.reply(Reply::text("done"));
    let mut agent = workspace.start();
    agent.run("go");
    let names = tools(&model.requests()[0]);
    assert!(names.len() > 400 && names.len() <= 510, "{}", names.len());
    assert!(names.iter().all(|name| name.len() <= 64));
    agent.wait_for_stderr("it has too many tools");
}

#[test]
fn nothing_survives_the_end_of_bowline() {
    for end in ["end of stdin", "SIGTERM", "SIGKILL"] {
        let (model, workspace) = with_server(&["--daemon", "pid", "--ignore-eof"]);
        model.default_reply(Reply::text("done"));
        let mut agent = workspace.start();
        agent.run("go");
        let daemon: u32 = std::fs::read_to_string(workspace.work().join("pid")).unwrap().parse().unwrap();
        assert!(is_alive(daemon));
        match end {
            "end of stdin" => agent.close_stdin(),
            "SIGTERM" => agent.signal(15),
            _ => agent.kill(),
        }
        agent.wait();
        eventually(end, || !is_alive(daemon));
        agent.assert_no_survivors();
    }
}

#[test]
fn end_is_not_held_up_by_a_server() {
    let (model, workspace) = with_server(&["--ignore-eof"]);
    model.default_reply(Reply::text("done"));
    let mut agent = workspace.start();
    agent.run("go");
    let began = Instant::now();
    agent.close_stdin();
    assert_eq!(agent.wait(), 0);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[test]
fn kill_of_a_command_spares_the_server() {
    let (model, workspace) = with_server(&["--daemon", "pid"]);
    model.reply(Reply::new().tool("mcp__s__echo", json!({ "text": "one" })));
    model.reply(Reply::new().tool("bash", json!({ "command": "sleep 300" })));
    let mut agent = workspace.start();
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    agent.until(|record: &Value| record["type"] == "tool_execution_start" && record["toolName"] == "bash");
    agent.carry_out(json!({ "type": "abort" }));
    agent.collect_until_settled();
    let daemon: u32 = std::fs::read_to_string(workspace.work().join("pid")).unwrap().parse().unwrap();
    script_call(&model, "mcp__s__echo", json!({ "text": "two" }));
    assert_eq!(result_text(&agent.run("again")), "two");
    assert!(is_alive(daemon));
}
