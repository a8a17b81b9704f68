//! Every hook: what extensions are told, and what becomes of no result, of a wrong one, of a failure, of a time-out and of
//! a crash.

use bowline_testkit::{Agent, ModelServer, Reply, Workspace, of_type};
use serde_json::{Map, Value, json};

use crate::actor::{Actor, errors, hooks, run, start};

/// A hook, and whether an extension may decide anything in it.
struct Hook {
    name: &'static str,
    decides: bool,
}

const fn decides(name: &'static str) -> Hook {
    Hook { name, decides: true }
}

const fn observes(name: &'static str) -> Hook {
    Hook { name, decides: false }
}

/// Every hook that is waited for. [`everything`] makes all of them happen.
const HOOKS: &[Hook] = &[
    observes("session_start"),
    decides("resources_discover"),
    observes("session_info_changed"),
    observes("model_select"),
    observes("thinking_level_select"),
    decides("input"),
    decides("before_agent_start"),
    observes("agent_start"),
    observes("turn_start"),
    observes("message_start"),
    decides("message_end"),
    decides("context"),
    decides("context_with_system"),
    decides("before_provider_headers"),
    decides("before_provider_request"),
    observes("after_provider_response"),
    observes("tool_execution_start"),
    decides("tool_call"),
    decides("tool_result"),
    observes("tool_execution_end"),
    decides("turn_end"),
    observes("agent_end"),
    decides("agent_before_settle"),
    observes("agent_settled"),
    decides("user_bash"),
    decides("session_before_tree"),
    observes("session_tree"),
    decides("session_before_compact"),
    observes("session_compact"),
    decides("session_before_fork"),
    decides("session_before_switch"),
    observes("session_shutdown"),
];

/// A time limit that no test reaches.
const PATIENT: u32 = 60_000;

/// A workspace in which everything can happen.
fn workspace(hook_timeout: u32) -> (ModelServer, Workspace) {
    let (server, workspace) = Workspace::with_server();
    server.default_reply(Reply::text("an answer of some length, so that there is something to summarise"));
    let settings = json!({
        "compaction": { "keepRecentTokens": 1 },
        "retry": { "enabled": false },
        "extensionHookTimeoutMs": hook_timeout,
    });
    (server, workspace.settings(settings).file("a.txt", "a"))
}

/// Does everything that hooks are for.
#[track_caller]
fn everything(server: &ModelServer, agent: &mut Agent) {
    agent.carry_out(json!({ "type": "get_commands" }));
    agent.carry_out(json!({ "type": "set_session_name", "name": "n" }));
    agent.carry_out(json!({ "type": "set_model", "provider": "mock", "modelId": "m2" }));
    agent.carry_out(json!({ "type": "set_thinking_level", "level": "high" }));
    // The first call may be blocked.
    let reply = Reply::text("").tool("bash", json!({ "command": "true" }));
    server.reply(reply.tool("read", json!({ "path": "a.txt" })));
    run(agent, "one");
    run(agent, "two");
    // It fails with a hook that fails.
    agent.send(json!({ "id": "bash", "type": "bash", "command": "true" }));
    agent.response("bash");
    let entries = agent.carry_out(json!({ "type": "get_entries" }));
    let is_user = |entry: &&Value| entry["message"]["role"] == "user";
    let users: Vec<_> = entries["entries"].as_array().unwrap().iter().filter(is_user).collect();
    let (first, last) = (users[0]["id"].clone(), users[1]["id"].clone());
    agent.carry_out(json!({ "type": "navigate_tree", "entryId": last }));
    run(agent, "three");
    agent.carry_out(json!({ "type": "compact" }));
    agent.carry_out(json!({ "type": "fork", "entryId": first }));
    agent.carry_out(json!({ "type": "new_session" }));
}

/// Registers all hooks. A guard is only asked about the first tool, so that the other one runs.
fn registration() -> Value {
    let hooks: Vec<_> = HOOKS
        .iter()
        .map(|hook| match hook.name {
            "tool_call" => json!({ "event": "tool_call", "filter": { "toolName": ["bash"] } }),
            name => json!({ "event": name }),
        })
        .collect();
    json!({ "hooks": hooks })
}

/// Returns the same actions for every hook.
fn always(action: &Value) -> Value {
    let keys = HOOKS.iter().map(|hook| (format!("hook:{}", hook.name), json!([action])));
    Value::Object(keys.collect::<Map<_, _>>())
}

/// Returns for each hook the errors that it caused, each once.
fn errors_of(agent: &Agent, hook: &str) -> Vec<String> {
    let start = format!("{hook}: ");
    let mut errors = errors(agent.transcript());
    errors.retain(|error| error.starts_with(&start));
    errors.dedup();
    errors.into_iter().map(|error| error[start.len()..].to_owned()).collect()
}

#[track_caller]
fn finish(mut agent: Agent) -> Agent {
    agent.close_stdin();
    assert_eq!(agent.wait(), 0);
    agent.assert_no_survivors();
    agent
}

#[test]
fn extension_without_results_is_called_for_every_hook_and_changes_nothing() {
    let (server, workspace) = workspace(PATIENT);
    let actor = Actor::new(&workspace, "a", registration(), json!({}));
    let mut agent = start(&workspace);
    everything(&server, &mut agent);
    let agent = finish(agent);
    assert_eq!(errors(agent.transcript()), [""; 0]);
    let received = actor.received();
    for hook in HOOKS {
        let happened = received.iter().any(|record| record["event"]["type"] == hook.name);
        assert!(happened, "{} did not happen", hook.name);
    }
    assert!(of_type(agent.transcript(), "tool_execution_end").iter().all(|end| end["isError"] == false));
}

#[test]
fn results_of_the_wrong_type_are_errors_where_results_count() {
    let (server, workspace) = workspace(PATIENT);
    // Nothing that a hook may return has this form.
    let wrong = json!({ "result": {
        "cancel": "x", "compaction": 1, "summary": 1, "action": 7, "message": 1, "entries": 7, "messages": 7,
        "headers": 7, "block": "x", "content": 7, "result": 7, "skillPaths": 7,
    } });
    Actor::new(&workspace, "a", registration(), always(&wrong));
    let mut agent = start(&workspace);
    everything(&server, &mut agent);
    let agent = finish(agent);
    for hook in HOOKS {
        let errors = errors_of(&agent, hook.name);
        let is_wrong = |error: &String| error.starts_with(&format!("invalid result of {}: ", hook.name));
        match hook.name {
            // Any object is sent instead; and the tool's result says why it was blocked.
            "before_provider_request" | "tool_call" => assert_eq!(errors, [""; 0], "{}", hook.name),
            _ if hook.decides => {
                assert!(!errors.is_empty() && errors.iter().all(is_wrong), "{}: {errors:?}", hook.name);
            }
            _ => assert_eq!(errors, [""; 0], "{}", hook.name),
        }
    }
    check_blocked(&agent, "invalid result of tool_call: ");
}

#[test]
fn hook_that_fails_is_reported_and_tool_call_blocks() {
    let (server, workspace) = workspace(PATIENT);
    Actor::new(&workspace, "a", registration(), always(&json!({ "error": "it broke" })));
    let mut agent = start(&workspace);
    everything(&server, &mut agent);
    let agent = finish(agent);
    for hook in HOOKS {
        let expected: &[&str] = match hook.name {
            // The session is over when it fails, and clients are told by the tool's result.
            "tool_call" => &[],
            _ => &["it broke"],
        };
        assert_eq!(errors_of(&agent, hook.name), expected, "{}", hook.name);
    }
    check_blocked(&agent, "it broke");
}

#[test]
fn failing_user_bash_hook_fails_the_command() {
    let (_server, workspace) = Workspace::with_server();
    let on = json!({ "hook:user_bash": [{ "error": "no connection" }] });
    Actor::new(&workspace, "a", hooks(&["user_bash"]), on);
    let mut agent = start(&workspace);
    agent.send(json!({ "id": "1", "type": "bash", "command": "touch made" }));
    let response = agent.response("1");
    assert_eq!((&response["success"], &response["error"]), (&json!(false), &json!("no connection")));
    assert!(!workspace.work().join("made").exists(), "what was to run elsewhere runs nowhere else");
}

#[test]
fn hook_that_takes_too_long_is_reported_and_tool_call_blocks() {
    let (server, workspace) = workspace(150);
    let actor = Actor::new(&workspace, "a", registration(), always(&json!({ "sleep": 0 })));
    let mut agent = start(&workspace);
    everything(&server, &mut agent);
    let agent = finish(agent);
    for hook in HOOKS {
        let expected: &[&str] = match hook.name {
            "tool_call" => &[],
            _ => &["Extension hook timed out after 0.15 s"],
        };
        assert_eq!(errors_of(&agent, hook.name), expected, "{}", hook.name);
    }
    check_blocked(&agent, "Extension hook timed out after 0.15 s");
    let received = actor.received();
    let hooks = received.iter().filter(|record| record["type"] == "hook").count();
    let cancels = received.iter().filter(|record| record["reason"] == "timeout").count();
    assert!(cancels >= hooks - 1, "{cancels} of {hooks}");
}

/// Checks that the guarded tool did not run, for this reason, and the other one did.
#[track_caller]
fn check_blocked(agent: &Agent, reason: &str) {
    let ends = of_type(agent.transcript(), "tool_execution_end");
    let of = |tool: &str| ends.iter().find(|end| end["toolName"] == tool).copied().unwrap();
    let text = of("bash")["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with(reason) && of("bash")["isError"] == true, "{}", of("bash"));
    assert_eq!(of("read")["isError"], false, "{}", of("read"));
}

#[test]
fn extension_that_crashes_in_a_hook_is_reported_and_the_session_goes_on() {
    for part in HOOKS.chunks(4) {
        std::thread::scope(|scope| {
            for hook in part {
                scope.spawn(|| check_crash(hook));
            }
        });
    }
}

#[track_caller]
fn check_crash(hook: &Hook) {
    let name = hook.name;
    let (server, workspace) = workspace(PATIENT);
    let mut on = json!({});
    on[format!("hook:{name}")] = json!([{ "unless": "crashed", "exit": 7 }, { "result": null }]);
    let registration = json!({ "hooks": [{ "event": name }] });
    Actor::new(&workspace, "a", registration, on);
    let mut agent = start(&workspace);
    agent.set_timeout(std::time::Duration::from_secs(60));
    everything(&server, &mut agent);
    let agent = finish(agent);
    let errors = errors(agent.transcript());
    match name {
        // Nobody is told of what happens at the very end.
        "session_shutdown" => {}
        "tool_call" => {
            let end = of_type(agent.transcript(), "tool_execution_end")[0];
            assert_eq!(end["result"]["content"][0]["text"], "Extension \"a\" exited");
        }
        _ => assert!(errors.contains(&format!("{name}: Extension \"a\" exited")), "{name}: {errors:?}"),
    }
    if name != "session_shutdown" {
        assert!(errors.contains(&"process: exited with code 7".to_owned()), "{name}: {errors:?}");
    }
}
