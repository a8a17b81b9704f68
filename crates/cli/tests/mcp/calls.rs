//! Tools, prompts and resources of servers in a session.

use std::time::{Duration, Instant};

use bowline_testkit::{Launch, Reply, eventually};
use serde_json::{Value, json};

use crate::{log, result, result_text, script_call, tools, with_server};

#[test]
fn model_sees_and_calls_the_tools_of_a_server() {
    let (model, workspace) = with_server(&[]);
    script_call(&model, "mcp__s__echo", json!({ "text": "hello" }));
    let mut agent = workspace.start();
    let records = agent.run("go");
    assert_eq!(result_text(&records), "hello");
    let requests = model.requests();
    let names = tools(&requests[0]);
    assert_eq!(&names[..4], ["read", "bash", "edit", "write"]);
    for name in ["mcp__s__echo", "list_mcp_resources", "read_mcp_resource"] {
        assert!(names.contains(&name.to_owned()), "{names:?}");
    }
    let system = requests[0].body["system"].to_string();
    assert!(system.contains("The MCP server s says about its tools: Use the tool echo"), "{system}");
    agent.finish();
}

#[test]
fn tools_are_the_same_in_every_dialect() {
    for dialect in ["pi", "pi-classic", "omp", "opi", "operator", "operator-flat"] {
        let (model, workspace) = with_server(&[]);
        script_call(&model, "mcp__s__echo", json!({ "text": "hello" }));
        let launch = Launch::rpc(&workspace).dialect(dialect).model("mock/m1");
        let launch = if dialect == "opi" { launch.arguments(&["--allow-mutating"]) } else { launch };
        let mut agent = launch.start_greeted();
        agent.send(json!({ "id": "1", "type": "prompt", "message": "go" }));
        let requests = model.wait_for_requests(2, Duration::from_secs(20));
        assert!(tools(&requests[0]).contains(&"mcp__s__echo".to_owned()), "{dialect}");
        let answer = requests[1].body["messages"].as_array().unwrap().last().unwrap().to_string();
        assert!(answer.contains("hello") && answer.contains("tool_result"), "{dialect}: {answer}");
        drop(agent);
    }
}

#[test]
fn every_kind_of_content_reaches_the_client_and_the_model() {
    let (model, workspace) = with_server(&[]);
    script_call(&model, "mcp__s__contents", json!({}));
    let mut agent = workspace.start();
    let end = result(&agent.run("go"));
    assert_eq!(end["isError"], false);
    let content = end["result"]["content"].as_array().unwrap();
    let kinds: Vec<_> = content.iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "image", "image"]);
    assert!(content[0]["text"].as_str().unwrap().contains("[audio: audio/wav, 5 B]"));
    let details = &end["result"]["details"];
    assert_eq!(details["structuredContent"], json!({ "answer": 42 }));
    assert_eq!(details["audio"][0]["mimeType"], "audio/wav");
    let sent = model.requests()[1].body["messages"].to_string();
    assert_eq!(sent.matches("\"type\":\"image\"").count(), 2, "{sent}");
}

#[test]
fn errors_of_tools_are_errors() {
    let (model, workspace) = with_server(&[]);
    for tool in ["mcp__s__fail", "mcp__s__refuse"] {
        script_call(&model, tool, json!({}));
        let mut agent = workspace.start();
        assert_eq!(result(&agent.run("go"))["isError"], true, "{tool}");
        agent.finish();
    }
}

#[test]
fn progress_becomes_updates() {
    let (model, workspace) = with_server(&[]);
    script_call(&model, "mcp__s__slow", json!({ "steps": 3 }));
    let mut agent = workspace.start();
    let records = agent.run("go");
    let updates: Vec<&Value> =
        records.iter().filter(|record| record["type"] == "tool_execution_update").collect();
    assert!(updates.len() >= 2, "{updates:?}");
    assert_eq!(updates[0]["partialResult"]["content"][0]["text"], "1 of 3: step 1");
    assert_eq!(updates[0]["partialResult"]["details"]["progress"], 1.0);
}

#[test]
fn abort_ends_a_call_at_once_and_the_server_is_told() {
    let (model, workspace) = with_server(&["--log", "log"]);
    script_call(&model, "mcp__s__wait", json!({}));
    let mut agent = workspace.start();
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    let path = workspace.work().join("log");
    eventually("the call has arrived", || {
        log(&path).iter().any(|message| message["params"]["name"] == "wait")
    });
    let began = Instant::now();
    agent.carry_out(json!({ "type": "abort" }));
    assert!(began.elapsed() < Duration::from_millis(100), "{:?}", began.elapsed());
    agent.collect_until_settled();
    eventually("the server is told", || {
        log(&path).iter().any(|message| message["method"] == "notifications/cancelled")
    });
    model.reply(Reply::text("next"));
    agent.run("still there?");
}

#[test]
fn changed_list_of_tools_reaches_the_next_turn() {
    let (model, workspace) = with_server(&[]);
    // The new list is read before the slow call has ended.
    model.reply(Reply::new().tool("mcp__s__grow", json!({})));
    model.reply(Reply::new().tool("mcp__s__slow", json!({ "steps": 5 })));
    script_call(&model, "mcp__s__grown_0", json!({}));
    let mut agent = workspace.start();
    let records = agent.run("go");
    let ends: Vec<_> = records.iter().filter(|record| record["type"] == "tool_execution_end").collect();
    assert_eq!(ends[2]["result"]["content"][0]["text"], "called grown_0");
    let requests = model.requests();
    assert!(!tools(&requests[0]).contains(&"mcp__s__grown_0".to_owned()));
    assert!(tools(&requests[2]).contains(&"mcp__s__grown_0".to_owned()));
}

#[test]
fn prompt_of_a_server_is_a_command() {
    let (model, workspace) = with_server(&[]);
    model.default_reply(Reply::text("sunny"));
    let mut agent = workspace.start();
    // The first message starts the server, so the command is not known before.
    agent.run("/mcp__s__weather Paris metric");
    let commands = agent.get("get_commands")["commands"].take();
    let command = commands.as_array().unwrap().iter().find(|command| command["name"] == "mcp__s__weather");
    assert_eq!(command.unwrap()["description"], "Asks for the weather.");
    agent.run("/mcp__s__weather \"New York\"");
    let asked = |index: usize| {
        model.requests()[index].body["messages"].as_array().unwrap().last().unwrap().to_string()
    };
    assert!(asked(0).contains("How is the weather in Paris, in metric units?"), "{}", asked(0));
    assert!(asked(1).contains("How is the weather in New York, in any units?"), "{}", asked(1));
    agent.carry_out(json!({ "type": "prompt", "message": "/mcp__s__weather" }));
    let records = agent.until_type("extension_error");
    let error = records.last().unwrap();
    assert_eq!(error["error"], "city is missing. Usage: /mcp__s__weather <city> [units]");
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn resources_are_read_by_a_tool() {
    let (model, workspace) = with_server(&[]);
    script_call(&model, "read_mcp_resource", json!({ "server": "s", "uri": "demo://note" }));
    let mut agent = workspace.start();
    assert_eq!(result_text(&agent.run("go")), "[resource: demo://note]\nthe text of demo://note");
}

#[test]
fn flags_limit_the_tools_of_servers() {
    for (flags, expected) in [
        (&["--no-tools"][..], &[][..]),
        (&["--tools", "read"], &["read"]),
        (&["--tools", "ls,mcp__s__echo"], &["ls", "mcp__s__echo"]),
        (&["--no-builtin-tools", "--tools", "mcp__s__echo"], &["mcp__s__echo"]),
    ] {
        let (model, workspace) = with_server(&[]);
        model.reply(Reply::text("done"));
        Launch::rpc(&workspace).model("mock/m1").arguments(flags).start().run("go");
        assert_eq!(tools(&model.requests()[0]), expected, "{flags:?}");
    }
    let (model, workspace) = with_server(&[]);
    model.reply(Reply::text("done"));
    Launch::rpc(&workspace).model("mock/m1").arguments(&["-xt", "mcp__s__echo"]).start().run("go");
    let names = tools(&model.requests()[0]);
    assert!(!names.contains(&"mcp__s__echo".to_owned()) && names.contains(&"mcp__s__fail".to_owned()));
}

#[test]
fn new_session_keeps_the_servers() {
    let (model, workspace) = with_server(&["--log", "log"]);
    model.default_reply(Reply::text("done"));
    let mut agent = workspace.start();
    agent.run("one");
    agent.carry_out(json!({ "type": "new_session" }));
    agent.run("two");
    assert!(tools(&model.requests()[1]).contains(&"mcp__s__echo".to_owned()));
    let log = log(&workspace.work().join("log"));
    assert_eq!(log.iter().filter(|message| message["method"] == "initialize").count(), 1);
}
