//! Slow, silent, broken and unreachable providers: each run ends once, with an error that says what to do.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use bowline_testkit::{Api, ModelServer, Reply, Workspace, announced, assert_well_formed, of_type};
use serde_json::{Value, json};

const APIS: [Api; 2] = [Api::AnthropicMessages, Api::OpenaiCompletions];

/// Runs a prompt and returns the records; there must be exactly one end.
#[track_caller]
fn run(workspace: &Workspace) -> Vec<Value> {
    let mut agent = workspace.start();
    let records = agent.run("go");
    agent.get("get_state");
    assert_well_formed(agent.transcript());
    assert_eq!(of_type(agent.transcript(), "agent_settled").len(), 1);
    records
}

/// Runs a prompt that fails and checks that its error contains these texts.
#[track_caller]
fn check_failure(workspace: &Workspace, expected: &[&str]) -> Vec<Value> {
    let records = run(workspace);
    let error = records[records.len() - 1]["error"].as_str().unwrap_or_default().to_owned();
    for text in expected {
        assert!(error.contains(text), "{text:?} is not in {error:?}");
    }
    assert_eq!(announced(&records).pop().unwrap()["stopReason"], "error");
    records
}

/// Returns a workspace with a provider at an address, and without retries.
fn at(base_url: &str) -> Workspace {
    Workspace::empty()
        .settings(json!({ "retry": { "enabled": false } }))
        .models(json!({ "providers": { "mock": {
        "baseUrl": base_url, "api": "anthropic-messages", "apiKey": "key", "models": [{ "id": "m1" }] } } }))
}

#[test]
fn silent_server_fails_after_the_first_byte_timeout() {
    for api in APIS {
        let server = ModelServer::start();
        server.default_reply(Reply::mute());
        let settings =
            json!({ "httpFirstByteTimeoutMs": 150, "retry": { "maxRetries": 1, "baseDelayMs": 1 } });
        let workspace = Workspace::new(&server, api).settings(settings);
        let records = check_failure(
            &workspace,
            &["127.0.0.1", "has sent nothing for 0.15 s", "httpFirstByteTimeoutMs", "1 retry"],
        );
        assert_eq!(of_type(&records, "auto_retry_start").len(), 1, "silence is retried");
        assert_eq!(server.requests().len(), 2);
    }
}

#[test]
fn stalled_stream_fails_after_the_idle_timeout() {
    for api in APIS {
        let server = ModelServer::start();
        server.default_reply(Reply::text("so ").then_text("far").hang_after(2));
        let settings = json!({ "httpIdleTimeoutMs": 150, "retry": { "enabled": false } });
        let workspace = Workspace::new(&server, api).settings(settings);
        let records = check_failure(&workspace, &["has sent nothing more for 0.15 s", "httpIdleTimeoutMs"]);
        let answer = announced(&records).pop().unwrap();
        assert_eq!(answer["content"][0]["text"], "so far", "the received part is kept");
    }
}

#[test]
fn first_byte_timeout_does_not_apply_between_bytes() {
    let server = ModelServer::start();
    server.default_reply(Reply::text("one").then_text("two").delay(Duration::from_millis(400)));
    let settings =
        json!({ "httpFirstByteTimeoutMs": 5000, "httpIdleTimeoutMs": 150, "retry": { "enabled": false } });
    let workspace = Workspace::new(&server, Api::OpenaiCompletions).settings(settings);
    check_failure(&workspace, &["httpIdleTimeoutMs"]);
}

/// Sends an answer one byte at a time.
fn drip(pause: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let _ = socket.read(&mut [0; 64 * 1024]);
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
        socket.write_all(head.as_bytes()).unwrap();
        let body = "data: {\"choices\":[{\"delta\":{\"content\":\"slow\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        for byte in body.bytes() {
            thread::sleep(pause);
            if socket.write_all(&[byte]).is_err() {
                return;
            }
        }
    });
    format!("http://{address}")
}

#[test]
fn slow_bytes_do_not_trigger_the_idle_timeout() {
    // Each pause is well below the idle timeout, and all of them together are far above it.
    let base_url = drip(Duration::from_millis(15));
    let workspace = Workspace::empty()
        .settings(json!({ "httpIdleTimeoutMs": 500, "retry": { "enabled": false } }))
        .models(json!({ "providers": { "mock": { "baseUrl": base_url, "api": "openai-completions",
            "apiKey": "key", "models": [{ "id": "m1" }] } } }));
    let started = Instant::now();
    let records = run(&workspace);
    assert!(started.elapsed() > Duration::from_millis(1000), "else this test shows nothing");
    assert_eq!(announced(&records).pop().unwrap()["content"][0]["text"], "slow");
}

#[test]
fn rate_limit_delay_of_the_provider_is_respected() {
    let server = ModelServer::start();
    server
        .reply(Reply::status(429).header("retry-after", "0.4").body(r#"{"error":{"message":"slow down"}}"#));
    let workspace =
        Workspace::new(&server, Api::AnthropicMessages).settings(json!({ "retry": { "baseDelayMs": 1 } }));
    let records = run(&workspace);
    assert_eq!(of_type(&records, "auto_retry_start")[0]["delayMs"], 400);
    assert_eq!(records[records.len() - 1]["error"], Value::Null);
}

#[test]
fn rate_limit_beyond_the_cap_ends_the_run_with_its_delay() {
    let server = ModelServer::start();
    server.default_reply(Reply::status(429).header("retry-after", "3600").body("slow down"));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    check_failure(&workspace, &["429", "asks to wait 3600 s", "another model"]);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn overload_in_the_stream_is_retried_and_then_reported() {
    for api in APIS {
        let server = ModelServer::start();
        server.default_reply(Reply::text("well").stream_error("overloaded_error"));
        let settings = json!({ "retry": { "maxRetries": 2, "baseDelayMs": 1 } });
        let workspace = Workspace::new(&server, api).settings(settings);
        let records = check_failure(&workspace, &["overloaded_error", "after 2 retries", "another model"]);
        assert_eq!((of_type(&records, "auto_retry_start").len(), server.requests().len()), (2, 3));
    }
}

#[test]
fn retry_header_of_the_provider_takes_precedence() {
    for (status, advice, requests) in
        [(503, "false", 1), (400, "true", 2), (401, "true", 1), (402, "true", 1)]
    {
        let server = ModelServer::start();
        server.default_reply(Reply::status(status).header("x-should-retry", advice));
        let settings = json!({ "retry": { "maxRetries": 1, "baseDelayMs": 1 } });
        let workspace = Workspace::new(&server, Api::AnthropicMessages).settings(settings);
        run(&workspace);
        assert_eq!(server.requests().len(), requests, "{status} {advice}");
    }
}

#[test]
fn only_transient_failures_are_retried() {
    for (status, body, retried) in [
        (408, "", true),
        (409, "", true),
        (429, "", true),
        (500, "", true),
        (502, "", true),
        (503, "", true),
        (529, "", true),
        (400, "", false),
        (401, "", false),
        (402, "", false),
        (403, "", false),
        (404, "", false),
        (429, r#"{"error":{"code":"insufficient_quota","message":"no money"}}"#, false),
    ] {
        let server = ModelServer::start();
        server.default_reply(Reply::status(status).body(body));
        let settings = json!({ "retry": { "maxRetries": 1, "baseDelayMs": 1 } });
        let workspace = Workspace::new(&server, Api::AnthropicMessages).settings(settings);
        run(&workspace);
        assert_eq!(server.requests().len(), if retried { 2 } else { 1 }, "{status} {body}");
    }
}

/// Prompts twice; before the second prompt the server closes the connection that it promised to keep.
#[track_caller]
fn check_kept_connection(replies: &[Reply]) {
    for api in APIS {
        let server = ModelServer::start();
        replies.iter().for_each(|reply| server.reply(reply.clone()));
        let workspace = Workspace::new(&server, api).settings(json!({ "retry": { "baseDelayMs": 60_000 } }));
        let mut agent = workspace.start();
        agent.run("one");
        let records = agent.run("two");
        assert_eq!(of_type(&records, "auto_retry_start").len(), 0);
        assert_eq!(announced(&records).pop().unwrap()["content"][0]["text"], "second");
        assert_eq!(server.requests().len(), replies.len());
        assert_well_formed(agent.transcript());
    }
}

#[test]
fn stale_pooled_connection_costs_no_retry() {
    check_kept_connection(&[Reply::text("first").then_close(), Reply::text("second")]);
}

#[test]
fn pooled_connection_closed_during_a_request_costs_no_retry() {
    check_kept_connection(&[Reply::text("first"), Reply::closed(), Reply::text("second")]);
}

#[test]
fn new_connection_closed_during_a_request_is_a_failure() {
    let server = ModelServer::start();
    server.default_reply(Reply::closed());
    let settings = json!({ "retry": { "enabled": false } });
    let workspace = Workspace::new(&server, Api::AnthropicMessages).settings(settings);
    check_failure(&workspace, &["broke before an answer came", "127.0.0.1"]);
    assert_eq!(server.requests().len(), 1, "the request may have been paid for");
}

#[test]
fn plain_http_server_at_an_https_address_is_reported() {
    let server = ModelServer::start();
    let workspace = at(&server.base_url().replace("http://", "https://"));
    check_failure(&workspace, &["No secure connection", "127.0.0.1", "Check"]);
}

#[test]
fn unknown_host_is_reported() {
    let mut workspace = at("https://nonexistent.invalid/v1");
    check_failure(&workspace, &["nonexistent.invalid could not be found", "Check the base URL"]);
    workspace = at("http://nonexistent.invalid/v1");
    check_failure(&workspace, &["nonexistent.invalid could not be found"]);
}

#[test]
fn refused_connection_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    check_failure(
        &at(&format!("http://{address}")),
        &["refused the connection", &address.to_string(), "is running"],
    );
}
