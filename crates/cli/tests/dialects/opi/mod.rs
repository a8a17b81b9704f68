//! The dialect `opi`: each statement of the documentation and code in opi's `rpc.rs`.

mod refusals;
mod waiting;

use std::time::{Duration, Instant};

use bowline_testkit::{Agent, Api, Gate, Launch, ModelServer, Reply, Workspace, eventually, of_type, types};
use serde_json::{Value, json};

/// Each statement of the source, and the test that checks it.
const SOURCE: &[(&str, &str)] = &[
    (
        "Commands arrive on stdin, responses and events are emitted on stdout",
        "prompt_is_accepted_and_streamed",
    ),
    ("Diagnostics go to stderr.", "mutating_tool_needs_permission"),
    ("Clients MUST check schema_version in the rpc_ready header.", "header_comes_first"),
    ("LF is the only record delimiter; a trailing CR is stripped", "lines_end_with_lf_or_crlf"),
    ("blank lines are skipped", "lines_end_with_lf_or_crlf"),
    ("prompt: Send user prompt, stream agent events", "prompt_is_accepted_and_streamed"),
    ("continue: Continue conversation with additional text", "continue_needs_a_conversation"),
    ("continue is accepted like prompt; errors after acceptance are events", "continue_needs_a_conversation"),
    ("steer: Queue steering message during agent operation", "queue_events_follow_deliveries"),
    ("follow_up: Queue follow-up message for after agent stops", "queue_events_follow_deliveries"),
    ("abort: Cancel current agent operation", "abort_is_answered_immediately_and_events_are_balanced"),
    ("set_model: Switch provider:model", "model_is_named_with_a_colon"),
    ("set_thinking_level: Set reasoning/thinking level", "thinking_levels_have_budgets"),
    ("compact: Trigger manual compaction", "compact_reports_its_result"),
    ("compact is carried out before the next command is read", "commands_wait_for_a_compaction"),
    ("SessionPersistError: the session could not be written", "failed_write_is_a_persist_error"),
    ("session_info: Query session metadata", "session_info_describes_the_session"),
    ("quit: Shut down the RPC session", "quit_is_answered_before_it_ends_the_run"),
    ("Every command produces at most one response object.", "every_command_gets_one_response"),
    ("For prompt and continue, success: true means the turn was accepted", "prompt_is_accepted_and_streamed"),
    (
        "Errors after acceptance are surfaced as events, not as a second response.",
        "error_after_acceptance_is_an_event",
    ),
    (
        "abort succeeds immediately when a turn is running",
        "abort_is_answered_immediately_and_events_are_balanced",
    ),
    (
        "A second abort while idle is a successful no-op.",
        "abort_is_answered_immediately_and_events_are_balanced",
    ),
    ("abort is answered at once whenever a run is active", "second_abort_while_stopping_is_answered_at_once"),
    ("parse errors: command parse, failed to parse command: …", "every_command_gets_one_response"),
    ("end of stdin: shut down, exit code 0", "process_ends_at_end_of_stdin"),
    ("ACTIVE_RUN_SHUTDOWN_TIMEOUT 5 s", "quit_is_answered_before_it_ends_the_run"),
    ("stdout broken: RuntimeFailure, exit code 1", "closed_stdout_is_a_failure"),
    ("steer and follow_up while idle are kept", "messages_queued_while_idle_wait_for_a_turn"),
    (
        "set_model, set_thinking_level, compact, session_info, prompt while running",
        "running_agent_refuses_with_opi_errors",
    ),
    ("unknown model, invalid level, no output: errors of the command", "every_command_gets_one_response"),
    ("allow_mutating and tool_selection", "mutating_tool_needs_permission"),
];

#[test]
fn every_statement_of_the_source_has_a_test() {
    let files = [include_str!("mod.rs"), include_str!("refusals.rs"), include_str!("waiting.rs")];
    for (statement, test) in SOURCE {
        let function = format!("fn {test}()");
        assert!(files.iter().any(|file| file.contains(&function)), "{statement}: {test}");
    }
}

fn workspace(server: &ModelServer) -> Workspace {
    Workspace::new(server, Api::AnthropicMessages)
        .settings(json!({ "retry": { "baseDelayMs": 1 }, "compaction": { "keepRecentTokens": 1 } }))
}

#[track_caller]
fn run(agent: &mut Agent, message: &str) -> Vec<Value> {
    agent.carry_out(json!({ "type": "prompt", "message": message }));
    agent.until_type("AgentEnd")
}

/// Checks that every start record has its end record.
#[track_caller]
fn check_balanced(records: &[Value]) {
    for (start, end) in [("AgentStart", "AgentEnd"), ("TurnStart", "TurnEnd"), ("MessageStart", "MessageEnd")]
    {
        let (starts, ends) = (of_type(records, start).len(), of_type(records, end).len());
        assert_eq!(starts, ends, "{start} in {:?}", types(records));
    }
}

#[test]
fn header_comes_first() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).dialect("opi").start();
    let expected = r#"{"mode":"rpc","schema_version":2,"type":"rpc_ready","version":"0.5.0"}"#;
    assert_eq!(agent.next().to_string(), expected);
}

#[test]
fn prompt_is_accepted_and_streamed() {
    let server = ModelServer::start();
    server.reply(
        Reply::new().thinking("hm").then_text("Hel").then_text("lo").tool("ls", json!({ "path": "." })),
    );
    server.reply(Reply::text("done"));
    let workspace = workspace(&server);
    let mut agent = Launch::rpc(&workspace)
        .dialect("opi")
        .model("mock/m1")
        .arguments(&["--model", "mock:m2"])
        .start_greeted();
    agent.send(json!({ "type": "prompt", "id": "p", "message": "go", "unknown": 1 }));
    assert_eq!(agent.next().to_string(), r#"{"command":"prompt","id":"p","success":true,"type":"response"}"#);
    let records = agent.until_type("AgentEnd");
    check_balanced(&records);
    let kinds: Vec<_> = of_type(&records, "MessageUpdate")
        .iter()
        .map(|update| update["assistant_event"]["type"].as_str().unwrap())
        .collect();
    let expected =
        ["thinking_start", "thinking_delta", "thinking_end", "text_delta", "text_delta", "text_delta"];
    assert_eq!(kinds, expected, "the rest of the stream is not reported");
    for update in of_type(&records, "MessageUpdate") {
        let (message, mut partial) = (&update["message"], update["assistant_event"]["partial"].clone());
        assert_eq!((&message["type"], &message["role"]), (&json!("Llm"), &json!("assistant")));
        assert_eq!((partial.get("type"), partial.get("role")), (None, None));
        partial["type"] = json!("Llm");
        partial["role"] = json!("assistant");
        assert_eq!(*message, partial, "both are the answer so far");
    }
    let so_far = &of_type(&records, "MessageUpdate")[4]["message"]["content"];
    let expected = json!([{ "thinking": "hm", "type": "thinking" }, { "text": "Hello", "type": "text" }]);
    assert_eq!(*so_far, expected);
    let answer = &of_type(&records, "MessageEnd")[0]["message"];
    let call = &answer["content"][2];
    assert_eq!(call["tool_call"]["arguments"], r#"{"path":"."}"#, "arguments are a text");
    assert_eq!((&answer["stop_reason"], &answer["api"]), (&json!("tool_use"), &json!("Anthropic")));
    assert_eq!((&answer["response_model"], &answer["error_message"]), (&Value::Null, &Value::Null));
    assert!(answer["usage"]["input_tokens"].is_u64());
    let result = &of_type(&records, "TurnEnd")[0]["tool_results"][0];
    assert_eq!((result.get("role"), result.get("type")), (None, None));
    let roles: Vec<_> = records.last().unwrap()["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "tool_result", "assistant"]);
    server.reply(Reply::text("more"));
    let second = run(&mut agent, "again");
    assert_eq!(
        second.last().unwrap()["messages"].as_array().unwrap().len(),
        6,
        "the whole history, every time"
    );
}

#[test]
fn lines_end_with_lf_or_crlf() {
    let workspace = Workspace::empty();
    let mut agent = Launch::bowline(&workspace).arguments(&["--rpc"]).start();
    agent.next();
    agent.send_raw(b"\n  \r\n{\"type\":\"abort\",\"id\":\"a\"}\r\n");
    assert_eq!(agent.next()["id"], "a");
}

#[test]
fn continue_needs_a_conversation() {
    let server = ModelServer::start();
    server.default_reply(Reply::text("ok"));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("opi");
    assert_eq!(agent.carry_out(json!({ "type": "continue", "message": "and?" })), Value::Null);
    let records = agent.until_type("AgentEnd");
    let expected = ["AgentStart", "TurnStart", "MessageStart", "MessageEnd", "TurnEnd", "AgentEnd"];
    assert_eq!(types(&records), expected);
    let end = &records[5];
    assert_eq!((&end["reason"], &end["messages"]), (&json!("error"), &json!([])));
    assert!(end["error_message"].as_str().unwrap().contains("no conversation to continue"), "{end}");
    assert!(server.requests().is_empty());
    run(&mut agent, "hello");
    agent.carry_out(json!({ "type": "continue", "message": "and?" }));
    let end = agent.until_type("AgentEnd").pop().unwrap();
    assert_eq!(end["messages"].as_array().unwrap().len(), 4);
}

#[test]
fn queue_events_follow_deliveries() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.reply(Reply::text("one").gate(&gate));
    server.default_reply(Reply::text("next"));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("opi");
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("MessageUpdate");
    for (kind, text) in [("steer", "s1"), ("steer", "s2"), ("follow_up", "f1"), ("follow_up", "f2")] {
        agent.carry_out(json!({ "type": kind, "message": text }));
    }
    gate.open();
    let records = agent.until_type("AgentEnd");
    let expected = [
        json!({ "follow_up": [], "steering": ["s1", "s2"], "type": "QueueUpdate" }),
        json!({ "follow_up": ["f1"], "steering": [], "type": "QueueUpdate" }),
        json!({ "follow_up": ["f2"], "steering": [], "type": "QueueUpdate" }),
    ];
    assert_eq!(of_type(&records, "QueueUpdate").into_iter().cloned().collect::<Vec<_>>(), expected);
    let names = types(&records);
    let update = names.iter().position(|name| *name == "QueueUpdate").unwrap();
    assert_eq!((names[update - 1], names[update + 1]), ("TurnEnd", "TurnStart"));
    check_balanced(agent.transcript());
}

#[test]
fn messages_queued_while_idle_wait_for_a_turn() {
    let server = ModelServer::start();
    server.default_reply(Reply::text("ok"));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("opi");
    agent.carry_out(json!({ "type": "steer", "message": "left" }));
    agent.carry_out(json!({ "type": "follow_up", "message": "later" }));
    let records = run(&mut agent, "go");
    assert_eq!(of_type(&records, "TurnStart").len(), 3);
    assert!(!server.requests()[0].body.to_string().contains("left"));
    assert!(server.requests()[1].body.to_string().contains("left"));
}

#[test]
fn abort_is_answered_immediately_and_events_are_balanced() {
    let server = ModelServer::start();
    server.reply(Reply::text("I begin").hang_after(1));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("opi");
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("MessageUpdate");
    agent.send(json!({ "type": "abort", "id": "a" }));
    let records = agent.until_type("AgentEnd");
    assert_eq!(records[0]["id"], "a");
    assert_eq!(types(&records), ["response", "MessageEnd", "TurnEnd", "AgentEnd"]);
    check_balanced(agent.transcript());
    assert_eq!(records[1]["message"]["stop_reason"], "aborted");
    assert_eq!(records[3]["reason"], "aborted");
    assert_eq!(records[3]["messages"].as_array().unwrap().len(), 1, "the aborted answer is not part of it");
    agent.carry_out(json!({ "type": "abort" }));
    agent.send(json!({ "type": "session_info", "id": "s" }));
    assert_eq!(agent.next()["id"], "s", "an abort while idle says nothing more");
}

#[test]
fn error_after_acceptance_is_an_event() {
    let server = ModelServer::start();
    server.reply(Reply::status(400).body("{\"error\":{\"message\":\"no such thing\"}}"));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("opi");
    let records = run(&mut agent, "go");
    assert_eq!(
        types(&records),
        ["AgentStart", "TurnStart", "MessageStart", "MessageEnd", "TurnEnd", "AgentEnd"]
    );
    let answer = &records[3]["message"];
    assert_eq!(answer["stop_reason"], "error");
    assert!(answer["error_message"].as_str().unwrap().contains("no such thing"), "{answer}");
    assert_eq!(
        (&records[5]["reason"], &records[5]["error_message"]),
        (&json!("error"), &answer["error_message"])
    );
    assert_eq!(of_type(agent.transcript(), "response").len(), 1);
}

#[test]
fn signed_thinking_needs_a_reasoning_model() {
    let server = ModelServer::start();
    server.default_reply(Reply::new().thinking("hm").then_text("done"));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("opi");
    let end = run(&mut agent, "go").pop().unwrap();
    assert!(end["error_message"].as_str().unwrap().contains("\"reasoning\": true"), "{end}");
    agent.carry_out(json!({ "type": "set_model", "model": "mock:m2" }));
    assert_eq!(run(&mut agent, "go").last().unwrap()["reason"], "completed");
}

#[test]
fn retry_is_part_of_its_turn() {
    let server = ModelServer::start();
    server.reply(Reply::status(529));
    server.reply(Reply::status(529));
    server.reply(Reply::text("at last"));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("opi");
    let records = run(&mut agent, "go");
    let expected = [
        "AgentStart",
        "TurnStart",
        "AutoRetryStart",
        "AutoRetryStart",
        "MessageStart",
        "MessageUpdate",
        "MessageEnd",
        "TurnEnd",
        "AutoRetryEnd",
        "AgentEnd",
    ];
    assert_eq!(types(&records), expected);
    let expected = json!({ "attempt": 2, "final_error": null, "success": true, "type": "AutoRetryEnd" });
    assert_eq!(records[8], expected);
}

#[test]
fn exhausted_retries_end_with_the_error() {
    let server = ModelServer::start();
    server.default_reply(Reply::status(529));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("opi");
    let records = run(&mut agent, "go");
    check_balanced(&records);
    assert_eq!(of_type(&records, "AutoRetryStart").len(), 3);
    let end = of_type(&records, "AutoRetryEnd")[0];
    assert_eq!((&end["success"], end["final_error"].is_string()), (&json!(false), true));
    assert_eq!(records.last().unwrap()["reason"], "error");
}

#[test]
fn truncated_and_repeated_answer_has_balanced_events() {
    let server = ModelServer::start();
    server.reply(Reply::text("I be").then_text("gin").interrupt_after(1));
    server.reply(Reply::text("whole"));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("opi");
    let records = run(&mut agent, "go");
    check_balanced(&records);
    assert_eq!(of_type(&records, "AgentEnd").len(), 1);
    assert_eq!(of_type(&records, "MessageEnd")[0]["message"]["stop_reason"], "error");
    assert_eq!(records.last().unwrap()["messages"].as_array().unwrap().len(), 2);
}

#[test]
fn model_is_named_with_a_colon() {
    let server = ModelServer::start();
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("opi");
    assert_eq!(agent.get("session_info")["model"], "mock:m1");
    let data = agent.carry_out(json!({ "type": "set_model", "model": "mock:m2" }));
    assert_eq!(data, json!({ "model": "mock:m2" }));
    assert_eq!(agent.get("session_info")["model"], "mock:m2");
}

#[test]
fn thinking_levels_have_budgets() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start_in("opi");
    let off = json!({ "budget_tokens": null, "enabled": false, "level": "off" });
    // The second model is declared to think. For the first one, which is not, the client declares it, as opi assumes.
    for (model, level, budget) in
        [("m1", "high", 20_000), ("m2", "low", 2048), ("m2", "medium", 10_000), ("m2", "high", 20_000)]
    {
        agent.carry_out(json!({ "type": "set_model", "model": format!("mock:{model}") }));
        let data = agent.carry_out(json!({ "type": "set_thinking_level", "level": level }));
        assert_eq!(data, json!({ "budget_tokens": budget, "enabled": true, "level": level }));
        agent.send(json!({ "type": "prompt", "message": "hello" }));
        agent.until_type("AgentEnd");
        let sent = server.requests().last().unwrap().body["thinking"].clone();
        assert_eq!(sent, json!({ "type": "enabled", "budget_tokens": budget }), "what is reported is sent");
    }
    assert_eq!(agent.carry_out(json!({ "type": "set_thinking_level", "level": "off" })), off);
}

#[test]
fn level_is_off_for_a_model_that_is_known_not_to_think() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace)
        .dialect("opi")
        .model("openai:gpt-4o")
        .environment("OPENAI_API_KEY", "k")
        .start_greeted();
    let data = agent.carry_out(json!({ "type": "set_thinking_level", "level": "high" }));
    assert_eq!(data, json!({ "budget_tokens": null, "enabled": false, "level": "off" }));
}

#[test]
fn compact_reports_its_result() {
    let server = ModelServer::start();
    server.default_reply(Reply::text("what was said"));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("opi");
    assert_eq!(agent.refuse(json!({ "type": "compact" })), "compaction produced no output");
    run(&mut agent, "one");
    run(&mut agent, "two");
    let data = agent.carry_out(json!({ "type": "compact" }));
    let keys: Vec<_> = data.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["first_kept_entry_id", "summary", "tokens_after", "tokens_before"]);
    let end = of_type(agent.transcript(), "CompactionEnd").pop().unwrap().clone();
    assert_eq!((&end["reason"], &end["result"]), (&json!("manual"), &data));
    let end = run(&mut agent, "three").pop().unwrap();
    assert_eq!(end["messages"][0]["type"], "CompactionSummary", "{end}");
    assert_eq!(end["messages"][0]["first_kept_entry_id"], data["first_kept_entry_id"]);
}

#[test]
fn session_info_describes_the_session() {
    let server = ModelServer::start();
    let workspace = workspace(&server).file("AGENTS.md", "Use tabs.");
    let mut agent = workspace.start_in("opi");
    let data = agent.get("session_info");
    let file = workspace.work().join("AGENTS.md");
    let resources = json!({ "diagnostics": [], "extensions": [], "fragments": [file], "packages": [], "skills": [], "themes": [] });
    assert_eq!(data["resources"], resources);
    assert!(data["session_id"].is_string());
    let arguments = ["--no-context-files"];
    let mut agent = Launch::rpc(&workspace).dialect("opi").arguments(&arguments).start_greeted();
    assert_eq!(agent.get("session_info")["resources"]["fragments"], json!([]));
}

#[test]
fn quit_is_answered_before_it_ends_the_run() {
    let server = ModelServer::start();
    server.reply(Reply::new().tool("bash", json!({ "command": "touch begun; sleep 300" })));
    let workspace = workspace(&server);
    let mut agent = Launch::rpc(&workspace)
        .dialect("opi")
        .model("mock/m1")
        .arguments(&["--allow-mutating"])
        .start_greeted();
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    eventually("the tool runs", || workspace.work().join("begun").exists());
    agent.until_type("ToolExecutionStart");
    let started = Instant::now();
    agent.send_raw(b"{\"type\":\"quit\",\"id\":\"q\"}\n{\"type\":\"session_info\",\"id\":\"never\"}\n");
    let records = agent.rest();
    let answer = types(&records).iter().position(|name| *name == "response").unwrap();
    assert_eq!(
        records[answer].to_string(),
        r#"{"command":"quit","id":"q","success":true,"type":"response"}"#
    );
    let mut after: Vec<_> = types(&records[answer + 1..]);
    // An update of the running tool may still arrive.
    after.retain(|name| *name != "ToolExecutionUpdate");
    assert_eq!(after, ["ToolExecutionEnd", "TurnEnd", "AgentEnd"]);
    assert_eq!(agent.wait(), 0);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert!(agent.survivors().is_empty());
}

#[test]
fn process_ends_at_end_of_stdin() {
    let server = ModelServer::start();
    server.reply(Reply::text("I begin").hang_after(1));
    let workspace = workspace(&server);
    let mut agent = workspace.start_in("opi");
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("MessageUpdate");
    agent.close_stdin();
    assert_eq!(agent.rest().last().unwrap()["type"], "AgentEnd");
    assert_eq!(agent.wait(), 0);
}

#[test]
fn closed_stdout_is_a_failure() {
    let workspace = Workspace::empty();
    let mut agent = Launch::bowline(&workspace).arguments(&["--rpc"]).start();
    agent.next();
    agent.close_stdout();
    assert_eq!(agent.wait(), 1);
}
