//! Every accepted run ends in exactly one `agent_settled` with its reason, whatever the provider, a tool or the user
//! does.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use bowline_testkit::{
    Agent, Api, Gate, Launch, ModelServer, Reply, Request, Workspace, assert_well_formed, keys, of_type,
    types,
};
use serde_json::{Value, json};

const APIS: [Api; 2] = [Api::AnthropicMessages, Api::OpenaiCompletions];

/// How long the scripted model waits for an event.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Runs one prompt to its end and checks the grammar of the transcript.
#[track_caller]
fn run(agent: &mut Agent) -> Vec<Value> {
    let records = agent.run("go");
    agent.get("get_state");
    assert_well_formed(agent.transcript());
    assert_eq!(of_type(agent.transcript(), "agent_settled").len(), 1);
    records
}

/// Returns the error of a run that must have failed.
#[track_caller]
fn error_of(records: &[Value]) -> &str {
    let settled = &records[records.len() - 1];
    assert_eq!(settled["aborted"], false, "{settled}");
    settled["error"].as_str().unwrap_or_else(|| panic!("no error in {settled}"))
}

#[track_caller]
fn check_done(records: &[Value]) {
    assert_eq!(records[records.len() - 1], json!({ "type": "agent_settled", "aborted": false }));
}

/// Settings with which failures end the run immediately and silence is noticed quickly.
fn impatient() -> Value {
    json!({ "httpIdleTimeoutMs": 150, "retry": { "enabled": false } })
}

/// Settings with which retries are immediate.
fn eager(retries: u32) -> Value {
    json!({ "retry": { "maxRetries": retries, "baseDelayMs": 5 } })
}

#[test]
fn text_answer_ends_the_run() {
    for api in APIS {
        let server = ModelServer::start();
        server.reply(Reply::new().thinking("hm ").thinking("well").then_text("one").then_text(" two"));
        let workspace = Workspace::new(&server, api);
        check_done(&run(&mut workspace.start()));
    }
}

#[test]
fn tools_followed_by_text_end_the_run() {
    for api in APIS {
        let server = ModelServer::start();
        server.reply(Reply::text("look: ").tool("bash", json!({ "command": "echo seen" })));
        server.reply(Reply::new().tool("read", json!({ "path": "absent.txt" })));
        server.reply(Reply::new().tool("bash", json!({ "command": "kill -9 $$" })));
        server.reply(Reply::text("done"));
        let workspace = Workspace::new(&server, api);
        let records = run(&mut workspace.start());
        check_done(&records);
        let errors: Vec<_> =
            of_type(&records, "tool_execution_end").iter().map(|end| end["isError"].clone()).collect();
        assert_eq!(errors, [false, true, true]);
        assert_eq!(server.requests().len(), 4);
    }
}

#[test]
fn truncated_tool_calls_are_not_executed_and_the_run_continues() {
    let server = ModelServer::start();
    let call = Reply::new().tool("bash", json!({ "command": "touch carried-out" }));
    server.reply(call.stop_reason("max_tokens"));
    server.reply(Reply::text("smaller, then"));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let records = run(&mut workspace.start());
    check_done(&records);
    assert_eq!(of_type(&records, "tool_execution_end")[0]["isError"], true);
    assert!(!workspace.work().join("carried-out").exists());
}

#[test]
fn provider_refusal_ends_the_run_with_its_text() {
    for api in APIS {
        let server = ModelServer::start();
        let body =
            json!({ "type": "error", "error": { "type": "authentication_error", "message": "no such key" } });
        server.reply(Reply::status(401).body(&body.to_string()));
        let workspace = Workspace::new(&server, api);
        let records = run(&mut workspace.start());
        assert!(error_of(&records).contains("no such key"), "{}", error_of(&records));
        assert_eq!(of_type(&records, "auto_retry_start").len(), 0);
        assert_eq!(server.requests().len(), 1);
    }
}

/// The ways in which a stream is interrupted.
fn broken_replies() -> [(&'static str, Reply); 8] {
    let text = || Reply::text("one ").then_text("two ").then_text("three");
    [
        ("never answers", Reply::mute()),
        ("is silent after the first byte", text().hang_after(0)),
        ("falls silent", text().hang_after(2)),
        ("is silent in place of its end", text().hang_after(3)),
        ("closes before the first byte of content", text().interrupt_after(0)),
        ("closes in the middle", text().interrupt_after(2)),
        ("closes without an end", text().interrupt_after(3)),
        ("reports an error in the middle", text().stream_error("overloaded_error")),
    ]
}

#[test]
fn interrupted_stream_ends_the_run_with_an_error() {
    for api in APIS {
        for (way, reply) in broken_replies() {
            let server = ModelServer::start();
            server.reply(reply);
            let workspace = Workspace::new(&server, api).settings(impatient());
            let records = run(&mut workspace.start());
            assert!(!error_of(&records).is_empty(), "{way}");
            assert_eq!(server.requests().len(), 1, "{way}");
        }
    }
}

#[test]
fn interrupted_stream_is_retried_without_the_partial_answer() {
    for (way, reply) in broken_replies() {
        let server = ModelServer::start();
        server.reply(reply);
        server.reply(Reply::text("at last"));
        let settings = json!({ "httpIdleTimeoutMs": 150, "retry": { "baseDelayMs": 5 } });
        let workspace = Workspace::new(&server, Api::AnthropicMessages).settings(settings);
        let mut agent = workspace.start();
        check_done(&run(&mut agent));
        let requests = server.requests();
        assert_eq!(requests.len(), 2, "{way}");
        assert_eq!(requests[0].body["messages"], requests[1].body["messages"], "{way}");
        assert_eq!(agent.get("get_last_assistant_text")["text"], "at last", "{way}");
    }
}

#[test]
fn unreachable_provider_ends_the_run_with_an_error() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let workspace = Workspace::empty().settings(impatient()).models(json!({ "providers": { "mock": {
        "baseUrl": format!("http://{address}"), "api": "anthropic-messages", "apiKey": "k", "models": [{ "id": "m1" }],
    } } }));
    let records = run(&mut workspace.start());
    assert!(!error_of(&records).is_empty());
}

#[test]
fn exhausted_retries_end_the_run_with_the_last_error() {
    let server = ModelServer::start();
    server.default_reply(Reply::status(503).body("nobody home"));
    let workspace = Workspace::new(&server, Api::AnthropicMessages).settings(eager(2));
    let records = run(&mut workspace.start());
    assert!(error_of(&records).contains("nobody home"));
    assert_eq!(server.requests().len(), 3);
    let retries = of_type(&records, "auto_retry_start");
    let delays: Vec<_> = retries.iter().map(|retry| retry["delayMs"].as_u64().unwrap()).collect();
    assert!(matches!(delays[..], [3..=5, 7..=10]), "{delays:?}");
    let ends = of_type(&records, "auto_retry_end");
    assert_eq!(ends.len(), 1);
    assert_eq!((&ends[0]["success"], &ends[0]["finalError"]), (&json!(false), &json!(error_of(&records))));
}

#[test]
fn successful_retry_ends_the_run_without_an_error() {
    let server = ModelServer::start();
    server.reply(Reply::status(529));
    server.reply(Reply::status(500));
    server.reply(Reply::new().tool("bash", json!({ "command": "true" })));
    server.reply(Reply::status(502));
    server.reply(Reply::text("done"));
    let workspace = Workspace::new(&server, Api::AnthropicMessages).settings(eager(2));
    let records = run(&mut workspace.start());
    check_done(&records);
    let attempts: Vec<_> =
        of_type(&records, "auto_retry_start").iter().map(|retry| retry["attempt"].clone()).collect();
    assert_eq!(attempts, [1, 2, 1], "a call that succeeded begins a new count");
    assert!(of_type(&records, "auto_retry_end").iter().all(|end| end["success"] == true));
    assert_eq!(of_type(&records, "auto_retry_end").len(), 2);
}

#[test]
fn answer_removed_from_the_context_is_reported_with_its_entry() {
    let server = ModelServer::start();
    server.reply(Reply::text("half").interrupt_after(1));
    server.reply(Reply::status(529));
    let workspace = Workspace::new(&server, Api::AnthropicMessages).settings(eager(2));
    let mut agent = workspace.start();
    let records = run(&mut agent);
    let reported: Vec<_> = types(&records)
        .into_iter()
        .filter(|kind| ["agent_end", "auto_retry_start", "entry_appended", "agent_start"].contains(kind))
        .collect();
    let retry = ["agent_start", "agent_end", "auto_retry_start", "entry_appended"];
    assert_eq!(reported, [&retry[..], &retry[..], &["agent_start", "agent_end"]].concat());
    let failed = of_type(&records, "message_end")
        .into_iter()
        .filter(|record| record["message"]["stopReason"] == "error")
        .map(|record| record["entryId"].clone());
    let edits: Vec<_> =
        of_type(&records, "entry_appended").iter().map(|reported| reported["entry"].clone()).collect();
    for (edit, failed) in edits.iter().zip(failed) {
        assert_eq!(keys(edit), ["type", "id", "parentId", "timestamp", "targetId", "replacement"]);
        assert_eq!((&edit["type"], &edit["targetId"]), (&json!("context_edit"), &failed));
        assert_eq!(edit["replacement"], Value::Null);
    }
    let entries = agent.get("get_entries");
    let written = entries["entries"].as_array().unwrap().iter();
    assert_eq!(written.filter(|entry| entry["type"] == "context_edit").cloned().collect::<Vec<_>>(), edits);
}

#[test]
fn retry_delay_from_the_provider_is_respected() {
    for (header, value) in [("retry-after-ms", "300"), ("retry-after", "0.3")] {
        let server = ModelServer::start();
        server.reply(Reply::status(529).header(header, value));
        let workspace = Workspace::new(&server, Api::AnthropicMessages).settings(eager(1));
        let started = Instant::now();
        let records = run(&mut workspace.start());
        check_done(&records);
        assert_eq!(of_type(&records, "auto_retry_start")[0]["delayMs"], 300);
        assert!(started.elapsed() >= Duration::from_millis(300));
    }
}

#[test]
fn retry_delay_beyond_the_limit_fails_immediately() {
    let server = ModelServer::start();
    server.reply(Reply::status(429).header("retry-after", "3600"));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let records = run(&mut workspace.start());
    assert!(error_of(&records).contains("429"));
    assert_eq!(of_type(&records, "auto_retry_start").len(), 0);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn nothing_is_retried_when_retries_are_off() {
    let server = ModelServer::start();
    server.default_reply(Reply::status(503));
    let workspace = Workspace::new(&server, Api::AnthropicMessages).settings(eager(3));
    let mut agent = workspace.start();
    agent.carry_out(json!({ "type": "set_auto_retry", "enabled": false }));
    assert!(error_of(&run(&mut agent)).contains("503"));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn abort_retry_ends_the_backoff_and_the_run() {
    let server = ModelServer::start();
    server.reply(Reply::status(503));
    let workspace = Workspace::new(&server, Api::AnthropicMessages)
        .settings(json!({ "retry": { "baseDelayMs": 60_000 } }));
    let mut agent = workspace.start();
    agent.send(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("auto_retry_start");
    assert_eq!(agent.get("get_state")["isStreaming"], true);
    agent.get("abort_retry");
    let records = agent.collect_until_settled();
    assert_eq!(of_type(&records, "auto_retry_end")[0]["finalError"], "Retry cancelled");
    assert_eq!(agent.get("get_state")["isStreaming"], false);
    assert_well_formed(agent.transcript());
    check_done(&agent.run("again"));
}

#[test]
fn unwritable_session_ends_the_run_with_an_error() {
    let server = ModelServer::start();
    server.reply(Reply::text(&"x".repeat(200_000)).tool("bash", json!({ "command": "touch carried-out" })));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = Launch::rpc_on_full_disk(&workspace, 64).model("mock/m1").start();
    let records = run(&mut agent);
    assert!(error_of(&records).contains("cannot be written"), "{}", error_of(&records));
    assert_eq!(server.requests().len(), 1, "the model is not called with what is not on disk");
}

/// A moment in a run, and the reply that leads to it.
struct Moment {
    name: &'static str,
    reply: Reply,
    /// Whether a record marks the moment; the moment before the first byte has no record.
    is_reached: fn(&Value) -> bool,
}

fn moments() -> Vec<Moment> {
    let closed = Gate::new();
    let arguments =
        json!({ "command": "echo a command that is long enough for several deltas of its arguments" });
    vec![
        Moment {
            name: "before the first byte",
            reply: Reply::mute(),
            is_reached: |record| record["type"] == "message_end",
        },
        Moment {
            name: "in a text",
            reply: Reply::text("begun").gate(&closed),
            is_reached: |record| record["assistantMessageEvent"]["type"] == "text_delta",
        },
        Moment {
            name: "in thinking",
            reply: Reply::new().thinking("hm").gate(&closed),
            is_reached: |record| record["assistantMessageEvent"]["type"] == "thinking_delta",
        },
        Moment {
            name: "in the arguments of a call",
            reply: Reply::text("so").tool("bash", arguments).hang_after(3),
            is_reached: |record| record["assistantMessageEvent"]["type"] == "toolcall_delta",
        },
        Moment {
            name: "in a tool",
            reply: Reply::new()
                .tool("bash", json!({ "command": "echo begun; sleep 300" }))
                .tool("bash", json!({ "command": "sleep 301" })),
            is_reached: |record| record["partialResult"]["content"][0]["text"] == "begun\n",
        },
        Moment {
            name: "in the back-off",
            reply: Reply::status(503),
            is_reached: |record| record["type"] == "auto_retry_start",
        },
    ]
}

#[test]
fn abort_at_any_moment_ends_the_run_once_and_is_answered_last() {
    for api in APIS {
        for moment in moments() {
            check_abort(api, moment);
        }
    }
}

#[track_caller]
fn check_abort(api: Api, Moment { name, reply, is_reached }: Moment) {
    let server = ModelServer::start();
    server.reply(reply);
    let workspace = Workspace::new(&server, api).settings(json!({ "retry": { "baseDelayMs": 60_000 } }));
    let mut agent = workspace.start();
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    agent.until(is_reached);
    server.wait_for_requests(1, TIMEOUT);
    let started = Instant::now();
    agent.send(json!({ "id": "a", "type": "abort" }));
    let records = agent.until(|record| record["id"] == "a");
    assert!(started.elapsed() < Duration::from_secs(3), "{name}: {:?}", started.elapsed());
    let settled = &records[records.len() - 2];
    assert_eq!(
        *settled,
        json!({ "type": "agent_settled", "aborted": true, "errorKind": "aborted" }),
        "{name}"
    );
    assert_well_formed(agent.transcript());
    agent.assert_no_survivors();
    if !matches!(name, "in a tool" | "in the back-off") {
        server.wait_for_hang_ups(1, TIMEOUT);
        let end = of_type(&records, "message_end");
        assert_eq!(end[0]["message"]["stopReason"], "aborted", "{name}");
    }
    // The conversation can be continued.
    check_done(&agent.run("again"));
    assert_calls_have_results(&server.requests()[1]);
    assert_well_formed(agent.transcript());
}

/// Checks that every tool call in a request is followed by its result, without which providers refuse it.
#[track_caller]
fn assert_calls_have_results(request: &Request) {
    let text = request.body["messages"].to_string();
    for (call, result) in
        [("\"tool_use\"", "\"tool_result\""), ("\"type\":\"function\"", "\"role\":\"tool\"")]
    {
        assert_eq!(text.matches(call).count(), text.matches(result).count(), "{text}");
    }
}
