//! Runs in the dialects `operator` and `operator-flat`: steering, options of prompts, ids of messages, the end of stdin.

use std::collections::HashSet;

use bowline_testkit::{Agent, Gate, Launch, Reply, Workspace};
use serde_json::{Value, json};

const FORMS: [&str; 2] = ["operator", "operator-flat"];

/// A PNG of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=";

/// Returns the event in a record, wrapped or not.
fn event(record: &Value) -> &Value {
    if record["type"] == "event" { &record["event"] } else { record }
}

/// Returns the events of a type.
fn events<'a>(records: &'a [Value], name: &str) -> Vec<&'a Value> {
    records.iter().map(event).filter(|event| event["type"] == name).collect()
}

#[track_caller]
fn until_event(agent: &mut Agent, name: &str) -> Vec<Value> {
    agent.until(|record| event(record)["type"] == name)
}

#[test]
fn steer_and_follow_up_overtake_the_prompt_that_they_steer() {
    for form in FORMS {
        let (server, workspace) = Workspace::with_server();
        let gate = Gate::new();
        server.reply(Reply::text("I begin").gate(&gate).tool("bash", json!({ "command": "true" })));
        let mut agent = workspace.start_in(form);
        agent.send(json!({ "type": "prompt", "id": "p", "message": "go" }));
        until_event(&mut agent, "message_update");
        agent.send(json!({ "type": "steer", "id": "s", "message": "to the left" }));
        agent.send(json!({ "type": "follow_up", "id": "f", "message": "then rest" }));
        for id in ["s", "f"] {
            assert_eq!(agent.response(id)["success"], true, "{form}");
        }
        gate.open();
        until_event(&mut agent, "settled");
        let bodies: Vec<_> = server.requests().iter().map(|request| request.body.to_string()).collect();
        assert_eq!(bodies.len(), 3, "{form}");
        assert!(
            bodies[1].contains("to the left") && !bodies[1].contains("then rest"),
            "{form}: {}",
            bodies[1]
        );
        assert!(bodies[2].contains("then rest"), "{form}: {}", bodies[2]);
    }
}

#[test]
fn steer_in_one_write_with_its_prompt_reaches_that_run() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start_in("operator");
    agent.send_raw(
        b"{\"type\":\"new_session\",\"id\":\"n\"}\n{\"type\":\"prompt\",\"id\":\"p\",\"text\":\"go\"}\n{\"type\":\"follow_up\",\"id\":\"f\",\"message\":\"and then\"}\n{\"type\":\"get_state\",\"id\":\"g\"}\n",
    );
    let records = agent.until(|record| record["id"] == "g");
    let ids: Vec<_> = records.iter().filter_map(|record| record["id"].as_str()).collect();
    assert_eq!(ids, ["n", "f", "p", "g"], "a follow-up is for the run, the state waits for its end");
    assert_eq!(server.requests().len(), 2);
    assert_eq!(records.last().unwrap()["data"]["pending_message_count"], 0);
}

#[test]
fn piped_prompt_yields_its_answer() {
    for form in FORMS {
        let (server, workspace) = Workspace::with_server();
        server.reply(Reply::new().tool("bash", json!({ "command": "echo done" })));
        server.reply(Reply::text("the whole answer"));
        let launch = Launch::rpc(&workspace).model("mock/m1").dialect(form);
        let finished = launch.run_with_input("{\"type\":\"prompt\",\"id\":\"p\",\"message\":\"go\"}\n");
        assert_eq!(finished.code, 0, "{form}: {}", finished.stderr);
        let records = finished.records();
        let ends = events(&records, "agent_end");
        assert_eq!(ends.len(), 1, "{form}");
        assert_eq!(ends[0]["reason"], "completed", "{form}");
        let last = ends[0]["messages"].as_array().unwrap().last().unwrap();
        assert_eq!(last["contents"][0]["content"], "the whole answer", "{form}");
        let responses: Vec<_> = records.iter().filter(|record| record["id"] == "p").collect();
        assert_eq!(responses.len(), 1, "{form}");
        assert_eq!(responses[0]["success"], true, "{form}");
    }
}

#[test]
fn prompts_that_wait_are_carried_out_after_the_end_of_stdin() {
    let (server, workspace) = Workspace::with_server();
    let launch = Launch::rpc(&workspace).model("mock/m1").dialect("operator");
    let finished = launch.run_with_input(
        "{\"type\":\"prompt\",\"id\":1,\"text\":\"one\"}\n{\"type\":\"prompt\",\"id\":2,\"text\":\"two\"}\n{\"type\":\"get_last_assistant_text\",\"id\":3}",
    );
    let ids: Vec<_> = finished.records().iter().filter_map(|record| record["id"].as_u64()).collect();
    assert_eq!((finished.code, ids), (0, vec![1, 2, 3]));
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn abort_before_the_end_of_stdin_ends_the_run() {
    for form in FORMS {
        let (server, workspace) = Workspace::with_server();
        server.reply(Reply::text("I begin").hang_after(1));
        let mut agent = workspace.start_in(form);
        agent.send(json!({ "type": "prompt", "id": "p", "message": "go" }));
        until_event(&mut agent, "message_update");
        agent.send(json!({ "type": "abort" }));
        agent.close_stdin();
        let records = agent.rest();
        assert_eq!(events(&records, "agent_end")[0]["reason"], "aborted", "{form}");
        assert_eq!(agent.wait(), 0, "{form}");
    }
}

#[test]
fn signal_after_the_end_of_stdin_ends_the_run() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::text("I begin").hang_after(1));
    let mut agent = workspace.start_in("operator");
    agent.send(json!({ "type": "prompt", "id": "p", "text": "go" }));
    agent.close_stdin();
    until_event(&mut agent, "message_update");
    agent.signal(15);
    let records = agent.rest();
    assert_eq!(records.last().unwrap()["id"], "p", "the prompt is still answered");
    assert_eq!(agent.wait(), 143);
}

#[test]
fn images_and_source_of_a_prompt_are_honoured() {
    for form in FORMS {
        let (server, workspace) = Workspace::with_server();
        let mut agent = workspace.start_in(form);
        let url = format!("data:image/png;base64,{PIXEL}");
        for (number, image) in [json!(PIXEL), json!(url), json!({ "data": PIXEL, "mimeType": "image/png" })]
            .into_iter()
            .enumerate()
        {
            let options = json!({ "images": [image], "source": "cron" });
            agent.send(json!({ "type": "prompt", "message": "look", "options": options }));
            let records = until_event(&mut agent, "settled");
            let input = events(&records, "input");
            assert_eq!(input[0]["source"], "cron", "{form}");
            let message = &events(&records, "agent_end")[0]["messages"][0];
            assert_eq!(message["contents"][1]["images"], json!([url]), "{form}");
            let sent = server.requests().pop().unwrap().body.to_string();
            assert_eq!(sent.matches(PIXEL).count(), number + 1, "{form}: the model sees each image");
        }
        agent.send(json!({ "type": "prompt", "message": "look" }));
        let records = until_event(&mut agent, "settled");
        assert_eq!(events(&records, "input")[0]["source"], "rpc", "{form}");
        for options in [json!({ "audio": ["aGk="] }), json!({ "images": ["https://x/y.png"] }), json!([])] {
            let error = agent.refuse(json!({ "type": "prompt", "message": "x", "options": options }));
            assert!(error.starts_with("\"options\" "), "{form}: {error}");
        }
    }
}

#[test]
fn message_ids_are_unique_in_a_run_and_the_same_in_every_record() {
    for form in FORMS {
        let (server, workspace) = Workspace::with_server();
        for _ in 0..2 {
            let call = json!({ "command": "true" });
            server.reply(Reply::text("on it").tool("bash", call.clone()).tool("bash", call));
        }
        // With this clock, all messages have the same time.
        let mut agent =
            Launch::rpc(&workspace).model("mock/m1").dialect(form).arguments(&["--clock", "fixed"]).start();
        for text in ["one", "two"] {
            agent.carry_out(json!({ "type": "steer", "message": "a" }));
            agent.carry_out(json!({ "type": "follow_up", "message": "b" }));
            agent.send(json!({ "type": "prompt", "message": text }));
            until_event(&mut agent, "settled");
        }
        let records = agent.transcript().to_vec();
        let ids = |name: &str| -> Vec<String> {
            events(&records, name)
                .iter()
                .map(|event| event["message"]["id"].as_str().unwrap().to_owned())
                .collect()
        };
        let started = ids("message_start");
        assert_eq!(started.iter().collect::<HashSet<_>>().len(), started.len(), "{form}: {started:?}");
        assert_eq!(started, ids("message_end"), "{form}");
        assert!(ids("message_update").iter().all(|id| started.contains(id)), "{form}");
        assert!(ids("turn_end").iter().all(|id| started.contains(id)), "{form}");
        let mut listed: Vec<Value> = Vec::new();
        for end in events(&records, "agent_end") {
            listed.extend(end["messages"].as_array().unwrap().iter().map(|message| message["id"].clone()));
        }
        assert!(started.iter().all(|id| listed.contains(&json!(id))), "{form}: {listed:?}");
        let messages = agent.get("get_messages");
        let known: Vec<_> =
            messages["messages"].as_array().unwrap().iter().map(|message| message["id"].clone()).collect();
        assert_eq!(known, listed, "{form}");
    }
}
