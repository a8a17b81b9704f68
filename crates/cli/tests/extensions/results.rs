//! Every result that a hook can have, and what it does.

use bowline_testkit::{Agent, ModelServer, Reply, Workspace, of_type};
use serde_json::{Value, json};

use crate::actor::{Actor, errors, run, start};

/// A world with an extension that returns a result in a hook.
struct World {
    server: ModelServer,
    workspace: Workspace,
    agent: Agent,
}

impl World {
    #[track_caller]
    fn new(hook: &str, result: Value) -> Self {
        Self::with_several(hook, &[result])
    }

    /// Returns a world with several extensions, which are called in this order.
    #[track_caller]
    fn with_several(hook: &str, results: &[Value]) -> Self {
        let (server, workspace) = Workspace::with_server();
        let settings = json!({ "compaction": { "keepRecentTokens": 1 } });
        let workspace = workspace.settings(settings).file("a.txt", "content of a");
        for (index, result) in results.iter().enumerate() {
            let mut on = json!({});
            on[format!("hook:{hook}")] = json!([{ "result": result }]);
            Actor::new(&workspace, &index.to_string(), json!({ "hooks": [{ "event": hook }] }), on);
        }
        let agent = start(&workspace);
        Self { server, workspace, agent }
    }

    #[track_caller]
    fn run(&mut self, text: &str) -> Vec<Value> {
        let records = run(&mut self.agent, text);
        assert_eq!(errors(self.agent.transcript()), [""; 0]);
        records
    }

    /// Runs a prompt with a call of `read` and returns the result of the call.
    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.server.reply(Reply::text("").tool(tool, arguments));
        let records = self.run("go");
        of_type(&records, "tool_execution_end")[0].clone()
    }

    /// Returns a request to the model as text.
    fn sent(&self, index: usize) -> String {
        self.server.requests()[index].body.to_string()
    }

    #[track_caller]
    fn carry_out(&mut self, command: Value) -> Value {
        self.agent.carry_out(command)
    }
}

#[test]
fn input_is_transformed_in_a_chain_and_handled_by_the_first_that_does() {
    let transform = |text: &str| json!({ "action": "transform", "text": text });
    let mut world = World::with_several("input", &[transform("first"), transform("second")]);
    world.run("hi");
    assert!(world.sent(0).contains("second") && !world.sent(0).contains("first"));

    let results = [json!({ "action": "handled" }), transform("never")];
    let mut world = World::with_several("input", &results);
    let answer = world.carry_out(json!({ "type": "prompt", "message": "hi" }));
    assert_eq!(answer["disposition"], "handled");
    assert!(world.server.requests().is_empty());

    let mut world = World::new("input", json!({ "action": "continue" }));
    world.run("hi");
    assert!(world.sent(0).contains("hi"));
}

#[test]
fn prompt_gets_a_message_and_other_instructions() {
    let message = json!({ "customType": "note", "content": "mind the gap", "display": false });
    let mut world =
        World::new("before_agent_start", json!({ "message": message, "systemPrompt": "Be a poet." }));
    world.run("hi");
    assert!(world.sent(0).contains("mind the gap"));
    assert_eq!(world.server.requests()[0].body["system"].to_string().matches("Be a poet.").count(), 1);

    let options = json!({
        "sections": { "style": "in verse" },
        "promptGuidelines": ["Rhyme."],
        "appendSystemPrompt": "The end.",
        "selectedTools": ["read"],
    });
    let mut world = World::new("before_agent_start", json!({ "systemPromptOptions": options }));
    world.run("hi");
    let system = world.server.requests()[0].body["system"].to_string();
    for part in ["in verse", "Rhyme.", "The end."] {
        assert!(system.contains(part), "{part}: {system}");
    }
    assert_eq!(world.server.requests()[0].body["tools"].as_array().unwrap().len(), 1);
}

#[test]
fn end_of_a_turn_adds_entries_and_continues() {
    for hook in ["turn_end", "agent_before_settle"] {
        let (server, workspace) = Workspace::with_server();
        let entries = json!([
            { "type": "custom", "customType": "mark", "data": { "n": 1 } },
            { "type": "custom_message", "customType": "note", "content": "go on", "display": true },
        ]);
        let mut on = json!({});
        on[format!("hook:{hook}")] = json!([{ "unless": "once", "result": { "entries": entries, "continue": true } }, { "result": null }]);
        Actor::new(&workspace, "a", json!({ "hooks": [{ "event": hook }] }), on);
        let mut agent = start(&workspace);
        run(&mut agent, "hi");
        assert_eq!(server.requests().len(), 2, "{hook}");
        assert!(server.requests()[1].body.to_string().contains("go on"), "{hook}");
        let entries = agent.carry_out(json!({ "type": "get_entries" }));
        assert!(entries.to_string().contains("\"mark\""), "{hook}");
    }
}

#[test]
fn message_is_replaced_by_one_of_the_same_role() {
    let (server, workspace) = Workspace::with_server();
    let on = json!({ "hook:message_end": [
        { "unless": "once", "result": { "message": { "role": "user", "content": "changed", "timestamp": 1 } } },
        { "result": { "message": { "role": "user", "content": "wrong", "timestamp": 1 } } },
    ] });
    Actor::new(&workspace, "a", json!({ "hooks": [{ "event": "message_end" }] }), on);
    let mut agent = start(&workspace);
    let records = run(&mut agent, "hi");
    assert!(server.requests()[0].body.to_string().contains("changed"));
    let ends = of_type(&records, "message_end");
    assert_eq!(ends[0]["message"]["content"][0]["text"], "changed");
    assert_eq!(ends[1]["message"]["role"], "assistant");
    let expected = "message_end: message_end handlers must return a message with the same role";
    assert_eq!(errors(agent.transcript()), [expected]);
}

#[test]
fn conversation_is_replaced_or_patched_for_one_request() {
    let message = |text: &str| json!({ "role": "user", "content": text, "timestamp": 1 });
    for hook in ["context", "context_with_system"] {
        let mut world = World::new(hook, json!({ "messages": [message("another question")] }));
        world.run("hi");
        assert!(world.sent(0).contains("another question") && !world.sent(0).contains("\"hi\""), "{hook}");
        let stored = world.carry_out(json!({ "type": "get_messages" }));
        assert!(!stored.to_string().contains("another question"), "{hook}");

        let patch = json!([
            { "op": "insert", "index": 0, "message": message("inserted") },
            { "op": "replace", "index": 1, "message": message("replaced") },
            { "op": "insert", "index": 2, "message": message("gone") },
            { "op": "remove", "index": 2 },
        ]);
        let mut world = World::new(hook, json!({ "patch": patch }));
        world.run("hi");
        let sent = world.sent(0);
        assert!(sent.contains("inserted") && sent.contains("replaced") && !sent.contains("gone"), "{sent}");
    }
}

#[test]
fn requests_are_changed_as_they_are_sent() {
    let mut world =
        World::new("before_provider_headers", json!({ "headers": { "x-mine": "1", "x-other": null } }));
    world.run("hi");
    assert_eq!(world.server.requests()[0].header("x-mine"), Some("1"));

    let (server, workspace) = Workspace::with_server();
    let payload = json!({
        "model": "m1", "max_tokens": 5, "stream": true, "messages": [{ "role": "user", "content": "mine" }],
    });
    let on = json!({ "hook:before_provider_request": [{ "result": payload }] });
    Actor::new(&workspace, "a", json!({ "hooks": [{ "event": "before_provider_request" }] }), on);
    let mut agent = start(&workspace);
    run(&mut agent, "hi");
    assert_eq!(server.requests()[0].body, payload);
}

#[test]
fn request_that_is_no_object_is_not_sent() {
    let (server, workspace) = Workspace::with_server();
    let on = json!({ "hook:before_provider_request": [{ "result": [1, 2] }] });
    Actor::new(&workspace, "a", json!({ "hooks": [{ "event": "before_provider_request" }] }), on);
    let mut agent = start(&workspace);
    let reported = errors(&run(&mut agent, "hi"));
    assert!(reported[0].starts_with("before_provider_request: invalid result"), "{reported:?}");
    assert!(server.requests()[0].body.is_object());
}

#[test]
fn tool_call_is_blocked_or_gets_other_arguments() {
    let mut world = World::new("tool_call", json!({ "block": true, "reason": "not that file" }));
    let end = world.call("read", json!({ "path": "a.txt" }));
    assert_eq!(
        (end["isError"].as_bool(), end["result"]["content"][0]["text"].as_str()),
        (Some(true), Some("not that file"))
    );

    let mut world = World::new("tool_call", json!({ "block": true }));
    let end = world.call("read", json!({ "path": "a.txt" }));
    assert_eq!(end["result"]["content"][0]["text"], "Tool execution was blocked");

    let mut world = World::new("tool_call", json!({ "input": { "path": "a.txt" } }));
    let end = world.call("read", json!({ "path": "other.txt" }));
    assert!(end["result"]["content"][0]["text"].as_str().unwrap().contains("content of a"), "{end}");

    let mut world = World::new("tool_call", json!({ "block": true, "terminate": true }));
    world.call("read", json!({ "path": "a.txt" }));
    assert_eq!(world.server.requests().len(), 1);
}

#[test]
fn result_of_a_tool_is_changed_in_a_chain() {
    let results = [
        json!({ "content": [{ "type": "text", "text": "changed" }], "details": { "n": 1 } }),
        json!({ "isError": true }),
    ];
    let mut world = World::with_several("tool_result", &results);
    let end = world.call("read", json!({ "path": "a.txt" }));
    assert_eq!(
        end["result"],
        json!({ "content": [{ "type": "text", "text": "changed" }], "details": { "n": 1 } })
    );
    assert_eq!(end["isError"], true);
}

#[test]
fn shell_command_is_answered_instead_of_run() {
    let result = json!({ "result": { "output": "mine", "exitCode": 4 } });
    let mut world = World::new("user_bash", result);
    let answer = world.carry_out(json!({ "type": "bash", "command": "touch ran" }));
    assert_eq!((answer["output"].as_str(), answer["exitCode"].as_i64()), (Some("mine"), Some(4)));
    assert!(!world.workspace.work().join("ran").exists());
}

#[test]
fn changes_of_session_are_cancelled() {
    let cancel = || json!({ "cancel": true });
    let mut world = World::new("session_before_switch", cancel());
    let before = world.carry_out(json!({ "type": "get_state" }));
    assert_eq!(world.carry_out(json!({ "type": "new_session" }))["cancelled"], true);
    assert_eq!(world.carry_out(json!({ "type": "get_state" }))["sessionId"], before["sessionId"]);

    let mut world = World::new("session_before_fork", cancel());
    world.run("hi");
    let entries = world.carry_out(json!({ "type": "get_entries" }));
    let entries = entries["entries"].as_array().unwrap().clone();
    let user = entries.iter().find(|entry| entry["message"]["role"] == "user").unwrap();
    assert_eq!(world.carry_out(json!({ "type": "fork", "entryId": user["id"] }))["cancelled"], true);

    let mut world = World::new("session_before_tree", cancel());
    world.run("hi");
    world.run("again");
    let entries = world.carry_out(json!({ "type": "get_entries" }));
    let entries = entries["entries"].as_array().unwrap().clone();
    let user = entries.iter().find(|entry| entry["message"]["role"] == "user").unwrap();
    let answer = world.carry_out(json!({ "type": "navigate_tree", "entryId": user["id"] }));
    assert_eq!(answer["cancelled"], true, "{answer}");
}

#[test]
fn compaction_is_cancelled_or_summarised_by_the_extension() {
    let mut world = World::new("session_before_compact", json!({ "cancel": true }));
    world.run("hi");
    world.run("again");
    world.agent.send(json!({ "type": "compact", "id": "c" }));
    let response = world.agent.response("c");
    assert_eq!(
        (response["success"].as_bool(), response["error"].as_str()),
        (Some(false), Some("Compaction cancelled"))
    );

    let compaction = json!({ "summary": "what was said", "details": { "by": "me" } });
    let mut world = World::new("session_before_compact", json!({ "compaction": compaction }));
    world.run("hi");
    world.run("again");
    let answer = world.carry_out(json!({ "type": "compact" }));
    assert_eq!(answer["summary"], "what was said");
    assert_eq!(world.server.requests().len(), 2, "no model is asked for the summary");
}

#[test]
fn branch_is_summarised_and_labelled_by_the_extension() {
    let result = json!({ "summary": { "summary": "the road not taken" }, "label": "here" });
    let mut world = World::new("session_before_tree", result);
    world.run("hi");
    world.run("again");
    let entries = world.carry_out(json!({ "type": "get_entries" }));
    let entries = entries["entries"].as_array().unwrap().clone();
    let user = entries.iter().find(|entry| entry["message"]["role"] == "user").unwrap();
    world.carry_out(json!({ "type": "navigate_tree", "entryId": user["id"], "summarize": true }));
    let entries = world.carry_out(json!({ "type": "get_entries" })).to_string();
    assert!(entries.contains("the road not taken") && entries.contains("\"here\""), "{entries}");
    assert_eq!(world.server.requests().len(), 2, "no model is asked for the summary");
}

#[test]
fn skills_and_templates_of_extensions_are_found() {
    let (_server, workspace) = Workspace::with_server();
    let workspace = workspace
        .file("more/t.md", "Do $1.")
        .file("skills/s/SKILL.md", "---\nname: s\ndescription: d\n---\nx");
    let result = json!({ "promptPaths": ["more"], "skillPaths": ["skills"] });
    let on = json!({ "hook:resources_discover": [{ "result": result }] });
    Actor::new(&workspace, "a", json!({ "hooks": [{ "event": "resources_discover" }] }), on);
    let mut agent = start(&workspace);
    let commands = agent.carry_out(json!({ "type": "get_commands" }));
    let names: Vec<_> =
        commands["commands"].as_array().unwrap().iter().map(|command| command["name"].clone()).collect();
    assert_eq!(names, ["t", "skill:s"]);
}
