//! Command hooks and extension processes in one session: command hooks come first.

use bowline_testkit::{Reply, Workspace, eventually, of_type};
use serde_json::{Value, json};

use crate::actor::{Actor, errors, hooks, run, start};

/// Settings with one command at one event.
fn hook(event: &str, command: &str) -> Value {
    json!({ "hooks": { event: [{ "hooks": [{ "type": "command", "command": command }] }] } })
}

#[test]
fn extensions_see_what_command_hooks_have_changed_and_have_the_last_word() {
    let (server, workspace) = Workspace::with_server();
    let change = r#"printf '{"hookSpecificOutput":{"updatedInput":{"command":"echo from the hook"}}}'"#;
    let mut settings = hook("PreToolUse", change);
    settings["hooks"]["PostToolUse"] =
        hook("PostToolUse", "echo checked >&2; exit 2")["hooks"]["PostToolUse"].take();
    settings["hooks"]["UserPromptSubmit"] =
        hook("UserPromptSubmit", "cat > prompt; echo context of the hook")["hooks"]["UserPromptSubmit"]
            .take();
    let workspace = workspace.settings(settings);
    let on = json!({ "hook:input": [{ "result": { "action": "transform", "text": "from the extension" } }] });
    let actor = Actor::new(&workspace, "a", hooks(&["input", "tool_call", "tool_result"]), on);
    let mut agent = start(&workspace);
    server.reply(Reply::new().tool("bash", json!({ "command": "echo from the model" })));
    server.reply(Reply::text("done"));
    run(&mut agent, "from the user");
    assert_eq!(errors(agent.transcript()), [""; 0]);
    assert_eq!(actor.events("input")[0]["text"], "from the user");
    let prompt = std::fs::read_to_string(workspace.work().join("prompt")).unwrap();
    assert!(prompt.contains("from the user"), "hooks see what the user wrote: {prompt}");
    assert_eq!(actor.events("tool_call")[0]["input"], json!({ "command": "echo from the hook" }));
    let result = actor.events("tool_result")[0]["content"].to_string();
    assert!(result.contains("from the hook") && result.contains("checked"), "{result}");
    let sent = server.requests()[0].body.to_string();
    assert!(sent.contains("from the extension") && sent.contains("context of the hook"), "{sent}");
}

#[test]
fn extensions_are_not_asked_about_what_command_hooks_block() {
    let (server, workspace) = Workspace::with_server();
    let mut settings = hook("PreToolUse", "echo no >&2; exit 2");
    settings["hooks"]["UserPromptSubmit"] =
        hook("UserPromptSubmit", "grep -q forbidden && exit 2; exit 0")["hooks"]["UserPromptSubmit"].take();
    let workspace = workspace.settings(settings);
    let actor = Actor::new(&workspace, "a", hooks(&["input", "tool_call"]), json!({}));
    let mut agent = start(&workspace);
    server.reply(Reply::new().tool("bash", json!({ "command": "touch ran" })));
    server.reply(Reply::text("done"));
    let records = run(&mut agent, "go");
    assert_eq!(of_type(&records, "tool_execution_end")[0]["isError"], true);
    agent.carry_out(json!({ "type": "prompt", "message": "forbidden" }));
    assert_eq!(actor.events("tool_call"), [] as [Value; 0]);
    assert_eq!(actor.events("input").len(), 1);
}

#[test]
fn notifications_of_extensions_reach_command_hooks_and_theirs_reach_extensions() {
    let (server, workspace) = Workspace::with_server();
    let mut settings = hook("Notification", "cat >> seen");
    settings["hooks"]["UserPromptSubmit"] = hook(
        "UserPromptSubmit",
        r#"printf '{"systemMessage":"from the hook"}'"#,
    )["hooks"]["UserPromptSubmit"]
        .take();
    let workspace = workspace.settings(settings);
    let notify =
        json!({ "type": "notify", "method": "ui.notify", "params": { "message": "from the extension" } });
    let on = json!({ "hook:agent_start": [{ "send": notify }, { "result": null }] });
    let actor = Actor::new(&workspace, "a", hooks(&["agent_start", "ui_notify"]), on);
    let mut agent = start(&workspace);
    server.reply(Reply::text("done"));
    run(&mut agent, "go");
    let seen = || std::fs::read_to_string(workspace.work().join("seen")).unwrap_or_default();
    eventually("both notifications were seen", || {
        seen().contains("from the extension") && seen().contains("from the hook")
    });
    actor.wait_for(|record| {
        record["event"]["type"] == "ui_notify" && record["event"]["message"] == "from the hook"
    });
    assert_eq!(errors(agent.transcript()), [""; 0]);
}
