//! Prompts: acknowledged first, executed or refused later.

use bowline_testkit::{Api, Gate, Launch, ModelServer, Reply, Workspace, of_type, types};
use serde_json::{Value, json};

use super::{conversation, run};

const BUSY: &str =
    "Agent is already processing. Use steer() or followUp() to queue messages, or wait for completion.";

fn acknowledged(id: &str, command: &str) -> Value {
    json!({ "id": id, "type": "response", "command": command, "success": true })
}

#[test]
fn failing_prompt_is_acknowledged_first() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.reply(Reply::text("one").gate(&gate).then_text("two"));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start_in("omp");
    agent.send(json!({ "id": "1", "type": "prompt", "message": "go" }));
    agent.until_type("message_update");
    agent.send(json!({ "id": "2", "type": "prompt", "message": "again" }));
    let records = agent.until(|record| record["success"] == false);
    let answers: Vec<_> = of_type(&records, "response");
    assert_eq!(*answers[0], acknowledged("2", "prompt"));
    assert_eq!(
        (&answers[1]["id"], &answers[1]["command"], &answers[1]["error"]),
        (&json!("2"), &json!("prompt"), &json!(BUSY))
    );
    gate.open();
    agent.until_type("agent_end");
    // A prompt that succeeds gets no second response.
    assert_eq!(of_type(agent.transcript(), "response").len(), 3);

    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).dialect("omp").start_greeted();
    agent.send(json!({ "id": "3", "type": "prompt", "message": "go" }));
    assert_eq!(agent.next(), acknowledged("3", "prompt"));
    let failure = agent.next();
    assert_eq!((&failure["id"], &failure["success"]), (&json!("3"), &json!(false)));
    assert!(failure["error"].as_str().unwrap().starts_with("No model selected"));
}

#[test]
fn abort_and_prompt_is_acknowledged_and_may_fail_later() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).dialect("omp").start_greeted();
    agent.send(json!({ "id": "1", "type": "abort_and_prompt", "message": "go" }));
    assert_eq!(agent.next(), acknowledged("1", "abort_and_prompt"));
    let failure = agent.next();
    assert_eq!(
        (&failure["id"], &failure["command"], &failure["success"]),
        (&json!("1"), &json!("abort_and_prompt"), &json!(false))
    );
}

#[test]
fn abort_and_prompt_is_atomic() {
    let server = ModelServer::start();
    server.reply(Reply::text("old").gate(&Gate::new()));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start_in("omp");
    agent.send(json!({ "id": "1", "type": "prompt", "message": "first" }));
    agent.until_type("message_update");
    // All in one write: the commands after it see the new run.
    let lines = [
        json!({ "id": "2", "type": "abort_and_prompt", "message": "second" }),
        json!({ "id": "3", "type": "prompt", "message": "third" }),
    ];
    agent.send_raw(format!("{}\n{}\n", lines[0], lines[1]).as_bytes());
    let ended = agent.until_type("agent_end");
    assert_eq!(ended.last().unwrap()["messages"][1]["stopReason"], "aborted");
    let records = agent.until_type("agent_end");
    let answers = of_type(&records, "response");
    assert!(answers.contains(&&acknowledged("2", "abort_and_prompt")));
    let refused =
        of_type(agent.transcript(), "response").into_iter().find(|answer| answer["success"] == false);
    assert_eq!(refused.unwrap()["error"], BUSY);
    assert_eq!(conversation(&records), ["second", "<assistant>"]);
    // The acknowledgement comes between the two runs.
    let reported = types(&records);
    let position = |name: &str| reported.iter().position(|kind| *kind == name);
    assert!(position("response") < position("agent_start"));
}

#[test]
fn commands_without_ids_are_acknowledged_once_each() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::new().tool("bash", json!({ "command": "trap '' TERM; sleep 600" })));
    let mut agent = workspace.start_in("omp");
    agent.send(json!({ "type": "prompt", "message": "first" }));
    agent.until_type("tool_execution_start");
    // Both wait for the tool of the first run to stop, and look the same.
    let line = json!({ "type": "abort_and_prompt", "message": "again" });
    agent.send_raw(format!("{line}\n{line}\n").as_bytes());
    for _ in 0..3 {
        agent.until_type("agent_end");
    }
    agent.close_stdin();
    agent.rest();
    assert_eq!(of_type(agent.transcript(), "response").len(), 3);
}

#[test]
fn prompt_during_a_run_names_its_queue() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.reply(Reply::text("one").gate(&gate).then_text("two"));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start_in("omp");
    agent.send(json!({ "id": "1", "type": "prompt", "message": "go" }));
    agent.until_type("message_update");
    for (queue, text) in [("followUp", "last"), ("steer", "first")] {
        let answer = agent.ask(json!({ "type": "prompt", "message": text, "streamingBehavior": queue }));
        assert_eq!(answer["success"], true);
    }
    assert_eq!(agent.get("get_state")["queuedMessageCount"], 2);
    gate.open();
    agent.until_type("agent_end");
    let reported = conversation(agent.transcript());
    assert_eq!(reported, ["go", "<assistant>", "first", "<assistant>", "last", "<assistant>"]);
    assert_eq!(of_type(agent.transcript(), "agent_end").len(), 1);
}

#[test]
fn queued_message_starts_a_run_when_idle() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start_in("omp");
    for command in ["steer", "follow_up"] {
        assert_eq!(agent.carry_out(json!({ "type": command, "message": command })), Value::Null);
        let records = agent.until_type("agent_end");
        assert_eq!(conversation(&records), [command, "<assistant>"]);
    }
}

#[test]
fn prompt_may_follow_agent_end_immediately() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start_in("omp");
    for _ in 0..20 {
        run(&mut agent, "go");
    }
    assert!(of_type(agent.transcript(), "response").iter().all(|answer| answer["success"] == true));
}

#[test]
fn images_reach_the_model() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start_in("omp");
    let image = json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" });
    for command in ["prompt", "steer", "follow_up", "abort_and_prompt"] {
        agent.send(json!({ "type": command, "message": "look", "images": [image] }));
        agent.until_type("agent_end");
    }
    assert!(server.requests().iter().all(|request| request.body.to_string().contains("aGk=")));
}

#[test]
fn abort_keeps_the_queues_and_is_answered_after_agent_end() {
    let server = ModelServer::start();
    server.reply(Reply::text("one").gate(&Gate::new()));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start_in("omp");
    agent.send(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("message_update");
    agent.carry_out(json!({ "type": "follow_up", "message": "later" }));
    agent.send(json!({ "id": "a", "type": "abort" }));
    let records = agent.until(|record| record["id"] == "a");
    let reported = types(&records);
    assert_eq!(reported[reported.len() - 4..], ["message_end", "turn_end", "agent_end", "response"]);
    assert_eq!(agent.get("get_state")["queuedMessageCount"], 1);
    assert_eq!(conversation(&run(&mut agent, "on")), ["on", "<assistant>", "later", "<assistant>"]);
}
