//! Making room: a summary takes the place of all but the newest messages, by hand, at the threshold and on overflow.

#![expect(clippy::unwrap_used, reason = "what helps a test fails it by panicking")]
#![expect(clippy::needless_pass_by_value, reason = "values are written in place with `json!`")]

use std::time::Duration;

use bowline_testkit::{
    Agent, Api, Gate, ModelServer, Reply, Request, Usage, Workspace, assert_well_formed, keys, of_type,
    session_lines, types,
};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_bowline");
const LIMIT: Duration = Duration::from_secs(10);

/// More than the 183,616 tokens at which a window of 200,000 is compacted.
const NEARLY_FULL: Usage = Usage { input: 190_000, output: 10, cache_read: 0, cache_write: 0 };

fn start(workspace: &Workspace, arguments: &[&str]) -> Agent {
    let mut all = vec!["--mode", "rpc", "--model", "mock/m1"];
    all.extend(arguments);
    Agent::start(BINARY, workspace, &all)
}

/// Prepares a workspace in which a compaction keeps only the last long message and what follows it.
fn prepare() -> (ModelServer, Workspace) {
    prepare_with(json!({ "keepRecentTokens": 40 }))
}

fn prepare_with(compaction: Value) -> (ModelServer, Workspace) {
    let server = ModelServer::start();
    let workspace = Workspace::new(&server, Api::AnthropicMessages)
        .settings(json!({ "compaction": compaction, "retry": { "enabled": false } }));
    (server, workspace)
}

/// Returns a text of some 60 tokens that begins with its name.
fn long(name: &str) -> String {
    format!("{name} {}", "pad ".repeat(60))
}

/// Starts an agent and has two exchanges with it, of which a compaction keeps the second.
fn start_with_a_past(server: &ModelServer, workspace: &Workspace) -> Agent {
    server.reply(Reply::text("answer one"));
    server.reply(Reply::text("answer two"));
    let mut agent = start(workspace, &[]);
    agent.run(&long("ONE"));
    agent.run(&long("TWO"));
    agent
}

/// Compacts by hand and returns the records up to the response.
fn compact(agent: &mut Agent) -> Vec<Value> {
    agent.send(json!({ "id": "c", "type": "compact" }));
    agent.until(|record| record["id"] == "c")
}

/// Returns the requests for a summary.
fn summary_requests(server: &ModelServer) -> Vec<Request> {
    let requests = server.requests().into_iter();
    requests.filter(|request| request.body["system"].to_string().contains("You write summaries")).collect()
}

/// Returns what the newest request said to the model.
fn last_request(server: &ModelServer) -> String {
    server.requests().pop().unwrap().body["messages"].to_string()
}

/// Returns the beginning of each message's text with its role in front.
fn outline(messages: &Value) -> Vec<String> {
    let messages = messages["messages"].as_array().unwrap().iter();
    messages
        .map(|message| {
            let block = &message["content"][0];
            let text = message["summary"].as_str().or_else(|| block["text"].as_str());
            let text = text.or_else(|| block["name"].as_str()).unwrap_or_default();
            format!("{}: {}", message["role"].as_str().unwrap(), text.split(" pad").next().unwrap())
        })
        .collect()
}

/// Returns the types of records, without the pieces of answers and without the messages' starts.
fn course(records: &[Value]) -> Vec<&str> {
    let left_out = ["message_start", "message_update", "tool_execution_start", "tool_execution_update"];
    types(records).into_iter().filter(|kind| !left_out.contains(kind)).collect()
}

/// Returns the only record of a type.
#[track_caller]
fn only<'a>(records: &'a [Value], kind: &str) -> &'a Value {
    let found = of_type(records, kind);
    assert_eq!(found.len(), 1, "{kind} in {records:#?}");
    found[0]
}

fn too_long() -> Reply {
    Reply::status(400).body(
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
    )
}

/// Checks that every result in a request follows its call and every call has its result.
#[track_caller]
fn assert_calls_have_results(body: &Value) {
    let messages = body["messages"].as_array().unwrap();
    let ids = |message: &Value, kind: &str, field: &str| -> Vec<Value> {
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        blocks.iter().filter(|block| block["type"] == kind).map(|block| block[field].clone()).collect()
    };
    let mut open = Vec::new();
    for message in messages {
        assert_eq!(ids(message, "tool_result", "tool_use_id"), open, "{body:#}");
        open = ids(message, "tool_use", "id");
    }
    assert!(open.is_empty(), "{body:#}");
}

#[test]
fn a_compaction_by_hand_tells_the_same_in_event_answer_and_file() {
    let (server, workspace) = prepare();
    let mut agent = start_with_a_past(&server, &workspace);
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
fn after_a_compaction_the_model_sees_the_summary_and_the_newest_messages() {
    let (server, workspace) = prepare();
    let mut agent = start_with_a_past(&server, &workspace);
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
fn a_compacted_session_is_the_same_after_resuming() {
    let (server, workspace) = prepare();
    let mut agent = start_with_a_past(&server, &workspace);
    server.reply(Reply::text("WHAT WAS"));
    agent.get("compact");
    let (messages, state) = (agent.get("get_messages"), agent.get("get_state"));
    agent.finish();
    let mut agent = start(&workspace, &["--continue"]);
    assert_eq!(agent.get("get_messages"), messages);
    assert_eq!(agent.get("get_state"), state);
    assert_eq!(agent.refuse(json!({ "type": "compact" })), "Already compacted");
    agent.run("go on");
    assert!(last_request(&server).contains("WHAT WAS"));
}

#[test]
fn the_request_for_a_summary_has_the_past_the_instructions_and_no_tools() {
    let (server, workspace) = prepare();
    let mut agent = start_with_a_past(&server, &workspace);
    server.reply(Reply::text("short"));
    agent.carry_out(json!({ "type": "compact", "customInstructions": "Only the BLUE parts." }));
    let body = &summary_requests(&server)[0].body;
    let sent = body["messages"].to_string();
    assert_eq!(body["messages"].as_array().unwrap().len(), 1);
    assert!(sent.contains("[User]: ONE") && sent.contains("[Assistant]: answer one"), "{sent}");
    assert!(sent.contains("Only the BLUE parts.") && sent.contains("## Next Steps"), "{sent}");
    assert!(!sent.contains("TWO"), "{sent}");
    assert_eq!(body.get("tools"), None);
    // Four fifths of what is kept free.
    assert_eq!(body["max_tokens"], 13_107);
}

#[test]
fn what_cannot_be_compacted_is_said() {
    let (server, workspace) = prepare();
    let mut agent = start(&workspace, &[]);
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
    let mut nobody = Agent::start(BINARY, &empty, &["--mode", "rpc"]);
    assert_eq!(nobody.ask(json!({ "type": "compact" }))["code"], "no_model");
}

#[test]
fn a_compaction_ends_a_run_first() {
    let (server, workspace) = prepare();
    let mut agent = start_with_a_past(&server, &workspace);
    let gate = Gate::new();
    server.reply(Reply::text("half").gate(&gate));
    server.reply(Reply::text("sum"));
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    gate.wait_until_reached(LIMIT);
    let records = compact(&mut agent);
    let ended = records.iter().position(|record| record["message"]["stopReason"] == "aborted").unwrap();
    assert_eq!(
        course(&records[ended..]),
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
fn a_prompt_during_a_compaction_is_refused_and_steering_waits() {
    let (server, workspace) = prepare();
    let mut agent = start_with_a_past(&server, &workspace);
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
fn compact_and_prompt_in_one_write_are_never_mixed() {
    let (server, workspace) = prepare();
    let mut agent = start_with_a_past(&server, &workspace);
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
fn an_abort_ends_a_compaction_and_leaves_the_conversation_as_it_was() {
    let (server, workspace) = prepare();
    let mut agent = start_with_a_past(&server, &workspace);
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
fn a_summary_that_does_not_come_is_an_error_and_changes_nothing() {
    let (server, workspace) = prepare();
    let mut agent = start_with_a_past(&server, &workspace);
    let entries = agent.get("get_entries");
    let cases = [
        (Reply::status(401).body("no"), "401"),
        (
            Reply::text("the sum").stop_reason("max_tokens"),
            "generation hit the token cap and the summary is incomplete",
        ),
        (Reply::text("the sum").cut_after(1), ""),
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
fn a_full_window_is_compacted_after_the_run() {
    let (server, workspace) = prepare();
    let mut agent = start(&workspace, &[]);
    agent.run(&long("ONE"));
    server.reply(Reply::text("answer two").usage(NEARLY_FULL));
    server.reply(Reply::text("WHAT WAS"));
    let records = agent.run(&long("TWO"));
    let end = ["turn_end", "agent_end", "compaction_start", "compaction_end", "agent_settled"];
    assert!(course(&records).ends_with(&end), "{:?}", course(&records));
    let done = only(&records, "compaction_end");
    assert_eq!((&done["reason"], &done["result"]["tokensBefore"]), (&json!("threshold"), &json!(190_010)));
    assert_eq!(
        outline(&agent.get("get_messages")),
        ["compactionSummary: WHAT WAS", "user: TWO", "assistant: answer two"]
    );
    // What was reported before the compaction is about another conversation, and does not count again.
    let records = agent.run("three");
    assert!(of_type(&records, "compaction_start").is_empty());
    assert_well_formed(agent.transcript());
}

#[test]
fn a_full_window_is_compacted_between_turns_and_the_run_goes_on() {
    let (server, workspace) = prepare();
    let mut agent = start(&workspace, &[]);
    agent.run(&long("ONE"));
    server.reply(Reply::new().tool("bash", json!({ "command": "echo hi" })).usage(NEARLY_FULL));
    server.reply(Reply::text("WHAT WAS"));
    server.reply(Reply::text("done"));
    let records = agent.run(&long("TWO"));
    assert_eq!(
        course(&records),
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
    let told = only(&records, "agent_end")["messages"].as_array().unwrap().len();
    assert_eq!(told, 4, "all messages of the run are told at its end");
    assert_well_formed(agent.transcript());
}

#[test]
fn a_call_is_kept_with_its_results_however_long_they_are() {
    let (server, workspace) = prepare();
    let mut agent = start(&workspace, &[]);
    let print = json!({ "command": "printf 'y%.0s' $(seq 1000)" });
    server.reply(Reply::new().tool("bash", print.clone()).tool("bash", print.clone()).usage(NEARLY_FULL));
    server.reply(Reply::text("WHAT WAS"));
    server.reply(Reply::new().tool("bash", print).usage(NEARLY_FULL));
    server.reply(Reply::text("WHAT WAS THEN"));
    let records = agent.run(&long("ONE"));
    assert_eq!(of_type(&records, "compaction_end").len(), 2);
    for request in server.requests() {
        assert_calls_have_results(&request.body);
    }
    assert!(summary_requests(&server)[1].body.to_string().contains("[Tool result]: yyy"));
    assert_eq!(
        outline(&agent.get("get_messages")),
        [
            "compactionSummary: WHAT WAS\n\n---\n\n**Turn Context (split turn):**\n\nWHAT WAS THEN",
            "assistant: bash",
            &format!("toolResult: {}", "y".repeat(1000)),
            "assistant: ok"
        ]
    );
    assert_well_formed(agent.transcript());
}

#[test]
fn a_full_window_is_compacted_before_a_prompt_unless_that_is_switched_off() {
    let (server, workspace) = prepare();
    let mut agent = start(&workspace, &[]);
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
    assert_eq!(course(&records)[..4], ["compaction_start", "compaction_end", "response", "agent_start"]);
    assert_eq!((&records[0]["reason"], &records[2]["success"]), (&json!("threshold"), &json!(true)));
    let sent = last_request(&server);
    assert!(sent.contains("WHAT WAS") && sent.contains("three"), "{sent}");
    assert_well_formed(agent.transcript());
}

#[test]
fn an_abort_while_a_prompt_waits_for_a_compaction_refuses_the_prompt() {
    let (server, workspace) = prepare();
    let mut agent = start(&workspace, &[]);
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
fn an_abort_during_a_compaction_ends_the_run_once() {
    for in_the_middle in [true, false] {
        let (server, workspace) = prepare();
        let mut agent = start(&workspace, &[]);
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
fn what_is_queued_during_the_last_compaction_is_another_stretch_of_the_run() {
    let (server, workspace) = prepare();
    let mut agent = start(&workspace, &[]);
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
        course(&records[end..]),
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
fn a_compaction_that_fails_is_told_once_in_a_run_and_tried_again_in_the_next() {
    let (server, workspace) = prepare();
    let mut agent = start(&workspace, &[]);
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
fn a_full_window_with_nothing_to_cut_is_told_once_and_cut_as_soon_as_it_can_be() {
    let (server, workspace) = prepare();
    let mut agent = start(&workspace, &[]);
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

#[test]
fn a_conversation_that_is_too_long_is_compacted_and_the_call_made_again() {
    let (server, workspace) = prepare();
    let mut agent = start_with_a_past(&server, &workspace);
    server.reply(too_long());
    server.reply(Reply::text("WHAT WAS"));
    server.reply(Reply::text("answer three"));
    let records = agent.run("three");
    assert_eq!(
        course(&records),
        [
            "agent_start",
            "turn_start",
            "message_end",
            "message_end",
            "turn_end",
            "agent_end",
            "compaction_start",
            "compaction_end",
            "agent_start",
            "turn_start",
            "message_end",
            "turn_end",
            "agent_end",
            "agent_settled"
        ]
    );
    let end = only(&records, "compaction_end");
    assert_eq!((&end["reason"], &end["willRetry"]), (&json!("overflow"), &json!(true)));
    let will_retry: Vec<_> =
        of_type(&records, "agent_end").iter().map(|record| record["willRetry"].clone()).collect();
    assert_eq!(will_retry, [true, false]);
    let sent = last_request(&server);
    assert!(sent.contains("WHAT WAS") && sent.contains("three") && !sent.contains("ONE"), "{sent}");
    let messages = agent.get("get_messages");
    assert!(!messages.to_string().contains("too long"), "the failed answer is no part of the context");
    assert_well_formed(agent.transcript());
    agent.finish();
    let mut agent = start(&workspace, &["--continue"]);
    assert_eq!(agent.get("get_messages"), messages);
}

#[test]
fn a_second_overflow_ends_the_run_with_one_end() {
    let (server, workspace) = prepare();
    let mut agent = start_with_a_past(&server, &workspace);
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

    // The next message of the user is another case.
    server.reply(too_long());
    server.reply(Reply::text("WHAT WAS THEN"));
    server.reply(Reply::text("answer four"));
    let records = agent.run(&long("FOUR"));
    assert_eq!(only(&records, "agent_settled")["error"], Value::Null);
}

#[test]
fn an_overflow_with_nothing_to_cut_says_so() {
    let (server, workspace) = prepare();
    let mut agent = start(&workspace, &[]);
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

#[test]
fn a_turn_that_is_cut_in_two_is_summarised_for_itself() {
    let (server, workspace) = prepare();
    let mut agent = start(&workspace, &[]);
    agent.run(&long("ONE"));
    server.reply(Reply::text("I look.").tool("bash", json!({ "command": "echo FOUND" })));
    server.reply(Reply::text(&long("REPORT")));
    agent.run(&long("TWO"));
    server.reply(Reply::text("the past"));
    server.reply(Reply::text("the turn so far"));
    let result = agent.carry_out(json!({ "type": "compact", "customInstructions": "be BLUE" }));
    assert_eq!(result["summary"], "the past\n\n---\n\n**Turn Context (split turn):**\n\nthe turn so far");
    assert_eq!((&result["usage"]["input"], &result["usage"]["output"]), (&json!(200), &json!(20)));
    let requests = summary_requests(&server);
    let sent: Vec<_> = requests.iter().map(|request| request.body["messages"].to_string()).collect();
    assert_eq!(sent.len(), 2);
    assert!(sent[0].contains("ONE") && !sent[0].contains("TWO"), "{}", sent[0]);
    assert!(
        sent[1].contains("TWO") && sent[1].contains("FOUND") && !sent[1].contains("REPORT"),
        "{}",
        sent[1]
    );
    assert!(sent.iter().all(|text| text.contains("be BLUE")));
    assert_eq!(
        outline(&agent.get("get_messages"))[1..],
        ["assistant: REPORT"],
        "the end of the turn stays as it is"
    );
}

#[test]
fn an_earlier_summary_goes_into_the_next() {
    let (server, workspace) = prepare();
    let mut agent = start_with_a_past(&server, &workspace);
    server.reply(Reply::text("FIRST SUMMARY"));
    agent.get("compact");
    agent.run(&long("THREE"));
    server.reply(Reply::text("SECOND SUMMARY"));
    agent.get("compact");
    let sent = summary_requests(&server)[1].body["messages"][0]["content"][0]["text"].clone();
    let sent = sent.as_str().unwrap();
    assert!(sent.contains("<previous-summary>\nFIRST SUMMARY\n</previous-summary>"), "{sent}");
    assert!(sent.contains("TWO") && !sent.contains("ONE") && !sent.contains("THREE"), "{sent}");
    assert_eq!(
        outline(&agent.get("get_messages")),
        ["compactionSummary: SECOND SUMMARY", "user: THREE", "assistant: ok"]
    );
}

#[test]
fn files_that_were_read_and_changed_are_carried_along() {
    let (server, workspace) = prepare();
    let workspace = workspace.file("a.txt", "a").file("b.txt", "b").file("c.txt", "c");
    let mut agent = start(&workspace, &[]);
    server.reply(
        Reply::new()
            .tool("read", json!({ "path": "a.txt" }))
            .tool("read", json!({ "path": "b.txt" }))
            .tool("write", json!({ "path": "new.txt", "content": "x" })),
    );
    agent.run(&long("ONE"));
    agent.run(&long("TWO"));
    server.reply(Reply::text("first"));
    let result = agent.get("compact");
    assert_eq!(result["details"], json!({ "readFiles": ["a.txt", "b.txt"], "modifiedFiles": ["new.txt"] }));
    let lists = "<read-files>\na.txt\nb.txt\n</read-files>\n\n<modified-files>\nnew.txt\n</modified-files>";
    assert_eq!(result["summary"], format!("first\n\n{lists}"));
    agent.finish();

    // Also when the session was opened anew, and a file that was read is changed later.
    let mut agent = start(&workspace, &["--continue"]);
    server.reply(
        Reply::new()
            .tool("edit", json!({ "path": "b.txt", "oldText": "b", "newText": "B" }))
            .tool("read", json!({ "path": "c.txt" })),
    );
    agent.run(&long("THREE"));
    agent.run(&long("FOUR"));
    server.reply(Reply::text("second"));
    let result = agent.get("compact");
    assert_eq!(
        result["details"],
        json!({ "readFiles": ["a.txt", "c.txt"], "modifiedFiles": ["new.txt", "b.txt"] })
    );
    let sent = summary_requests(&server)[1].body["messages"].to_string();
    assert!(sent.contains("<previous-summary>") && !sent.contains("<read-files>"), "{sent}");
}

#[test]
fn limits_come_from_the_settings_for_all_models_and_for_one() {
    let (server, workspace) = prepare_with(json!({
        "keepRecentTokens": 40, "reserveTokens": 150_000,
        "modelOverrides": { "mock/m2": { "keepRecentTokens": 100_000 } },
    }));
    let mut agent = start_with_a_past(&server, &workspace);
    agent.carry_out(json!({ "type": "set_model", "provider": "mock", "modelId": "m2" }));
    assert_eq!(compact(&mut agent)[2]["code"], "nothing_to_do");
    agent.carry_out(json!({ "type": "set_model", "provider": "mock", "modelId": "m1" }));
    let filled = Usage { input: 50_000, output: 1, cache_read: 0, cache_write: 0 };
    server.reply(Reply::text("answer three").usage(filled));
    server.reply(Reply::text("WHAT WAS"));
    let records = agent.run(&long("THREE"));
    assert_eq!(only(&records, "compaction_end")["result"]["tokensBefore"], 50_001);
    // No more than the model can say.
    assert_eq!(summary_requests(&server)[0].body["max_tokens"], 32_000);
}

#[test]
fn the_cost_of_summaries_is_counted() {
    let (server, workspace) = prepare();
    let mut agent = start_with_a_past(&server, &workspace);
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
    assert_eq!(after["totalMessages"], before["totalMessages"], "nothing that was said is lost");
    assert_eq!(after["contextUsage"]["tokens"], Value::Null);
    agent.finish();
    let mut agent = start(&workspace, &["--continue"]);
    assert_eq!(agent.get("get_session_stats"), after);
}
