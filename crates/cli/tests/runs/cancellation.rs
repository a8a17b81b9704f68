//! Cancelling never waits in line, and a cancelled process dies with all its descendants.

use std::time::{Duration, Instant};

use bowline_testkit::{
    Agent, Api, Gate, Launch, ModelServer, Reply, Workspace, assert_well_formed, eventually, of_type,
};
use serde_json::{Value, json};

/// How long an abort may take; tools get two seconds to die.
const LIMIT: Duration = Duration::from_secs(3);

/// Ignores every signal it can, and leaves a child that has left its session and its parent, and does the same.
const STUBBORN: &str = r#"trap '' TERM INT HUP
    (setsid bash -c 'trap "" TERM INT HUP; (setsid sleep 300 &); exec sleep 301' </dev/null &)
    (setsid sleep 302 >/dev/null 2>&1 </dev/null &)
    echo ready; while true; do sleep 303; done"#;

/// How many processes a stubborn command has.
const STUBBORN_PROCESSES: usize = 5;

fn start_stubborn_tool(server: &ModelServer, agent: &mut Agent) {
    server.reply(Reply::new().tool("bash", json!({ "command": STUBBORN })));
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    agent.until(|record| record["partialResult"]["content"][0]["text"] == "ready\n");
    eventually("the command has started all its processes", || agent.survivors().len() == STUBBORN_PROCESSES);
}

#[test]
fn abort_kills_a_tool_with_all_its_descendants() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    start_stubborn_tool(&server, &mut agent);
    let started = Instant::now();
    agent.send(json!({ "id": "a", "type": "abort" }));
    let records = agent.until(|record| record["id"] == "a");
    assert!(started.elapsed() < LIMIT, "{:?}", started.elapsed());
    agent.assert_no_survivors();
    assert_eq!(of_type(&records, "tool_execution_end")[0]["isError"], true);
    assert_eq!(of_type(&records, "agent_settled")[0]["aborted"], true);
    assert_well_formed(agent.transcript());
}

#[test]
fn abort_bash_overtakes_the_bash_it_stops() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).start();
    agent.send(json!({ "id": "b", "type": "bash", "command": STUBBORN }));
    let output = agent.until_type("bash_execution_update");
    assert_eq!(output[0], json!({ "type": "bash_execution_update", "id": "b", "delta": "ready\n" }));
    agent.send(json!({ "id": "b2", "type": "bash", "command": "sleep 304" }));
    eventually("the commands run", || agent.survivors().len() > STUBBORN_PROCESSES);
    let started = Instant::now();
    agent.send(json!({ "id": "a", "type": "abort_bash" }));
    assert_eq!(agent.next()["id"], "a", "the abort is answered first");
    for id in ["b", "b2"] {
        let data = agent.response(id)["data"].clone();
        assert_eq!((&data["cancelled"], data.get("exitCode")), (&json!(true), None), "{data}");
    }
    assert!(started.elapsed() < LIMIT, "{:?}", started.elapsed());
    agent.assert_no_survivors();
}

#[test]
fn abort_bash_does_not_wait_behind_a_session_change() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    agent.send(json!({ "id": "b", "type": "bash", "command": "sleep 304" }));
    start_tool_that_waits(&server, &workspace, &mut agent);
    agent.send_raw(b"{\"id\":\"n\",\"type\":\"new_session\"}\n{\"id\":\"a\",\"type\":\"abort_bash\"}\n");
    agent.response("a");
    assert_eq!(agent.response("b")["data"]["cancelled"], true);
    agent.response("n");
    assert_well_formed(agent.transcript());
}

fn start_tool_that_waits(server: &ModelServer, workspace: &Workspace, agent: &mut Agent) {
    server.reply(Reply::new().tool("bash", json!({ "command": "touch begun; sleep 300" })));
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    eventually("the tool runs", || workspace.work().join("begun").exists());
}

#[test]
fn run_and_user_initiated_bash_are_cancelled_separately() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    let command = "until [ -e go ]; do sleep 0.01; done; echo by hand";
    agent.send(json!({ "id": "b", "type": "bash", "command": command }));
    start_tool_that_waits(&server, &workspace, &mut agent);
    agent.get("abort");
    std::fs::write(workspace.work().join("go"), "").unwrap();
    let shell = agent.response("b");
    assert_eq!((&shell["data"]["output"], &shell["data"]["exitCode"]), (&json!("by hand\n"), &json!(0)));

    let gate = Gate::new();
    server.reply(Reply::text("still").gate(&gate).then_text(" here"));
    agent.collect_until_settled();
    agent.send(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("message_update");
    agent.get("abort_bash");
    gate.open();
    let records = agent.collect_until_settled();
    assert_eq!(records[records.len() - 1], json!({ "type": "agent_settled", "aborted": false }));
    assert_well_formed(agent.transcript());
}

#[test]
fn abort_works_while_stdout_is_blocked() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    start_stubborn_tool(&server, &mut agent);
    // More than the pipe holds, so that the agent's stdout is blocked.
    agent.pause_reading();
    let command = "head -c 300000 /dev/zero | tr '\\0' x; sleep 305";
    agent.send(json!({ "id": "b", "type": "bash", "command": command }));
    eventually("the second command runs", || agent.survivors().len() > STUBBORN_PROCESSES);
    agent.send_raw(b"{\"id\":\"a\",\"type\":\"abort\"}\n{\"id\":\"ab\",\"type\":\"abort_bash\"}\n");
    let started = Instant::now();
    agent.assert_no_survivors();
    assert!(started.elapsed() < LIMIT, "{:?}", started.elapsed());
    agent.resume_reading();
    agent.response("ab");
    assert_eq!(agent.response("b")["data"]["cancelled"], true);
    agent.response("a");
    assert_well_formed(agent.transcript());
}

#[test]
fn aborted_request_is_dropped_while_stdout_is_blocked() {
    let server = ModelServer::start();
    server.reply(Reply::new().deltas(5000, 100).gate(&Gate::new()));
    let workspace = Workspace::new(&server, Api::OpenaiCompletions);
    let mut agent = workspace.start();
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    agent.until_type("message_update");
    agent.pause_reading();
    agent.send(json!({ "id": "a", "type": "abort" }));
    server.wait_for_hang_ups(1, LIMIT);
    agent.resume_reading();
    agent.response("a");
    assert_well_formed(agent.transcript());
}

/// Tools that block a thread and cannot be interrupted there.
fn blocking_calls(workspace: &Workspace) -> [(&'static str, Value); 2] {
    let fifo = workspace.work().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.is_ok_and(|status| status.success()));
    [
        ("grep", json!({ "pattern": "no file has this: q9w8e7", "path": "/" })),
        ("read", json!({ "path": "fifo" })),
    ]
}

#[test]
fn blocking_tool_delays_neither_abort_nor_exit() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--tools", "read,grep"]).start();
    for (tool, call) in blocking_calls(&workspace) {
        server.reply(Reply::new().tool(tool, call));
        agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
        agent.until_type("tool_execution_start");
        let started = Instant::now();
        agent.get("abort");
        assert!(started.elapsed() < LIMIT, "{tool}: {:?}", started.elapsed());
        assert_well_formed(agent.transcript());
    }
    let started = Instant::now();
    agent.close_stdin();
    assert_eq!(agent.wait(), 0);
    assert!(started.elapsed() < LIMIT, "{:?}", started.elapsed());
}
