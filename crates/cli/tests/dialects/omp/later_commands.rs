//! The commands that later versions of omp added: each is built, or refused by its name.

use std::time::Duration;

use bowline_testkit::{Gate, Launch, ModelServer, Reply, Workspace, of_type};
use serde_json::{Value, json};

use super::{conversation, run};

const LIMIT: Duration = Duration::from_secs(10);

/// Every command of omp 18 that its first documentation does not have and bowline does not build.
const REFUSED: &[&str] = &[
    r#"{ "type": "set_fast_mode", "enabled": true }"#,
    r#"{ "type": "handoff", "customInstructions": "be brief" }"#,
];

#[test]
fn commands_that_are_not_built_are_refused_by_name_with_their_id() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).dialect("omp").start_greeted();
    let info = agent.get("get_protocol_info");
    assert_eq!(info["emulates"], json!({ "name": "omp", "version": "18.2.3" }));
    let names = REFUSED.iter().map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].take());
    assert_eq!(info["unsupported"], json!(names.collect::<Vec<_>>()));
    for line in REFUSED {
        let command: Value = serde_json::from_str(line).unwrap();
        let name = command["type"].as_str().unwrap();
        let response = agent.ask(command.clone());
        assert_eq!((&response["command"], &response["code"]), (&json!(name), &json!("unsupported")));
        let error = response["error"].as_str().unwrap();
        assert!(error.starts_with(&format!("{name} is not supported: ")), "{error}");
        assert!(!info["commands"].as_array().unwrap().contains(&json!(name)), "{name} is announced");
    }
}

#[test]
fn refused_commands_are_documented() {
    let page = include_str!("../../../../../docs/protocol-omp.md");
    for line in REFUSED {
        let command: Value = serde_json::from_str(line).unwrap();
        let name = command["type"].as_str().unwrap();
        assert!(page.contains(&format!("`{name}`")), "docs/protocol-omp.md does not mention {name}");
    }
}

#[test]
fn unknown_command_is_answered_with_its_id() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).dialect("omp").start_greeted();
    for id in [json!("u"), json!(7), json!({ "n": 1 })] {
        agent.send(json!({ "id": id, "type": "bogus" }));
        let error = "Unknown command: bogus";
        let expected = json!({
            "id": id, "type": "response", "command": "bogus", "success": false, "error": error,
            "code": "unknown_command",
        });
        assert_eq!(agent.next(), expected);
    }
    for (line, id) in [("42\n", None), ("[]\n", None), ("{\"id\":\"x\"}\n", Some("x")), ("{}\n", None)] {
        agent.send_raw(line.as_bytes());
        let response = agent.next();
        assert_eq!(response["error"], "Unknown command: undefined");
        assert_eq!((response.get("id").and_then(Value::as_str), response.get("command")), (id, None));
    }
}

#[test]
fn protocol_version_is_announced_and_negotiated() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).dialect("omp").start();
    let ready = json!({ "type": "ready", "protocolVersion": 1, "supportedProtocolVersions": [1] });
    assert_eq!(agent.next(), ready);
    let negotiate = |version: Value| json!({ "type": "negotiate_protocol", "protocolVersion": version });
    assert_eq!(agent.carry_out(negotiate(json!(1))), json!({ "protocolVersion": 1 }));
    assert_eq!(agent.refuse(negotiate(json!(2))), "Unsupported RPC protocol version: 2");
    assert!(agent.refuse(json!({ "type": "negotiate_protocol" })).contains("missing"));
}

#[test]
fn available_commands_are_listed() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).dialect("omp").start_greeted();
    let commands = agent.get("get_available_commands")["commands"].take();
    let commands = commands.as_array().unwrap();
    assert!(
        !commands.is_empty() && commands.iter().all(|command| command["source"] == "builtin"),
        "{commands:?}"
    );
}

/// Returns the pages of a conversation from the first to the last.
fn pages(agent: &mut bowline_testkit::Agent, limit: u64) -> Vec<Value> {
    let mut pages = vec![agent.carry_out(json!({ "type": "get_messages_page", "limit": limit }))];
    while let Some(cursor) = pages.last().and_then(|page| page.get("nextCursor")).cloned() {
        let next = json!({ "type": "get_messages_page", "limit": limit, "cursor": cursor });
        pages.push(agent.carry_out(next));
    }
    pages
}

#[test]
fn pages_together_are_all_messages() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start_in("omp");
    let empty = agent.get("get_messages_page");
    assert_eq!(empty, json!({ "messages": [], "totalMessages": 0 }));
    for text in ["one", "two", "three"] {
        run(&mut agent, text);
    }
    let all = agent.get("get_messages")["messages"].take();
    for (limit, sizes) in [(1, vec![1; 6]), (4, vec![4, 2]), (6, vec![6]), (256, vec![6])] {
        let pages = pages(&mut agent, limit);
        let found: Vec<_> =
            pages.iter().flat_map(|page| page["messages"].as_array().unwrap().clone()).collect();
        assert_eq!(json!(found), all);
        let lengths: Vec<_> = pages.iter().map(|page| page["messages"].as_array().unwrap().len()).collect();
        assert_eq!(lengths, sizes);
        assert!(pages.iter().all(|page| page["totalMessages"] == 6));
    }
    for limit in [json!(0), json!(257), json!("x"), json!(-1)] {
        let error = agent.refuse(json!({ "type": "get_messages_page", "limit": limit }));
        assert!(error.contains("an integer from 1 to 256"), "{error}");
    }
}

#[test]
fn large_messages_end_a_page_early() {
    let server = ModelServer::start();
    server.default_reply(Reply::text("ok"));
    let workspace = Workspace::new(&server, bowline_testkit::Api::AnthropicMessages)
        .settings(json!({ "compaction": { "enabled": false } }));
    let mut agent = workspace.start_in("omp");
    for _ in 0..3 {
        run(&mut agent, &"x".repeat(300 * 1024));
    }
    let lengths: Vec<_> =
        pages(&mut agent, 256).iter().map(|page| page["messages"].as_array().unwrap().len()).collect();
    assert_eq!(lengths, [4, 2]);
}

#[test]
fn cursor_is_good_until_the_session_changes() {
    let server = ModelServer::start();
    let workspace = Workspace::new(&server, bowline_testkit::Api::AnthropicMessages);
    let mut agent = workspace.start_in("omp");
    run(&mut agent, "one");
    let page = |cursor: &Value| json!({ "type": "get_messages_page", "cursor": cursor });
    let cursor = agent.carry_out(json!({ "type": "get_messages_page", "limit": 1 }))["nextCursor"].take();
    assert_eq!(agent.carry_out(page(&cursor))["messages"].as_array().unwrap().len(), 1);

    let gate = Gate::new();
    server.reply(Reply::text("two").gate(&gate));
    agent.send(json!({ "type": "prompt", "message": "two" }));
    gate.wait_until_reached(LIMIT);
    let busy = agent.ask(page(&cursor));
    assert_eq!(
        (&busy["error"], &busy["code"]),
        (&json!("Cannot page messages while the session is changing"), &json!("session_busy"))
    );
    gate.open();
    agent.until_type("agent_end");
    let stale = agent.ask(page(&cursor));
    assert_eq!(
        (&stale["error"], &stale["code"]),
        (&json!("RPC message cursor is stale"), &json!("stale_cursor"))
    );
    agent.carry_out(json!({ "type": "new_session" }));
    assert_eq!(agent.ask(page(&cursor))["code"], "stale_cursor");
    assert_eq!(agent.refuse(page(&json!("nonsense"))), "Invalid RPC message cursor");
}

#[test]
fn message_during_a_requested_compaction_starts_a_run_after_it() {
    for command in ["steer", "follow_up", "prompt"] {
        let server = ModelServer::start();
        let workspace = Workspace::new(&server, bowline_testkit::Api::AnthropicMessages)
            .settings(json!({ "compaction": { "keepRecentTokens": 1 } }));
        let mut agent = workspace.start_in("omp");
        run(&mut agent, "one");
        run(&mut agent, "two");
        let gate = Gate::new();
        server.reply(Reply::text("what was said").gate(&gate));
        agent.send(json!({ "id": "c", "type": "compact" }));
        gate.wait_until_reached(LIMIT);
        assert_eq!(agent.refuse(json!({ "type": "compact" })), "Compaction already in progress");
        agent.send(json!({ "id": "m", "type": command, "message": "three" }));
        let state = agent.get("get_state");
        assert_eq!((&state["isCompacting"], &state["isStreaming"]), (&json!(true), &json!(false)));
        gate.open();
        let records = agent.until_type("agent_end");
        let compacted = records.iter().position(|record| record["id"] == "c").unwrap();
        assert_eq!(records[compacted]["success"], true);
        assert_eq!(conversation(&records[compacted..]), ["three", "<assistant>"], "{command}");
        let answered = of_type(agent.transcript(), "response");
        let answers: Vec<_> = answered.iter().filter(|response| response["id"] == "m").collect();
        assert!(answers.len() == 1 && answers[0]["success"] == true, "{command}: {answers:?}");
        assert_eq!(agent.get("get_state")["queuedMessageCount"], 0);
    }
}

#[test]
fn abort_during_a_compaction_ends_it_and_then_the_prompt_behind_it() {
    let server = ModelServer::start();
    let workspace = Workspace::new(&server, bowline_testkit::Api::AnthropicMessages)
        .settings(json!({ "compaction": { "keepRecentTokens": 1 } }));
    let mut agent = workspace.start_in("omp");
    run(&mut agent, "one");
    run(&mut agent, "two");
    server.default_reply(Reply::mute());
    let lines = [
        json!({ "id": "c", "type": "compact" }),
        json!({ "id": "p", "type": "prompt", "message": "three" }),
        json!({ "id": "a", "type": "abort" }),
    ];
    agent.send_raw(lines.map(|line| format!("{line}\n")).concat().as_bytes());
    let records = agent.until(|record| record["id"] == "a");
    let response = |id: &str| of_type(&records, "response").into_iter().find(|record| record["id"] == id);
    assert_eq!(response("c").unwrap()["error"], "Compaction cancelled");
    assert_eq!(response("p").unwrap()["success"], true);
    let [end] = of_type(&records, "agent_end")[..] else { panic!("{records:?}") };
    assert_eq!(end["messages"][1]["stopReason"], "aborted");
}
