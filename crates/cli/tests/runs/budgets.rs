//! Limits on what runs and sessions spend, from flags, settings and commands.

use std::time::{Duration, Instant};

use bowline_testkit::{Agent, Launch, ModelServer, Reply, Usage, Workspace, assert_well_formed, of_type};
use serde_json::{Value, json};

/// 0.00012 US dollars of `mock/m1`.
const USAGE: Usage = Usage { input: 80, output: 20, cache_read: 0, cache_write: 0 };

fn call() -> Reply {
    Reply::new().tool("bash", json!({ "command": "true" })).usage(USAGE)
}

fn start(workspace: &Workspace, arguments: &[&str]) -> Agent {
    Launch::rpc(workspace).model("mock/m1").arguments(arguments).start()
}

fn request(agent: &mut Agent, mut command: Value) -> Value {
    command["id"] = "r".into();
    agent.send(command);
    agent.response("r")
}

#[test]
fn costs_by_the_prices_of_the_model_end_a_run() {
    let (server, workspace) = Workspace::with_server();
    server.default_reply(call());
    let mut agent = start(&workspace, &["--max-cost", "0.0004"]);
    let records = agent.run("go");
    let settled = &records[records.len() - 1];
    assert_eq!(settled["errorKind"], "budget", "{settled}");
    let text = settled["error"].as_str().unwrap();
    assert!(text.contains("limit of 0.0004 US dollars; it has used 0.00048 US dollars"), "{text}");
    assert!(text.contains("limits.run.cost") && text.contains("--max-cost"), "{text}");
    assert_eq!(server.requests().len(), 4);
    let warnings = of_type(&records, "limit_warning");
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert_eq!(
        (&warning["scope"], &warning["limit"], &warning["max"]),
        (&json!("run"), &json!("cost"), &json!(0.0004))
    );
    let ends = of_type(&records, "tool_execution_end");
    assert_eq!(
        ends.iter().filter(|end| end["isError"] == true).count(),
        1,
        "the last call is not carried out"
    );
    server.reply(Reply::text("done"));
    let records = agent.run("go on");
    assert_eq!(records[records.len() - 1], json!({ "type": "agent_settled", "aborted": false }));
    assert_well_formed(agent.transcript());
}

#[test]
fn reopened_session_has_spent_what_its_file_says() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(json!({ "limits": { "session": { "tokens": 150 } } }));
    server.reply(Reply::text("one").usage(USAGE));
    let mut agent = start(&workspace, &[]);
    agent.run("go");
    agent.close_stdin();
    agent.wait();
    let mut agent = start(&workspace, &["--continue"]);
    let limits = request(&mut agent, json!({ "type": "get_limits" }));
    assert_eq!(limits["data"]["session"]["used"]["tokens"], 100, "{limits}");
    assert_eq!(limits["data"]["session"]["limits"], json!({ "tokens": 150 }), "{limits}");
    server.reply(Reply::text("two").usage(USAGE));
    agent.run("go");
    for command in [json!({ "type": "prompt", "message": "three" }), json!({ "type": "compact" })] {
        let refusal = request(&mut agent, command);
        assert_eq!((&refusal["success"], &refusal["code"]), (&json!(false), &json!("budget")), "{refusal}");
        assert!(refusal["error"].as_str().unwrap().contains("limits.session.tokens"), "{refusal}");
    }
    assert_eq!(server.requests().len(), 2);
    assert_well_formed(agent.transcript());
}

#[test]
fn time_kills_commands_and_all_that_they_started() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::new().tool("bash", json!({ "command": "sleep 300 & sleep 301" })));
    let mut agent = start(&workspace, &["--max-time=1s"]);
    let started = Instant::now();
    let records = agent.run("go");
    let settled = &records[records.len() - 1];
    assert_eq!((&settled["errorKind"], &settled["aborted"]), (&json!("budget"), &json!(false)), "{settled}");
    assert!(settled["error"].as_str().unwrap().contains("limit of 1 second;"), "{settled}");
    assert!(started.elapsed() < Duration::from_secs(8));
    agent.assert_no_survivors();
    assert_eq!(request(&mut agent, json!({ "type": "get_state" }))["data"]["isStreaming"], false);
    assert_well_formed(agent.transcript());
}

#[test]
fn client_makes_limits_stricter_and_not_wider() {
    let (server, workspace) = Workspace::with_server();
    server.default_reply(call());
    for dialect in ["pi", "omp"] {
        let mut agent = Launch::rpc(&workspace)
            .model("mock/m1")
            .dialect(dialect)
            .arguments(&["--max-tool-calls", "9"])
            .start();
        let refusal = request(&mut agent, json!({ "type": "set_limits", "run": { "toolCalls": 10 } }));
        assert_eq!(refusal["code"], "forbidden", "{refusal}");
        assert!(
            refusal["error"].as_str().unwrap().contains("run.toolCalls cannot exceed 9 tool calls"),
            "{refusal}"
        );
        let refusal = request(&mut agent, json!({ "type": "set_limits", "run": { "price": 10 } }));
        assert!(refusal["error"].as_str().unwrap().contains("there are cost, tokens"), "{refusal}");
        let limits = request(&mut agent, json!({ "type": "set_limits", "run": { "toolCalls": 2 } }));
        assert_eq!(limits["data"]["run"]["limits"], json!({ "turns": 500, "toolCalls": 2 }), "{limits}");
        agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
        let end = if dialect == "pi" { "agent_settled" } else { "agent_end" };
        let records = agent.until_type(end);
        assert_eq!(records[records.len() - 1]["errorKind"], "budget");
        assert_eq!(of_type(&records, "limit_warning").len(), 1);
    }
}

#[test]
fn limits_hold_in_dialects_without_words_for_them() {
    for dialect in ["pi-classic", "opi", "operator"] {
        let (server, workspace) = Workspace::with_server();
        server.default_reply(call());
        let workspace = workspace.settings(json!({ "limits": { "run": { "tokens": 250 } } }));
        let prompt = match dialect {
            "operator" => json!({ "id": "p", "type": "prompt", "content": "go", "message": "go" }),
            _ => json!({ "id": "p", "type": "prompt", "message": "go" }),
        };
        let mut agent = Launch::rpc(&workspace).model("mock/m1").dialect(dialect).start();
        agent.send(prompt);
        let records = agent.until(|record| record.to_string().contains("limit of 250 tokens"));
        assert!(of_type(&records, "limit_warning").is_empty(), "{dialect}");
        assert_eq!(server.requests().len(), 3, "{dialect}");
    }
}

#[test]
fn bad_limits_keep_bowline_from_starting() {
    let server = ModelServer::start();
    let workspace = Workspace::new(&server, bowline_testkit::Api::AnthropicMessages);
    for (arguments, words) in [
        (["--max-cost", "much"], "it must be a number from 0"),
        (["--max-cost", "-1"], "it must be a number from 0"),
        (["--max-cost", "NaN"], "it must be a number from 0"),
        (["--max-tokens", "1.5"], "it must be a whole number"),
        (["--max-cost", ""], "it must be a number from 0"),
        (["--max-turns", ""], "it must be a whole number"),
        (["--max-time", ""], "it must be seconds, or 10m, or 2h"),
        (["--max-time", "5d"], "it must be seconds, or 10m, or 2h"),
    ] {
        let finished = Launch::rpc(&workspace).arguments(&arguments).run();
        assert!(finished.stderr.contains(words), "{arguments:?}: {}", finished.stderr);
        assert_ne!(finished.code, 0);
    }
    let workspace = workspace.settings(json!({ "limits": { "run": { "cost": "much" } } }));
    let finished = Launch::rpc(&workspace).run();
    assert!(finished.stderr.contains("limits.run.cost"), "{}", finished.stderr);
}

#[test]
fn calls_that_the_user_or_a_rule_refuses_are_not_counted() {
    let (server, workspace) = Workspace::with_server();
    let rules = json!([
        { "tool": "bash", "prefix": ["touch"], "then": "deny" },
        { "tool": "bash", "prefix": ["true"], "then": "allow" },
    ]);
    let workspace = workspace.settings(json!({ "approvals": { "rules": rules } }));
    let run = |command: &str| Reply::new().tool("bash", json!({ "command": command }));
    for command in ["touch a", "touch b", "mkdir c"] {
        server.reply(run(command));
    }
    server.reply(Reply::new().tool("bash", json!({})));
    server.reply(run("true"));
    server.reply(Reply::text("done"));
    let mut agent = start(&workspace, &["--ask", "untrusted", "--max-tool-calls", "1"]);
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    let question = agent.until_type("extension_ui_request").pop().unwrap();
    agent.send(json!({ "type": "extension_ui_response", "id": question["id"], "confirmed": false }));
    let records = agent.collect_until_settled();
    assert_eq!(records[records.len() - 1], json!({ "type": "agent_settled", "aborted": false }));
    let limits = request(&mut agent, json!({ "type": "get_limits" }));
    assert_eq!(limits["data"]["run"]["used"]["toolCalls"], 1, "{limits}");
    assert_eq!(server.requests().len(), 6);
}

#[test]
fn failed_answers_count_as_turns_and_the_stop_does_not() {
    let (server, workspace) = Workspace::with_server();
    let settings = json!({ "limits": { "session": { "turns": 9 } }, "retry": { "baseDelayMs": 1 } });
    let workspace = workspace.settings(settings);
    server.default_reply(Reply::status(529));
    let mut agent = start(&workspace, &["--max-turns", "2"]);
    let records = agent.run("go");
    let settled = &records[records.len() - 1];
    assert_eq!(settled["errorKind"], "too_many_turns", "{settled}");
    assert_eq!(server.requests().len(), 2);
    let turns = |agent: &mut Agent| {
        request(agent, json!({ "type": "get_limits" }))["data"]["session"]["used"]["turns"].clone()
    };
    assert_eq!(turns(&mut agent), 2);
    agent.close_stdin();
    agent.wait();
    let mut agent = start(&workspace, &["--continue"]);
    assert_eq!(turns(&mut agent), 2, "the file says the same");
}
