//! Completions of the arguments of commands.

use std::time::{Duration, Instant};

use bowline_testkit::{Launch, Workspace};
use serde_json::{Value, json};

use crate::actor::{Actor, errors, start, wait_for_error};

/// An extension with commands whose completions are given.
fn with_completions(workspace: &Workspace, actions: Value) -> Actor {
    let commands = json!([{ "name": "greet", "hasCompletion": true }, { "name": "plain" }]);
    Actor::new(workspace, "a", json!({ "commands": commands }), json!({ "complete:greet": actions }))
}

fn ask(command: &str, prefix: &str) -> Value {
    json!({ "type": "get_completions", "command": command, "prefix": prefix })
}

#[test]
fn extension_completes_the_arguments_of_its_command() {
    for dialect in ["pi", "omp"] {
        let (_server, workspace) = Workspace::with_server();
        let described = json!({ "value": "alice", "label": "Alice", "description": "a friend" });
        let actor = with_completions(&workspace, json!([{ "result": ["al", described] }]));
        let mut agent = Launch::rpc(&workspace).dialect(dialect).model("mock/m1").start();
        let listed = agent.get(if dialect == "pi" { "get_commands" } else { "get_available_commands" });
        let listed = listed["commands"].as_array().unwrap();
        let has_completion = |name: &str| {
            let command = listed.iter().find(|command| command["name"] == name).unwrap();
            command.get("hasCompletion").cloned()
        };
        assert_eq!(
            (has_completion("greet"), has_completion("plain")),
            (Some(json!(true)), None),
            "{dialect}"
        );

        let data = agent.carry_out(ask("greet", "a l"));
        assert_eq!(data, json!({ "completions": [{ "value": "al" }, described] }), "{dialect}");
        let record = actor.wait_for(|record| record["type"] == "complete");
        assert_eq!((&record["command"], &record["prefix"]), (&json!("greet"), &json!("a l")));
        let without_prefix = agent.carry_out(json!({ "type": "get_completions", "command": "/greet" }));
        assert_eq!(without_prefix, data, "{dialect}");
    }
}

#[test]
fn commands_without_completions_have_an_empty_list() {
    let (_server, workspace) = Workspace::with_server();
    let actor = with_completions(&workspace, json!([{ "result": null }]));
    let mut agent = start(&workspace);
    agent.get("get_commands");
    for name in ["greet", "plain", "unknown"] {
        assert_eq!(agent.carry_out(ask(name, "x")), json!({ "completions": [] }), "{name}");
    }
    let asked = actor.received().into_iter().filter(|record| record["type"] == "complete");
    assert_eq!(asked.count(), 1);
    assert!(errors(agent.transcript()).is_empty());
}

#[test]
fn completions_that_fail_or_take_too_long_cost_an_error_record() {
    for (actions, problem) in [
        (json!([{ "error": "it broke" }]), "complete: it broke"),
        (json!([{ "result": [7] }]), "complete: invalid completions"),
        (json!([]), "complete: Extension hook timed out after 1 s"),
    ] {
        let (_server, workspace) = Workspace::with_server();
        with_completions(&workspace, actions);
        let mut agent = start(&workspace);
        agent.get("get_commands");
        let asked = Instant::now();
        agent.send(json!({ "id": "c", "type": "get_completions", "command": "greet" }));
        agent.get("get_state");
        assert!(asked.elapsed() < Duration::from_millis(900), "other commands do not wait");
        wait_for_error(&mut agent, problem);
        assert_eq!(agent.response("c")["data"], json!({ "completions": [] }), "{problem}");
    }
}
