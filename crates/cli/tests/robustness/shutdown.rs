//! Shutdown by the end of stdin, a signal or a closed stdout: running work is stopped, its records are written, and no
//! process survives.

use std::time::{Duration, Instant};

use bowline_testkit::{
    Agent, Api, Gate, Launch, ModelServer, Reply, Workspace, assert_well_formed, eventually, of_type,
};
use serde_json::{Value, json};

const SIGNALS: [(i32, i32); 2] = [(15, 143), (1, 129)];

const INTERRUPT: i32 = 2;

/// How long a shutdown may take.
const LIMIT: Duration = Duration::from_secs(4);

/// Processes that outlive their shell, process group and session unless they are searched for.
const DAEMONS: &str = "trap '' TERM INT HUP; (setsid sleep 300 >/dev/null 2>&1 &); sleep 301 & echo begun; while true; do sleep 302; done";

const DAEMON_COUNT: usize = 4;

fn start_tool(server: &ModelServer, agent: &mut Agent) {
    server.reply(Reply::new().tool("bash", json!({ "command": DAEMONS })));
    agent.send(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("tool_execution_update");
    eventually("the tool has started all its processes", || agent.survivors().len() == DAEMON_COUNT);
}

fn start_stream(server: &ModelServer, agent: &mut Agent) {
    server.reply(Reply::text("begun").gate(&Gate::new()));
    agent.send(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("message_update");
}

fn start_backoff(server: &ModelServer, agent: &mut Agent) {
    server.reply(Reply::status(503));
    agent.send(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("auto_retry_start");
}

fn start_bash(_: &ModelServer, agent: &mut Agent) {
    agent.send(json!({ "id": "b", "type": "bash", "command": DAEMONS }));
    agent.until_type("bash_execution_update");
    eventually("the command has started all its processes", || agent.survivors().len() == DAEMON_COUNT);
}

fn start_nothing(_: &ModelServer, agent: &mut Agent) {
    agent.get("get_state");
}

const ACTIVITIES: [fn(&ModelServer, &mut Agent); 5] =
    [start_nothing, start_stream, start_tool, start_backoff, start_bash];

/// Ends the process in every state, and checks its last records and that nothing survives.
#[track_caller]
fn check_ends(end: impl Fn(&mut Agent), expected_code: i32) {
    for start_work in ACTIVITIES {
        let (server, workspace) = Workspace::with_server();
        let mut agent = workspace.start();
        start_work(&server, &mut agent);
        let started = Instant::now();
        end(&mut agent);
        let records = agent.rest();
        assert_eq!(agent.wait(), expected_code);
        assert!(started.elapsed() < LIMIT, "{:?}", started.elapsed());
        agent.assert_no_survivors();
        assert_well_formed(agent.transcript());
        assert!(of_type(&records, "agent_settled").iter().all(|settled| settled["aborted"] == true));
        assert!(of_type(&records, "response").iter().all(|response| response["data"]["cancelled"] == true));
        assert_eq!(agent.stderr(), "");
    }
}

#[test]
fn end_of_stdin_stops_all_work_and_exits_with_0() {
    check_ends(Agent::close_stdin, 0);
}

#[test]
fn signal_stops_all_work_and_sets_the_exit_code() {
    for (signal, code) in SIGNALS {
        check_ends(|agent| agent.signal(signal), code);
    }
}

#[test]
fn interrupt_aborts_what_is_in_progress_and_the_process_lives_on() {
    for start_work in [start_stream, start_tool, start_backoff] {
        let (server, workspace) = Workspace::with_server();
        let mut agent = workspace.start();
        start_work(&server, &mut agent);
        agent.signal(INTERRUPT);
        let records = agent.collect_until_settled();
        assert_eq!(of_type(&records, "agent_settled")[0]["aborted"], true);
        agent.assert_no_survivors();
        server.reply(Reply::text("still here"));
        agent.run("and now");
        assert_well_formed(agent.transcript());
        agent.finish();
    }
}

#[test]
fn interrupt_cancels_a_user_initiated_command() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    start_bash(&server, &mut agent);
    agent.signal(INTERRUPT);
    assert_eq!(agent.response("b")["data"]["cancelled"], true);
    agent.assert_no_survivors();
    agent.finish();
}

#[test]
fn interrupt_ends_the_process_when_nothing_is_in_progress() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    start_nothing(&server, &mut agent);
    agent.signal(INTERRUPT);
    assert_eq!((agent.wait(), agent.rest()), (130, Vec::new()));
}

#[test]
fn second_interrupt_ends_the_process() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    start_stream(&server, &mut agent);
    agent.signal(INTERRUPT);
    agent.collect_until_settled();
    start_stream(&server, &mut agent);
    agent.signal(INTERRUPT);
    let records = agent.rest();
    assert_eq!(agent.wait(), 130);
    assert_eq!(of_type(&records, "agent_settled")[0]["aborted"], true);
}

#[test]
fn every_command_before_end_of_stdin_is_answered() {
    let server = ModelServer::start();
    server.default_reply(Reply::mute());
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start();
    let commands = [
        json!({ "id": 1, "type": "bash", "command": "sleep 300" }),
        json!({ "id": 2, "type": "prompt", "message": "go" }),
        json!({ "id": 3, "type": "prompt", "message": "go" }),
        json!({ "id": 4, "type": "abort" }),
        json!({ "id": 5, "type": "new_session" }),
        json!({ "id": 6, "type": "prompt", "message": "go" }),
    ];
    let lines: Vec<String> = commands.iter().map(Value::to_string).collect();
    // The last line has no newline.
    agent.send_raw(lines.join("\n").as_bytes());
    agent.close_stdin();
    let records = agent.rest();
    assert_eq!(agent.wait(), 0);
    let mut answered: Vec<_> =
        of_type(&records, "response").iter().map(|response| response["id"].as_u64().unwrap()).collect();
    answered.sort_unstable();
    assert_eq!(answered, [1, 2, 3, 4, 5, 6]);
    assert_well_formed(&records);
    agent.assert_no_survivors();
}

#[test]
fn prompt_waiting_at_end_of_stdin_is_answered_and_aborted() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    start_tool(&server, &mut agent);
    server.default_reply(Reply::mute());
    agent.send_raw(b"{\"id\":1,\"type\":\"new_session\"}\n{\"id\":2,\"type\":\"prompt\",\"message\":\"go\"}");
    agent.close_stdin();
    let started = Instant::now();
    let records = agent.rest();
    assert_eq!(agent.wait(), 0);
    assert!(started.elapsed() < LIMIT, "{:?}", started.elapsed());
    assert_eq!(of_type(&records, "response").len(), 2);
    assert!(of_type(&records, "agent_settled").iter().all(|settled| settled["aborted"] == true));
    assert_well_formed(agent.transcript());
}

#[test]
fn last_line_without_newline_is_executed() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).start();
    agent.send_raw(b"{\"id\":1,\"type\":\"get_state\"}\n{\"id\":2,\"type\":\"get_state\"}");
    agent.close_stdin();
    let records = agent.rest();
    let ids: Vec<_> = records.iter().map(|record| record["id"].clone()).collect();
    assert_eq!(ids, [1, 2]);
    assert_eq!(agent.wait(), 0);
}

#[test]
fn closed_stdout_ends_the_process() {
    for start_work in ACTIVITIES {
        let (server, workspace) = Workspace::with_server();
        let mut agent = workspace.start();
        start_work(&server, &mut agent);
        agent.close_stdout();
        let started = Instant::now();
        assert_eq!(agent.wait(), 1);
        assert!(started.elapsed() < LIMIT, "{:?}", started.elapsed());
        agent.assert_no_survivors();
    }
}
