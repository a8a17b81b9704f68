//! Dialects whose updates repeat the message so far, twice: a lagging reader costs bounded memory there too, and every
//! update is complete.

use std::thread;
use std::time::Duration;

use bowline_testkit::{
    Agent, Api, Gate, Launch, ModelServer, Reply, Workspace, cpu_time_of, of_type, peak_memory_of,
};
use serde_json::{Value, json};

/// How much the agent's peak memory may grow, in KiB. If every update were a copy, it would grow by over a million.
const GROWTH_LIMIT: u64 = 8 * 1024;

/// How long each wait may take; a machine that builds something else at the same time is slow.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A dialect and the names in its records.
struct Dialect {
    name: &'static str,
    update: &'static str,
    /// The field of an update that holds the delta.
    step: &'static str,
    message_end: &'static str,
    end: &'static str,
}

const OMP: Dialect = Dialect {
    name: "omp",
    update: "message_update",
    step: "assistantMessageEvent",
    message_end: "message_end",
    end: "agent_end",
};

const OPI: Dialect = Dialect {
    name: "opi",
    update: "MessageUpdate",
    step: "assistant_event",
    message_end: "MessageEnd",
    end: "AgentEnd",
};

const PI_CLASSIC: Dialect = Dialect { name: "pi-classic", ..OMP };

impl Dialect {
    fn start(&self, workspace: &Workspace, more: &[&str]) -> Agent {
        let launch = Launch::rpc(workspace).dialect(self.name).model("mock/m1");
        let mut agent = launch.arguments(&["--no-session"]).arguments(more).start();
        agent.set_timeout(TIMEOUT);
        agent
    }

    /// Checks that each update repeats the text so far; returns the number of updates and the whole text.
    #[track_caller]
    fn check(&self, records: &[Value]) -> (usize, String) {
        let mut so_far = String::new();
        let updates = of_type(records, self.update);
        for update in &updates {
            let step = &update[self.step];
            so_far.push_str(step["delta"].as_str().unwrap_or_default());
            for message in [&update["message"], &step["partial"]] {
                assert!(text_of(message) == so_far, "after {} bytes", so_far.len());
            }
        }
        let message_end = of_type(records, self.message_end).pop().unwrap();
        assert!(text_of(&message_end["message"]) == so_far, "the whole message");
        (updates.len(), so_far)
    }
}

fn text_of(message: &Value) -> &str {
    message["content"][0]["text"].as_str().unwrap_or_default()
}

/// Checks how much more memory the agent has taken than `before`. Most of what it takes is the program itself.
#[track_caller]
fn check_memory(agent: &Agent, before: u64) {
    let peak = peak_memory_of(agent.pid()).unwrap();
    assert!(peak < before + GROWTH_LIMIT, "{peak} KiB after {before} KiB");
}

/// Waits until the agent has consumed the whole stream.
fn wait_for_rest(agent: &Agent) {
    let mut before = None;
    while before != cpu_time_of(agent.pid()) {
        before = cpu_time_of(agent.pid());
        thread::sleep(Duration::from_millis(200));
    }
}

/// Pauses the reader from the first update until the model has finished.
#[track_caller]
fn check_stopped_reader(dialect: &Dialect) {
    let server = ModelServer::start();
    let said = Gate::new();
    let reply = Reply::new().deltas(8_000, 20).gate(&said);
    server.reply(reply);
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = dialect.start(&workspace, &[]);
    agent.send(json!({ "type": "prompt", "message": "go" }));
    agent.until_type(dialect.update);
    let before = peak_memory_of(agent.pid()).unwrap();
    agent.pause_reading();
    // The model is not paused: updates in the backlog are joined, so it hardly grows.
    said.wait_until_reached(TIMEOUT);
    wait_for_rest(&agent);
    check_memory(&agent, before);
    said.open();
    agent.resume_reading();
    agent.until_type(dialect.end);
    let (updates, text) = dialect.check(agent.transcript());
    assert_eq!(text.len(), 160_000);
    assert!(updates < 4_000, "{updates} updates: they join while the reader lags");
    check_memory(&agent, before);
}

#[test]
fn paused_omp_reader_costs_bounded_memory_and_misses_nothing() {
    check_stopped_reader(&OMP);
}

#[test]
fn paused_opi_reader_costs_bounded_memory_and_misses_nothing() {
    check_stopped_reader(&OPI);
}

#[test]
fn paused_pi_classic_reader_costs_bounded_memory_and_misses_nothing() {
    check_stopped_reader(&PI_CLASSIC);
}

/// Where updates may not be joined, thousands of them may wait. They share the bytes of the message that they repeat.
#[test]
fn updates_that_may_not_join_cost_bounded_memory() {
    for dialect in [OMP, OPI, PI_CLASSIC] {
        let server = ModelServer::start();
        server.reply(Reply::new().deltas(500, 400));
        let workspace = Workspace::new(&server, Api::AnthropicMessages);
        let mut agent = dialect.start(&workspace, &["--clock", "fixed"]);
        agent.send(json!({ "type": "prompt", "message": "go" }));
        agent.until_type(dialect.update);
        let before = peak_memory_of(agent.pid()).unwrap();
        agent.pause_reading();
        wait_for_rest(&agent);
        agent.resume_reading();
        agent.until_type(dialect.end);
        let (updates, text) = dialect.check(agent.transcript());
        assert_eq!(text.len(), 200_000);
        assert!(updates >= 500, "{updates} updates");
        check_memory(&agent, before);
    }
}
