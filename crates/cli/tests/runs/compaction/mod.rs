//! Compaction: a summary replaces all but the newest messages, user-initiated, at the threshold and on overflow.

mod overflow;
mod retry;
mod summary;
mod threshold;
mod truncated_answer;
mod user_initiated;

use std::time::Duration;

use bowline_testkit::{Agent, Api, ModelServer, Reply, Request, Usage, Workspace, of_type, types};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(10);

/// More than the 183,616 tokens at which a window of 200,000 is compacted.
const NEARLY_FULL: Usage = Usage { input: 190_000, output: 10, cache_read: 0, cache_write: 0 };

/// The records of a run on overflow: the failed answer is removed, the conversation compacted and the call repeated.
const COMPACTED_AND_ASKED_AGAIN: [&str; 15] = [
    "agent_start",
    "turn_start",
    "message_end",
    "message_end",
    "turn_end",
    "agent_end",
    "entry_appended",
    "compaction_start",
    "compaction_end",
    "agent_start",
    "turn_start",
    "message_end",
    "turn_end",
    "agent_end",
    "agent_settled",
];

/// Creates a workspace in which a compaction keeps only the last long message and what follows it.
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
fn start_with_history(server: &ModelServer, workspace: &Workspace) -> Agent {
    server.reply(Reply::text("answer one"));
    server.reply(Reply::text("answer two"));
    let mut agent = workspace.start();
    agent.run(&long("ONE"));
    agent.run(&long("TWO"));
    agent
}

/// Sends `compact` and returns the records up to the response.
fn compact(agent: &mut Agent) -> Vec<Value> {
    agent.send(json!({ "id": "c", "type": "compact" }));
    agent.until(|record| record["id"] == "c")
}

/// Returns the requests for a summary.
fn summary_requests(server: &ModelServer) -> Vec<Request> {
    let requests = server.requests().into_iter();
    requests.filter(|request| request.body["system"].to_string().contains("You write summaries")).collect()
}

/// Returns the messages of the newest request as text.
fn last_request(server: &ModelServer) -> String {
    server.requests().pop().unwrap().body["messages"].to_string()
}

/// Returns the beginning of each message's text, prefixed with its role.
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

/// Returns the types of records, without updates and message starts.
fn record_types(records: &[Value]) -> Vec<&str> {
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
