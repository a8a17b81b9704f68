//! Hooks before and after tools.

use std::fs;
use std::time::{Duration, Instant};

use bowline_testkit::{Reply, Workspace, assert_well_formed, eventually, of_type};
use serde_json::{Value, json};

use super::{errors, hook, last_request, notifications, prints, results, text, written, written_objects};

/// Runs one tool call and returns its result and the records of the run.
#[track_caller]
fn call(settings: Value, tool: &str, arguments: Value) -> (Workspace, Value, Vec<Value>) {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(settings);
    let mut agent = workspace.start();
    server.reply(Reply::new().tool(tool, arguments));
    server.reply(Reply::text("done"));
    let records = agent.run("go");
    assert_well_formed(agent.transcript());
    let result = results(&records).remove(0);
    agent.finish();
    (workspace, result, records)
}

#[test]
fn guard_blocks_a_call_and_the_model_reads_why() {
    let settings = hook("PreToolUse", "cat > input; echo 'not in this project' >&2; exit 2");
    let (workspace, result, records) = call(settings, "bash", json!({ "command": "touch ran" }));
    assert_eq!((text(&result["result"]).as_str(), &result["isError"]), ("not in this project", &json!(true)));
    assert!(!workspace.work().join("ran").exists());
    assert_eq!(of_type(&records, "agent_settled").len(), 1);
    let input = &written_objects(&workspace, "input")[0];
    assert_eq!(input["hook_event_name"], "PreToolUse");
    assert_eq!(input["tool_name"], "Bash");
    assert_eq!(input["tool_input"], json!({ "command": "touch ran" }));
    assert_eq!(
        fs::canonicalize(input["cwd"].as_str().unwrap()).unwrap(),
        workspace.work().canonicalize().unwrap()
    );
    let file = workspace.session_files().remove(0);
    assert_eq!(input["transcript_path"], file.to_str().unwrap());
    assert!(file.to_str().unwrap().contains(input["session_id"].as_str().unwrap()));
}

#[test]
fn guard_sees_the_file_that_is_meant_however_the_model_writes_it() {
    let guard = "python3 -c 'import json,sys; sys.exit(2 if json.load(sys.stdin)[\"tool_input\"][\"file_path\"].endswith(\".env\") else 0)'";
    for arguments in [
        json!({ "path": ".env", "content": "x" }),
        json!({ "file_path": "./.env", "content": "x" }),
        json!({ "path": "@.env", "content": "x" }),
        json!({ "path": "src/../.env", "content": "x" }),
        json!({ "path": "~/work/.env", "content": "x" }),
    ] {
        let (workspace, result, _) = call(hook("PreToolUse", guard), "write", arguments.clone());
        assert_eq!(result["isError"], true, "{arguments}");
        assert!(!workspace.work().join(".env").exists(), "{arguments}");
    }
}

#[test]
fn matchers_use_claude_codes_names_and_our_own() {
    for (matcher, blocks) in
        [("Bash", true), ("bash", true), ("Edit|Bash", true), ("*", true), ("Ba.*", true), ("Write", false)]
    {
        let mut settings = hook("PreToolUse", "exit 2");
        settings["hooks"]["PreToolUse"][0]["matcher"] = matcher.into();
        let (_, result, _) = call(settings, "bash", json!({ "command": "true" }));
        assert_eq!(result["isError"], blocks, "{matcher}");
    }
}

#[test]
fn arguments_are_replaced_and_checked() {
    let changed = |input: Value| prints(&json!({ "hookSpecificOutput": { "updatedInput": input } }));
    let settings = hook("PreToolUse", &changed(json!({ "command": "echo changed" })));
    let (_, result, _) = call(settings, "bash", json!({ "command": "echo original" }));
    assert_eq!(text(&result["result"]).trim(), "changed");
    let settings = hook("PreToolUse", &changed(json!({ "cmd": "x" })));
    let (_, result, _) = call(settings, "bash", json!({ "command": "echo original" }));
    assert!(text(&result["result"]).contains("arguments are invalid"), "{result}");
}

#[test]
fn user_is_asked_and_decides() {
    let output = json!({ "permissionDecision": "ask", "permissionDecisionReason": "Really?" });
    let settings = hook("PreToolUse", &prints(&json!({ "hookSpecificOutput": output })));
    for confirmed in [true, false] {
        let (server, workspace) = Workspace::with_server();
        let workspace = workspace.settings(settings.clone());
        let mut agent = workspace.start();
        server.reply(Reply::new().tool("bash", json!({ "command": "touch ran" })));
        server.reply(Reply::text("done"));
        agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
        let question = agent.until_type("extension_ui_request").pop().unwrap();
        assert_eq!(question["method"], "confirm", "{question}");
        assert!(question.to_string().contains("Really?"), "{question}");
        assert!(!workspace.work().join("ran").exists());
        let id = question["id"].clone();
        agent.send(json!({ "type": "extension_ui_response", "id": id, "confirmed": confirmed }));
        agent.collect_until_settled();
        assert_eq!(workspace.work().join("ran").exists(), confirmed);
        assert_well_formed(agent.transcript());
    }
}

#[test]
fn formatter_runs_before_the_model_goes_on_and_its_complaints_reach_the_model() {
    let (server, workspace) = Workspace::with_server();
    let script = "file=$(jq -r .tool_input.file_path) && tr a-z A-Z < $file > $file.new && mv $file.new $file; \
        echo 'line 1: shouting' >&2; exit 2";
    let workspace = workspace.settings(hook("PostToolUse", script));
    let mut agent = workspace.start();
    server.reply(Reply::new().tool("write", json!({ "path": "a.txt", "content": "hello\n" })));
    server.reply(Reply::new().tool("read", json!({ "path": "a.txt" })));
    server.reply(Reply::text("done"));
    let records = agent.run("go");
    let results = results(&records);
    assert!(text(&results[0]["result"]).ends_with("Feedback from the PostToolUse hook:\nline 1: shouting"));
    assert_eq!(results[0]["isError"], false);
    assert!(text(&results[1]["result"]).starts_with("HELLO"), "{}", results[1]);
    assert!(last_request(&server).contains("line 1: shouting"));
    assert_well_formed(agent.transcript());
}

#[test]
fn result_is_replaced() {
    let output = json!({ "hookSpecificOutput": { "updatedToolOutput": { "stdout": "redacted" } } });
    let (_, result, _) =
        call(hook("PostToolUse", &prints(&output)), "bash", json!({ "command": "echo secret" }));
    assert_eq!(text(&result["result"]), "redacted");
}

#[test]
fn failed_calls_have_an_event_of_their_own() {
    let mut settings = hook("PostToolUse", "touch wrong");
    settings["hooks"]["PostToolUseFailure"] =
        hook("PostToolUseFailure", "cat > input")["hooks"]["PostToolUseFailure"].take();
    let (workspace, _, _) = call(settings, "bash", json!({ "command": "echo broken; exit 3" }));
    assert!(!workspace.work().join("wrong").exists());
    let input = &written_objects(&workspace, "input")[0];
    assert!(input["error"].as_str().unwrap().contains("broken"), "{input}");
}

#[test]
fn continue_false_ends_the_run_without_another_call_of_the_model() {
    for (event, has_run) in [("PreToolUse", false), ("PostToolUse", true)] {
        let (server, workspace) = Workspace::with_server();
        let output = json!({ "continue": false, "stopReason": "enough", "systemMessage": "look here" });
        let workspace = workspace.settings(hook(event, &prints(&output)));
        let mut agent = workspace.start();
        server.reply(Reply::new().tool("bash", json!({ "command": "touch ran" })));
        let records = agent.run("go");
        assert_eq!(server.requests().len(), 1, "{event}");
        assert_eq!(of_type(&records, "agent_settled").len(), 1);
        assert_eq!(workspace.work().join("ran").exists(), has_run, "{event}");
        assert_eq!(notifications(&agent), ["look here", "enough"]);
    }
}

#[test]
fn failure_is_reported_and_the_call_goes_on_unless_the_hook_says_otherwise() {
    for (choice, runs) in [("continue", true), ("block", false)] {
        let (server, workspace) = Workspace::with_server();
        let mut settings = hook("PreToolUse", "echo oops >&2; exit 1");
        settings["hooks"]["PreToolUse"][0]["hooks"][0]["onFailure"] = choice.into();
        let workspace = workspace.settings(settings);
        let mut agent = workspace.start();
        server.reply(Reply::new().tool("bash", json!({ "command": "touch ran" })));
        server.reply(Reply::text("done"));
        agent.run("go");
        let expected = json!({
            "type": "extension_error", "extensionPath": "hook:PreToolUse", "event": "tool_call",
            "error": "the command `echo oops >&2; exit 1` exited with code 1: oops",
        });
        assert_eq!(errors(&agent), [expected]);
        assert_eq!(workspace.work().join("ran").exists(), runs, "{choice}");
    }
}

/// Ignores signals, and leaves children that have left its session and its parent.
const STUBBORN: &str = "trap '' TERM INT HUP; (setsid bash -c 'exec sleep 301' &); touch begun; sleep 302";

#[test]
fn abort_answers_at_once_and_leaves_no_process() {
    for event in ["PreToolUse", "PostToolUse"] {
        let (server, workspace) = Workspace::with_server();
        let workspace = workspace.settings(hook(event, STUBBORN));
        let mut agent = workspace.start();
        server.reply(Reply::new().tool("bash", json!({ "command": "echo x >> ran" })));
        agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
        eventually("the hook runs", || workspace.work().join("begun").exists());
        let start = Instant::now();
        agent.send(json!({ "id": "a", "type": "abort" }));
        let records = agent.until(|record| record["id"] == "a");
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
        assert_eq!(of_type(&records, "agent_settled")[0]["aborted"], true);
        eventually("the hook is dead", || agent.survivors().is_empty());
        assert_eq!(written(&workspace, "ran").is_empty(), event == "PreToolUse");
        assert_eq!(errors(&agent), [] as [Value; 0]);
        assert_well_formed(agent.transcript());
    }
}

#[test]
fn hook_that_takes_too_long_is_killed_with_all_it_started() {
    let (server, workspace) = Workspace::with_server();
    let mut settings = hook("PreToolUse", STUBBORN);
    settings["hooks"]["PreToolUse"][0]["hooks"][0]["timeout"] = json!(0.5);
    let workspace = workspace.settings(settings);
    let mut agent = workspace.start();
    server.reply(Reply::new().tool("bash", json!({ "command": "touch ran" })));
    server.reply(Reply::text("done"));
    agent.run("go");
    assert!(workspace.work().join("ran").exists());
    assert!(errors(&agent)[0]["error"].as_str().unwrap().ends_with("timed out"), "{:?}", errors(&agent));
    eventually("the hook is dead", || agent.survivors().is_empty());
}

#[test]
fn hook_that_prints_100_megabytes_costs_neither_memory_nor_the_run() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(hook("PreToolUse", "yes '{' | head -c 100000000; exit 0"));
    let mut agent = workspace.start();
    agent.get("get_state");
    let before = agent.memory_kib().resident;
    server.reply(Reply::new().tool("bash", json!({ "command": "touch ran" })));
    server.reply(Reply::text("done"));
    agent.run("go");
    assert!(workspace.work().join("ran").exists());
    assert!(errors(&agent)[0]["error"].as_str().unwrap().contains("1 MB"), "{:?}", errors(&agent));
    let grown = agent.memory_kib().resident.saturating_sub(before);
    assert!(grown < 30_000, "{grown} KiB");
}

#[test]
fn every_call_of_a_batch_is_judged_by_itself() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(hook("PreToolUse", "grep -q forbidden && exit 2; exit 0"));
    let mut agent = workspace.start();
    let touch = |name: &str| json!({ "command": format!("touch {name}") });
    server.reply(
        Reply::new().tool("bash", touch("one")).tool("bash", touch("forbidden")).tool("bash", touch("two")),
    );
    server.reply(Reply::text("done"));
    let records = agent.run("go");
    assert_eq!(results(&records).iter().filter(|result| result["isError"] == true).count(), 1);
    for (name, exists) in [("one", true), ("forbidden", false), ("two", true)] {
        assert_eq!(workspace.work().join(name).exists(), exists, "{name}");
    }
    assert_well_formed(agent.transcript());
}
