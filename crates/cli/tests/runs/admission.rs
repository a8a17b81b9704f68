//! Admission is atomic: commands in one write are neither lost nor reordered.

use bowline_testkit::{Agent, Api, Gate, ModelServer, Reply, Workspace, assert_well_formed, of_type};
use serde_json::{Value, json};

const BUSY: &str =
    "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.";

/// Sends commands in one write.
fn send_together(agent: &mut Agent, commands: &[Value]) {
    let lines: String = commands.iter().map(|command| format!("{command}\n")).collect();
    agent.send_raw(lines.as_bytes());
}

/// Starts a run that stays in the middle of its answer until it is aborted.
fn stream(server: &ModelServer, agent: &mut Agent) {
    server.reply(Reply::text("begun").gate(&Gate::new()));
    agent.carry_out(json!({ "type": "prompt", "message": "the first" }));
    agent.until_type("message_update");
}

/// Starts a run that stays in a tool until it is aborted.
fn run_tool(server: &ModelServer, agent: &mut Agent) {
    server.reply(Reply::new().tool("bash", json!({ "command": "sleep 300" })));
    agent.carry_out(json!({ "type": "prompt", "message": "the first" }));
    agent.until_type("tool_execution_start");
}

const BUSY_WITH: [fn(&ModelServer, &mut Agent); 2] = [stream, run_tool];

fn user_texts(records: &[Value]) -> Vec<&Value> {
    let starts = of_type(records, "message_start").into_iter().map(|record| &record["message"]);
    starts.filter(|message| message["role"] == "user").map(|message| &message["content"][0]["text"]).collect()
}

fn position(records: &[Value], is_wanted: impl Fn(&Value) -> bool) -> usize {
    records.iter().position(is_wanted).unwrap_or_else(|| panic!("not there: {records:#?}"))
}

#[test]
fn first_of_many_prompts_in_one_write_runs_and_the_others_are_refused() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    let prompts: Vec<Value> = (0..100)
        .map(|number| json!({ "id": format!("{number}"), "type": "prompt", "message": format!("no {number}") }))
        .collect();
    send_together(&mut agent, &prompts);
    let accepted = agent.response("0");
    assert_eq!(accepted["data"], json!({ "disposition": "started" }));
    for number in 1..100 {
        let refused = agent.response(&number.to_string());
        assert_eq!((&refused["success"], &refused["error"]), (&json!(false), &json!(BUSY)));
    }
    let records = agent.collect_until_settled();
    assert_eq!(user_texts(&records), ["no 0"]);
    assert_eq!(server.requests().len(), 1);
    assert_well_formed(agent.transcript());
}

#[test]
fn queueable_prompts_are_delivered_in_the_same_run() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    send_together(
        &mut agent,
        &[
            json!({ "id": "1", "type": "prompt", "message": "one" }),
            json!({ "id": "2", "type": "prompt", "message": "two", "streamingBehavior": "followUp" }),
            json!({ "id": "3", "type": "prompt", "message": "three", "streamingBehavior": "steer" }),
        ],
    );
    let dispositions = ["1", "2", "3"].map(|id| agent.response(id)["data"]["disposition"].clone());
    assert_eq!(dispositions, ["started", "queued", "queued"]);
    let records = agent.collect_until_settled();
    assert_eq!(user_texts(&records), ["one", "three", "two"]);
    assert_eq!(server.requests().len(), 3);
    assert_well_formed(agent.transcript());
}

#[test]
fn prompt_response_precedes_its_run() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go", "streamingBehavior": "steer" }));
    let first = agent.next();
    assert_eq!((&first["id"], &first["data"]["disposition"]), (&json!("p"), &json!("started")));
    assert_eq!(agent.next()["type"], "agent_start");
}

#[test]
fn prompt_and_abort_in_one_write_give_an_aborted_run() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    send_together(
        &mut agent,
        &[json!({ "id": "p", "type": "prompt", "message": "go" }), json!({ "id": "a", "type": "abort" })],
    );
    let records = agent.until(|record| record["id"] == "a");
    assert_eq!((&records[0]["id"], &records[0]["success"]), (&json!("p"), &json!(true)));
    assert_eq!(
        records[records.len() - 2],
        json!({ "type": "agent_settled", "aborted": true, "errorKind": "aborted" })
    );
    assert_eq!(agent.get("get_state")["isStreaming"], false);
    assert_well_formed(agent.transcript());
}

#[test]
fn abort_stops_a_prompt_that_is_still_waiting() {
    for busy_with in BUSY_WITH {
        for stop in ["abort", "new_session"] {
            let (server, workspace) = Workspace::with_server();
            let mut agent = workspace.start();
            busy_with(&server, &mut agent);
            server.default_reply(Reply::mute());
            send_together(
                &mut agent,
                &[
                    json!({ "id": "1", "type": stop }),
                    json!({ "id": "2", "type": "prompt", "message": "never mind" }),
                    json!({ "id": "3", "type": "abort" }),
                ],
            );
            let records = agent.until(|record| record["id"] == "3");
            assert_eq!(of_type(&records, "response").len(), 3);
            assert_eq!(
                of_type(&records, "agent_settled"),
                vec![&json!({ "type": "agent_settled", "aborted": true, "errorKind": "aborted" }); 2]
            );
            assert_well_formed(agent.transcript());
        }
    }
}

#[test]
fn prompt_after_abort_in_one_write_starts_a_new_run() {
    for busy_with in BUSY_WITH {
        let (server, workspace) = Workspace::with_server();
        let mut agent = workspace.start();
        busy_with(&server, &mut agent);
        send_together(
            &mut agent,
            &[
                json!({ "id": "a", "type": "abort" }),
                json!({ "id": "p", "type": "prompt", "message": "instead" }),
            ],
        );
        let first = agent.collect_until_settled();
        assert_eq!(first[first.len() - 1]["aborted"], true);
        let second = agent.collect_until_settled();
        assert_eq!(second[0]["id"], "a");
        assert_eq!((&second[1]["id"], &second[1]["data"]["disposition"]), (&json!("p"), &json!("started")));
        assert_eq!(user_texts(&second), ["instead"]);
        assert_eq!(second[second.len() - 1], json!({ "type": "agent_settled", "aborted": false }));
        assert_well_formed(agent.transcript());
    }
}

#[test]
fn prompt_after_new_session_in_one_write_runs_in_the_new_session() {
    for busy_with in BUSY_WITH {
        let (server, workspace) = Workspace::with_server();
        let mut agent = workspace.start();
        let old_session = agent.get("get_state")["sessionId"].clone();
        busy_with(&server, &mut agent);
        send_together(
            &mut agent,
            &[
                json!({ "id": "n", "type": "new_session" }),
                json!({ "id": "p", "type": "prompt", "message": "anew" }),
            ],
        );
        let first = agent.collect_until_settled();
        assert_eq!(first[first.len() - 1]["aborted"], true);
        let second = agent.collect_until_settled();
        assert!(
            position(&second, |record| record["id"] == "n") < position(&second, |record| record["id"] == "p")
        );
        assert_eq!(user_texts(&second), ["anew"]);
        let request = &server.requests()[1];
        assert!(!request.body.to_string().contains("the first"), "{}", request.body);
        assert_ne!(agent.get("get_state")["sessionId"], old_session);
        assert_eq!(agent.get("get_state")["messageCount"], 2);
        assert_well_formed(agent.transcript());
    }
}

#[test]
fn commands_after_a_delayed_prompt_do_not_wait_for_its_run() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    run_tool(&server, &mut agent);
    let gate = Gate::new();
    server.reply(Reply::text("long").gate(&gate).then_text(" and done"));
    send_together(
        &mut agent,
        &[
            json!({ "id": "n", "type": "new_session" }),
            json!({ "id": "p", "type": "prompt", "message": "anew" }),
            json!({ "id": "s", "type": "get_state" }),
        ],
    );
    assert_eq!(agent.response("p")["success"], true);
    let state = agent.response("s");
    assert_eq!(state["data"]["isStreaming"], true);
    // So do later commands.
    assert_eq!(agent.carry_out(json!({ "type": "steer", "message": "left" }))["disposition"], "queued");
    gate.open();
    agent.collect_until_settled();
    let records = agent.collect_until_settled();
    assert_eq!(user_texts(&records), ["anew", "left"]);
    assert_well_formed(agent.transcript());
}

#[test]
fn session_changes_in_one_write_happen_in_order() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    run_tool(&server, &mut agent);
    send_together(
        &mut agent,
        &[
            json!({ "id": "1", "type": "new_session" }),
            json!({ "id": "2", "type": "prompt", "message": "cut short" }),
            json!({ "id": "3", "type": "new_session" }),
            json!({ "id": "4", "type": "get_state" }),
            json!({ "id": "5", "type": "prompt", "message": "the last" }),
        ],
    );
    let last = agent.until(|record| record["id"] == "5");
    let answers: Vec<_> = of_type(&last, "response").iter().map(|response| response["id"].clone()).collect();
    assert_eq!(answers, ["1", "2", "3", "4", "5"]);
    assert_eq!(of_type(&last, "agent_settled").len(), 2);
    let records = agent.collect_until_settled();
    assert_eq!(user_texts(&records), ["the last"]);
    assert_well_formed(agent.transcript());
}

#[test]
fn prompt_runs_after_a_failed_session_switch() {
    let server = ModelServer::start();
    let workspace =
        Workspace::new(&server, Api::AnthropicMessages).file("broken.jsonl", "this is no session\n");
    let mut agent = workspace.start();
    stream(&server, &mut agent);
    send_together(
        &mut agent,
        &[
            json!({ "id": "s", "type": "switch_session", "sessionPath": "broken.jsonl" }),
            json!({ "id": "p", "type": "prompt", "message": "go on" }),
        ],
    );
    assert_eq!(agent.response("s")["success"], false);
    assert_eq!(agent.response("p")["success"], true);
    agent.collect_until_settled();
    let records = agent.collect_until_settled();
    assert_eq!(user_texts(&records), ["go on"]);
    assert!(server.requests()[1].body.to_string().contains("the first"));
    assert_well_formed(agent.transcript());
}
