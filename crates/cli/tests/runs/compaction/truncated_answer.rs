//! An answer that is truncated below the model's own limit, because the window is full.

use bowline_testkit::{Agent, Gate, Launch, ModelServer, Reply, Usage, assert_well_formed, of_type};
use serde_json::{Value, json};

use super::{
    COMPACTED_AND_ASKED_AGAIN, LIMIT, last_request, long, only, outline, prepare, record_types,
    start_with_history, summary_requests, too_long,
};

/// An answer of 10 tokens, of 32,000 that the model can write.
fn half() -> Reply {
    Reply::text("HALF").stop_reason("model_context_window_exceeded")
}

/// Checks that a run ended without an error and without a compaction.
#[track_caller]
fn check_kept(agent: &mut Agent, records: &[Value]) {
    assert!(of_type(records, "compaction_start").is_empty(), "{records:#?}");
    assert_eq!(only(records, "agent_settled"), &json!({ "type": "agent_settled", "aborted": false }));
    assert_eq!(outline(&agent.get("get_messages")).pop().unwrap(), "assistant: HALF");
    assert_well_formed(agent.transcript());
}

#[test]
fn truncated_answer_is_removed_and_the_model_called_again() {
    for reason in ["max_tokens", "model_context_window_exceeded"] {
        let (server, workspace) = prepare();
        let mut agent = start_with_history(&server, &workspace);
        server.reply(Reply::text("HALF").stop_reason(reason));
        server.reply(Reply::text("WHAT WAS"));
        server.reply(Reply::text("the whole"));
        let records = agent.run("three");
        assert_eq!(record_types(&records), COMPACTED_AND_ASKED_AGAIN);
        let end = only(&records, "compaction_end");
        assert_eq!((&end["reason"], &end["willRetry"]), (&json!("overflow"), &json!(true)));
        let answer = of_type(&records, "message_end")[1];
        assert_eq!(answer["message"]["stopReason"], "length");
        let edit = &only(&records, "entry_appended")["entry"];
        assert_eq!((&edit["targetId"], &edit["replacement"]), (&answer["entryId"], &Value::Null));
        assert!(!summary_requests(&server)[0].body.to_string().contains("HALF"));
        let sent = last_request(&server);
        assert!(sent.contains("WHAT WAS") && sent.contains("three") && !sent.contains("HALF"), "{sent}");
        let messages = agent.get("get_messages");
        assert_eq!(outline(&messages).pop().unwrap(), "assistant: the whole");
        assert_well_formed(agent.transcript());
        agent.finish();
        let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--continue"]).start();
        assert_eq!(agent.get("get_messages"), messages);
    }
}

#[test]
fn answer_at_the_model_limit_is_kept() {
    let (server, workspace) = prepare();
    let mut agent = start_with_history(&server, &workspace);
    server.reply(half().usage(Usage { output: 32_000, ..Usage::default() }));
    let records = agent.run("three");
    check_kept(&mut agent, &records);
}

#[test]
fn truncated_answer_is_kept_without_usage_or_history() {
    let (server, workspace) = prepare();
    let mut agent = workspace.start();
    server.reply(half());
    let records = agent.run(&long("ONE"));
    check_kept(&mut agent, &records);
    server.reply(half().usage(Usage { input: 0, output: 0, cache_read: 0, cache_write: 0 }));
    let records = agent.run(&long("TWO"));
    check_kept(&mut agent, &records);
    assert!(last_request(&server).contains("HALF"), "the model sees its own answer");
}

#[test]
fn truncated_answer_is_kept_with_compaction_off() {
    let (server, workspace) = prepare();
    let mut agent = start_with_history(&server, &workspace);
    let gate = Gate::new();
    server.reply(half().gate(&gate));
    server.reply(half());
    agent.carry_out(json!({ "type": "prompt", "message": "three" }));
    gate.wait_until_reached(LIMIT);
    agent.carry_out(json!({ "type": "follow_up", "message": "go on" }));
    agent.carry_out(json!({ "type": "set_auto_compaction", "enabled": false }));
    gate.open();
    let records = agent.collect_until_settled();
    check_kept(&mut agent, &records);
    assert!(last_request(&server).contains("HALF"));
}

#[test]
fn second_truncated_answer_is_kept_and_ends_the_run() {
    let (server, workspace) = prepare();
    let mut agent = start_with_history(&server, &workspace);
    server.reply(half());
    server.reply(Reply::text("WHAT WAS"));
    server.reply(Reply::text("HALF AGAIN").stop_reason("max_tokens"));
    let records = agent.run(&long("THREE"));
    let ends = of_type(&records, "compaction_end");
    assert_eq!(ends.len(), 2);
    assert_eq!(
        (&ends[1]["errorMessage"], &ends[1]["willRetry"]),
        (&json!("Truncated response recovery failed after one compact-and-retry attempt."), &json!(false))
    );
    assert_eq!(records.last().unwrap(), &json!({ "type": "agent_settled", "aborted": false }));
    assert_eq!(outline(&agent.get("get_messages")).pop().unwrap(), "assistant: HALF AGAIN");
    assert_eq!(server.replies_left(), 0);
    assert_well_formed(agent.transcript());
}

/// Checks that the answer is part of the conversation again, also in the file.
#[track_caller]
fn check_restored(server: &ModelServer, agent: &mut Agent, records: &[Value]) {
    let edits = of_type(records, "entry_appended");
    assert_eq!(edits.len(), 2);
    assert_eq!(edits[0]["entry"]["targetId"], edits[1]["entry"]["targetId"]);
    assert_eq!(edits[1]["entry"]["replacement"]["content"][0]["text"], "HALF");
    let messages = agent.get("get_messages");
    assert_eq!(outline(&messages).pop().unwrap(), "assistant: HALF");
    let file = agent.get("get_state")["sessionFile"].take();
    agent.carry_out(json!({ "type": "new_session" }));
    agent.carry_out(json!({ "type": "switch_session", "sessionPath": file }));
    assert_eq!(agent.get("get_messages"), messages);
    agent.run("go on");
    assert!(last_request(server).contains("HALF"));
    assert_well_formed(agent.transcript());
}

#[test]
fn truncated_answer_is_restored_if_the_summary_fails() {
    let (server, workspace) = prepare();
    let mut agent = start_with_history(&server, &workspace);
    server.reply(half());
    server.reply(Reply::status(400).body("not today"));
    let records = agent.run("three");
    let end = only(&records, "compaction_end");
    let error = end["errorMessage"].as_str().unwrap();
    assert!(error.starts_with("Context overflow recovery failed: Summarization failed: "), "{error}");
    assert_eq!(records.last().unwrap(), &json!({ "type": "agent_settled", "aborted": false }));
    check_restored(&server, &mut agent, &records);
}

#[test]
fn truncated_answer_is_restored_if_compaction_is_aborted() {
    let (server, workspace) = prepare();
    let mut agent = start_with_history(&server, &workspace);
    let gate = Gate::new();
    server.reply(half());
    server.reply(Reply::text("WHAT WAS").gate(&gate));
    agent.send(json!({ "type": "prompt", "message": "three" }));
    gate.wait_until_reached(LIMIT);
    let mut records = agent.until_type("compaction_start");
    agent.send(json!({ "id": "a", "type": "abort" }));
    records.extend(agent.until(|record| record["id"] == "a"));
    assert_eq!(only(&records, "compaction_end")["aborted"], true);
    assert_eq!(only(&records, "agent_settled")["aborted"], true);
    check_restored(&server, &mut agent, &records);
}

#[test]
fn new_user_message_allows_another_attempt() {
    let (server, workspace) = prepare();
    let mut agent = start_with_history(&server, &workspace);
    let gate = Gate::new();
    server.reply(too_long());
    server.reply(Reply::text("WHAT WAS"));
    server.reply(Reply::text(&long("LONG")).gate(&gate));
    server.reply(half());
    server.reply(Reply::text("WHAT WAS THEN"));
    server.reply(Reply::text("the whole"));
    agent.carry_out(json!({ "type": "prompt", "message": long("THREE") }));
    gate.wait_until_reached(LIMIT);
    agent.carry_out(json!({ "type": "steer", "message": long("FOUR") }));
    gate.open();
    let records = agent.collect_until_settled();
    let will_retry: Vec<_> =
        of_type(&records, "compaction_end").iter().map(|end| end["willRetry"].clone()).collect();
    assert_eq!(will_retry, [true, true]);
    assert_eq!(outline(&agent.get("get_messages")).pop().unwrap(), "assistant: the whole");
    assert_well_formed(agent.transcript());
}
