//! A summary request that fails with a transient error.

use bowline_testkit::{Agent, Api, ModelServer, Reply, Workspace, assert_well_formed, keys, of_type, types};
use serde_json::{Value, json};

use super::{NEARLY_FULL, compact, long, only, start_with_history, summary_requests};

const SCHEDULED: &str = "summarization_retry_scheduled";
const STARTED: &str = "summarization_retry_attempt_start";
const FINISHED: &str = "summarization_retry_finished";

fn prepare(base_delay: u64) -> (ModelServer, Workspace) {
    let server = ModelServer::start();
    let workspace = Workspace::new(&server, Api::AnthropicMessages).settings(json!({
        "compaction": { "keepRecentTokens": 40 },
        "retry": { "maxRetries": 2, "baseDelayMs": base_delay },
    }));
    (server, workspace)
}

/// Returns the id of the entry of the first message.
fn first_entry(agent: &mut Agent) -> Value {
    agent.get("get_fork_messages")["messages"][0]["entryId"].take()
}

#[test]
fn failed_summary_is_retried_and_each_attempt_reported() {
    let (server, workspace) = prepare(8);
    let mut agent = start_with_history(&server, &workspace);
    server.reply(Reply::status(529).body("overloaded"));
    server.reply(Reply::text("half").interrupt_after(1));
    server.reply(Reply::text("WHAT WAS"));
    let records = compact(&mut agent);
    assert_eq!(
        types(&records),
        ["compaction_start", SCHEDULED, STARTED, SCHEDULED, STARTED, FINISHED, "compaction_end", "response"]
    );
    assert_eq!(keys(&records[1]), ["type", "attempt", "maxAttempts", "delayMs", "errorMessage"]);
    assert_eq!((&records[1]["attempt"], &records[1]["maxAttempts"]), (&json!(1), &json!(2)));
    assert!(records[1]["errorMessage"].as_str().unwrap().contains("overloaded"), "{}", records[1]);
    let delays = [&records[1], &records[3]].map(|record| record["delayMs"].as_u64().unwrap());
    assert!(matches!(delays, [6..=8, 12..=16]), "{delays:?}");
    assert_eq!(records[2], json!({ "type": STARTED, "source": "compaction", "reason": "manual" }));
    assert_eq!(records[5], json!({ "type": FINISHED }));
    assert_eq!(records[7]["data"]["summary"], "WHAT WAS");
    assert_eq!(summary_requests(&server).len(), 3);
    assert_well_formed(agent.transcript());
}

#[test]
fn summary_fails_after_the_last_attempt() {
    let (server, workspace) = prepare(1);
    let mut agent = start_with_history(&server, &workspace);
    for _ in 0..3 {
        server.reply(Reply::status(503).body("nobody home"));
    }
    let records = compact(&mut agent);
    let tries = [SCHEDULED, STARTED, SCHEDULED, STARTED, FINISHED];
    assert_eq!(types(&records[1..6]), tries);
    assert!(records[6]["errorMessage"].as_str().unwrap().contains("nobody home"), "{}", records[6]);
    assert_eq!(records[7]["code"], "model_failed");
    // Permanent errors are not retried, nor is anything with retries off.
    server.reply(Reply::status(400));
    assert_eq!(types(&compact(&mut agent)), ["compaction_start", "compaction_end", "response"]);
    agent.carry_out(json!({ "type": "set_auto_retry", "enabled": false }));
    server.reply(Reply::status(503));
    assert_eq!(types(&compact(&mut agent)), ["compaction_start", "compaction_end", "response"]);
    assert_well_formed(agent.transcript());
}

#[test]
fn abort_ends_the_backoff_and_is_reported_first() {
    let (server, workspace) = prepare(60_000);
    let mut agent = start_with_history(&server, &workspace);
    server.reply(Reply::status(503));
    agent.send(json!({ "id": "c", "type": "compact" }));
    agent.until_type(SCHEDULED);
    agent.send(json!({ "id": "a", "type": "abort" }));
    let records = agent.until(|record| record["id"] == "a");
    assert_eq!(types(&records), [FINISHED, "compaction_end", "response", "response"]);
    assert_eq!((&records[1]["aborted"], &records[2]["code"]), (&json!(true), &json!("cancelled")));

    let entry = first_entry(&mut agent);
    server.reply(Reply::status(503));
    agent.send(json!({ "id": "n", "type": "navigate_tree", "entryId": entry, "summarize": true }));
    agent.until_type(SCHEDULED);
    agent.send(json!({ "id": "a", "type": "abort" }));
    let records = agent.until(|record| record["id"] == "a");
    assert_eq!(types(&records), [FINISHED, "response", "response"]);
    assert_well_formed(agent.transcript());
}

#[test]
fn retry_in_a_run_has_its_reason() {
    let (server, workspace) = prepare(1);
    let mut agent = start_with_history(&server, &workspace);
    server.reply(Reply::text("answer three").usage(NEARLY_FULL));
    server.reply(Reply::status(503));
    server.reply(Reply::text("WHAT WAS"));
    let records = agent.run(&long("THREE"));
    assert_eq!(only(&records, STARTED)["reason"], "threshold");
    assert_eq!(only(&records, "compaction_end")["result"]["summary"], "WHAT WAS");
    assert!(of_type(&records, "auto_retry_start").is_empty(), "it is not a retry of the run");
    assert_well_formed(agent.transcript());
}

#[test]
fn branch_summary_is_retried() {
    let (server, workspace) = prepare(1);
    let mut agent = start_with_history(&server, &workspace);
    server.reply(Reply::status(503));
    server.reply(Reply::text("WHAT WAS TRIED"));
    let entry = first_entry(&mut agent);
    agent.send(json!({ "id": "n", "type": "navigate_tree", "entryId": entry, "summarize": true }));
    let records = agent.until(|record| record["id"] == "n");
    assert_eq!(types(&records), [SCHEDULED, STARTED, FINISHED, "response"]);
    assert_eq!(records[1], json!({ "type": STARTED, "source": "branchSummary" }));
    assert_eq!(records[3]["success"], true);
    assert_well_formed(agent.transcript());
}
