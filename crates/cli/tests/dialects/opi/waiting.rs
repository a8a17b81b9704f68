//! What commands wait for: opi reads none while it compacts, and answers an abort at once.

use std::time::Duration;

use bowline_testkit::{Agent, Gate, Launch, ModelServer, Reply, Workspace, of_type, types};
use serde_json::{Value, json};

use super::{check_balanced, run, workspace};

const LIMIT: Duration = Duration::from_secs(10);

/// Returns an agent with two exchanges, of which a compaction keeps the second.
fn with_a_past(server: &ModelServer) -> (Workspace, Agent) {
    let workspace = workspace(server);
    let mut agent = workspace.start_in("opi");
    run(&mut agent, "one");
    run(&mut agent, "two");
    (workspace, agent)
}

/// Sends commands in one write.
fn send_together(agent: &mut Agent, commands: &[Value]) {
    let lines: Vec<String> = commands.iter().map(|command| format!("{command}\n")).collect();
    agent.send_raw(lines.concat().as_bytes());
}

fn responses(records: &[Value]) -> Vec<(&str, bool)> {
    of_type(records, "response")
        .iter()
        .map(|response| (response["id"].as_str().unwrap(), response["success"] == true))
        .collect()
}

#[test]
fn commands_wait_for_a_compaction() {
    let server = ModelServer::start();
    let (_workspace, mut agent) = with_a_past(&server);
    let gate = Gate::new();
    server.reply(Reply::text("what was said").gate(&gate));
    server.reply(Reply::text("three"));
    send_together(
        &mut agent,
        &[
            json!({ "type": "compact", "id": "c" }),
            json!({ "type": "compact", "id": "again" }),
            json!({ "type": "session_info", "id": "s" }),
            json!({ "type": "steer", "id": "q", "message": "queued" }),
            json!({ "type": "prompt", "id": "p", "message": "three" }),
        ],
    );
    gate.wait_until_reached(LIMIT);
    gate.open();
    let records = agent.until_type("AgentEnd");
    assert_eq!(responses(&records), [("c", true), ("again", false), ("s", true), ("q", true), ("p", true)]);
    let again = of_type(&records, "response")[1];
    assert_eq!(again["error"], "compaction produced no output");
    let messages = records.last().unwrap()["messages"].as_array().unwrap();
    assert_eq!(messages[0]["type"], "CompactionSummary", "the prompt came after the compaction");
    assert!(server.requests().last().unwrap().body.to_string().contains("queued"));
}

#[test]
fn abort_ends_a_compaction_and_refuses_the_prompt_that_waits_for_it() {
    let server = ModelServer::start();
    let (_workspace, mut agent) = with_a_past(&server);
    server.reply(Reply::mute());
    agent.send(json!({ "type": "compact", "id": "c" }));
    server.wait_for_requests(3, LIMIT);
    let commands = [
        json!({ "type": "prompt", "id": "p", "message": "three" }),
        json!({ "type": "abort", "id": "a" }),
        json!({ "type": "session_info", "id": "s" }),
    ];
    send_together(&mut agent, &commands);
    let records = agent.until(|record| record["id"] == "s");
    assert_eq!(responses(&records), [("c", false), ("a", true), ("p", false), ("s", true)]);
    let errors: Vec<_> =
        of_type(&records, "response").into_iter().filter_map(|response| response["error"].as_str()).collect();
    assert_eq!(errors, ["compaction failed: Compaction cancelled", "aborted before it started"]);
    assert_eq!(of_type(&records, "CompactionEnd")[0]["aborted"], true);
    assert_eq!(run(&mut agent, "four").last().unwrap()["reason"], "completed");
}

#[test]
fn second_abort_while_stopping_is_answered_at_once() {
    let server = ModelServer::start();
    server.reply(Reply::new().tool("bash", json!({ "command": "trap '' TERM; echo begun; sleep 600" })));
    let workspace = workspace(&server);
    let mut agent = Launch::rpc(&workspace)
        .dialect("opi")
        .model("mock/m1")
        .arguments(&["--allow-mutating"])
        .start_greeted();
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("ToolExecutionUpdate");
    let commands = [
        json!({ "type": "abort", "id": "a" }),
        json!({ "type": "prompt", "id": "p", "message": "next" }),
        json!({ "type": "abort", "id": "b" }),
        json!({ "type": "abort", "id": "c" }),
    ];
    send_together(&mut agent, &commands);
    let records = agent.until_type("AgentEnd");
    assert_eq!(responses(&records), [("a", true), ("b", true), ("p", false), ("c", true)]);
    let after: Vec<_> = types(&records)
        .into_iter()
        .filter(|name| !matches!(*name, "response" | "ToolExecutionUpdate"))
        .collect();
    assert_eq!(
        after,
        ["ToolExecutionEnd", "TurnEnd", "AgentEnd"],
        "all of them came before the end of the tool"
    );
    check_balanced(agent.transcript());
    assert_eq!(server.requests().len(), 1, "the prompt between the aborts started no run");
}

#[test]
fn failed_write_is_a_persist_error() {
    let server = ModelServer::start();
    server.reply(Reply::new().deltas(16, 1024).tool("ls", json!({ "path": "." })));
    let workspace = workspace(&server);
    let mut agent = Launch::rpc_on_full_disk(&workspace, 8).dialect("opi").model("mock/m1").start_greeted();
    let records = run(&mut agent, "talk");
    check_balanced(&records);
    let [error] = of_type(&records, "SessionPersistError")[..] else { panic!("{:?}", types(&records)) };
    assert!(error["message"].as_str().unwrap().contains("the session cannot be written"), "{error}");
    let end = records.last().unwrap();
    assert_eq!((&end["reason"], &end["error_message"]), (&json!("error"), &error["message"]));
    assert_eq!(server.requests().len(), 1);
}
