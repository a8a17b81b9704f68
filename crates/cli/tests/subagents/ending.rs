//! How subagents end: by themselves, by an abort, with the process.

use std::time::{Duration, Instant};

use bowline_session::Session;
use bowline_testkit::{Agent, Gate, ModelServer, Reply, assert_well_formed, eventually, is_alive, of_type};
use serde_json::{Value, json};

use crate::{calling, result, start, text};

/// How long an abort may take; tools get two seconds to die.
const LIMIT: Duration = Duration::from_secs(3);

/// Ignores every signal it can, and leaves a child that has left its session and its parent.
const STUBBORN: &str = r#"trap '' TERM INT HUP
    (setsid bash -c 'trap "" TERM INT HUP; exec sleep 301' </dev/null &)
    echo ready; while true; do sleep 303; done"#;

/// Starts three subagents: one streams, one runs a stubborn command, one runs another command.
fn start_three(server: &ModelServer, agent: &mut Agent) -> Gate {
    let gate = Gate::new();
    server.reply_in("stream", Reply::text("half").gate(&gate).then_text("lost"));
    server.reply_in("stubborn", Reply::new().tool("bash", json!({ "command": STUBBORN })));
    server.reply_in("sleep", Reply::new().tool("bash", json!({ "command": "sleep 304" })));
    let tasks = ["stream", "stubborn", "sleep"].map(|name| json!({ "name": name, "task": name }));
    server.reply(calling(&json!(tasks)));
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    gate.wait_until_reached(LIMIT);
    let is_running = |record: &Value| {
        let progress = record["partialResult"]["details"]["progress"].as_array();
        progress.is_some_and(|all| all.iter().filter(|one| one["currentTool"] == "bash").count() == 2)
    };
    agent.until(is_running);
    // Two shells, the sleeps of both, and the one that has left its session.
    eventually("the commands run", || agent.survivors().len() >= 4);
    gate
}

#[test]
fn subagents_run_beside_each_other_and_report_progress() {
    let (server, _workspace, mut agent) = start();
    let gates = [Gate::new(), Gate::new()];
    for (gate, task) in gates.iter().zip(["one", "two"]) {
        server.reply_in(task, Reply::new().gate(gate).then_text(task));
    }
    server.reply(calling(&json!([{ "task": "one" }, { "task": "two" }])));
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    gates.iter().for_each(|gate| gate.wait_until_reached(LIMIT));
    // The client is answered while subagents run.
    agent.send(json!({ "id": "s", "type": "get_state" }));
    assert_eq!(agent.response("s")["data"]["isStreaming"], true);
    gates.iter().for_each(Gate::open);
    let records = agent.collect_until_settled();
    assert_eq!(text(result(&records)), "## task-1 (task) completed\none\n\n## task-2 (task) completed\ntwo");
    let transcript = agent.transcript();
    let updates = of_type(transcript, "tool_execution_update");
    let shown = updates[0]["partialResult"]["content"][0]["text"].as_str().unwrap();
    assert!(shown.starts_with("task-1 (task): "), "{shown}");
    assert_eq!(updates[0]["partialResult"]["details"]["progress"][1]["id"], "task-2");
    // Nobody asked for records about subagents.
    assert!(
        !transcript.iter().any(|record| record["type"].as_str().unwrap_or_default().starts_with("subagent"))
    );
    assert_well_formed(transcript);
}

#[test]
fn abort_ends_subagents_with_all_their_processes() {
    let (server, workspace, mut agent) = start();
    let _gate = start_three(&server, &mut agent);
    let started = Instant::now();
    agent.send(json!({ "id": "a", "type": "abort" }));
    let records = agent.until(|record| record["id"] == "a");
    assert!(started.elapsed() < LIMIT, "{:?}", started.elapsed());
    agent.assert_no_survivors();
    let end = result(&records);
    assert_eq!(end["isError"], true);
    let results = end["result"]["details"]["results"].as_array().unwrap();
    assert!(results.iter().all(|result| result["aborted"] == true), "{results:?}");
    assert_eq!(of_type(&records, "agent_settled")[0]["aborted"], true);
    server.wait_for_hang_ups(1, LIMIT);
    // The session goes on, and what the subagents had done is in their files.
    agent.send(json!({ "id": "n", "type": "prompt", "message": "again" }));
    agent.collect_until_settled();
    for result in results {
        let file = result["sessionFile"].as_str().unwrap();
        let session = Session::open(file.as_ref(), &workspace.work()).unwrap();
        assert!(session.context().unwrap().messages.len() >= 2, "{file}");
    }
    assert_well_formed(agent.transcript());
}

#[test]
fn kill_leaves_sessions_that_open_and_no_processes() {
    let (server, workspace, mut agent) = start();
    let _gate = start_three(&server, &mut agent);
    let processes = agent.survivors();
    agent.kill();
    eventually("the commands die", || !processes.iter().any(|process| is_alive(*process)));
    let parent = workspace.session_files().remove(0);
    let children = bowline_session::children_of(&parent).unwrap();
    assert_eq!(children.len(), 3);
    for file in children.iter().map(|child| &child.file).chain([&parent]) {
        let session = Session::open(file, &workspace.work()).unwrap();
        assert!(session.damage().is_none() && !session.context().unwrap().messages.is_empty());
    }
}

#[test]
fn end_of_input_ends_subagents() {
    let (server, _workspace, mut agent) = start();
    let _gate = start_three(&server, &mut agent);
    agent.close_stdin();
    assert_eq!(agent.wait(), 0);
    agent.assert_no_survivors();
}

#[test]
fn failures_of_subagents_are_results() {
    let (server, _workspace, mut agent) = start();
    server.reply_in("fail", Reply::status(400).body(r#"{"error":{"message":"no such thing"}}"#));
    server.reply(calling(&json!([{ "task": "fail" }])));
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    let records = agent.collect_until_settled();
    let end = result(&records);
    assert!(end["isError"] == true && text(end).starts_with("## task-1 (task) failed: "), "{end}");
    assert!(text(end).contains("no such thing"));

    for (tasks, reason) in [
        (json!([{ "task": "x", "agent": "wizard" }]), "There is no agent named wizard"),
        (json!([{ "task": "x", "model": "mock/m9" }]), "There is no model named mock/m9"),
        (json!([{ "task": "x", "tools": ["teleport"] }]), "has no tool named teleport"),
        (json!([]), "1 to 32 tasks"),
    ] {
        server.reply(calling(&tasks));
        agent.send(json!({ "type": "prompt", "message": "go" }));
        let records = agent.collect_until_settled();
        let end = result(&records);
        assert!(end["isError"] == true && text(end).contains(reason), "{end}");
    }
}

#[test]
fn statistics_contain_what_subagents_used() {
    let (server, _workspace, mut agent) = start();
    server.reply(calling(&json!([{ "task": "one" }, { "task": "two" }])));
    agent.send(json!({ "type": "prompt", "message": "go" }));
    let records = agent.collect_until_settled();
    assert_eq!(result(&records)["result"]["details"]["usage"]["totalTokens"], 220);
    agent.send(json!({ "id": "s", "type": "get_session_stats" }));
    let data = agent.response("s")["data"].clone();
    assert_eq!((&data["tokens"]["total"], &data["toolResults"]), (&json!(440), &json!(1)));
    let cost = data["cost"].as_f64().unwrap();
    assert!((cost - 4.0 * 0.00012).abs() < 1e-9, "{cost}");
}
