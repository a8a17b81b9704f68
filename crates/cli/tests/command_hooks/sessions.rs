//! Hooks at the start, the end and the compaction of a session, and at notifications.

use std::fs;
use std::time::{Duration, Instant};

use bowline_testkit::{Launch, Reply, Workspace, assert_well_formed, eventually};
use serde_json::{Value, json};

use super::{hook, last_request, prints, written, written_objects};

#[test]
fn context_of_the_start_goes_with_the_first_prompt() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(hook("SessionStart", "cat >> input; echo the branch is main"));
    let mut agent = workspace.start();
    server.reply(Reply::text("hello"));
    server.reply(Reply::text("hello"));
    agent.run("hi");
    assert!(last_request(&server).contains("the branch is main"));
    agent.run("hi again");
    assert_eq!(last_request(&server).matches("the branch is main").count(), 1);
    agent.carry_out(json!({ "type": "new_session" }));
    server.reply(Reply::text("hello"));
    agent.run("hi");
    assert_eq!(last_request(&server).matches("the branch is main").count(), 1);
    assert_well_formed(agent.transcript());
    agent.finish();
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--continue"]).start();
    agent.get("get_state");
    eventually("the session has started", || written_objects(&workspace, "input").len() == 3);
    let inputs = written_objects(&workspace, "input");
    let sources: Vec<_> = inputs.iter().map(|input| input["source"].as_str().unwrap()).collect();
    assert_eq!(sources, ["startup", "clear", "resume"]);
    assert_eq!(inputs[0]["model"], "m1");
}

#[test]
fn state_is_answered_while_the_start_waits_and_prompts_are_not_lost() {
    let (server, workspace) = Workspace::with_server();
    let script = "touch begun; while [ ! -e go ]; do sleep 0.01; done; echo context";
    let workspace = workspace.settings(hook("SessionStart", script));
    let mut agent = workspace.start();
    server.reply(Reply::text("hello"));
    agent.send(json!({ "id": "p", "type": "prompt", "message": "hi" }));
    eventually("the hook runs", || workspace.work().join("begun").exists());
    let start = Instant::now();
    agent.get("get_state");
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert_eq!(server.requests().len(), 0);
    fs::write(workspace.work().join("go"), "").unwrap();
    agent.collect_until_settled();
    assert!(last_request(&server).contains("context"));
}

#[test]
fn end_of_a_session_is_waited_for_and_bounded() {
    let (_server, workspace) = Workspace::with_server();
    let script = "cat >> input; sleep 0.2; touch ended; [ ! -e slow ] || { setsid sleep 300 & sleep 300; }";
    let workspace = workspace.settings(hook("SessionEnd", script));
    let mut agent = workspace.start();
    agent.carry_out(json!({ "type": "new_session" }));
    assert!(workspace.work().join("ended").exists());
    agent.finish();
    let inputs = written_objects(&workspace, "input");
    let reasons: Vec<_> = inputs.iter().map(|input| input["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["clear", "other"]);
    let workspace = workspace.file("slow", "");
    let mut agent = workspace.start();
    agent.get("get_state");
    let start = Instant::now();
    agent.close_stdin();
    agent.rest();
    assert_eq!(agent.wait(), 0);
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    agent.assert_no_survivors();
}

#[test]
fn compaction_is_told_before_and_the_session_starts_again_after() {
    let (server, workspace) = Workspace::with_server();
    let mut settings = hook("PreCompact", "cat >> before; exit 2");
    let start = json!([{ "matcher": "compact", "hooks": [
        { "type": "command", "command": "cat >> after; echo remember the plan" },
    ] }]);
    settings["hooks"]["SessionStart"] = start;
    settings["compaction"] = json!({ "keepRecentTokens": 1 });
    let workspace = workspace.settings(settings);
    let mut agent = workspace.start();
    for _ in 0..3 {
        server.reply(Reply::text("hello"));
        agent.run("a prompt that is long enough to be left out");
    }
    server.reply(Reply::text("the summary"));
    agent.carry_out(json!({ "type": "compact", "customInstructions": "keep names" }));
    let before = &written_objects(&workspace, "before")[0];
    assert_eq!(
        (&before["trigger"], &before["custom_instructions"]),
        (&json!("manual"), &json!("keep names"))
    );
    eventually("the hook after it has run", || !written(&workspace, "after").is_empty());
    assert_eq!(written_objects(&workspace, "after")[0]["source"], "compact");
    server.reply(Reply::text("hello"));
    agent.run("and now");
    assert!(last_request(&server).contains("remember the plan"));
    assert_well_formed(agent.transcript());
}

#[test]
fn notifications_reach_commands() {
    let (server, workspace) = Workspace::with_server();
    let mut settings = hook("PreToolUse", &prints(&json!({ "systemMessage": "look here" })));
    settings["hooks"]["Notification"] = hook("Notification", "cat >> seen")["hooks"]["Notification"].take();
    let workspace = workspace.settings(settings);
    let mut agent = workspace.start();
    server.reply(Reply::new().tool("bash", json!({ "command": "true" })));
    server.reply(Reply::text("done"));
    agent.run("go");
    eventually("the command has run", || !written(&workspace, "seen").is_empty());
    let seen = &written_objects(&workspace, "seen")[0];
    assert_eq!((&seen["message"], &seen["notification_type"]), (&json!("look here"), &json!("info")));
}

#[test]
fn question_about_a_call_is_a_notification() {
    let (server, workspace) = Workspace::with_server();
    let output = json!({ "permissionDecision": "ask", "permissionDecisionReason": "Really?" });
    let mut settings = hook("PreToolUse", &prints(&json!({ "hookSpecificOutput": output })));
    let notify = json!([{ "matcher": "permission_prompt", "hooks": [
        { "type": "command", "command": "cat >> seen" },
    ] }]);
    settings["hooks"]["Notification"] = notify;
    let workspace = workspace.settings(settings);
    let mut agent = workspace.start();
    server.reply(Reply::new().tool("bash", json!({ "command": "true" })));
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    agent.until_type("extension_ui_request");
    eventually("the command has run", || !written(&workspace, "seen").is_empty());
    let seen: Value = written_objects(&workspace, "seen").remove(0);
    assert!(seen["message"].as_str().unwrap().contains("Really?"), "{seen}");
}
