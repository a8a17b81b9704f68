//! What extensions cannot do to bowline: they crash, hang, lie and flood, and it goes on, says what happened, and leaves no
//! process behind.

use std::time::{Duration, Instant};

use bowline_testkit::{Agent, Launch, Reply, Workspace, of_type};
use serde_json::{Value, json};

use crate::actor::{Actor, errors, hooks, run, start, tool, wait_for_error};

/// Checks that bowline still works, says what happened, and leaves nothing running.
#[track_caller]
fn check_survival(agent: &mut Agent, problem: &str) {
    run(agent, "are you there?");
    let errors = errors(agent.transcript());
    assert!(errors.iter().any(|error| error.contains(problem)), "{problem} is not in {errors:?}");
    agent.close_stdin();
    assert_eq!(agent.wait(), 0);
    agent.assert_no_survivors();
}

#[test]
fn extension_that_crashes_at_the_start_is_reported_with_its_last_words() {
    let (_server, workspace) = Workspace::with_server();
    let plan = json!({ "start": [{ "stderr": "first\nno module named x\n" }, { "exit": 3 }] });
    Actor::with_plan(&workspace, "a", plan);
    let mut agent = start(&workspace);
    check_survival(&mut agent, "load: exited with code 3: no module named x");
}

#[test]
fn extension_that_cannot_be_started_is_reported() {
    let (_server, workspace) = Workspace::with_server();
    let manifest = r#"{"name": "a", "command": ["no-such-program"]}"#;
    let workspace = workspace.home_file(".bowline/extensions/a/extension.json", manifest);
    let mut agent = start(&workspace);
    check_survival(&mut agent, "load: Could not start no-such-program");
}

#[test]
fn extension_of_another_version_is_not_used() {
    let (_server, workspace) = Workspace::with_server();
    let on = json!({ "init": [{ "send": { "type": "registered", "protocol": 2, "extensions": [] } }] });
    Actor::new(&workspace, "a", json!({}), on);
    let mut agent = start(&workspace);
    check_survival(&mut agent, "load: speaks version 2 of the protocol, but bowline speaks 1");
}

#[test]
fn extension_that_does_not_register_is_not_waited_for_for_long() {
    let (_server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(json!({ "extensionStartTimeoutMs": 300 }));
    Actor::new(&workspace, "a", json!({}), json!({ "init": [] }));
    let mut agent = start(&workspace);
    check_survival(&mut agent, "load: has not registered within 0.3 s; the session goes on without it");
}

#[test]
fn garbage_is_reported_three_times_and_ignored() {
    let (_server, workspace) = Workspace::with_server();
    let on = json!({ "hook:session_start": [
        { "repeat": { "count": 50, "text": "hello, world #\n" } },
        { "raw": "[1]\n{\"type\":7}\n{\"type\":\"of_tomorrow\"}\n{\"type\":\"result\"}\n\n\u{1}\n" },
        { "result": null },
    ] });
    Actor::new(&workspace, "a", hooks(&["session_start"]), on);
    let mut agent = start(&workspace);
    check_survival(&mut agent, "protocol: stdout is for records only");
    assert_eq!(errors(agent.transcript()).len(), 3);
}

#[test]
fn line_of_100_mb_is_read_without_keeping_it() {
    let (_server, workspace) = Workspace::with_server();
    let on = json!({ "hook:session_start": [
        { "repeat": { "count": 100, "text": "x".repeat(1_000_000) } },
        { "raw": "\n" },
        { "result": null },
    ] });
    Actor::new(&workspace, "a", hooks(&["session_start"]), on);
    let mut agent = start(&workspace);
    run(&mut agent, "hi");
    // The line was read up to its limit and is forgotten.
    assert!(agent.memory_kib().resident < 60_000, "{:?}", agent.memory_kib());
    check_survival(&mut agent, "protocol: a line is longer than 67108864 bytes");
}

#[test]
fn flood_of_notifications_is_slowed_down_and_does_not_hold_up_the_client() {
    let (_server, workspace) = Workspace::with_server();
    let notify =
        json!({ "type": "notify", "method": "session.appendEntry", "params": { "customType": "x" } });
    let on = json!({
        "hook:session_start": [{ "result": null }, { "repeat": { "count": 3000, "text": format!("{notify}\n") } }],
    });
    Actor::new(&workspace, "a", hooks(&["session_start"]), on);
    let mut agent = start(&workspace);
    agent.until(|record| record["event"] == "flood");
    let begin = Instant::now();
    agent.carry_out(json!({ "type": "get_state" }));
    assert!(begin.elapsed() < Duration::from_secs(1));
    let entries = of_type(agent.transcript(), "entry_appended").len();
    assert!(entries <= 2100, "{entries}");
    check_survival(&mut agent, "flood: it sends more than 1000 records a second and is slowed down");
}

#[test]
fn extension_that_exits_in_a_tool_call_fails_the_call_and_is_started_again() {
    let (server, workspace) = Workspace::with_server();
    let on = json!({ "tool:say": [{ "result": { "content": "alive" } }] });
    let mut plan = json!({ "registration": tool("say"), "on": on });
    plan["on"]["tool:say"].as_array_mut().unwrap().insert(0, json!({ "sleep": 0 }));
    plan["on"]["tool:die"] = json!([{ "exit": 9 }]);
    plan["registration"]["tools"].as_array_mut().unwrap().push(tool("die")["tools"][0].clone());
    let actor = Actor::with_plan(&workspace, "a", plan);
    let mut agent = start(&workspace);
    server.reply(Reply::text("").tool("die", json!({ "text": "x" })));
    let records = run(&mut agent, "go");
    let result = of_type(&records, "tool_execution_end")[0];
    assert_eq!(result["result"]["content"][0]["text"], "Extension \"a\" exited");
    assert_eq!(result["isError"], true);
    wait_for_error(&mut agent, "process: exited with code 9");
    let init = actor.wait_for(|record| record["type"] == "init" && record["session"]["reason"] == "restart");
    assert_eq!(init["type"], "init");
    actor.wait_for(|record| record["type"] == "state" && record["patch"]["model"].is_object());
    server.reply(Reply::text("").tool("say", json!({ "text": "x" })));
    let records = run(&mut agent, "again");
    assert_eq!(of_type(&records, "tool_execution_end")[0]["result"]["content"][0]["text"], "alive");
    check_survival(&mut agent, "process: exited with code 9");
}

#[test]
fn flood_of_registrations_is_slowed_down_and_does_not_hold_up_the_client() {
    let (_server, workspace) = Workspace::with_server();
    let models: Vec<_> = (0..50).map(|index| json!({ "id": index.to_string() })).collect();
    let provider = json!({ "name": "p#", "stream": true, "models": models });
    let text = json!({ "type": "register", "providers": [provider], "tools": [{ "name": "not a name" }] });
    let registered = json!({ "type": "registered", "protocol": 1, "extensions": [{}] });
    let flood = json!({ "repeat": { "count": 3000, "text": format!("{text}\n") } });
    Actor::new(&workspace, "a", json!({}), json!({ "init": [{ "send": registered }, flood] }));
    let mut agent = start(&workspace);
    agent.until(|record| record["event"] == "flood");
    let start = Instant::now();
    agent.carry_out(json!({ "type": "get_state" }));
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
    check_survival(&mut agent, "flood: it sends more than 1000 records a second and is slowed down");
}

#[test]
fn message_that_comes_with_the_end_of_bowline_starts_no_run() {
    for hook in ["agent_end", "session_shutdown"] {
        let (server, workspace) = Workspace::with_server();
        server.reply(Reply::new().deltas(3, 10).hang_after(2));
        server.reply(Reply::text("").tool("bash", json!({ "command": "touch slipped" })));
        let mut on = json!({});
        let message =
            json!({ "type": "notify", "method": "session.sendUserMessage", "params": { "content": "on" } });
        on[format!("hook:{hook}")] = json!([{ "send": message }, { "result": null }]);
        Actor::new(&workspace, "a", hooks(&[hook]), on);
        let mut agent = start(&workspace);
        agent.send(json!({ "type": "prompt", "message": "go" }));
        agent.until_type("message_update");
        let start = Instant::now();
        agent.close_stdin();
        let records = agent.rest();
        assert_eq!(agent.wait(), 0);
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
        assert!(of_type(&records, "agent_start").is_empty(), "{records:#?}");
        assert_eq!(of_type(&records, "agent_settled").len(), 1);
        assert!(!workspace.work().join("slipped").exists());
    }
}

#[test]
fn guard_that_was_killed_still_blocks() {
    let (server, workspace) = Workspace::with_server();
    let on = json!({ "hook:tool_call": [{ "exit": 1 }] });
    Actor::new(&workspace, "guard", hooks(&["tool_call"]), on);
    let call = |file: &str| Reply::text("").tool("bash", json!({ "command": format!("touch {file}") }));
    server.reply(call("one"));
    server.reply(call("two"));
    let mut agent = start(&workspace);
    let records = run(&mut agent, "go");
    for result in of_type(&records, "tool_execution_end") {
        assert_eq!(result["result"]["content"][0]["text"], "Extension \"guard\" exited", "{result}");
    }
    assert!(!workspace.work().join("one").exists() && !workspace.work().join("two").exists());
}

#[test]
fn extension_that_blocks_every_tool_leaves_the_session_usable() {
    let (server, workspace) = Workspace::with_server();
    let on = json!({ "hook:tool_call": [{ "result": { "block": true, "reason": "no" } }] });
    Actor::new(&workspace, "a", hooks(&["tool_call"]), on);
    server.reply(
        Reply::text("").tool("bash", json!({ "command": "true" })).tool("read", json!({ "path": "x" })),
    );
    let mut agent = start(&workspace);
    let records = run(&mut agent, "go");
    let results = of_type(&records, "tool_execution_end");
    assert!(results.iter().all(|result| result["result"]["content"][0]["text"] == "no"), "{results:?}");
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn daemons_die_with_the_extension() {
    let (_server, workspace) = Workspace::with_server();
    let on = json!({ "hook:session_start": [{ "daemon": true }, { "result": null }] });
    let actor = Actor::new(&workspace, "a", hooks(&["session_start"]), on);
    let mut agent = start(&workspace);
    run(&mut agent, "hi");
    let daemon = actor.daemon();
    assert!(is_alive(daemon));
    agent.close_stdin();
    assert_eq!(agent.wait(), 0);
    assert!(becomes_dead(daemon));
}

#[test]
fn extensions_and_their_daemons_die_with_a_killed_bowline() {
    let (_server, workspace) = Workspace::with_server();
    let on = json!({ "hook:session_start": [{ "daemon": true }, { "result": null }] });
    let actor = Actor::new(&workspace, "a", hooks(&["session_start"]), on);
    let mut agent = start(&workspace);
    run(&mut agent, "hi");
    let processes = agent.children();
    agent.kill();
    agent.wait();
    assert!(becomes_dead(actor.daemon()));
    assert!(processes.into_iter().all(becomes_dead));
}

#[test]
fn extension_that_ignores_the_end_is_killed() {
    let (_server, workspace) = Workspace::with_server();
    let on = json!({ "shutdown": [{ "sleep": 300 }] });
    Actor::new(&workspace, "a", hooks(&["session_start"]), on);
    let mut agent = start(&workspace);
    run(&mut agent, "hi");
    let begin = Instant::now();
    agent.close_stdin();
    assert_eq!(agent.wait(), 0);
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    agent.assert_no_survivors();
}

#[test]
fn extension_that_does_not_read_holds_up_nothing() {
    let (server, workspace) = Workspace::with_server();
    let on = json!({ "hook:session_start": [{ "result": null }, { "sleep": 300 }] });
    Actor::new(&workspace, "a", hooks(&["session_start", "message_update"]), on);
    server.reply(Reply::new().deltas(40_000, 100));
    let mut agent = start(&workspace);
    let records = run(&mut agent, "go");
    // How many records they are depends on how far this reader lags; the text does not.
    let deltas = of_type(&records, "message_update").into_iter();
    let texts = deltas.filter_map(|update| update["assistantMessageEvent"]["delta"].as_str());
    assert_eq!(texts.map(str::len).sum::<usize>(), 40_000 * 100);
    let errors = errors(agent.transcript());
    assert_eq!(errors, ["event: it does not read fast enough; some events were left out"]);
    agent.close_stdin();
    assert_eq!(agent.wait(), 0);
    agent.assert_no_survivors();
}

#[test]
fn extensions_get_no_secrets_unless_their_manifest_names_them() {
    let (_server, workspace) = Workspace::with_server();
    let script = "import os; open('seen.txt', 'w').write(os.environ.get('MY_TOKEN', '-') + os.environ.get('MY_KEY', '-'))";
    let manifest = json!({
        "name": "a",
        "command": ["python3", "{dir}/main.py"],
        "environment": ["MY_TOKEN"],
    });
    let workspace = workspace
        .home_file(".bowline/extensions/a/extension.json", &manifest.to_string())
        .home_file(".bowline/extensions/a/main.py", script);
    let launch = Launch::rpc(&workspace).model("mock/m1");
    let mut agent = launch.environment("MY_TOKEN", "token").environment("MY_KEY", "key").start();
    agent.until_type("extension_error");
    let seen = std::fs::read_to_string(workspace.work().join("seen.txt")).unwrap();
    assert_eq!(seen, "token-");
}

fn is_alive(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    status.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

fn becomes_dead(process: u32) -> bool {
    let start = Instant::now();
    while is_alive(process) && start.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
    }
    !is_alive(process)
}

#[test]
fn errors_of_an_extension_are_attributed_to_it() {
    let (_server, workspace) = Workspace::with_server();
    let on = json!({ "hook:session_start": [
        { "send": { "type": "error", "message": "late", "where": "timer", "stack": "at x" } },
        { "result": null },
    ] });
    let actor = Actor::new(&workspace, "a", hooks(&["session_start"]), on);
    let mut agent = start(&workspace);
    run(&mut agent, "hi");
    let error: &Value = of_type(agent.transcript(), "extension_error")[0];
    let expected = json!({
        "type": "extension_error",
        "extensionPath": actor.path(),
        "event": "timer",
        "error": "late",
    });
    assert_eq!(*error, expected);
}

#[test]
fn declared_guard_that_does_not_start_blocks_tools() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(json!({ "extensionStartTimeoutMs": 200 }));
    let manifest = json!({ "name": "g", "command": ["sleep", "100"], "guard": true });
    let workspace = workspace.home_file(".bowline/extensions/g/extension.json", &manifest.to_string());
    server.reply(Reply::new().tool("bash", json!({ "command": "echo unguarded" })));
    server.reply(Reply::text("done"));
    let mut agent = start(&workspace);
    let records = run(&mut agent, "go");
    let end = of_type(&records, "tool_execution_end").pop().unwrap();
    assert_eq!(end["result"]["content"][0]["text"], "Extension \"g\" has not started", "{end}");
}
