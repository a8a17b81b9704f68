//! What clients see of subagents: omp's records and commands, which pi's clients have here too.

use std::time::{Duration, Instant};

use bowline_testkit::{Agent, Gate, ModelServer, Reply, Workspace, of_type};
use serde_json::{Value, json};

use crate::calling;

const LIMIT: Duration = Duration::from_secs(10);

/// Starts an agent with the tool `task` in a dialect, and returns what ends a run in it.
fn start(dialect: &str) -> (ModelServer, Workspace, Agent, &'static str) {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(json!({ "task": { "enabled": true } }));
    let agent = workspace.start_in(dialect);
    (server, workspace, agent, if dialect == "omp" { "agent_end" } else { "agent_settled" })
}

/// Returns the records about subagents.
fn about_subagents(records: &[Value]) -> Vec<&Value> {
    let is_about = |record: &&Value| record["type"].as_str().unwrap_or_default().starts_with("subagent_");
    records.iter().filter(is_about).collect()
}

/// Returns the statuses in the records of starts and ends.
fn lifecycle(records: &[Value]) -> Vec<String> {
    let found = of_type(records, "subagent_lifecycle");
    let line = |record: &&Value| {
        let payload = &record["payload"];
        format!("{} {}", payload["id"].as_str().unwrap(), payload["status"].as_str().unwrap())
    };
    found.iter().map(line).collect()
}

#[test]
fn subscription_decides_which_records_are_sent() {
    for dialect in ["omp", "pi"] {
        for (level, expected) in [
            ("off", &[][..]),
            ("progress", &["subagent_lifecycle", "subagent_progress"]),
            ("events", &["subagent_event", "subagent_lifecycle", "subagent_progress"]),
        ] {
            let (server, _workspace, mut agent, end) = start(dialect);
            let set = agent.carry_out(json!({ "type": "set_subagent_subscription", "level": level }));
            assert_eq!(set, json!({ "level": level }));
            let gate = Gate::new();
            server.reply_in("look", Reply::text("one").tool("read", json!({ "path": "none" })));
            server.reply_in("look", Reply::new().gate(&gate).then_text("two"));
            server.reply(calling(&json!([{ "name": "a", "task": "look" }])));
            agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
            agent.until(|record| record["partialResult"]["details"]["progress"][0]["toolCount"] == 1);
            gate.open();
            agent.until_type(end);
            let records = about_subagents(agent.transcript());
            let mut types: Vec<_> = records.iter().map(|record| record["type"].as_str().unwrap()).collect();
            types.sort_unstable();
            types.dedup();
            assert_eq!(types, expected, "{dialect} {level}");
            if level != "off" {
                assert_eq!(lifecycle(agent.transcript()), ["a started", "a completed"]);
            }
        }
    }
}

#[test]
fn events_of_a_subagent_are_its_records_in_their_order() {
    for dialect in ["omp", "pi"] {
        let (server, _workspace, mut agent, end) = start(dialect);
        agent.carry_out(json!({ "type": "set_subagent_subscription", "level": "events" }));
        server.reply_in("look", Reply::text("one ").then_text("two"));
        server.reply(calling(&json!([{ "name": "a", "task": "look" }])));
        agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
        agent.until_type(end);
        let inner: Vec<_> = of_type(agent.transcript(), "subagent_event")
            .into_iter()
            .map(|record| {
                assert_eq!(record["payload"]["id"], "a");
                record["payload"]["event"].clone()
            })
            .collect();
        let types: Vec<_> = inner.iter().map(|record| record["type"].as_str().unwrap()).collect();
        let updates = types.iter().filter(|name| **name == "message_update").count();
        let others: Vec<_> = types.into_iter().filter(|name| *name != "message_update").collect();
        let mut expected = vec![
            "agent_start",
            "turn_start",
            "message_start",
            "message_end",
            "message_start",
            "message_end",
            "turn_end",
            "agent_end",
        ];
        if dialect == "pi" {
            expected.push("agent_settled");
        }
        assert_eq!((others, updates), (expected, 4), "{dialect}");
        if dialect == "omp" {
            let last = inner.iter().rfind(|record| record["type"] == "message_update").unwrap();
            assert_eq!(last["message"]["content"][0]["text"], "one two");
        }
    }
}

#[test]
fn running_subagents_are_listed_and_their_files_read() {
    for dialect in ["omp", "pi"] {
        let (server, _workspace, mut agent, end) = start(dialect);
        agent.carry_out(json!({ "type": "set_subagent_subscription", "level": "progress" }));
        assert_eq!(agent.get("get_subagents"), json!({ "subagents": [] }));
        let gate = Gate::new();
        server.reply_in("look", Reply::new().gate(&gate).then_text("found"));
        server.reply(calling(&json!([{ "name": "a", "task": "look", "agent": "explore" }])));
        agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
        let started = agent.until_type("subagent_lifecycle").pop().unwrap()["payload"].clone();
        gate.wait_until_reached(LIMIT);
        let listed = agent.get("get_subagents")["subagents"].take();
        let [subagent] = &listed.as_array().unwrap()[..] else { panic!("{listed}") };
        for (name, value) in
            [("id", "a"), ("agent", "explore"), ("agentSource", "bundled"), ("status", "running")]
        {
            assert_eq!(subagent[name], value);
        }
        assert_eq!((&subagent["task"], &subagent["sessionFile"]), (&json!("look"), &started["sessionFile"]));
        assert_eq!(subagent["parentToolCallId"], started["parentToolCallId"]);

        let part = agent.carry_out(json!({ "type": "get_subagent_messages", "subagentId": "a" }));
        assert_eq!((&part["fromByte"], &part["reset"]), (&json!(0), &json!(false)));
        assert_eq!(part["entries"][0]["type"], "session");
        assert_eq!(part["messages"].as_array().unwrap().len(), 1);
        gate.open();
        agent.until_type(end);
        let rest = agent.carry_out(
            json!({ "type": "get_subagent_messages", "sessionFile": started["sessionFile"], "fromByte": part["nextByte"] }),
        );
        assert_eq!(rest["messages"][0]["content"][0]["text"], "found");
        let again = agent.carry_out(
            json!({ "type": "get_subagent_messages", "subagentId": "a", "fromByte": rest["nextByte"] }),
        );
        assert_eq!((&again["entries"], &again["nextByte"]), (&json!([]), &rest["nextByte"]));
        let reset =
            agent.carry_out(json!({ "type": "get_subagent_messages", "subagentId": "a", "fromByte": 1e9 }));
        assert_eq!((&reset["reset"], &reset["fromByte"]), (&json!(true), &json!(0)));
        let negative =
            agent.carry_out(json!({ "type": "get_subagent_messages", "subagentId": "a", "fromByte": -1.5 }));
        assert_eq!(negative["fromByte"], 0);
        assert_eq!(agent.get("get_subagents"), json!({ "subagents": [] }));
        // Another session knows nothing of them.
        agent.carry_out(json!({ "type": "new_session" }));
        let error = agent.refuse(json!({ "type": "get_subagent_messages", "subagentId": "a" }));
        assert_eq!(error, "Unknown subagent or session file unavailable: a");
    }
}

#[test]
fn wrong_questions_about_subagents_are_refused() {
    let (_server, workspace, mut agent, _) = start("omp");
    let mut ask = |command: Value| agent.refuse(command);
    let error = ask(json!({ "type": "set_subagent_subscription", "level": "loud" }));
    assert!(error.contains("\"off\", \"progress\", \"events\""), "{error}");
    assert_eq!(
        ask(json!({ "type": "get_subagent_messages", "subagentId": "a", "fromByte": "x" })),
        "fromByte must be a finite number"
    );
    assert_eq!(
        ask(json!({ "type": "get_subagent_messages" })),
        "get_subagent_messages requires subagentId or sessionFile"
    );
    let models = workspace.configuration().join("models.json");
    assert_eq!(
        ask(json!({ "type": "get_subagent_messages", "sessionFile": models.to_str().unwrap() })),
        "Unknown subagent session file"
    );
}

/// Starts a subagent whose answer has many deltas, and stops reading when the first of them has arrived.
fn pause_in_events(server: &ModelServer, agent: &mut Agent, answer: Reply) {
    agent.carry_out(json!({ "type": "set_subagent_subscription", "level": "events" }));
    server.reply_in("look", answer);
    server.reply(calling(&json!([{ "name": "a", "task": "look" }])));
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    agent.until(|record| record["payload"]["event"]["type"] == "message_update");
    agent.pause_reading();
}

#[test]
fn reader_that_stops_misses_no_event() {
    const DELTAS: usize = 2_000;
    let (server, _workspace, mut agent, end) = start("pi");
    let gate = Gate::new();
    pause_in_events(&server, &mut agent, Reply::new().deltas(DELTAS, 1000).gate(&gate));
    gate.wait_until_reached(LIMIT);
    agent.resume_reading();
    gate.open();
    agent.until_type(end);
    let steps = of_type(agent.transcript(), "subagent_event").into_iter();
    let steps = steps.map(|record| &record["payload"]["event"]["assistantMessageEvent"]["type"]);
    assert_eq!(steps.filter(|step| **step == "text_delta").count(), DELTAS);
}

#[test]
fn subagent_is_paused_when_the_backlog_is_full_and_aborted_all_the_same() {
    let (server, _workspace, mut agent, _) = start("pi");
    pause_in_events(&server, &mut agent, Reply::new().deltas(5_000, 10_000));
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(2) {
        let resident = agent.memory_kib().resident;
        assert!(resident < 80 * 1024, "{resident} KiB after {:?}", started.elapsed());
        std::thread::sleep(Duration::from_millis(50));
    }
    agent.send(json!({ "id": "a", "type": "abort" }));
    server.wait_for_hang_ups(1, LIMIT);
    agent.resume_reading();
    agent.response("a");
    let last = agent.collect_until_settled();
    assert_eq!(last[last.len() - 1]["aborted"], true);
    assert_eq!(lifecycle(agent.transcript()), ["a started", "a aborted"]);
}
