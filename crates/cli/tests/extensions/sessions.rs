//! What extensions do to their session: messages, entries, names, models, tools, and other sessions.

use bowline_testkit::{Agent, Reply, Workspace, of_type};
use serde_json::{Value, json};

use crate::actor::{Actor, errors, hooks, run, start};

fn notify(method: &str, params: Value) -> Value {
    json!({ "send": { "type": "notify", "method": method, "params": params } })
}

/// Starts bowline with an extension whose command `/do` notifies.
fn with_command(workspace: &Workspace, notifications: Vec<Value>) -> Agent {
    let mut actions = notifications;
    actions.push(json!({ "result": null }));
    Actor::new(workspace, "a", json!({ "commands": [{ "name": "do" }] }), json!({ "command:do": actions }));
    start(workspace)
}

#[track_caller]
fn do_it(agent: &mut Agent) {
    agent.carry_out(json!({ "type": "prompt", "message": "/do" }));
}

#[test]
fn messages_and_entries_are_added_in_the_order_they_were_sent() {
    let (server, workspace) = Workspace::with_server();
    let message =
        json!({ "customType": "note", "content": "remember", "display": true, "details": { "n": 1 } });
    let mut agent = with_command(
        &workspace,
        vec![
            notify("session.appendEntry", json!({ "customType": "state", "data": { "x": 1 } })),
            notify("session.sendMessage", json!({ "message": message })),
        ],
    );
    do_it(&mut agent);
    let kinds: Vec<_> = agent
        .transcript()
        .iter()
        .filter_map(|record| match record["type"].as_str()? {
            "entry_appended" => record["entry"]["customType"].as_str(),
            "message_end" => record["message"]["customType"].as_str(),
            _ => None,
        })
        .collect();
    assert_eq!(kinds, ["state", "note"]);
    run(&mut agent, "hi");
    assert!(server.requests()[0].body["messages"].to_string().contains("remember"));
}

#[test]
fn message_of_the_user_starts_a_run() {
    let (server, workspace) = Workspace::with_server();
    let mut agent =
        with_command(&workspace, vec![notify("session.sendUserMessage", json!({ "content": "please" }))]);
    do_it(&mut agent);
    agent.collect_until_settled();
    assert!(server.requests()[0].body["messages"].to_string().contains("please"));
}

#[test]
fn name_label_model_level_and_tools_are_set() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = with_command(
        &workspace,
        vec![
            notify("session.setName", json!({ "name": "named" })),
            notify("model.set", json!({ "provider": "mock", "modelId": "m2" })),
            notify("thinking.set", json!({ "level": "high" })),
            notify("tools.setActive", json!({ "names": ["read", "no_such_tool"] })),
            notify("session.setLabel", json!({ "entryId": "gone", "label": "x" })),
        ],
    );
    do_it(&mut agent);
    agent.until_type("extension_error");
    let state = agent.carry_out(json!({ "type": "get_state" }));
    assert_eq!(state["sessionName"], "named");
    assert_eq!(state["model"]["id"], "m2");
    assert_eq!(state["thinkingLevel"], "high");
    assert_eq!(state["tools"], json!(["read"]));
    let errors = errors(agent.transcript());
    assert_eq!(errors.len(), 1);
    assert!(errors[0].starts_with("session.setLabel: "), "{errors:?}");
    run(&mut agent, "hi");
    assert_eq!(server.requests()[0].body["tools"].as_array().unwrap().len(), 1);
}

#[test]
fn extension_aborts_a_run_and_ends_bowline() {
    let (server, workspace) = Workspace::with_server();
    let on = json!({
        "hook:turn_start": [notify("agent.abort", json!({})), { "result": null }],
        "command:end": [notify("agent.shutdown", json!({})), { "result": null }],
    });
    let mut registration = hooks(&["turn_start"]);
    registration["commands"] = json!([{ "name": "end" }]);
    Actor::new(&workspace, "a", registration, on);
    server.reply(Reply::mute());
    let mut agent = start(&workspace);
    let records = run(&mut agent, "go");
    assert_eq!(records.last().unwrap()["aborted"], true);
    agent.carry_out(json!({ "type": "prompt", "message": "/end" }));
    assert_eq!(agent.wait(), 0);
    agent.assert_no_survivors();
}

#[test]
fn extensions_speak_to_each_other() {
    let (_server, workspace) = Workspace::with_server();
    let emit = notify("bus.emit", json!({ "channel": "c", "data": { "x": 1 } }));
    let one = Actor::new(
        &workspace,
        "a",
        json!({ "commands": [{ "name": "do" }], "hooks": [{ "event": "bus" }] }),
        json!({ "command:do": [emit, { "result": null }] }),
    );
    let two = Actor::new(&workspace, "b", json!({ "hooks": [{ "event": "bus" }] }), json!({}));
    let three = Actor::new(&workspace, "c", json!({}), json!({}));
    let mut agent = start(&workspace);
    do_it(&mut agent);
    two.wait_for(|record| record["event"] == json!({ "type": "bus", "channel": "c", "data": { "x": 1 } }));
    assert!(one.events("bus").is_empty() && three.events("bus").is_empty());
}

#[test]
fn state_is_sent_before_the_hook_that_depends_on_it_and_entries_if_wanted() {
    let (_server, workspace) = Workspace::with_server();
    let mut registration = hooks(&["agent_start", "agent_settled"]);
    registration["wants"] = json!(["entries"]);
    let wanting = Actor::new(&workspace, "a", registration, json!({}));
    let other = Actor::new(&workspace, "b", hooks(&["agent_settled"]), json!({}));
    let mut agent = start(&workspace);
    agent.carry_out(json!({ "type": "set_session_name", "name": "n" }));
    run(&mut agent, "hi");
    wanting.wait_for(|record| record["event"]["type"] == "agent_settled");
    let received = wanting.received();
    let start = received.iter().position(|record| record["event"]["type"] == "agent_start").unwrap();
    let states = || received[..start].iter().filter(|record| record["type"] == "state");
    assert!(states().any(|record| record["patch"]["sessionName"] == "n"));
    assert!(states().any(|record| record["patch"]["isIdle"] == false));
    assert!(
        states().any(|record| record["patch"]["allTools"].as_array().is_some_and(|tools| tools.len() >= 7))
    );
    let entries = received.iter().filter_map(|record| record["entries"].as_array()).flatten();
    assert!(entries.filter(|entry| entry["type"] == "message").count() >= 2, "{received:#?}");
    assert!(other.received().iter().all(|record| record.get("entries").is_none()));
}

#[test]
fn extensions_go_along_to_another_session() {
    let (_server, workspace) = Workspace::with_server();
    let actor = Actor::new(&workspace, "a", hooks(&["session_start", "session_shutdown"]), json!({}));
    let mut agent = start(&workspace);
    run(&mut agent, "hi");
    agent.carry_out(json!({ "type": "new_session" }));
    let state = agent.carry_out(json!({ "type": "get_state" }));
    run(&mut agent, "hi");
    let reasons = |hook: &str| {
        let events = actor.events(hook).into_iter();
        events.map(|event| event["reason"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(reasons("session_start"), ["startup", "new"]);
    assert_eq!(reasons("session_shutdown"), ["new"]);
    actor.wait_for(|record| record["patch"]["sessionId"] == state["sessionId"]);
    agent.close_stdin();
    assert_eq!(agent.wait(), 0);
    assert_eq!(reasons("session_shutdown"), ["new", "quit"]);
    assert!(of_type(agent.transcript(), "extension_error").is_empty());
}
