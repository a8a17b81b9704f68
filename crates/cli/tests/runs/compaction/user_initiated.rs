//! User-initiated compactions.

use bowline_testkit::{
    Agent, Gate, Launch, Reply, Usage, Workspace, assert_well_formed, keys, of_type, session_lines, types,
};
use serde_json::{Value, json};

use super::{
    LIMIT, compact, last_request, long, only, outline, prepare, record_types, start_with_history,
    summary_requests,
};

#[test]
fn event_response_and_file_of_a_compaction_agree() {
    let (server, workspace) = prepare();
    let mut agent = start_with_history(&server, &workspace);
    server.reply(Reply::text(" the summary\n").usage(Usage {
        input: 700,
        output: 30,
        cache_read: 0,
        cache_write: 0,
    }));
    let records = compact(&mut agent);
    assert_eq!(types(&records), ["compaction_start", "compaction_end", "response"]);
    assert_eq!(records[0], json!({ "type": "compaction_start", "reason": "manual" }));
    let [_, end, response] = &records[..] else { unreachable!() };
    assert_eq!(keys(end), ["type", "reason", "result", "aborted", "willRetry"]);
    assert_eq!((&end["aborted"], &end["willRetry"]), (&json!(false), &json!(false)));
    assert_eq!(end["result"], response["data"]);
    let result = &end["result"];
    let fields = ["summary", "firstKeptEntryId", "tokensBefore", "estimatedTokensAfter", "usage", "details"];
    assert_eq!(keys(result)[..6], fields);
    assert_eq!((&result["summary"], &result["tokensBefore"]), (&json!("the summary"), &json!(110)));
    assert_eq!((&result["usage"]["input"], &result["usage"]["output"]), (&json!(700), &json!(30)));
    assert_eq!(result["details"], json!({ "readFiles": [], "modifiedFiles": [] }));
    assert!(result["estimatedTokensAfter"].as_u64().unwrap() > 60, "{result}");
    assert_well_formed(agent.transcript());

    let lines = session_lines(agent.get("get_state")["sessionFile"].as_str().unwrap());
    let [.., second, _, entry] = &lines[..] else { unreachable!() };
    assert_eq!((&entry["type"], &entry["id"]), (&json!("compaction"), &result["entryId"]));
    for field in ["summary", "firstKeptEntryId", "tokensBefore", "usage", "details"] {
        assert_eq!(entry[field], result[field], "{field}");
    }
    assert_eq!((&entry["firstKeptEntryId"], &entry["fromHook"]), (&second["id"], &json!(false)));
}

#[test]
fn model_sees_summary_and_newest_messages_after_compaction() {
    let (server, workspace) = prepare();
    let mut agent = start_with_history(&server, &workspace);
    server.reply(Reply::text("WHAT WAS"));
    agent.get("compact");
    let messages = agent.get("get_messages");
    assert_eq!(outline(&messages), ["compactionSummary: WHAT WAS", "user: TWO", "assistant: answer two"]);
    assert_eq!(messages["messages"][0]["tokensBefore"], 110);
    let state = agent.get("get_state");
    assert_eq!(state["contextUsage"], json!({ "tokens": null, "contextWindow": 200_000, "percent": null }));
    assert_eq!(state["messageCount"], 3);
    agent.run("go on");
    let sent = last_request(&server);
    assert!(sent.contains("WHAT WAS") && sent.contains("TWO") && sent.contains("go on"), "{sent}");
    assert!(!sent.contains("ONE"), "{sent}");
    assert_eq!(agent.get("get_state")["contextUsage"]["tokens"], 110);
}

#[test]
fn compacted_session_is_unchanged_after_resuming() {
    let (server, workspace) = prepare();
    let mut agent = start_with_history(&server, &workspace);
    server.reply(Reply::text("WHAT WAS"));
    agent.get("compact");
    let (messages, state) = (agent.get("get_messages"), agent.get("get_state"));
    agent.finish();
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--continue"]).start();
    assert_eq!(agent.get("get_messages"), messages);
    assert_eq!(agent.get("get_state"), state);
    assert_eq!(agent.refuse(json!({ "type": "compact" })), "Already compacted");
    agent.run("go on");
    assert!(last_request(&server).contains("WHAT WAS"));
}

#[test]
fn compaction_without_enough_history_is_refused() {
    let (server, workspace) = prepare();
    let mut agent = workspace.start();
    let check = |agent: &mut Agent, expected: &str| {
        let records = compact(agent);
        assert_eq!(types(&records), ["compaction_start", "compaction_end", "response"]);
        assert_eq!(records[1]["errorMessage"], format!("Compaction failed: {expected}"));
        assert_eq!(records[2]["error"], expected);
        assert_eq!(records[2]["code"], "nothing_to_do");
    };
    check(&mut agent, "Nothing to compact (session too small)");
    agent.run("short");
    check(&mut agent, "Nothing to compact (session too small)");
    agent.run(&long("long"));
    assert_eq!(compact(&mut agent)[2]["success"], true);
    check(&mut agent, "Already compacted");
    assert_eq!(summary_requests(&server).len(), 1);
    assert_well_formed(agent.transcript());
    let empty = Workspace::empty();
    let mut nobody = Launch::rpc(&empty).start();
    assert_eq!(nobody.ask(json!({ "type": "compact" }))["code"], "no_model");
}

#[test]
fn compaction_ends_a_run_first() {
    let (server, workspace) = prepare();
    let mut agent = start_with_history(&server, &workspace);
    let gate = Gate::new();
    server.reply(Reply::text("half").gate(&gate));
    server.reply(Reply::text("sum"));
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    gate.wait_until_reached(LIMIT);
    let records = compact(&mut agent);
    let ended = records.iter().position(|record| record["message"]["stopReason"] == "aborted").unwrap();
    assert_eq!(
        record_types(&records[ended..]),
        [
            "message_end",
            "turn_end",
            "agent_end",
            "agent_settled",
            "compaction_start",
            "compaction_end",
            "response"
        ]
    );
    assert_eq!(only(&records, "agent_settled")["aborted"], true);
    assert_eq!(records.last().unwrap()["success"], true);
    assert_well_formed(agent.transcript());
}

#[test]
fn prompt_during_compaction_is_refused_and_steering_waits() {
    let (server, workspace) = prepare();
    let mut agent = start_with_history(&server, &workspace);
    let gate = Gate::new();
    server.reply(Reply::text("sum").gate(&gate));
    agent.send(json!({ "id": "c", "type": "compact" }));
    gate.wait_until_reached(LIMIT);
    let refused = agent.ask(json!({ "type": "prompt", "message": "now" }));
    assert_eq!(
        (&refused["error"], &refused["code"]),
        (
            &json!(
                "Cannot submit a prompt while compaction is in progress. Wait for compaction to finish and retry."
            ),
            &json!("compacting")
        )
    );
    let state = agent.get("get_state");
    assert_eq!((&state["isCompacting"], &state["isStreaming"]), (&json!(true), &json!(false)));
    agent.carry_out(json!({ "type": "steer", "message": "LEFT" }));
    gate.open();
    assert_eq!(agent.response("c")["success"], true);
    let state = agent.get("get_state");
    assert_eq!((&state["isCompacting"], &state["pendingMessageCount"]), (&json!(false), &json!(1)));
    agent.run("go on");
    assert!(last_request(&server).contains("LEFT"));
    assert_well_formed(agent.transcript());
}

#[test]
fn compact_and_prompt_in_one_write_never_mix() {
    let (server, workspace) = prepare();
    let mut agent = start_with_history(&server, &workspace);
    server.reply(Reply::text("sum"));
    agent.send_raw(
        b"{\"id\":1,\"type\":\"compact\"}\n{\"id\":2,\"type\":\"prompt\",\"message\":\"x\"}\n{\"id\":3,\"type\":\"get_state\"}\n",
    );
    let records = agent.until(|record| record["id"] == 1);
    let answers = of_type(&records, "response");
    assert_eq!((&answers[0]["id"], &answers[0]["code"]), (&json!(2), &json!("compacting")));
    assert_eq!(answers[1]["data"]["isCompacting"], true);
    assert_eq!(answers[2]["success"], true);
    assert_eq!(agent.get("get_state")["messageCount"], 3);
}

#[test]
fn second_compact_is_refused_and_the_first_goes_on() {
    let (server, workspace) = prepare();
    let mut agent = start_with_history(&server, &workspace);
    let gate = Gate::new();
    server.reply(Reply::text("sum").gate(&gate));
    agent.send_raw(b"{\"id\":\"1\",\"type\":\"compact\"}\n{\"id\":\"2\",\"type\":\"compact\"}\n");
    let refused = agent.response("2");
    assert_eq!(
        (&refused["error"], &refused["code"]),
        (&json!("Compaction already in progress"), &json!("compacting"))
    );
    gate.open();
    assert_eq!(agent.response("1")["data"]["summary"], "sum");
    assert_eq!(summary_requests(&server).len(), 1);
    assert_well_formed(agent.transcript());
}

#[test]
fn abort_ends_a_compaction_without_changes() {
    let (server, workspace) = prepare();
    let mut agent = start_with_history(&server, &workspace);
    let (messages, entries) = (agent.get("get_messages"), agent.get("get_entries"));
    server.reply(Reply::mute());
    agent.send(json!({ "id": "c", "type": "compact" }));
    server.wait_for_requests(3, LIMIT);
    agent.send(json!({ "id": "a", "type": "abort" }));
    let records = agent.until(|record| record["id"] == "a");
    assert_eq!(types(&records), ["compaction_start", "compaction_end", "response", "response"]);
    assert_eq!(
        records[1],
        json!({ "type": "compaction_end", "reason": "manual", "aborted": true, "willRetry": false })
    );
    assert_eq!(
        (&records[2]["id"], &records[2]["error"], &records[2]["code"]),
        (&json!("c"), &json!("Compaction cancelled"), &json!("cancelled"))
    );
    assert_eq!(records[3]["success"], true);
    server.wait_for_hang_ups(1, LIMIT);
    assert_eq!((agent.get("get_messages"), agent.get("get_entries")), (messages, entries));
    agent.run("still here");
    assert_well_formed(agent.transcript());
}

#[test]
fn failed_summary_is_an_error_and_changes_nothing() {
    let (server, workspace) = prepare();
    let mut agent = start_with_history(&server, &workspace);
    let entries = agent.get("get_entries");
    let cases = [
        (Reply::status(401).body("no"), "401"),
        (
            Reply::text("the sum").stop_reason("max_tokens"),
            "generation hit the token cap and the summary is incomplete",
        ),
        (Reply::text("the sum").interrupt_after(1), ""),
        (Reply::text(" \n"), "the model returned an empty summary"),
        (Reply::new().tool("bash", json!({ "command": "true" })), "Summarization attempted to call a tool"),
    ];
    for (reply, expected) in cases {
        server.reply(reply);
        let records = compact(&mut agent);
        let error = records[2]["error"].as_str().unwrap();
        assert!(error.starts_with("Summarization failed: ") && error.contains(expected), "{error}");
        assert_eq!(records[1]["errorMessage"], format!("Compaction failed: {error}"));
        assert_eq!(agent.get("get_entries"), entries);
    }
    assert_eq!(server.replies_left(), 0);
    assert_well_formed(agent.transcript());
}

#[test]
fn summary_cost_is_counted() {
    let (server, workspace) = prepare();
    let mut agent = start_with_history(&server, &workspace);
    let before = agent.get("get_session_stats");
    server.reply(Reply::text("WHAT WAS").usage(Usage {
        input: 5_000,
        output: 400,
        cache_read: 0,
        cache_write: 0,
    }));
    agent.get("compact");
    let after = agent.get("get_session_stats");
    let grown = |path: &str| {
        after.pointer(path).unwrap().as_f64().unwrap() - before.pointer(path).unwrap().as_f64().unwrap()
    };
    assert!(
        (grown("/tokens/input") - 5_000.0).abs() < 1e-9 && (grown("/tokens/output") - 400.0).abs() < 1e-9
    );
    assert!((grown("/cost") - (5_000.0 + 400.0 * 2.0) / 1e6).abs() < 1e-12);
    assert_eq!(after["totalMessages"], before["totalMessages"], "no message is lost");
    assert_eq!(after["contextUsage"]["tokens"], Value::Null);
    agent.finish();
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--continue"]).start();
    assert_eq!(agent.get("get_session_stats"), after);
}
