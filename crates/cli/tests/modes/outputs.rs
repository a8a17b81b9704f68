//! Text, a JSON object, and events.

use bowline_testkit::{Reply, Workspace, types};
use serde_json::{Value, json};

use crate::{once, parts};

#[test]
fn text_is_the_last_answer_alone() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::text("looking").tool("bash", json!({ "command": "echo noise; echo more >&2" })));
    server.reply(Reply::text("two\nlines"));
    let finished = once(&workspace, &["-p", "do it"]);
    assert_eq!(parts(&finished), (0, "two\nlines\n", ""));
}

#[test]
fn several_messages_run_in_order_in_one_session() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::text("one"));
    server.reply(Reply::text("two"));
    let finished = once(&workspace, &["first", "-p", "second"]);
    assert_eq!(parts(&finished), (0, "two\n", ""));
    let last = server.requests().pop().unwrap().body["messages"].to_string();
    assert!(last.contains("first") && last.contains("one") && last.contains("second"), "{last}");
    assert_eq!(workspace.session_files().len(), 1);
}

#[test]
fn json_is_one_object_about_the_whole_run() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::new().tool("bash", json!({ "command": "true" })));
    server.reply(Reply::text("done"));
    let finished = once(&workspace, &["-p", "do it", "--output", "json", "--session", "here.jsonl"]);
    let [result] = &finished.records()[..] else { panic!("{}", finished.stdout) };
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let subset = ["success", "text", "stopReason", "model", "turns", "toolCalls", "type", "error"];
    let found: Vec<_> = subset.iter().map(|name| &result[*name]).collect();
    let expected = [json!(true), json!("done"), json!("stop"), json!("mock/m1"), json!(2), json!(1)];
    assert_eq!(found[..6], expected.iter().collect::<Vec<_>>());
    assert_eq!((&result["type"], &result["error"]), (&json!("result"), &Value::Null));
    assert!(result["sessionFile"].as_str().unwrap().ends_with("here.jsonl"), "{result}");
    assert!(result["usage"]["totalTokens"].as_u64().unwrap() > 0 && result["usage"]["cost"].is_number());
    assert!(result["sessionId"].is_string() && result["durationMs"].is_u64(), "{result}");
}

#[test]
fn failures_are_in_the_object_and_on_stderr() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::status(400));
    let finished = once(&workspace, &["--output", "json", "do it"]);
    let [result] = &finished.records()[..] else { panic!("{}", finished.stdout) };
    assert_eq!((finished.code, &result["success"]), (1, &json!(false)));
    let error = result["error"].as_str().unwrap();
    assert!(
        error.starts_with("400") && finished.stderr == format!("bowline: {error}\n"),
        "{}",
        finished.stderr
    );
    assert!(result["errorKind"].is_string(), "{result}");
}

#[test]
fn stream_has_the_header_every_event_and_the_object() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::new().deltas(50, 10));
    let finished = once(&workspace, &["-p", "do it", "--output=stream-json", "--no-session"]);
    let records = finished.records();
    let types = types(&records);
    assert_eq!((finished.code, types[0], types[1]), (0, "session", "agent_start"));
    assert_eq!(types[types.len() - 2..], ["agent_settled", "result"]);
    let is_delta = |record: &&Value| record["assistantMessageEvent"]["type"] == "text_delta";
    assert_eq!(records.iter().filter(is_delta).count(), 50, "deltas are not joined");
    assert!(!types.contains(&"response"));
    assert_eq!(records.last().unwrap()["sessionId"], records[0]["id"]);
}

#[test]
fn events_of_pi_end_with_the_run_and_tolerate_its_failure() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::status(400));
    let finished = once(&workspace, &["--mode", "json", "-p", "do it"]);
    assert_eq!((finished.code, finished.stderr.as_str()), (0, ""));
    assert_eq!(types(&finished.records()).last(), Some(&"agent_settled"));
}

#[test]
fn any_dialect_can_have_text() {
    for dialect in ["omp", "pi-classic", "operator"] {
        let (server, workspace) = Workspace::with_server();
        server.reply(Reply::text("done"));
        let finished = once(&workspace, &["-p", "do it", "--dialect", dialect]);
        assert_eq!(parts(&finished), (0, "done\n", ""), "{dialect}");
    }
    let finished = once(&Workspace::empty(), &["-p", "x", "--dialect", "omp", "--output", "stream-json"]);
    assert!(finished.code == 1 && finished.stderr.contains("--mode rpc"), "{}", finished.stderr);
}

#[test]
fn limits_end_a_run_as_a_failure() {
    let (server, workspace) = Workspace::with_server();
    server.default_reply(Reply::new().tool("bash", json!({ "command": "true" })));
    let finished = once(&workspace, &["-p", "do it", "--max-turns", "2"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (1, ""));
    assert!(finished.stderr.contains("bowline: "), "{}", finished.stderr);
    assert_eq!(server.requests().len(), 2);
}
