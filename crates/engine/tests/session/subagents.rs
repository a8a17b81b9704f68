//! Subagents: sessions that calls of `task` start.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bowline_core::ask::{Decision, Question};
use bowline_core::command::{Command, SubagentName};
use bowline_core::event::{AskEnd, Event};
use bowline_core::hook::{HookKind, HookResult};
use bowline_core::policy::Questions;
use bowline_core::reply::Answer;
use bowline_core::subagent::{SubagentEvent, Subscription};
use bowline_engine::{Output, TaskTool};
use bowline_extension::{ResourceOptions, Resources};
use bowline_session::children_folder;
use bowline_testkit::{Gate, Reply};
use bowline_tools::{Options, Toolbox};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::driver::Driver;
use crate::setup::Setup;
use crate::test_extension::TestExtension;
use crate::test_tools::{AskingGate, TestTool};

fn setup() -> Setup {
    Setup::new().tool(TaskTool::default())
}

/// Returns a call of `task` with these tasks.
fn calling(tasks: &Value) -> Reply {
    Reply::new().tool("task", json!({ "tasks": tasks }))
}

/// Returns the text and the details of the only tool result.
fn result(driver: &Driver) -> (String, Value, bool) {
    let ends = driver.of_type("tool_execution_end");
    let [end] = &ends[..] else { panic!("{ends:?}") };
    let text = end["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    (text, end["result"]["details"].clone(), end["isError"] == true)
}

/// Returns the events of subagents that were emitted.
fn subagent_events(driver: &Driver) -> Vec<SubagentEvent> {
    let events = driver.outputs().iter().filter_map(|output| match output {
        Output::Event(Event::Subagent(event)) => Some(event.clone()),
        _ => None,
    });
    events.collect()
}

/// Returns the statuses of the starts and ends, with the ids.
fn lifecycle(driver: &Driver) -> Vec<String> {
    let events = subagent_events(driver);
    let lines = events.iter().filter_map(|event| match event {
        SubagentEvent::Started(subagent) => Some(format!("{} started", subagent.progress.id)),
        SubagentEvent::Ended(subagent) => {
            Some(format!("{} {:?}", subagent.progress.id, subagent.progress.status))
        }
        _ => None,
    });
    lines.collect()
}

#[tokio::test]
async fn the_answer_of_a_subagent_is_the_result_and_its_session_has_a_file() {
    let setup = setup();
    setup.server.reply_in("find the parser", Reply::new().tool("read", json!({ "path": "none.rs" })));
    setup.server.reply_in("find the parser", Reply::text("It is in parse.rs."));
    let tasks = json!([{ "name": "search", "task": "find the parser" }]);
    let mut driver = setup.replies([calling(&tasks), Reply::text("done")]).start();
    driver.run("go").await;
    let (text, details, is_error) = result(&driver);
    assert_eq!((&*text, is_error), ("It is in parse.rs.", false));
    let first = &details["results"][0];
    assert_eq!(
        (&first["id"], &first["agent"], &first["status"]),
        (&"search".into(), &"task".into(), &"completed".into())
    );
    assert_eq!((&first["requests"], &first["toolCount"]), (&2.into(), &1.into()));
    assert_eq!(details["usage"]["output"], 20);

    let file = PathBuf::from(first["sessionFile"].as_str().unwrap());
    assert_eq!(file, children_folder(&driver.file()).join("search.jsonl"));
    let child = bowline_session::Session::open(&file, driver.home.path()).unwrap();
    assert_eq!(child.header().parent_session, Some(driver.file().display().to_string()));
    assert_eq!(child.context().unwrap().messages.len(), 4);

    // The child knows nothing of the parent's conversation, and the parent only the answer.
    let requests = driver.requests();
    assert_eq!(requests[1]["messages"].as_array().unwrap().len(), 1);
    assert!(requests[1]["system"].to_string().contains("You are a subagent"));
    assert!(!requests[0]["system"].to_string().contains("You are a subagent"));
    assert_eq!(driver.conversation()[2], "toolResult: It is in parse.rs.");
    // Nobody asked for records about subagents.
    assert_eq!(subagent_events(&driver), []);
    driver.finish();
}

#[tokio::test]
async fn subagents_run_at_the_same_time_up_to_the_limit_and_results_keep_their_order() {
    let mut setup = setup();
    setup.settings.subagents.max_parallel = 2.try_into().unwrap();
    let gates: Vec<_> = (0..3).map(|_| Gate::new()).collect();
    for (number, gate) in gates.iter().enumerate() {
        let answer = Reply::text("").gate(gate).then_text(&format!("answer {number}"));
        setup.server.reply_in(&format!("task {number}"), answer);
    }
    let tasks = json!([{ "task": "task 0" }, { "task": "task 1" }, { "task": "task 2", "agent": "explore" }]);
    let mut driver = setup.replies([calling(&tasks), Reply::text("done")]).start();
    driver.send("s", Command::SetSubagentSubscription { level: Subscription::Progress });
    driver.prompt("p", "go");
    driver.until_requests(3).await;
    assert_eq!(lifecycle(&driver), ["task-1 started", "task-2 started"]);
    let Answer::Subagents(running) = driver.carry_out(Command::GetSubagents).await else { panic!() };
    assert_eq!(running.len(), 2);
    gates[1].open();
    driver.until_requests(4).await;
    gates[2].open();
    gates[0].open();
    driver.until_settled().await;
    let (text, details, is_error) = result(&driver);
    assert_eq!(
        text,
        "## task-1 (task) completed\nanswer 0\n\n## task-2 (task) completed\nanswer 1\n\n## explore-1 (explore) completed\nanswer 2"
    );
    assert!(!is_error);
    assert_eq!((&details["usage"]["output"], details["results"].as_array().unwrap().len()), (&30.into(), 3));
    let lifecycle = lifecycle(&driver);
    assert_eq!(lifecycle.len(), 6);
    assert!(lifecycle[..4].contains(&"task-2 Completed".to_owned()), "{lifecycle:?}");
    let Answer::Subagents(running) = driver.carry_out(Command::GetSubagents).await else { panic!() };
    assert_eq!(running, []);
    driver.finish();
}

#[tokio::test]
async fn what_subagents_use_is_part_of_the_statistics_of_the_session() {
    let tasks = json!([{ "task": "one" }, { "task": "two" }]);
    let mut driver = setup().replies([calling(&tasks)]).start();
    driver.run("go").await;
    let Answer::Statistics(statistics) = driver.carry_out(Command::GetSessionStatistics).await else {
        panic!()
    };
    assert_eq!((statistics.usage.output, statistics.usage.input), (40, 400));
    assert_eq!((statistics.assistant_messages, statistics.tool_results), (2, 1));
    driver.finish();
}

#[tokio::test]
async fn abort_ends_streaming_and_waiting_subagents_and_their_tools() {
    let never = Arc::new(Semaphore::new(0));
    let mut setup = setup().tool(TestTool::gated("gated", &never));
    setup.settings.subagents.max_parallel = 2.try_into().unwrap();
    let gate = Gate::new();
    setup.server.reply_in("stream", Reply::text("half").gate(&gate));
    setup.server.reply_in("tool", Reply::new().tool("gated", json!({})));
    let tasks = json!([
        { "name": "a", "task": "stream" }, { "name": "b", "task": "tool" }, { "name": "c", "task": "never" },
    ]);
    let mut driver = setup.replies([calling(&tasks)]).start();
    driver.send("s", Command::SetSubagentSubscription { level: Subscription::Events });
    driver.prompt("p", "go");
    let is_running = |output: &Output| {
        let Output::Event(Event::Subagent(SubagentEvent::Inner { event, .. })) = output else { return false };
        matches!(&**event, Event::ToolStart { .. })
    };
    driver.until(is_running).await;
    gate.wait_until_reached(Duration::from_secs(10));
    driver.send("a", Command::Abort);
    assert_eq!(driver.until_settled().await["aborted"], true);
    let (text, details, is_error) = result(&driver);
    assert!(is_error && text.contains("## c (task) aborted: Aborted before it was started."), "{text}");
    let statuses: Vec<_> = details["results"].as_array().unwrap().iter().map(|one| &one["status"]).collect();
    assert_eq!(statuses, ["aborted", "aborted", "aborted"]);
    let mut lifecycle = lifecycle(&driver);
    lifecycle.sort();
    assert_eq!(lifecycle, ["a Aborted", "a started", "b Aborted", "b started"]);
    driver.server.wait_for_hang_ups(1, Duration::from_secs(10));
    // What they had done is in their files.
    let file = children_folder(&driver.file()).join("b.jsonl");
    let child = bowline_session::Session::open(&file, driver.home.path()).unwrap();
    assert_eq!(child.context().unwrap().messages.len(), 3);
    driver.finish();
}

#[tokio::test]
async fn subagent_whose_tool_ignores_the_abort_is_dropped_and_reported() {
    let setup = setup().tool(TestTool::stuck("stuck"));
    setup.server.reply_in("hang", Reply::new().tool("stuck", json!({})));
    let mut driver = setup.replies([calling(&json!([{ "task": "hang" }]))]).start();
    driver.send("s", Command::SetSubagentSubscription { level: Subscription::Events });
    driver.prompt("p", "go");
    driver.until_requests(2).await;
    driver.until(|output| matches!(output, Output::Event(Event::Subagent(SubagentEvent::Inner { event, .. })) if matches!(&**event, Event::ToolStart { .. }))).await;
    driver.send("a", Command::Abort);
    driver.until_settled().await;
    assert_eq!(lifecycle(&driver).last().unwrap(), "task-1 Aborted");
    let Answer::Subagents(running) = driver.carry_out(Command::GetSubagents).await else { panic!() };
    assert_eq!(running, []);
    driver.finish();
}

#[tokio::test]
async fn failed_subagent_costs_its_task_and_not_the_others() {
    let setup = setup();
    let refused =
        Reply::status(400).body(r#"{"type":"error","error":{"type":"x","message":"no such thing"}}"#);
    setup.server.reply_in("fail", refused);
    let tasks = json!([{ "task": "fail" }, { "task": "succeed" }]);
    let mut driver = setup.replies([calling(&tasks), Reply::text("fine"), Reply::text("done")]).start();
    driver.run("go").await;
    let (text, details, is_error) = result(&driver);
    assert!(!is_error && text.starts_with("## task-1 (task) failed: "), "{text}");
    assert!(text.contains("no such thing") && text.ends_with("## task-2 (task) completed\nfine"), "{text}");
    assert_eq!(
        (&details["results"][0]["exitCode"], &details["results"][1]["exitCode"]),
        (&1.into(), &0.into())
    );
    driver.finish();
}

#[tokio::test]
async fn call_whose_subagents_all_fail_is_an_error() {
    let setup = setup();
    setup.server.reply_in("fail", Reply::status(400));
    let mut driver = setup.replies([calling(&json!([{ "task": "fail" }]))]).start();
    driver.run("go").await;
    assert!(result(&driver).2);
    driver.finish();
}

#[tokio::test]
async fn panic_in_a_tool_of_a_subagent_is_an_error_result_there() {
    let setup = setup().tool(TestTool::panicking("broken"));
    setup.server.reply_in("break", Reply::new().tool("broken", json!({})));
    setup.server.reply_in("break", Reply::text("It is broken."));
    let mut driver = setup.replies([calling(&json!([{ "task": "break" }]))]).start();
    driver.run("go").await;
    assert_eq!(result(&driver).0, "It is broken.");
    driver.finish();
}

#[tokio::test]
async fn subagents_have_subagents_down_to_the_depth_limit() {
    let setup = setup();
    let nested = calling(&json!([{ "name": "inner", "task": "level two" }]));
    setup.server.reply_in("level one", nested);
    setup.server.reply_in("level one", Reply::text("outer answer"));
    setup.server.reply_in("level two", calling(&json!([{ "task": "level three" }])));
    setup.server.reply_in("level two", Reply::text("inner answer"));
    let mut driver = setup.replies([calling(&json!([{ "name": "outer", "task": "level one" }]))]).start();
    driver.send("s", Command::SetSubagentSubscription { level: Subscription::Events });
    driver.run("go").await;
    assert_eq!(
        lifecycle(&driver),
        ["outer started", "outer.inner started", "outer.inner Completed", "outer Completed"]
    );
    let has_task =
        |request: &Value| request["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "task");
    let requests = driver.requests();
    assert!(has_task(&requests[0]) && has_task(&requests[1]) && !has_task(&requests[2]));
    // The refusal of the third level is in the conversation of the second.
    assert!(requests[3]["messages"].to_string().contains("There is no tool named task"));
    let inner = children_folder(&children_folder(&driver.file()).join("outer.jsonl")).join("inner.jsonl");
    assert!(inner.exists());
    // Two answers of the session, two of each subagent.
    let Answer::Statistics(statistics) = driver.carry_out(Command::GetSessionStatistics).await else {
        panic!()
    };
    assert_eq!(statistics.usage.output, 60);
    let inner_events = subagent_events(&driver);
    let of_inner =
        |event: &SubagentEvent| matches!(event, SubagentEvent::Inner { id, .. } if &**id == "outer.inner");
    assert!(inner_events.iter().any(of_inner));
    driver.finish();
}

#[tokio::test]
async fn explore_has_only_tools_that_read() {
    let mut setup = setup();
    setup.settings.subagents.further_tools = Toolbox::builtin(&Options::default()).without("bash");
    let mut driver = setup.replies([calling(&json!([{ "task": "look", "agent": "explore" }]))]).start();
    driver.run("go").await;
    let tools = driver.requests()[1]["tools"].clone();
    let names: Vec<_> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["read", "grep", "find", "ls"]);
    driver.finish();
}

#[tokio::test]
async fn tools_and_model_of_a_task_are_those_that_it_names() {
    let tasks = json!([{ "task": "look", "tools": ["bash"], "model": "mock/m2" }]);
    let mut driver = setup().replies([calling(&tasks)]).start();
    driver.run("go").await;
    let request = &driver.requests()[1];
    assert_eq!((&request["model"], request["tools"].as_array().unwrap().len()), (&"m2".into(), 1));
    assert_eq!(result(&driver).1["results"][0]["resolvedModel"], "mock/m2");
    driver.finish();
}

#[tokio::test]
async fn task_that_cannot_be_started_is_refused_with_what_there_is() {
    for (task, reason) in [
        (
            json!({ "task": "x", "agent": "wizard" }),
            "There is no agent named wizard. The agents are: task, explore.",
        ),
        (
            json!({ "task": "x", "tools": ["teleport"] }),
            "The agent task has no tool named teleport. Its tools are: read",
        ),
        (
            json!({ "task": "x", "agent": "explore", "tools": ["bash"] }),
            "The agent explore has no tool named bash",
        ),
        (json!({ "task": "x", "model": "mock/m9" }), "m9"),
        (json!({ "agent": "explore" }), "tasks[0].task is missing"),
    ] {
        let mut driver = setup().replies([calling(&json!([{ "task": "fine" }, task]))]).start();
        driver.run("go").await;
        let (text, _, is_error) = result(&driver);
        assert!(is_error && text.replace("tasks[1]", "tasks[0]").contains(reason), "{text}");
        // No other task was started.
        assert_eq!(driver.requests().len(), 2);
        driver.finish();
    }
}

#[tokio::test]
async fn own_definitions_of_agents_are_used_and_broken_ones_explained() {
    let mut setup = setup();
    let folder = setup.home.path().join("agents");
    std::fs::create_dir_all(&folder).unwrap();
    let definition =
        "---\ndescription: reviews\ntools: read\nmodel: mock/m2\nthinking: high\n---\nBe strict.";
    std::fs::write(folder.join("reviewer.md"), definition).unwrap();
    std::fs::write(folder.join("broken.md"), "Be strict.").unwrap();
    std::fs::write(folder.join("poor.md"), "---\ndescription: d\ntools: teleport\n---\n").unwrap();
    let options = ResourceOptions { own_folder: setup.home.path().to_owned(), ..ResourceOptions::default() };
    setup.resources = Resources::new(options, |_| ());
    let call = |agent: &str| calling(&json!([{ "task": "look", "agent": agent }]));
    let replies = [call("reviewer"), Reply::text("fine"), call("broken"), call("poor")];
    let mut driver = setup.replies(replies).start();
    driver.run("go").await;
    let requests = driver.requests();
    assert!(requests[0]["system"].to_string().contains("reviewer: reviews"), "{}", requests[0]["system"]);
    assert!(requests[1]["system"].to_string().contains("Be strict."));
    assert_eq!((&requests[1]["model"], requests[1]["tools"].as_array().unwrap().len()), (&"m2".into(), 1));
    let conversation = driver.conversation();
    assert!(conversation[4].contains("broken.md is not used: it has no description"), "{conversation:?}");
    assert!(conversation[6].contains("there is no tool named teleport"), "{conversation:?}");
    driver.finish();
}

#[tokio::test]
async fn subagent_is_stopped_after_its_turns_and_after_its_time() {
    let mut setup = setup();
    setup.settings.subagents.max_turns = Some(2);
    setup.settings.subagents.max_runtime = Some(Duration::from_millis(300));
    for _ in 0..3 {
        setup.server.reply_in("circle", Reply::text("Again.").tool("read", json!({ "path": "none" })));
    }
    setup.server.reply_in("sleep", Reply::mute());
    let tasks = json!([{ "name": "a", "task": "circle" }, { "name": "b", "task": "sleep" }]);
    let mut driver = setup.replies([calling(&tasks)]).start();
    driver.run("go").await;
    let (text, details, _) = result(&driver);
    assert!(text.starts_with("## a (task) failed: The run was stopped after 2 turns"), "{text}");
    assert!(text.contains("Its last words before that:\nAgain."), "{text}");
    assert!(text.contains("## b (task) failed: It was stopped because it took longer than"), "{text}");
    assert_eq!(details["results"][0]["status"], "failed");
    driver.finish();
}

#[tokio::test]
async fn answer_that_has_to_be_json_is_asked_for_again() {
    let setup = setup();
    let task = |name: &str| json!({ "task": name, "outputSchema": { "type": "object", "required": ["n"] } });
    setup.server.reply_in("count", Reply::text("Three."));
    setup.server.reply_in("count", Reply::text("```json\n{\"n\": 3}\n```"));
    for _ in 0..3 {
        setup.server.reply_in("fail", Reply::text("No."));
    }
    let tasks = json!([task("count"), task("fail")]);
    let mut driver = setup.replies([calling(&tasks)]).start();
    driver.run("go").await;
    let text = result(&driver).0;
    assert!(
        text.starts_with("## task-1 (task) completed\n{\"n\": 3}\n\n## task-2 (task) failed: "),
        "{text}"
    );
    assert!(text.contains("does not fit the schema: it is not JSON"), "{text}");
    driver.finish();
}

#[tokio::test]
async fn long_answers_are_truncated_and_the_file_is_named() {
    let mut setup = setup();
    let options = Options { temporary_directory: Some(setup.home.path().to_owned()), ..Options::default() };
    setup.toolbox = Toolbox::builtin(&options).with_tool(Arc::new(TaskTool::default()));
    setup.server.reply_in("long", Reply::text(&"word ".repeat(20_000)));
    let mut driver = setup.replies([calling(&json!([{ "name": "long", "task": "long" }]))]).start();
    driver.run("go").await;
    let (text, details, _) = result(&driver);
    assert!(
        text.len() < 52 * 1024 && text.contains("[Truncated: 51200 of 100000 bytes; the whole answer is in ")
    );
    let first = &details["results"][0];
    let file = first["fullOutputPath"].as_str().unwrap();
    assert!(first["truncated"] == true && text.ends_with(&format!("{file}]")));
    assert_eq!(std::fs::read_to_string(file).unwrap().len(), 100_000);
    driver.finish();
}

#[tokio::test]
async fn extensions_decide_about_the_calls_of_subagents_and_see_nothing_else_of_them() {
    let extension =
        TestExtension::new("ext", &[HookKind::ToolCall, HookKind::ToolResult], |event, _| async move {
            match event.tool().unwrap_or_default() {
                "task" => Ok(HookResult::None),
                "other" if event.kind() == HookKind::ToolCall => Ok(HookResult::None),
                "quick" => Ok(HookResult::Block { reason: Some("not here".to_owned()), terminate: false }),
                _ => Err("it broke".to_owned()),
            }
        });
    let extension = extension.told(&[HookKind::AgentStart, HookKind::TurnStart, HookKind::SessionStart]);
    let mut setup = setup().tool(TestTool::quick("quick")).tool(TestTool::quick("other"));
    setup.hosts.push(Arc::new(extension.clone()));
    setup.server.reply_in("try", Reply::new().tool("quick", json!({})).tool("other", json!({})));
    let mut driver = setup.replies([calling(&json!([{ "task": "try" }]))]).start();
    driver.run("go").await;
    let conversation = driver.requests()[2]["messages"].to_string();
    assert!(conversation.contains("not here") && conversation.contains("other"), "{conversation}");
    let failed = |output: &Output| matches!(output, Output::Event(Event::ExtensionFailed(error)) if error.error == "it broke");
    assert!(driver.outputs().iter().any(failed));
    let seen = extension.seen();
    assert_eq!(seen.iter().filter(|name| *name == "agent_start").count(), 1, "{seen:?}");
    assert_eq!(seen.iter().filter(|name| *name == "tool_call").count(), 3, "{seen:?}");
    driver.finish();
}

#[tokio::test]
async fn questions_of_subagents_go_to_the_client() {
    let gate = || AskingGate::about("asked");
    let asking = || {
        let setup = setup().gate(gate()).tool(TestTool::quick("asked"));
        let setup = setup.policy(|policy| policy.questions = Questions::Asked);
        setup.server.reply_in("try", Reply::new().tool("asked", json!({})));
        setup.replies([calling(&json!([{ "name": "a", "task": "try" }]))])
    };
    for (decision, text) in [
        (Decision::Allow, "\"asked\""),
        (Decision::Deny { reason: Some("No!".to_owned()) }, "The user rejected this call. No!"),
    ] {
        let mut driver = asking().start();
        driver.prompt("p", "go");
        let ask = driver.until_asked().await;
        let Question::Approval(approval) = &ask.question else { panic!() };
        assert_eq!((&*approval.tool, &*approval.reason), ("asked", "it is dangerous (subagent a)"));
        driver.answer(ask.id, decision);
        driver.until_settled().await;
        assert!(driver.requests()[2]["messages"].to_string().contains(text));
        driver.finish();
    }
    // An abort withdraws the question before the run is over.
    let mut driver = asking().start();
    driver.prompt("p", "go");
    let ask = driver.until_asked().await;
    driver.send("a", Command::Abort);
    driver.until_settled().await;
    let resolved = |output: &Output| matches!(output, Output::Event(Event::AskResolved { id, cause: AskEnd::Withdrawn, .. }) if *id == ask.id);
    assert!(driver.outputs().iter().any(resolved));
    driver.finish();
}

#[tokio::test]
async fn gate_decides_about_the_calls_of_subagents_too() {
    let gate = AskingGate { asks_about: "asked", refuses: "refused" };
    let setup = setup().gate(gate).tool(TestTool::quick("asked")).tool(TestTool::quick("refused"));
    setup.server.reply_in("try", Reply::new().tool("asked", json!({})).tool("refused", json!({})));
    let mut driver = setup.replies([calling(&json!([{ "task": "try" }]))]).start();
    driver.run("go").await;
    let conversation = driver.requests()[2]["messages"].to_string();
    assert!(conversation.contains("needs the user's consent") && conversation.contains("it is forbidden"));
    driver.finish();
}

#[tokio::test]
async fn transcript_of_a_subagent_is_read_while_it_runs_and_after() {
    let setup = setup();
    let gate = Gate::new();
    setup.server.reply_in("look", Reply::text("").gate(&gate).then_text("found"));
    let mut driver = setup.replies([calling(&json!([{ "name": "a", "task": "look" }]))]).start();
    let read = |from_byte| Command::GetSubagentMessages {
        subagent: SubagentName { id: Some("a".to_owned()), session_file: None },
        from_byte,
    };
    driver.send("early", read(0));
    assert!(driver.refusal("early").contains("Unknown subagent or session file unavailable: a"));
    driver.prompt("p", "go");
    driver.until_requests(2).await;
    let Answer::SubagentMessages(part) = driver.carry_out(read(0)).await else { panic!() };
    assert_eq!((part.messages.len(), part.is_reset), (1, false));
    gate.open();
    driver.until_settled().await;
    let Answer::SubagentMessages(rest) = driver.carry_out(read(part.next_byte)).await else { panic!() };
    assert!(rest.messages[0].get().contains("found") && rest.messages.len() == 1);
    let by_file = |file: &str| Command::GetSubagentMessages {
        subagent: SubagentName { id: None, session_file: Some(file.into()) },
        from_byte: 0,
    };
    let file = rest.session_file.display().to_string();
    let Answer::SubagentMessages(whole) = driver.carry_out(by_file(&file)).await else { panic!() };
    assert_eq!(whole.next_byte, rest.next_byte);
    // No other file can be read this way.
    let own = driver.file().display().to_string();
    driver.send("own", by_file(&own));
    assert_eq!(driver.refusal("own"), "Unknown subagent session file");
    driver.send("none", Command::GetSubagentMessages { subagent: SubagentName::default(), from_byte: 0 });
    assert_eq!(driver.refusal("none"), "get_subagent_messages requires subagentId or sessionFile");
    driver.finish();
}

#[tokio::test]
async fn sessions_in_memory_have_subagents_in_memory() {
    let setup = setup().in_memory();
    let mut driver = setup.replies([calling(&json!([{ "task": "look" }]))]).start();
    driver.run("go").await;
    let (text, details, _) = result(&driver);
    assert_eq!((&*text, &details["results"][0]["sessionFile"]), ("ok", &Value::Null));
    assert!(!driver.home.path().join("sessions").exists());
    driver.finish();
}

#[tokio::test]
async fn shutdown_ends_subagents() {
    let setup = setup();
    setup.server.reply_in("look", Reply::mute());
    let mut driver = setup.replies([calling(&json!([{ "task": "look" }]))]).start();
    driver.prompt("p", "go");
    driver.until_requests(2).await;
    driver.shut_down();
    driver.until_idle().await;
    driver.server.wait_for_hang_ups(1, Duration::from_secs(10));
    driver.finish();
}
