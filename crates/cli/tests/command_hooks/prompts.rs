//! Hooks when a prompt is sent and when the model is done.

use std::time::{Duration, Instant};

use bowline_testkit::{Gate, Reply, Workspace, assert_well_formed, eventually, of_type, session_lines};
use serde_json::{Value, json};

use super::{errors, hook, last_request, notifications, written_objects};

#[test]
fn prompt_is_blocked_and_the_model_is_not_called() {
    let (server, workspace) = Workspace::with_server();
    let script = "grep -q password && { echo 'no secrets please' >&2; exit 2; }; exit 0";
    let workspace = workspace.settings(hook("UserPromptSubmit", script));
    let mut agent = workspace.start();
    let data = agent.carry_out(json!({ "type": "prompt", "message": "the password is x" }));
    assert_eq!(data["disposition"], "handled");
    assert_eq!(notifications(&agent), ["no secrets please"]);
    assert_eq!(server.requests().len(), 0);
    server.reply(Reply::text("hello"));
    agent.run("hello");
    assert!(!last_request(&server).contains("password"));
    assert_well_formed(agent.transcript());
}

#[test]
fn text_follows_the_prompt_and_is_in_the_file() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(hook("UserPromptSubmit", "cat > input; echo today is Monday"));
    let mut agent = workspace.start();
    server.reply(Reply::text("hello"));
    agent.run("what day is it?");
    let sent = last_request(&server);
    let (prompt, context) = (sent.find("what day is it?").unwrap(), sent.find("today is Monday").unwrap());
    assert!(prompt < context, "{sent}");
    let lines = session_lines(&workspace.session_files()[0]);
    let custom: Vec<_> = lines.iter().filter(|line| line["type"] == "custom_message").collect();
    assert_eq!(custom.len(), 1, "{lines:?}");
    assert_eq!((&custom[0]["customType"], &custom[0]["display"]), (&json!("command_hook"), &json!(false)));
    assert_eq!(written_objects(&workspace, "input")[0]["prompt"], "what day is it?");
    assert_well_formed(agent.transcript());
}

#[test]
fn steering_messages_are_judged_too() {
    let (server, workspace) = Workspace::with_server();
    let script = "grep -q password && { echo 'no secrets please' >&2; exit 2; }; echo noted";
    let workspace = workspace.settings(hook("UserPromptSubmit", script));
    let mut agent = workspace.start();
    let gate = Gate::new();
    server.reply(Reply::new().gate(&gate).tool("bash", json!({ "command": "true" })));
    server.reply(Reply::text("done"));
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    gate.wait_until_reached(Duration::from_secs(10));
    agent.carry_out(json!({ "type": "steer", "message": "my password" }));
    agent.carry_out(json!({ "type": "steer", "message": "hurry up" }));
    gate.open();
    agent.collect_until_settled();
    let sent = last_request(&server);
    assert!(sent.contains("hurry up") && !sent.contains("password"), "{sent}");
    assert_eq!(sent.matches("noted").count(), 2, "{sent}");
    assert_well_formed(agent.transcript());
}

#[test]
fn stop_hook_sends_the_model_back_to_work() {
    let (server, workspace) = Workspace::with_server();
    let script = "cat >> input; [ -e tested ] || { touch tested; echo 'run the tests first' >&2; exit 2; }";
    let workspace = workspace.settings(hook("Stop", script));
    let mut agent = workspace.start();
    server.reply(Reply::text("I am done"));
    server.reply(Reply::text("now I am"));
    let records = agent.run("go");
    assert_eq!(of_type(&records, "agent_settled").len(), 1);
    assert_eq!(server.requests().len(), 2);
    assert!(last_request(&server).contains("run the tests first"));
    let inputs = written_objects(&workspace, "input");
    let seen: Vec<_> =
        inputs.iter().map(|input| (&input["stop_hook_active"], &input["last_assistant_message"])).collect();
    assert_eq!(seen, [(&json!(false), &json!("I am done")), (&json!(true), &json!("now I am"))]);
    assert_well_formed(agent.transcript());
}

#[test]
fn stop_hook_that_never_agrees_is_overruled() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(hook("Stop", "echo again >&2; exit 2"));
    let mut agent = workspace.start();
    server.default_reply(Reply::text("done"));
    let records = agent.run("go");
    assert_eq!(of_type(&records, "agent_settled").len(), 1);
    assert_eq!(server.requests().len(), 9);
    assert!(errors(&agent)[0]["error"].as_str().unwrap().contains("8 times in a row"));
    agent.run("once more");
    assert_eq!(server.requests().len(), 18, "the count begins anew");
    assert_well_formed(agent.transcript());
}

#[test]
fn stop_hook_does_not_run_after_an_abort_and_abort_does_not_wait_for_it() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(hook("Stop", "touch begun; sleep 300"));
    let mut agent = workspace.start();
    let gate = Gate::new();
    server.reply(Reply::text("x").gate(&gate).then_text("y"));
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    gate.wait_until_reached(Duration::from_secs(10));
    agent.carry_out(json!({ "type": "abort" }));
    assert!(!workspace.work().join("begun").exists());
    server.reply(Reply::text("done"));
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    eventually("the hook runs", || workspace.work().join("begun").exists());
    let start = Instant::now();
    agent.carry_out(json!({ "type": "abort" }));
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    eventually("the hook is dead", || agent.survivors().is_empty());
    assert_well_formed(agent.transcript());
}

#[test]
fn abort_during_a_prompts_hook_ends_the_prompt() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(hook("UserPromptSubmit", "touch begun; sleep 300"));
    let mut agent = workspace.start();
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    eventually("the hook runs", || workspace.work().join("begun").exists());
    let start = Instant::now();
    agent.carry_out(json!({ "type": "abort" }));
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    eventually("the hook is dead", || agent.survivors().is_empty());
    assert_eq!(server.requests().len(), 0);
    assert_eq!(errors(&agent), [] as [Value; 0]);
}
