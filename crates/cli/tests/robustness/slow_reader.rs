//! A paused reader costs bounded memory and loses nothing, and streaming takes linear time.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use bowline_testkit::{
    Agent, Api, Gate, Launch, ModelServer, Reply, Workspace, assert_well_formed, cpu_time_of, of_type,
};
use serde_json::{Value, json};

/// How long a reader pauses.
const PAUSE: Duration = Duration::from_secs(5);

/// The limit for the agent's memory meanwhile, in KiB.
const MEMORY_LIMIT: u64 = 64 * 1024;

/// Waits, and checks the agent's memory all the while.
#[track_caller]
fn watch_memory(agent: &Agent, duration: Duration) {
    let started = Instant::now();
    while started.elapsed() < duration {
        let resident = agent.memory_kib().resident;
        assert!(resident < MEMORY_LIMIT, "{resident} KiB after {:?}", started.elapsed());
        thread::sleep(Duration::from_millis(50));
    }
}

fn joined(records: &[Value]) -> String {
    let steps = of_type(records, "message_update").into_iter().map(|record| &record["assistantMessageEvent"]);
    steps.filter(|step| step["type"] == "text_delta").filter_map(|step| step["delta"].as_str()).collect()
}

#[test]
fn paused_reader_misses_nothing() {
    let server = ModelServer::start();
    let reply = Reply::new().deltas(20_000, 100);
    server.reply(reply);
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start();
    agent.send(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("message_update");
    agent.pause_reading();
    watch_memory(&agent, PAUSE);
    agent.resume_reading();
    agent.collect_until_settled();
    let records = agent.transcript();
    assert_well_formed(records);
    let text = joined(records);
    assert_eq!(text.len(), 2_000_000);
    let answers: Vec<_> = of_type(records, "message_end")
        .into_iter()
        .filter(|record| record["message"]["role"] == "assistant")
        .collect();
    assert!(answers[0]["message"]["content"][0]["text"] == text);
    assert!(of_type(records, "message_update").len() < 10_000, "deltas join while the reader lags");
    assert_eq!(records[records.len() - 1], json!({ "type": "agent_settled", "aborted": false }));
}

#[test]
fn provider_is_paused_when_the_backlog_is_full() {
    let server = ModelServer::start();
    let sent = Gate::new();
    server.reply(Reply::new().deltas(3_000, 10_000).gate(&sent));
    let workspace = Workspace::new(&server, Api::OpenaiCompletions);
    let mut agent = workspace.start();
    agent.set_timeout(Duration::from_secs(60));
    agent.send(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("message_update");
    agent.pause_reading();
    watch_memory(&agent, PAUSE);
    // Cancelling does not wait for the reader.
    agent.send(json!({ "id": "a", "type": "abort" }));
    server.wait_for_hang_ups(1, Duration::from_secs(10));
    agent.resume_reading();
    agent.response("a");
    assert_well_formed(agent.transcript());
    let last = agent.collect_until_settled();
    assert_eq!(last[last.len() - 1]["aborted"], true);
}

#[test]
fn user_initiated_bash_output_arrives_complete() {
    let command = "seq 1 300000";
    let whole: String = (1..=300_000).map(|number| format!("{number}\n")).collect();
    let workspace = Workspace::empty();
    for is_paused in [false, true] {
        let mut agent = Launch::rpc(&workspace).start();
        if is_paused {
            agent.pause_reading();
        }
        agent.send(json!({ "id": "b", "type": "bash", "command": command }));
        if is_paused {
            watch_memory(&agent, Duration::from_secs(1));
            agent.resume_reading();
        }
        let response = agent.response("b");
        let deltas: String =
            agent.transcript().iter().filter_map(|record| record["delta"].as_str()).collect();
        assert!(deltas == whole, "{} of {} bytes", deltas.len(), whole.len());
        let data = &response["data"];
        assert_eq!(data["truncated"], true);
        let path = data["fullOutputPath"].as_str().unwrap();
        assert!(fs::read_to_string(path).unwrap() == whole);
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn endless_user_initiated_bash_is_paused_and_can_be_stopped() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).start();
    agent.set_timeout(Duration::from_secs(60));
    agent.pause_reading();
    agent.send(json!({ "id": "b", "type": "bash", "command": "yes 'and so on, and so on, and so on'" }));
    watch_memory(&agent, Duration::from_secs(2));
    agent.send(json!({ "id": "a", "type": "abort_bash" }));
    agent.assert_no_survivors();
    agent.resume_reading();
    let data = agent.response("b")["data"].take();
    assert_eq!(data["cancelled"], true);
    fs::remove_file(data["fullOutputPath"].as_str().unwrap()).unwrap();
}

#[test]
fn endless_tool_output_costs_bounded_memory() {
    let server = ModelServer::start();
    let command = "timeout 2 yes 'and so on, and so on'; echo the end";
    server.reply(Reply::new().tool("bash", json!({ "command": command })));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start();
    agent.send(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("tool_execution_start");
    agent.pause_reading();
    watch_memory(&agent, Duration::from_secs(3));
    agent.resume_reading();
    agent.collect_until_settled();
    assert_well_formed(agent.transcript());
    let result = &of_type(agent.transcript(), "tool_execution_end")[0]["result"];
    assert!(result["content"][0]["text"].as_str().unwrap().contains("the end\n"));
    fs::remove_file(result["details"]["fullOutputPath"].as_str().unwrap()).unwrap();
}

#[test]
fn blocked_stdout_does_not_prevent_exit() {
    let server = ModelServer::start();
    let sent = Gate::new();
    server.reply(Reply::new().deltas(5000, 100).gate(&sent));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start();
    agent.send(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("message_update");
    agent.pause_reading();
    sent.wait_until_reached(PAUSE);
    thread::sleep(Duration::from_millis(300));
    agent.signal(15);
    assert_eq!(agent.wait(), 143);
}

/// Returns the CPU time that the agent takes to stream a number of deltas.
fn time_to_stream(deltas: usize) -> Duration {
    let server = ModelServer::start();
    server.reply(Reply::new().deltas(deltas, 40));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start();
    let before = cpu_time_of(agent.pid()).unwrap_or_default();
    let records = agent.run("go");
    assert_eq!(joined(&records).len(), deltas * 40);
    cpu_time_of(agent.pid()).unwrap_or_default().saturating_sub(before)
}

#[test]
fn streaming_time_is_linear_in_the_deltas() {
    let (short, long) = (time_to_stream(4_000), time_to_stream(16_000));
    // Four times the deltas: quadratic streaming would take sixteen times as long.
    assert!(long < short * 8, "{short:?} for 4000 deltas, {long:?} for 16000");
}
