//! Tools of extensions.

use bowline_testkit::{Agent, Reply, Workspace, assert_well_formed, of_type};
use serde_json::{Value, json};

use crate::actor::{Actor, errors, run, start, start_with, tool};

fn answers(content: Value) -> Value {
    json!({ "tool:say": [{ "result": { "content": content } }] })
}

/// Returns the results of the tool calls in a run.
fn results(records: &[Value]) -> Vec<&Value> {
    of_type(records, "tool_execution_end")
}

#[test]
fn model_calls_a_tool_and_reads_its_text_and_its_image() {
    let (server, workspace) = Workspace::with_server();
    let image = json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" });
    let content = json!([{ "type": "text", "text": "said" }, image]);
    let on = json!({ "tool:say": [
        { "send": { "type": "update", "id": "$id", "partial": { "content": [{ "type": "text", "text": "half" }] } } },
        { "result": { "content": content, "details": { "count": 1 } } },
    ] });
    let actor = Actor::new(&workspace, "a", tool("say"), on);
    server.reply(Reply::text("").tool("say", json!({ "text": 5 })));
    let mut agent = start(&workspace);
    let records = run(&mut agent, "go");
    assert_well_formed(&records);
    let updates = of_type(&records, "tool_execution_update");
    assert_eq!(updates[0]["partialResult"]["content"][0]["text"], "half");
    assert_eq!(results(&records)[0]["result"], json!({ "content": content, "details": { "count": 1 } }));
    let call = actor.wait_for(|record| record["type"] == "tool");
    assert_eq!(
        call["args"],
        json!({ "text": "5" }),
        "arguments are converted as those of the built-in tools"
    );
    assert_eq!(call["toolCallId"], results(&records)[0]["toolCallId"]);
    let requests = server.requests();
    assert!(requests[0].body["system"].to_string().contains("say: does what a test says"));
    assert!(requests[0].body["system"].to_string().contains("Use it in tests."));
    let last = requests[1].body["messages"].to_string();
    assert!(last.contains("said") && last.contains("aGk="), "{last}");
}

#[test]
fn what_a_tool_spends_is_on_its_result_in_the_file_and_in_the_statistics() {
    let (server, workspace) = Workspace::with_server();
    let spent = json!({ "input": 1000, "output": 10, "totalTokens": 1010, "cost": { "total": 0.5 } });
    let on = json!({
        "tool:say": [{ "result": { "content": "said", "usage": spent } }],
        "tool:wrong": [{ "result": { "content": "said", "usage": { "input": "much" } } }],
    });
    let mut registration = tool("say");
    registration["tools"].as_array_mut().unwrap().push(tool("wrong")["tools"][0].clone());
    registration["hooks"] = json!([{ "event": "tool_result" }, { "event": "tool_execution_end" }]);
    let actor = Actor::new(&workspace, "a", registration, on);
    let mut agent = start(&workspace);
    let statistics = |agent: &mut Agent| {
        let statistics = agent.get("get_session_stats");
        let figure = |name: &str| statistics["tokens"][name].as_u64().unwrap();
        (figure("input"), figure("output"), statistics["cost"].as_f64().unwrap())
    };
    run(&mut agent, "without a tool");
    let of_a_turn = statistics(&mut agent);
    server.reply(Reply::text("").tool("say", json!({ "text": "x" })));
    let records = run(&mut agent, "go");

    let usage = &results(&records)[0]["result"]["usage"];
    assert_eq!((&usage["input"], &usage["cost"]["total"]), (&json!(1000), &json!(0.5)));
    let message = of_type(&records, "message_end").into_iter().map(|record| &record["message"]);
    let message = message.into_iter().find(|message| message["role"] == "toolResult").unwrap();
    assert_eq!(&message["usage"], usage);
    assert_eq!(&actor.events("tool_result")[0]["usage"], usage);
    assert_eq!(&actor.events("tool_execution_end")[0]["result"]["usage"], usage);
    let (input, output, cost) = statistics(&mut agent);
    let turns = 3;
    assert_eq!((input, output), (turns * of_a_turn.0 + 1000, turns * of_a_turn.1 + 10));
    assert!((cost - (3.0 * of_a_turn.2 + 0.5)).abs() < 1e-9, "{cost}");

    let file = agent.get("get_state")["sessionFile"].clone();
    let file = std::fs::read_to_string(file.as_str().unwrap()).unwrap();
    assert!(file.lines().any(|line| line.contains(r#""role":"toolResult""#) && line.contains(r#""usage":"#)));

    server.reply(Reply::text("").tool("wrong", json!({ "text": "x" })));
    let records = run(&mut agent, "go");
    let failed = &results(&records)[0];
    assert!(failed["result"].to_string().contains("returned an invalid result"), "{failed}");
}

#[test]
fn invalid_arguments_do_not_reach_the_extension() {
    let (server, workspace) = Workspace::with_server();
    let actor = Actor::new(&workspace, "a", tool("say"), answers(json!("said")));
    server.reply(Reply::text("").tool("say", json!({ "text": ["x"] })).tool("say", json!({})));
    let mut agent = start(&workspace);
    let records = run(&mut agent, "go");
    for (result, problem) in results(&records).iter().zip(["must be a string", "missing"]) {
        assert_eq!(result["isError"], true);
        assert!(result["result"].to_string().contains(problem), "{result}");
    }
    assert!(actor.received().iter().all(|record| record["type"] != "tool"));
}

#[test]
fn errors_and_invalid_results_are_failed_results() {
    let (server, workspace) = Workspace::with_server();
    for (name, action) in [
        ("error", json!({ "error": "it broke" })),
        ("marked", json!({ "result": { "content": "it broke", "isError": true } })),
        ("wrong", json!({ "result": { "content": 7 } })),
        ("nothing", json!({ "result": null })),
    ] {
        let mut on = json!({});
        on[format!("tool:{name}")] = json!([action]);
        Actor::new(&workspace, name, tool(name), on);
    }
    let arguments = || json!({ "text": "x" });
    let reply = Reply::text("").tool("error", arguments()).tool("marked", arguments());
    server.reply(reply.tool("wrong", arguments()).tool("nothing", arguments()));
    let mut agent = start(&workspace);
    let records = run(&mut agent, "go");
    let expected = ["it broke", "it broke", "returned an invalid result", "returned an invalid result"];
    for result in results(&records) {
        let index =
            ["error", "marked", "wrong", "nothing"].iter().position(|name| result["toolName"] == *name);
        let text = result["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(result["isError"], true, "{result}");
        assert!(text.contains(expected[index.unwrap()]), "{result}");
    }
}

#[test]
fn answer_that_is_no_valid_record_ends_its_call() {
    for error in [json!("text"), json!({ "message": "m", "retryAfterMs": -1 })] {
        let (server, workspace) = Workspace::with_server();
        let on = json!({ "tool:mine": [{ "send": { "type": "result", "id": "$id", "error": error } }] });
        Actor::new(&workspace, "a", tool("mine"), on);
        server.reply(Reply::text("").tool("mine", json!({ "text": "x" })));
        let mut agent = start(&workspace);
        let records = run(&mut agent, "go");
        let result = results(&records)[0];
        let text = result["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("answer is invalid") && result["isError"] == true, "{result}");
    }
}

#[test]
fn details_that_are_nested_too_deeply_cost_themselves_only() {
    let (server, workspace) = Workspace::with_server();
    let deep = |levels: usize| {
        let details = (0..levels).fold(json!(1), |inner, _| json!([inner]));
        json!([{ "result": { "content": "done", "details": details } }])
    };
    Actor::new(&workspace, "a", tool("deep"), json!({ "tool:deep": deep(120) }));
    Actor::new(&workspace, "b", tool("flat"), json!({ "tool:flat": deep(100) }));
    server.reply(Reply::text("").tool("deep", json!({ "text": "x" })).tool("flat", json!({ "text": "x" })));
    server.reply(Reply::text("and on"));
    let mut agent = start(&workspace);
    let records = run(&mut agent, "go");
    assert_eq!(of_type(&records, "turn_end").len(), 2);
    let messages = agent.carry_out(json!({ "type": "get_messages" }))["messages"].take();
    assert_eq!(messages[2]["details"], json!({ "omitted": "nested more than 100 levels deep" }));
    assert!(messages[3]["details"].is_array());
    assert_eq!(messages[4]["content"][0]["text"], "and on");
}

#[test]
fn a_tool_replaces_the_built_in_one_of_its_name_and_the_first_extension_wins() {
    let (server, workspace) = Workspace::with_server();
    let mine = json!({ "tool:bash": [{ "result": { "content": "mine" } }] });
    Actor::new(&workspace, "a", tool("bash"), mine);
    let other = json!({ "tool:bash": [{ "result": { "content": "other" } }] });
    Actor::new(&workspace, "b", tool("bash"), other);
    server.reply(Reply::text("").tool("bash", json!({ "text": "x", "command": "true" })));
    let mut agent = start(&workspace);
    let records = run(&mut agent, "go");
    assert_eq!(results(&records)[0]["result"]["content"][0]["text"], "mine");
    let errors = errors(agent.transcript());
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].contains("Another extension has a tool named bash already"), "{errors:?}");
}

#[test]
fn abort_cancels_a_tool_and_is_answered_at_once() {
    let (server, workspace) = Workspace::with_server();
    let on = json!({
        "tool:say": [],
        "cancel": [{ "send": {
            "type": "result",
            "id": "$id",
            "result": { "content": "stopped" },
        } }],
    });
    let actor = Actor::new(&workspace, "a", tool("say"), on);
    server.reply(Reply::text("").tool("say", json!({ "text": "x" })));
    let mut agent = start(&workspace);
    agent.send(json!({ "type": "prompt", "message": "go" }));
    actor.wait_for(|record| record["type"] == "tool");
    agent.send(json!({ "type": "abort" }));
    let records = agent.collect_until_settled();
    assert_eq!(results(&records)[0]["result"]["content"][0]["text"], "stopped");
    let cancel = actor.wait_for(|record| record["type"] == "cancel");
    assert_eq!(cancel["reason"], "abort");
}

#[test]
fn run_ends_if_every_result_of_an_answer_says_so() {
    let (server, workspace) = Workspace::with_server();
    let on = json!({ "tool:say": [{ "result": { "content": "bye", "terminate": true } }] });
    Actor::new(&workspace, "a", tool("say"), on);
    let arguments = || json!({ "text": "x" });
    server.reply(Reply::text("").tool("say", arguments()).tool("say", arguments()));
    let mut agent = start(&workspace);
    run(&mut agent, "go");
    assert_eq!(server.requests().len(), 1);
    server.reply(Reply::text("").tool("say", arguments()).tool("bash", json!({ "command": "true" })));
    run(&mut agent, "go");
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn calls_run_one_after_the_other_if_a_tool_runs_alone() {
    let (server, workspace) = Workspace::with_server();
    let mut registration = tool("say");
    registration["tools"][0]["executionMode"] = "sequential".into();
    Actor::new(&workspace, "a", registration, answers(json!("said")));
    let call = || json!({ "text": "x" });
    server.reply(
        Reply::text("").tool("say", call()).tool("bash", json!({ "command": "true" })).tool("say", call()),
    );
    let mut agent = start(&workspace);
    let records = run(&mut agent, "go");
    let order: Vec<_> = records
        .iter()
        .filter_map(|record| match record["type"].as_str()? {
            "tool_execution_start" => Some("start"),
            "tool_execution_end" => Some("end"),
            _ => None,
        })
        .collect();
    assert_eq!(order, ["start", "end", "start", "end", "start", "end"]);
}

#[test]
fn tools_change_while_bowline_runs() {
    let (server, workspace) = Workspace::with_server();
    let late = &tool("late")["tools"];
    let on = json!({
        "hook:agent_settled": [
            { "send": { "type": "register", "tools": late } },
            { "send": { "type": "unregister", "tools": ["say"] } },
            { "result": null },
        ],
    });
    let mut registration = tool("say");
    registration["hooks"] = json!([{ "event": "agent_settled" }]);
    Actor::new(&workspace, "a", registration, on);
    let mut agent = start(&workspace);
    run(&mut agent, "one");
    run(&mut agent, "two");
    let names = |index: usize| {
        let request = server.requests().swap_remove(index);
        let tools = request.body["tools"].as_array().cloned().unwrap_or_default();
        let own = tools
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .filter(|name| *name == "say" || *name == "late");
        own.map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(names(0), ["say"]);
    assert_eq!(names(1), ["late"]);
}

#[test]
fn user_can_leave_out_tools_of_extensions() {
    let (server, workspace) = Workspace::with_server();
    Actor::new(&workspace, "a", tool("say"), answers(json!("said")));
    let mut agent = start_with(&workspace, &["--exclude-tools", "say"]);
    run(&mut agent, "go");
    assert!(!server.requests()[0].body["tools"].to_string().contains("say"));
}
