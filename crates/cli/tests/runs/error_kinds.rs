//! A failed run and its answer say why in a stable word, also after the session was opened again.

use std::time::Duration;

use bowline_testkit::{
    Agent, Api, Launch, ModelServer, Reply, Workspace, announced, assert_well_formed, of_type,
    session_messages,
};
use serde_json::{Value, json};

/// A provider's reply that makes a run fail.
struct Case {
    reply: Reply,
    kind: &'static str,
}

fn refusal(status: u16, name: &str, text: &str, kind: &'static str) -> Case {
    let body = json!({ "type": "error", "error": { "type": name, "message": text } });
    Case { reply: Reply::status(status).body(&body.to_string()), kind }
}

fn cases() -> Vec<Case> {
    vec![
        refusal(401, "authentication_error", "invalid x-api-key", "auth"),
        refusal(404, "not_found_error", "model: m1", "not_found"),
        refusal(429, "rate_limit_error", "slow down", "rate_limit"),
        refusal(529, "overloaded_error", "Overloaded", "overloaded"),
        refusal(402, "billing_error", "pay first", "quota"),
        refusal(400, "invalid_request_error", "prompt is too long: 9 tokens > 5 maximum", "context"),
        refusal(400, "invalid_request_error", "no such parameter", "refused"),
        Case { reply: Reply::text("a").then_text("b").interrupt_after(1), kind: "network" },
        Case { reply: Reply::text("a").then_text("b").hang_after(1), kind: "timeout" },
        Case {
            reply: Reply::status(200).header("content-type", "text/event-stream").body("data: nonsense\n\n"),
            kind: "bad_answer",
        },
    ]
}

/// Settings with which every failure ends the run quickly.
fn settings() -> Value {
    json!({ "httpFirstByteTimeoutMs": 60000, "httpIdleTimeoutMs": 150, "retry": { "enabled": false },
        "compaction": { "enabled": false } })
}

#[track_caller]
fn check_settled(agent: &mut Agent, kind: &str) -> Vec<Value> {
    let records = agent.run("go");
    let settled = &records[records.len() - 1];
    assert_eq!(settled["errorKind"], kind, "{settled}");
    assert_eq!(announced(&records).pop().unwrap()["errorKind"], kind);
    records
}

#[test]
fn every_provider_failure_has_its_kind() {
    for api in [Api::AnthropicMessages, Api::OpenaiCompletions] {
        for Case { reply, kind } in cases() {
            let server = ModelServer::start();
            server.default_reply(reply);
            let workspace = Workspace::new(&server, api).settings(settings());
            let mut agent = workspace.start();
            check_settled(&mut agent, kind);
            assert_well_formed(agent.transcript());
        }
    }
}

#[test]
fn kinds_survive_in_the_session_file() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::status(401));
    server.reply(Reply::text("so ").then_text("far").hang_after(1));
    let workspace = workspace.settings(json!({ "retry": { "enabled": false } }));
    let mut agent = workspace.start();
    check_settled(&mut agent, "auth");
    agent.send(json!({ "id": "p", "type": "prompt", "message": "again" }));
    agent.until(|record| record["assistantMessageEvent"]["type"] == "text_delta");
    agent.send(json!({ "id": "a", "type": "abort" }));
    let records = agent.collect_until_settled();
    assert_eq!(
        records[records.len() - 1],
        json!({ "type": "agent_settled", "aborted": true, "errorKind": "aborted" })
    );
    agent.close_stdin();
    agent.wait();

    let file = workspace.session_files().pop().unwrap();
    let kinds_of = |messages: &[Value]| -> Vec<Value> {
        messages
            .iter()
            .filter(|message| message["role"] == "assistant")
            .map(|message| message["errorKind"].clone())
            .collect()
    };
    assert_eq!(kinds_of(&session_messages(&file)), ["auth", "aborted"]);
    let mut agent = Launch::rpc(&workspace).arguments(&["--session", file.to_str().unwrap()]).start();
    let messages = agent.get("get_messages")["messages"].as_array().unwrap().clone();
    assert_eq!(kinds_of(&messages), ["auth", "aborted"]);
}

#[test]
fn session_that_cannot_be_written_is_a_storage_error() {
    let (server, workspace) = Workspace::with_server();
    server.default_reply(Reply::text(&"x".repeat(200_000)));
    let mut agent = Launch::rpc_on_full_disk(&workspace, 64).start();
    let records = check_settled(&mut agent, "storage");
    assert!(of_type(&records, "agent_settled")[0]["error"].as_str().unwrap().contains("cannot be written"));
}

#[test]
fn other_dialects_carry_the_kind_where_their_records_have_room() {
    let check = |dialect: &str, is_end: fn(&Value) -> bool, places: &[&str]| {
        let (server, workspace) = Workspace::with_server();
        server.default_reply(Reply::status(401));
        let workspace = workspace.settings(settings());
        let mut agent = workspace.start_in(dialect);
        agent.set_timeout(Duration::from_secs(20));
        agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
        agent.until(is_end);
        for place in places {
            let is_there =
                agent.transcript().iter().any(|record| record.pointer(place) == Some(&json!("auth")));
            assert!(is_there, "{dialect}: no {place} in {:#?}", agent.transcript());
        }
    };
    check("omp", |record| record["type"] == "agent_end", &["/errorKind", "/message/errorKind"]);
    check("pi-classic", |record| record["type"] == "agent_end", &["/message/errorKind"]);
    check("opi", |record| record["type"] == "AgentEnd", &["/error_kind", "/message/error_kind"]);
    check("operator-flat", |record| record["type"] == "settled", &["/error_kind", "/message/error_kind"]);
    check(
        "operator",
        |record| record["event"]["type"] == "settled",
        &["/event/error_kind", "/event/message/error_kind"],
    );
}
