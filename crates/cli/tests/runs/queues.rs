//! Concurrent tools, and the messages that are queued for a run.

use std::fs;

use bowline_testkit::{Agent, Api, Gate, ModelServer, Reply, Workspace, assert_well_formed, of_type};
use serde_json::{Value, json};

/// Returns a command that waits until the test creates a file.
fn wait_for(file: &str) -> Value {
    json!({ "command": format!("until [ -e {file} ]; do sleep 0.01; done; echo {file}") })
}

fn create(workspace: &Workspace, file: &str) {
    assert!(fs::write(workspace.work().join(file), "").is_ok());
}

/// Returns the messages in order: user texts as they are, answers and results by their role.
fn conversation(records: &[Value]) -> Vec<String> {
    let messages = of_type(records, "message_end").into_iter().map(|record| &record["message"]);
    let reported = messages.map(|message| match message["role"].as_str() {
        Some("user") => message["content"][0]["text"].as_str().unwrap_or_default().to_owned(),
        role => format!("<{}>", role.unwrap_or_default()),
    });
    reported.collect()
}

/// Returns the number of user messages in each request.
fn user_messages(server: &ModelServer, texts: &[&str]) -> Vec<usize> {
    let count =
        |body: &Value| texts.iter().filter(|text| body["messages"].to_string().contains(**text)).count();
    server.requests().iter().map(|request| count(&request.body)).collect()
}

fn queue(agent: &mut Agent, kind: &str, text: &str) {
    let answer = agent.carry_out(json!({ "type": kind, "message": text }));
    assert_eq!(answer, json!({ "disposition": "queued" }));
}

#[test]
fn tools_end_in_any_order_and_their_results_follow_the_calls() {
    for api in [Api::AnthropicMessages, Api::OpenaiCompletions] {
        let server = ModelServer::start();
        server.reply(
            Reply::text("all at once")
                .tool("bash", wait_for("first"))
                .tool("no_such_tool", json!({ "any": "thing" }))
                .tool("bash", wait_for("third"))
                .tool("read", json!({}))
                .tool("bash", json!({ "command": "echo fifth" })),
        );
        let workspace = Workspace::new(&server, api);
        let mut agent = workspace.start();
        agent.send(json!({ "type": "prompt", "message": "go" }));
        let is_end = |record: &Value| record["type"] == "tool_execution_end";
        // The tools that wait for nothing end first.
        for _ in 0..3 {
            agent.until(is_end);
        }
        create(&workspace, "third");
        agent.until(is_end);
        create(&workspace, "first");
        agent.collect_until_settled();
        let records = agent.transcript();
        assert_well_formed(records);

        let id = |record: &&Value| record["toolCallId"].as_str().unwrap().to_owned();
        let starts: Vec<_> = of_type(records, "tool_execution_start").iter().map(id).collect();
        let ends: Vec<_> = of_type(records, "tool_execution_end").iter().map(id).collect();
        assert_eq!(ends[0], starts[1]);
        assert_eq!(ends[3..], [starts[2].clone(), starts[0].clone()]);
        let results = of_type(records, "turn_end")[0]["toolResults"].as_array().unwrap();
        let reported: Vec<_> =
            results.iter().map(|result| (result["toolCallId"].clone(), result["isError"].clone())).collect();
        let expected = starts.iter().zip([false, true, false, true, false]);
        let expected: Vec<_> = expected.map(|(id, is_error)| (json!(id), json!(is_error))).collect();
        assert_eq!(reported, expected);
        assert_eq!(results[0]["content"][0]["text"], "first\n");
        assert!(results[1]["content"][0]["text"].as_str().unwrap().contains("no_such_tool"));
        assert_eq!(server.requests().len(), 2);
    }
}

#[test]
fn steering_is_delivered_after_the_tools_and_follow_ups_at_the_end() {
    let server = ModelServer::start();
    server.reply(Reply::new().tool("bash", wait_for("one")).tool("bash", wait_for("two")));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start();
    agent.send(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("tool_execution_start");
    queue(&mut agent, "follow_up", "and then");
    create(&workspace, "one");
    agent.until_type("tool_execution_end");
    queue(&mut agent, "steer", "to the left");
    assert_eq!(agent.get("get_state")["pendingMessageCount"], 2);
    create(&workspace, "two");
    agent.collect_until_settled();
    let records = agent.transcript();
    assert_well_formed(records);
    assert_eq!(
        conversation(records),
        [
            "go",
            "<assistant>",
            "<toolResult>",
            "<toolResult>",
            "to the left",
            "<assistant>",
            "and then",
            "<assistant>"
        ]
    );
    assert_eq!(user_messages(&server, &["to the left", "and then"]), [0, 1, 2]);
    let updates: Vec<_> = of_type(records, "queue_update")
        .iter()
        .map(|update| (update["steering"].to_string(), update["followUp"].to_string()))
        .collect();
    let expected = [
        ("[]", r#"["and then"]"#),
        (r#"["to the left"]"#, r#"["and then"]"#),
        ("[]", r#"["and then"]"#),
        ("[]", "[]"),
    ];
    assert_eq!(updates, expected.map(|(steering, follow_up)| (steering.to_owned(), follow_up.to_owned())));
}

#[test]
fn steering_during_the_last_answer_continues_the_run() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.reply(Reply::text("nearly").gate(&gate).then_text(" done"));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start();
    agent.send(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("message_update");
    queue(&mut agent, "steer", "wait");
    gate.open();
    agent.collect_until_settled();
    assert_eq!(conversation(agent.transcript()), ["go", "<assistant>", "wait", "<assistant>"]);
    assert_eq!(of_type(agent.transcript(), "agent_start").len(), 1);
    assert_well_formed(agent.transcript());
}

#[test]
fn queue_modes_decide_how_many_messages_are_delivered_together() {
    let texts = ["a1", "a2", "b1", "b2"];
    for (mode, expected) in [("one-at-a-time", vec![0, 1, 2, 3, 4]), ("all", vec![0, 2, 4])] {
        let server = ModelServer::start();
        let gate = Gate::new();
        server.reply(Reply::text("hold").gate(&gate));
        let workspace = Workspace::new(&server, Api::AnthropicMessages);
        let mut agent = workspace.start();
        for command in ["set_steering_mode", "set_follow_up_mode"] {
            agent.carry_out(json!({ "type": command, "mode": mode }));
        }
        let state = agent.get("get_state");
        assert_eq!((&state["steeringMode"], &state["followUpMode"]), (&json!(mode), &json!(mode)));
        agent.send(json!({ "type": "prompt", "message": "go" }));
        agent.until_type("message_update");
        for (kind, text) in ["steer", "steer", "follow_up", "follow_up"].into_iter().zip(texts) {
            queue(&mut agent, kind, text);
        }
        gate.open();
        agent.collect_until_settled();
        assert_eq!(user_messages(&server, &texts), expected, "{mode}");
        assert_well_formed(agent.transcript());
    }
}

#[test]
fn queue_modes_can_be_set_in_the_settings() {
    let server = ModelServer::start();
    let workspace = Workspace::new(&server, Api::AnthropicMessages)
        .settings(json!({ "steeringMode": "all", "followUpMode": "one-at-a-time" }));
    let state = workspace.start().get("get_state");
    assert_eq!((&state["steeringMode"], &state["followUpMode"]), (&json!("all"), &json!("one-at-a-time")));
}

#[test]
fn messages_queued_while_idle_are_sent_with_the_next_prompt() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    queue(&mut agent, "steer", "by the way");
    queue(&mut agent, "follow_up", "at last");
    let state = agent.get("get_state");
    assert_eq!((&state["isStreaming"], &state["pendingMessageCount"]), (&json!(false), &json!(2)));
    assert!(server.requests().is_empty());
    agent.run("go");
    let said = conversation(agent.transcript());
    assert_eq!(said, ["go", "by the way", "<assistant>", "at last", "<assistant>"]);
    assert_eq!(user_messages(&server, &["go", "by the way", "at last"]), [2, 3]);
    assert_well_formed(agent.transcript());
}

#[test]
fn queued_messages_survive_an_abort_and_can_be_cleared() {
    let server = ModelServer::start();
    server.reply(Reply::text("begun").gate(&Gate::new()));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start();
    agent.send(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("message_update");
    queue(&mut agent, "steer", "left");
    queue(&mut agent, "steer", "left");
    queue(&mut agent, "follow_up", "");
    agent.get("abort");
    assert_eq!(agent.get("get_state")["pendingMessageCount"], 3);
    agent.collect_until_settled();
    let cleared = agent.get("clear_queue");
    assert_eq!(cleared, json!({ "steering": ["left", "left"], "followUp": [""] }));
    let empty = json!({ "type": "queue_update", "steering": [], "followUp": [] });
    assert_eq!(agent.next(), empty, "it precedes the response");
    assert_eq!(agent.get("clear_queue"), json!({ "steering": [], "followUp": [] }));
    agent.run("again");
    assert_eq!(server.requests().len(), 2);
    assert_well_formed(agent.transcript());
}

#[test]
fn new_session_has_empty_queues() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    queue(&mut agent, "steer", "of the old session");
    agent.get("new_session");
    assert_eq!(agent.get("get_state")["pendingMessageCount"], 0);
    agent.run("go");
    assert_eq!(user_messages(&server, &["go", "of the old session"]), [1]);
}

#[test]
fn queued_messages_wait_for_a_retry() {
    let server = ModelServer::start();
    server.reply(Reply::status(503));
    let settings = json!({ "retry": { "baseDelayMs": 500 } });
    let workspace = Workspace::new(&server, Api::AnthropicMessages).settings(settings);
    let mut agent = workspace.start();
    agent.send(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("auto_retry_start");
    queue(&mut agent, "follow_up", "and then");
    agent.collect_until_settled();
    assert_eq!(user_messages(&server, &["go", "and then"]), [1, 1, 2]);
    assert_well_formed(agent.transcript());
}
