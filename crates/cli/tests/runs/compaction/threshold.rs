//! A window that is nearly full.

use bowline_testkit::{Gate, Reply, assert_well_formed, of_type, types};
use serde_json::json;

use super::{
    LIMIT, NEARLY_FULL, assert_calls_have_results, last_request, long, only, outline, prepare, record_types,
};

#[test]
fn full_window_is_compacted_after_the_run() {
    let (server, workspace) = prepare();
    let mut agent = workspace.start();
    agent.run(&long("ONE"));
    server.reply(Reply::text("answer two").usage(NEARLY_FULL));
    server.reply(Reply::text("WHAT WAS"));
    let records = agent.run(&long("TWO"));
    let end = ["turn_end", "agent_end", "compaction_start", "compaction_end", "agent_settled"];
    assert!(record_types(&records).ends_with(&end), "{:?}", record_types(&records));
    let done = only(&records, "compaction_end");
    assert_eq!((&done["reason"], &done["result"]["tokensBefore"]), (&json!("threshold"), &json!(190_010)));
    assert_eq!(
        outline(&agent.get("get_messages")),
        ["compactionSummary: WHAT WAS", "user: TWO", "assistant: answer two"]
    );
    // The usage reported before the compaction is outdated and does not count again.
    let records = agent.run("three");
    assert!(of_type(&records, "compaction_start").is_empty());
    assert_well_formed(agent.transcript());
}

#[test]
fn full_window_is_compacted_between_turns_of_a_run() {
    let (server, workspace) = prepare();
    let mut agent = workspace.start();
    agent.run(&long("ONE"));
    server.reply(Reply::new().tool("bash", json!({ "command": "echo hi" })).usage(NEARLY_FULL));
    server.reply(Reply::text("WHAT WAS"));
    server.reply(Reply::text("done"));
    let records = agent.run(&long("TWO"));
    assert_eq!(
        record_types(&records),
        [
            "agent_start",
            "turn_start",
            "message_end",
            "message_end",
            "tool_execution_end",
            "message_end",
            "turn_end",
            "compaction_start",
            "compaction_end",
            "turn_start",
            "message_end",
            "turn_end",
            "agent_end",
            "agent_settled"
        ]
    );
    let body = server.requests().pop().unwrap().body;
    assert_calls_have_results(&body);
    let sent = body["messages"].to_string();
    assert!(sent.contains("WHAT WAS") && sent.contains("TWO") && !sent.contains("ONE"), "{sent}");
    let reported = only(&records, "agent_end")["messages"].as_array().unwrap().len();
    assert_eq!(reported, 4, "agent_end has all messages of the run");
    assert_well_formed(agent.transcript());
}

#[test]
fn full_window_is_compacted_before_a_prompt_unless_disabled() {
    let (server, workspace) = prepare();
    let mut agent = workspace.start();
    agent.carry_out(json!({ "type": "set_auto_compaction", "enabled": false }));
    assert_eq!(agent.get("get_state")["autoCompactionEnabled"], false);
    agent.run(&long("ONE"));
    server.reply(Reply::text("answer two").usage(NEARLY_FULL));
    let records = agent.run(&long("TWO"));
    assert!(of_type(&records, "compaction_start").is_empty());

    agent.carry_out(json!({ "type": "set_auto_compaction", "enabled": true }));
    server.reply(Reply::text("WHAT WAS"));
    agent.send(json!({ "id": "p", "type": "prompt", "message": "three" }));
    let records = agent.collect_until_settled();
    assert_eq!(
        record_types(&records)[..4],
        ["compaction_start", "compaction_end", "response", "agent_start"]
    );
    assert_eq!((&records[0]["reason"], &records[2]["success"]), (&json!("threshold"), &json!(true)));
    let sent = last_request(&server);
    assert!(sent.contains("WHAT WAS") && sent.contains("three"), "{sent}");
    assert_well_formed(agent.transcript());
}

#[test]
fn abort_refuses_a_prompt_that_waits_for_compaction() {
    let (server, workspace) = prepare();
    let mut agent = workspace.start();
    agent.carry_out(json!({ "type": "set_auto_compaction", "enabled": false }));
    agent.run(&long("ONE"));
    server.reply(Reply::text("answer two").usage(NEARLY_FULL));
    agent.run(&long("TWO"));
    agent.carry_out(json!({ "type": "set_auto_compaction", "enabled": true }));
    let messages = agent.get("get_messages");
    server.reply(Reply::mute());
    agent.send(json!({ "id": "p", "type": "prompt", "message": "three" }));
    server.wait_for_requests(3, LIMIT);
    agent.send(json!({ "id": "a", "type": "abort" }));
    let records = agent.until(|record| record["id"] == "a");
    assert_eq!(types(&records), ["compaction_start", "compaction_end", "response", "response"]);
    assert_eq!((&records[2]["id"], &records[2]["code"]), (&json!("p"), &json!("cancelled")));
    assert_eq!(agent.get("get_messages"), messages);
    assert_well_formed(agent.transcript());
}

#[test]
fn abort_during_compaction_ends_the_run_once() {
    for in_the_middle in [true, false] {
        let (server, workspace) = prepare();
        let mut agent = workspace.start();
        agent.run(&long("ONE"));
        let reply = Reply::text("so").usage(NEARLY_FULL);
        let call = json!({ "command": "true" });
        server.reply(if in_the_middle { reply.tool("bash", call) } else { reply });
        server.reply(Reply::mute());
        agent.carry_out(json!({ "type": "prompt", "message": long("TWO") }));
        server.wait_for_requests(3, LIMIT);
        agent.send(json!({ "id": "a", "type": "abort" }));
        let records = agent.until(|record| record["id"] == "a");
        assert_eq!(only(&records, "compaction_end")["aborted"], true);
        assert_eq!(only(&records, "agent_settled")["aborted"], true);
        let state = agent.get("get_state");
        assert_eq!((&state["isStreaming"], &state["isCompacting"]), (&json!(false), &json!(false)));
        assert_well_formed(agent.transcript());
    }
}

#[test]
fn message_queued_during_the_last_compaction_continues_the_run() {
    let (server, workspace) = prepare();
    let mut agent = workspace.start();
    agent.run(&long("ONE"));
    let gate = Gate::new();
    server.reply(Reply::text("answer two").usage(NEARLY_FULL));
    server.reply(Reply::text("WHAT WAS").gate(&gate));
    server.reply(Reply::text("answer three"));
    agent.carry_out(json!({ "type": "prompt", "message": long("TWO") }));
    gate.wait_until_reached(LIMIT);
    let busy = agent.ask(json!({ "type": "prompt", "message": "x" }));
    assert_eq!(busy["code"], "busy");
    let queued = agent.carry_out(json!({ "type": "follow_up", "message": "THREE" }));
    assert_eq!(queued["disposition"], "queued");
    gate.open();
    let records = agent.collect_until_settled();
    let end = records.iter().position(|record| record["type"] == "compaction_end").unwrap();
    assert_eq!(
        record_types(&records[end..]),
        [
            "compaction_end",
            "agent_start",
            "turn_start",
            "queue_update",
            "message_end",
            "message_end",
            "turn_end",
            "agent_end",
            "agent_settled"
        ]
    );
    let sent = last_request(&server);
    assert!(sent.contains("WHAT WAS") && sent.contains("THREE"), "{sent}");
    assert_well_formed(agent.transcript());
}

#[test]
fn failed_compaction_is_reported_once_per_run() {
    let (server, workspace) = prepare();
    let mut agent = workspace.start();
    agent.run(&long("ONE"));
    let call = || Reply::new().tool("bash", json!({ "command": "true" })).usage(NEARLY_FULL);
    server.reply(call());
    server.reply(Reply::status(500).body("down"));
    server.reply(call());
    server.reply(Reply::text("answer two").usage(NEARLY_FULL));
    let records = agent.run(&long("TWO"));
    let failed = only(&records, "compaction_end");
    let error = failed["errorMessage"].as_str().unwrap();
    assert!(error.starts_with("Auto-compaction failed: Summarization failed: 500"), "{error}");
    assert_eq!(only(&records, "agent_settled")["aborted"], false);
    server.reply(Reply::text("answer three").usage(NEARLY_FULL));
    server.reply(Reply::text("WHAT WAS"));
    let records = agent.run("three");
    assert!(only(&records, "compaction_end")["result"].is_object());
    assert_eq!(server.replies_left(), 0);
    assert_well_formed(agent.transcript());
}

#[test]
fn full_window_without_enough_history_is_reported_once_and_compacted_later() {
    let (server, workspace) = prepare();
    let mut agent = workspace.start();
    let call = |command: &str| Reply::new().tool("bash", json!({ "command": command })).usage(NEARLY_FULL);
    server.reply(call("true"));
    server.reply(call("true"));
    server.reply(call("printf 'y%.0s' $(seq 200)"));
    server.reply(Reply::text("WHAT WAS"));
    server.reply(Reply::text("done"));
    let records = agent.run("short");
    let ends = of_type(&records, "compaction_end");
    assert_eq!(ends.len(), 2, "{ends:?}");
    assert_eq!(ends[0]["errorMessage"], "Auto-compaction failed: Nothing to compact (session too small)");
    assert_eq!(ends[1]["result"]["summary"], "WHAT WAS");
    assert_eq!(server.replies_left(), 0);
    assert_well_formed(agent.transcript());
}
