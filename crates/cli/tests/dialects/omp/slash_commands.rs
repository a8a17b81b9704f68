//! Prompts such as `/compact`, which omp carries out instead of sending them to the model.

use bowline_testkit::{Agent, Gate, ModelServer, Reply, Workspace};
use serde_json::{Value, json};

use super::run;

/// Sends a prompt that is carried out as a command. Returns what it wrote, and the records before its response.
#[track_caller]
fn carry_out(agent: &mut Agent, text: &str) -> (String, Vec<Value>) {
    agent.send(json!({ "id": text, "type": "prompt", "message": text }));
    let mut records = agent.until(|record| record["type"] == "response" && record["id"] == text);
    let response = records.pop().unwrap();
    let expected = json!({ "id": text, "type": "response", "command": "prompt", "success": true,
        "data": { "agentInvoked": false } });
    assert_eq!(response, expected);
    (output(&records), records)
}

fn output(records: &[Value]) -> String {
    let outputs = records.iter().filter(|record| record["type"] == "command_output");
    outputs.map(|record| record["text"].as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

fn start() -> (ModelServer, Workspace, Agent) {
    let (server, workspace) = Workspace::with_server();
    let agent = workspace.start_in("omp");
    (server, workspace, agent)
}

#[test]
fn commands_are_carried_out_and_the_model_is_not_called() {
    let (server, workspace, mut agent) = start();
    let (text, _) = carry_out(&mut agent, "/session");
    let state = agent.get("get_state");
    assert!(text.starts_with(&format!("Session: {}", state["sessionId"].as_str().unwrap())), "{text}");
    assert!(text.contains(&format!("Folder: {}", workspace.work().display())), "{text}");
    assert_eq!(carry_out(&mut agent, "/tools").0, "Tools: read, bash, edit, write, todo, task");
    assert!(carry_out(&mut agent, "/context").0.ends_with("of 200000 tokens"));
    assert!(carry_out(&mut agent, "/help").0.contains("/compact [focus]: Replace all but"));
    assert_eq!(carry_out(&mut agent, "/rename").0, "Usage: /rename <title>");
    assert_eq!(agent.get("get_state")["messageCount"], 0);
    assert!(server.requests().is_empty());
}

#[test]
fn model_is_shown_and_chosen_with_an_update_of_the_configuration() {
    let (_server, _workspace, mut agent) = start();
    assert_eq!(carry_out(&mut agent, "/model").0, "Model: mock/m1, thinking: off");
    let (text, records) = carry_out(&mut agent, "/model m2");
    assert_eq!(text, "Model: mock/m2");
    let update = records.iter().find(|record| record["type"] == "config_update").unwrap();
    let state = agent.get("get_state");
    assert_eq!(update["model"]["id"], "m2");
    assert_eq!((&update["model"], &update["thinkingLevel"]), (&state["model"], &state["thinkingLevel"]));
    let (text, records) = carry_out(&mut agent, "/model unheard-of");
    assert!(!text.is_empty() && !records.iter().any(|record| record["type"] == "config_update"), "{text}");
}

#[test]
fn session_is_renamed_and_replaced_with_an_update_of_its_information() {
    let (_server, _workspace, mut agent) = start();
    let id = agent.get("get_state")["sessionId"].clone();
    let (_, records) = carry_out(&mut agent, "/rename The  title");
    let update = json!({ "type": "session_info_update", "title": "The  title", "sessionId": id });
    assert!(records.contains(&update), "{records:?}");
    assert_eq!(agent.get("get_state")["sessionName"], "The  title");
    let (_, records) = carry_out(&mut agent, "/new");
    let state = agent.get("get_state");
    let update = json!({ "type": "session_info_update", "sessionId": state["sessionId"] });
    assert!(state["sessionId"] != id && records.contains(&update), "{records:?}");
}

#[test]
fn session_is_exported() {
    let (_server, workspace, mut agent) = start();
    run(&mut agent, "hello");
    let (text, _) = carry_out(&mut agent, "/export page.html");
    assert!(text.ends_with("page.html") && workspace.work().join("page.html").exists(), "{text}");
}

#[test]
fn compaction_is_acknowledged_first_and_can_be_aborted() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(json!({ "compaction": { "keepRecentTokens": 1 } }));
    let mut agent = workspace.start_in("omp");
    assert_eq!(carry_out(&mut agent, "/compact").0, "");
    let failed = agent.until_type("command_output").pop().unwrap();
    assert!(failed["text"].as_str().unwrap().starts_with("Compaction failed: "), "{failed}");
    run(&mut agent, "one");
    run(&mut agent, "two");
    let gate = Gate::new();
    server.reply(Reply::new().gate(&gate).then_text("summary"));
    assert_eq!(carry_out(&mut agent, "/compact keep names").0, "");
    assert_eq!(agent.get("get_state")["isCompacting"], true);
    agent.get("abort");
    assert_eq!(agent.get("get_state")["isCompacting"], false);
    gate.open();
    server.reply(Reply::text("summary"));
    carry_out(&mut agent, "/compact keep names");
    let done = agent.until_type("command_output");
    assert_eq!(done.len(), 1, "an abort is not reported: {done:?}");
    assert!(done[0]["text"].as_str().unwrap().starts_with("Compaction complete. Tokens: "), "{done:?}");
    assert!(server.requests().last().unwrap().body.to_string().contains("keep names"));
}

#[test]
fn prompts_without_an_id_are_told_apart() {
    let (server, _workspace, mut agent) = start();
    let gate = Gate::new();
    server.reply(Reply::new().gate(&gate).then_text("hi"));
    agent.send(json!({ "type": "prompt", "message": "hello" }));
    agent.send(json!({ "type": "prompt", "message": "/tools" }));
    agent.send(json!({ "type": "prompt", "message": "/session" }));
    let responses: Vec<_> = (0..3)
        .map(|_| agent.until_type("response").pop().unwrap().get("data").cloned().unwrap_or_default())
        .collect();
    gate.open();
    agent.until_type("agent_end");
    assert_eq!(responses.iter().filter(|data| **data == json!({ "agentInvoked": false })).count(), 2);
    assert_eq!(responses.iter().filter(|data| data.is_null()).count(), 1);
}

#[test]
fn unknown_names_go_to_the_model_and_so_do_all_in_other_dialects() {
    let (server, workspace, mut agent) = start();
    run(&mut agent, "/unheard-of x");
    let sent = |server: &ModelServer| server.requests().last().unwrap().body["messages"].to_string();
    assert!(sent(&server).contains("/unheard-of x"), "{}", sent(&server));
    let mut agent = workspace.start();
    agent.run("/compact");
    assert!(sent(&server).contains("/compact"), "{}", sent(&server));
    let commands = agent.get("get_commands")["commands"].take();
    assert_eq!(commands, json!([]), "the protocol of pi has no commands of the agent");
}

#[test]
fn commands_of_the_agent_are_listed_first() {
    let (_server, workspace, _agent) = start();
    let workspace = workspace.home_file(".bowline/prompts/mine.md", "x");
    let mut agent = workspace.start_in("omp");
    let commands = agent.get("get_available_commands")["commands"].take();
    let expected = json!({ "name": "compact", "description": "Replace all but the newest messages by a summary",
        "input": { "hint": "[focus]" }, "source": "builtin" });
    assert_eq!(commands[0], expected);
    assert_eq!(commands.as_array().unwrap().last().unwrap()["name"], "mine");
}
