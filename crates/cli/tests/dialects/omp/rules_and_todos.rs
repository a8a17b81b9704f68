//! Stream rules and the todo list, which this dialect has switched on.

use bowline_testkit::{Agent, Api, Launch, ModelServer, Reply, Workspace, of_type, types};
use serde_json::{Value, json};

use super::{conversation, run};

const RULE: &str = "---\ncondition: '\\.unwrap\\(\\)'\n---\nReturn errors with `?`.\n";

fn with_rule(server: &ModelServer) -> Workspace {
    Workspace::new(server, Api::AnthropicMessages).file(".omp/rules/no-unwrap.md", RULE)
}

/// Returns the types without updates.
fn course(records: &[Value]) -> Vec<&str> {
    types(records).into_iter().filter(|kind| *kind != "message_update").collect()
}

/// Returns what the model saw as the last message of its last request.
fn last_message(server: &ModelServer) -> String {
    let requests = server.requests();
    requests.last().unwrap().body["messages"].as_array().unwrap().last().unwrap().to_string()
}

#[test]
fn broken_stream_rule_is_reported_and_the_turn_is_retried_with_it() {
    let server = ModelServer::start();
    server.reply(Reply::text("I call parse().un").then_text("wrap() and").then_text(" never this"));
    server.reply(Reply::text("I return the error."));
    let workspace = with_rule(&server);
    let mut agent = workspace.start_in("omp");
    let records = run(&mut agent, "go");
    assert_eq!(
        course(&records),
        [
            "agent_start",
            "turn_start",
            "message_start",
            "message_end",
            "message_start",
            "ttsr_triggered",
            "message_end",
            "turn_end",
            "agent_start",
            "turn_start",
            "message_start",
            "message_end",
            "turn_end",
            "agent_end"
        ]
    );
    let path = workspace.work().join(".omp/rules/no-unwrap.md").display().to_string();
    let rule = json!({
        "name": "no-unwrap", "path": path, "content": "Return errors with `?`.", "condition": [r"\.unwrap\(\)"],
        "_source": { "provider": "native", "providerName": "OMP", "path": path, "level": "project" },
    });
    assert_eq!(of_type(&records, "ttsr_triggered"), [&json!({ "type": "ttsr_triggered", "rules": [rule] })]);
    let interrupted = &of_type(&records, "turn_end")[0]["message"];
    assert_eq!(interrupted["stopReason"], "aborted");
    assert_eq!(interrupted["errorMessage"], "TTSR matched rule: no-unwrap");
    assert_eq!(
        conversation(&records),
        ["go", "<assistant>", "<assistant>"],
        "the rule itself is not announced"
    );
    let end = records.last().unwrap();
    assert_eq!((end["messages"].as_array().unwrap().len(), &end["isTerminal"]), (1, &json!(true)));
    let seen = last_message(&server);
    assert!(seen.contains("system-interrupt") && seen.contains("Return errors with `?`."), "{seen}");
    assert!(!server.requests()[1].body.to_string().contains("parse().unwrap()"), "the answer is forgotten");
}

#[test]
fn rule_that_stepped_in_is_remembered_by_the_next_process() {
    let server = ModelServer::start();
    server.reply(Reply::text("x.unwrap() "));
    server.default_reply(Reply::text("y.unwrap() again"));
    let workspace = with_rule(&server);
    let mut agent = workspace.start_in("omp");
    assert_eq!(of_type(&run(&mut agent, "go"), "ttsr_triggered").len(), 1);
    agent.close_stdin();
    assert_eq!(agent.wait(), 0);
    let mut agent = Launch::rpc(&workspace).dialect("omp").arguments(&["--continue"]).start_greeted();
    assert_eq!(of_type(&run(&mut agent, "go on"), "ttsr_triggered").len(), 0);
    agent.carry_out(json!({ "type": "new_session" }));
    assert_eq!(of_type(&run(&mut agent, "go"), "ttsr_triggered").len(), 1, "another session");
}

#[test]
fn settings_and_flags_govern_stream_rules() {
    let trigger = |settings: Value, arguments: &[&str]| {
        let server = ModelServer::start();
        server.reply(Reply::text("x.unwrap() "));
        let workspace = with_rule(&server).settings(json!({ "ttsr": settings }));
        let mut agent = Launch::rpc(&workspace).dialect("omp").arguments(arguments).start_greeted();
        let records = run(&mut agent, "go");
        (of_type(&records, "ttsr_triggered").len(), server.requests().len())
    };
    assert_eq!(trigger(json!({}), &[]), (1, 2));
    assert_eq!(trigger(json!({}), &["--no-rules"]), (0, 1));
    assert_eq!(trigger(json!({ "enabled": false }), &[]), (0, 1));
    assert_eq!(trigger(json!({ "disabledRules": ["no-unwrap"] }), &[]), (0, 1));
    assert_eq!(trigger(json!({ "interruptMode": "tool-only" }), &[]), (0, 2), "told afterwards");
    assert_eq!(trigger(json!({ "interruptMode": "never" }), &[]), (0, 2));
    assert_eq!(
        trigger(json!({ "contextMode": "keep", "repeatMode": "after-gap", "repeatGap": 1 }), &[]),
        (1, 2)
    );
}

#[test]
fn rules_that_cannot_be_used_are_named_on_stderr() {
    let server = ModelServer::start();
    let workspace = Workspace::new(&server, Api::AnthropicMessages)
        .file(".omp/rules/bad.md", "---\ncondition: '('\n---\n")
        .file(".cursor/rules/ast.mdc", "---\nastCondition: foo($A)\n---\n")
        .home_file(".bowline/rules/mine.md", RULE);
    server.reply(Reply::text("x.unwrap() "));
    let mut agent = workspace.start_in("omp");
    let records = run(&mut agent, "go");
    assert_eq!(of_type(&records, "ttsr_triggered")[0]["rules"][0]["_source"]["level"], "user");
    let said = agent.stderr();
    assert!(said.contains("bad.md: the condition `(` is ignored: unclosed group"), "{said}");
    assert!(said.contains("ast.mdc: astCondition is not supported"), "{said}");
}

#[test]
fn edit_that_breaks_a_rule_does_not_change_the_file() {
    let server = ModelServer::start();
    let write = |content: &str| Reply::new().tool("write", json!({ "path": "a.rs", "content": content }));
    server.reply(write("let x = \"\\n\";\ny.unwrap()"));
    server.reply(write("y?"));
    let workspace = with_rule(&server);
    let mut agent = workspace.start_in("omp");
    let records = run(&mut agent, "go");
    assert_eq!(of_type(&records, "tool_execution_start").len(), 1);
    assert_eq!(std::fs::read_to_string(workspace.work().join("a.rs")).unwrap(), "y?");
}

/// Starts an agent whose model makes a list of two tasks and then stops.
fn with_tasks(server: &ModelServer, workspace: &Workspace) -> (Agent, Vec<Value>) {
    server.reply(Reply::new().tool("todo", json!({ "op": "init", "items": ["one", "two"] })));
    server.reply(Reply::text("I stop here."));
    server.reply(Reply::text("I still stop."));
    let mut agent = workspace.start_in("omp");
    let records = run(&mut agent, "go");
    (agent, records)
}

#[test]
fn model_that_stops_with_tasks_left_is_reminded() {
    let server = ModelServer::start();
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let (_agent, records) = with_tasks(&server, &workspace);
    let expected = json!({ "type": "todo_reminder", "attempt": 1, "maxAttempts": 3, "todos": [
        { "content": "one", "status": "in_progress" }, { "content": "two", "status": "pending" }] });
    assert_eq!(of_type(&records, "todo_reminder"), [&expected], "only talk follows the first reminder");
    let reported = course(&records);
    let place = reported.iter().position(|kind| *kind == "todo_reminder").unwrap();
    assert_eq!(reported[place - 1..place + 3], ["turn_end", "todo_reminder", "agent_start", "turn_start"]);
    assert_eq!(of_type(&records, "agent_end").len(), 1);
    assert_eq!(conversation(&records), ["go", "<assistant>", "<toolResult>", "<assistant>", "<assistant>"]);
    assert!(last_message(&server).contains("<system-reminder>"));
}

#[test]
fn reminders_follow_the_settings() {
    for (settings, expected) in [
        (json!({ "reminders": false }), 0),
        (json!({ "remindersMax": 0 }), 0),
        (json!({ "remindersMax": 5 }), 1),
    ] {
        let server = ModelServer::start();
        let workspace = Workspace::new(&server, Api::AnthropicMessages).settings(json!({ "todo": settings }));
        let (_agent, records) = with_tasks(&server, &workspace);
        assert_eq!(of_type(&records, "todo_reminder").len(), expected, "{settings}");
    }
    let server = ModelServer::start();
    let workspace =
        Workspace::new(&server, Api::AnthropicMessages).settings(json!({ "todo": { "enabled": false } }));
    let mut agent = workspace.start_in("omp");
    run(&mut agent, "go");
    assert!(!server.requests()[0].body["tools"].to_string().contains("\"todo\""));
}

#[test]
fn todo_list_is_in_the_state_and_in_the_session() {
    let server = ModelServer::start();
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let (mut agent, _) = with_tasks(&server, &workspace);
    let phases = json!([{ "name": "Tasks", "tasks": [
        { "content": "one", "status": "in_progress" }, { "content": "two", "status": "pending" }] }]);
    assert_eq!(agent.get("get_state")["todoPhases"], phases);
    agent.close_stdin();
    agent.wait();
    let mut agent = Launch::rpc(&workspace).dialect("omp").arguments(&["--continue"]).start_greeted();
    assert_eq!(agent.get("get_state")["todoPhases"], phases);
    agent.carry_out(json!({ "type": "new_session" }));
    assert_eq!(agent.get("get_state")["todoPhases"], json!([]));
}

#[test]
fn client_sets_the_todo_list() {
    let server = ModelServer::start();
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = workspace.start_in("omp");
    let task = json!({ "id": "x", "content": "one", "status": "blocked", "blocker": "no key", "notes": [] });
    let answered = agent
        .carry_out(json!({ "type": "set_todos", "phases": [{ "id": 1, "name": "A", "tasks": [task] }] }));
    let phases =
        json!([{ "name": "A", "tasks": [{ "content": "one", "status": "blocked", "blocker": "no key" }] }]);
    assert_eq!(answered, json!({ "todoPhases": phases }), "what is not part of a list is dropped");
    assert_eq!(agent.get("get_state")["todoPhases"], phases);
    for (wrong, reason) in [
        (json!("x"), "\"phases\" must be a list of phases"),
        (json!([{ "tasks": [] }]), "\"phases\" [0].name must be a string that is not empty"),
        (json!([{ "name": "A" }]), "\"phases\" [0].tasks must be a list of tasks"),
        (json!([{ "name": "A", "tasks": [{ "status": "pending" }] }]), "[0].tasks[0].content must be"),
        (
            json!([{ "name": "A", "tasks": [{ "content": "x", "status": "odd" }] }]),
            "[0].tasks[0].status must be one of pending, in_progress, completed, abandoned, blocked",
        ),
        (json!([{ "name": "A", "tasks": [] }, { "name": "A", "tasks": [] }]), "Duplicate phase \"A\""),
    ] {
        let error = agent.refuse(json!({ "type": "set_todos", "phases": wrong }));
        assert!(error.contains(reason), "{error}");
    }
    assert_eq!(agent.get("get_state")["todoPhases"], phases);
    run(&mut agent, "go");
    assert_eq!(workspace.session_files().len(), 1);
    agent.close_stdin();
    agent.wait();
    let mut agent = Launch::rpc(&workspace).dialect("omp").arguments(&["--continue"]).start_greeted();
    assert_eq!(agent.get("get_state")["todoPhases"], phases);
}

#[test]
fn pi_has_both_if_the_settings_say_so() {
    let replies = || {
        [
            Reply::text("x.unwrap() "),
            Reply::new().tool("todo", json!({ "op": "init", "items": ["one"] })),
            Reply::text("I stop."),
            Reply::text("I still stop."),
        ]
    };
    let server = ModelServer::start();
    replies().into_iter().for_each(|reply| server.reply(reply));
    let workspace =
        with_rule(&server).settings(json!({ "ttsr": { "enabled": true }, "todo": { "enabled": true } }));
    let mut agent = workspace.start();
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    let records = agent.collect_until_settled();
    bowline_testkit::assert_well_formed(&records);
    assert_eq!(of_type(&records, "ttsr_triggered").len(), 1);
    assert_eq!(of_type(&records, "todo_reminder").len(), 1);
    let ends: Vec<_> = of_type(&records, "agent_end").iter().map(|end| end["willRetry"].clone()).collect();
    assert_eq!(ends, [true, true, false]);

    let server = ModelServer::start();
    replies().into_iter().for_each(|reply| server.reply(reply));
    let workspace = with_rule(&server);
    let mut agent = workspace.start();
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    let records = agent.collect_until_settled();
    assert_eq!((of_type(&records, "ttsr_triggered").len(), server.requests().len()), (0, 1));
    assert!(!server.requests()[0].body["tools"].to_string().contains("\"todo\""));
}

#[test]
fn dialects_without_these_records_see_another_attempt() {
    for dialect in ["pi-classic", "opi", "operator-flat"] {
        let server = ModelServer::start();
        server.reply(Reply::text("x.unwrap() "));
        server.reply(Reply::text("good"));
        let workspace = with_rule(&server).settings(json!({ "ttsr": { "enabled": true } }));
        let mut agent = workspace.start_in(dialect);
        agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
        let records = agent.until(|record| record.to_string().contains("good"));
        assert!(records.iter().all(|record| !record.to_string().contains("ttsr_triggered")), "{dialect}");
        assert_eq!(server.requests().len(), 2, "{dialect}");
    }
}
