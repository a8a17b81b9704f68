//! A provider that refuses the conversation as too long.

use bowline_testkit::{Launch, Reply, assert_well_formed, of_type};
use serde_json::{Value, json};

use super::{
    COMPACTED_AND_ASKED_AGAIN, last_request, long, only, prepare, record_types, start_with_history, too_long,
};

#[test]
fn overflow_compacts_and_repeats_the_call() {
    let (server, workspace) = prepare();
    let mut agent = start_with_history(&server, &workspace);
    server.reply(too_long());
    server.reply(Reply::text("WHAT WAS"));
    server.reply(Reply::text("answer three"));
    let records = agent.run("three");
    assert_eq!(record_types(&records), COMPACTED_AND_ASKED_AGAIN);
    let end = only(&records, "compaction_end");
    assert_eq!((&end["reason"], &end["willRetry"]), (&json!("overflow"), &json!(true)));
    let will_retry: Vec<_> =
        of_type(&records, "agent_end").iter().map(|record| record["willRetry"].clone()).collect();
    assert_eq!(will_retry, [true, false]);
    let failed = of_type(&records, "message_end")[1];
    assert_eq!(only(&records, "entry_appended")["entry"]["targetId"], failed["entryId"]);
    let sent = last_request(&server);
    assert!(sent.contains("WHAT WAS") && sent.contains("three") && !sent.contains("ONE"), "{sent}");
    let messages = agent.get("get_messages");
    assert!(!messages.to_string().contains("too long"), "the failed answer is not part of the context");
    assert_well_formed(agent.transcript());
    agent.finish();
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--continue"]).start();
    assert_eq!(agent.get("get_messages"), messages);
}

#[test]
fn second_overflow_ends_the_run_once() {
    let (server, workspace) = prepare();
    let mut agent = start_with_history(&server, &workspace);
    server.reply(too_long());
    server.reply(Reply::text("WHAT WAS"));
    server.reply(too_long());
    let records = agent.run(&long("THREE"));
    let ends = of_type(&records, "compaction_end");
    assert_eq!(ends.len(), 2);
    assert_eq!(
        ends[1]["errorMessage"],
        "Context overflow recovery failed after one compact-and-retry attempt. Try reducing context or switching to a larger-context model."
    );
    let settled = only(&records, "agent_settled");
    assert!(settled["error"].as_str().unwrap().contains("prompt is too long"), "{settled}");
    assert_eq!(server.replies_left(), 0);
    assert_well_formed(agent.transcript());

    // The next user message allows another compaction.
    server.reply(too_long());
    server.reply(Reply::text("WHAT WAS THEN"));
    server.reply(Reply::text("answer four"));
    let records = agent.run(&long("FOUR"));
    assert_eq!(only(&records, "agent_settled")["error"], Value::Null);
}

#[test]
fn overflow_without_enough_history_is_reported() {
    let (server, workspace) = prepare();
    let mut agent = workspace.start();
    server.reply(too_long());
    let records = agent.run(&long("ONE"));
    assert_eq!(
        only(&records, "compaction_end")["errorMessage"],
        "Context overflow recovery failed: Nothing to compact (session too small)"
    );
    assert!(only(&records, "agent_settled")["error"].as_str().unwrap().contains("prompt is too long"));
    agent.carry_out(json!({ "type": "set_auto_compaction", "enabled": false }));
    server.reply(too_long());
    let records = agent.run("two");
    assert!(of_type(&records, "compaction_start").is_empty());
    assert!(only(&records, "agent_settled")["error"].is_string());
    assert_well_formed(agent.transcript());
}
