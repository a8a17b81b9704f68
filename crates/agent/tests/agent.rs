//! The engine as a library: what its caller says is what there is, and nothing else.

#![expect(clippy::unwrap_used, reason = "helpers report failures by panicking")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bowline_agent::*;
use bowline_testkit::{Api, ModelServer, Reply, Workspace, eventually, is_alive};
use serde_json::{Value, json};
use tokio::task::JoinSet;

fn bash(command: &str) -> Value {
    json!({ "text": "I run it.", "toolCalls": [{ "name": "bash", "arguments": { "command": command } }] })
}

/// Returns a builder for an agent whose model plays these steps, again and again.
fn scripted(workspace: &Workspace, steps: &[Value]) -> Builder {
    let script = workspace.work().join("script.json");
    fs::write(&script, json!({ "cycle": true, "steps": steps }).to_string()).unwrap();
    Agent::builder(workspace.work()).model(format!("scripted/{}", script.display()))
}

/// Returns a builder for an agent whose model is on this server.
fn served(workspace: &Workspace) -> Builder {
    let models = workspace.configuration().join("models.json");
    Agent::builder(workspace.work()).models_file(models).model("mock/m1")
}

/// Works with whatever is behind the connection.
async fn texts(connection: &Connection, prompt: &str) -> (String, Vec<String>) {
    let mut run = connection.run(prompt).await.unwrap();
    let mut kinds = Vec::new();
    while let Some(event) = run.next().await.unwrap() {
        let record = serde_json::to_value(event).unwrap();
        kinds.push(record["type"].as_str().unwrap().to_owned());
    }
    (run.finish().await.unwrap().text, kinds)
}

#[tokio::test]
async fn prompt_yields_events_and_a_result() {
    let workspace = Workspace::empty();
    let agent = scripted(&workspace, &[bash("echo hi"), json!({ "text": "Done." })]).start().await.unwrap();
    let (text, kinds) = texts(&agent, "go").await;
    assert_eq!(text, "Done.");
    assert_eq!(
        (kinds.first().unwrap().as_str(), kinds.last().unwrap().as_str()),
        ("agent_start", "agent_settled")
    );
    assert!(kinds.contains(&"tool_execution_end".to_owned()));
    agent.stop().await;
}

#[tokio::test]
async fn every_command_of_the_protocol_is_there() {
    let workspace = Workspace::empty();
    let agent = scripted(&workspace, &[json!({ "text": "ok" })]).start().await.unwrap();
    let mut names = agent.get_protocol_info().await.unwrap().commands;
    names.sort();
    let mut commands = COMMANDS;
    commands.sort_unstable();
    assert_eq!(names, commands);
    agent.stop().await;
}

#[tokio::test]
async fn model_calls_an_async_function() {
    let workspace = Workspace::empty();
    let call = json!({ "toolCalls": [{ "name": "lookup", "arguments": { "key": "k1" } }] });
    let schema = json!({ "type": "object", "properties": { "key": { "type": "string" } } });
    let lookup = Tool::new("lookup", "Looks something up.", schema, async |call: ToolCall| {
        tokio::time::sleep(Duration::from_millis(1)).await;
        match call.argument("key").as_str() {
            Some("k1") => Ok(ToolOutput::from("v1").details(json!({ "cached": true }))),
            _ => Err("there is no such key"),
        }
    });
    let builder = scripted(&workspace, &[call, json!({ "text": "ok" })]).no_tools().tool(lookup);
    let agent = builder.start().await.unwrap();
    assert_eq!(agent.get_state().await.unwrap().tools, ["lookup"]);
    let mut ends = agent.events_of(|kind| kind == "tool_execution_end");
    agent.prompt_and_wait("go").await.unwrap();
    let Some(Event::ToolExecutionEnd(end)) = ends.next().await.unwrap() else { panic!("no call") };
    let result = serde_json::to_value(&end.result).unwrap();
    assert_eq!((&result["content"][0]["text"], &result["details"]["cached"]), (&json!("v1"), &json!(true)));
    agent.stop().await;
}

#[tokio::test]
async fn tool_that_panics_has_failed_and_the_agent_goes_on() {
    let workspace = Workspace::empty();
    let call = json!({ "toolCalls": [{ "name": "broken", "arguments": {} }] });
    let broken =
        Tool::new("broken", "Panics.", json!({ "type": "object" }), async |_| -> Result<String, String> {
            panic!("broken")
        });
    let agent =
        scripted(&workspace, &[call, json!({ "text": "I see." })]).tool(broken).start().await.unwrap();
    let run = agent.prompt_and_wait("go").await.unwrap();
    assert!(serde_json::to_string(&run.messages).unwrap().contains("the tool panicked"));
    assert_eq!((run.outcome, run.text.as_str()), (Outcome::Done, "I see."));
    agent.stop().await;
}

#[tokio::test]
async fn instructions_tools_and_the_key_reach_the_model() {
    let server = ModelServer::start();
    let workspace = Workspace::new(&server, Api::AnthropicMessages).file("AGENTS.md", "Mind the gap.");
    for (is_read, answer) in [(false, "one"), (true, "two")] {
        server.reply(Reply::text(answer));
        let mut builder = served(&workspace).instructions("You are a poet.").add_instructions("In rhymes.");
        builder = if is_read { builder.context_files() } else { builder };
        let agent = builder.tools(["read", "ls"]).api_key("the-key").start().await.unwrap();
        assert_eq!(agent.prompt_and_wait("hi").await.unwrap().text, answer);
        agent.stop().await;
        let request = server.requests().pop().unwrap();
        let text = request.body.to_string();
        assert!(text.contains("You are a poet.") && text.contains("In rhymes."), "{text}");
        assert_eq!(text.contains("Mind the gap."), is_read);
        let tools: Vec<_> =
            request.body["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert_eq!(tools, ["read", "ls"]);
        assert_eq!(request.header("x-api-key"), Some("the-key"));
    }
}

#[tokio::test]
async fn steering_and_aborting() {
    let workspace = Workspace::empty();
    let steps = [bash("while [ ! -e go ]; do sleep 0.01; done"), json!({ "text": "ok" })];
    let agent = scripted(&workspace, &steps).start().await.unwrap();
    let mut run = agent.run("start").await.unwrap();
    while let Some(event) = run.next().await.unwrap() {
        if let Event::ToolExecutionStart(_) = event {
            agent.steer("this, too").await.unwrap();
            fs::write(workspace.work().join("go"), "").unwrap();
        }
    }
    assert!(serde_json::to_string(&run.finish().await.unwrap().messages).unwrap().contains("this, too"));
    let agent = scripted(&workspace, &[json!({ "text": "x", "hang": true })]).start().await.unwrap();
    let run = agent.prompt_and_wait_within("go", Duration::from_millis(50)).await.unwrap();
    assert_eq!(run.outcome, Outcome::TimedOut);
    agent.stop().await;
}

#[tokio::test]
async fn user_is_asked_only_if_the_caller_wants_that() {
    let workspace = Workspace::empty();
    let steps = [bash("touch made"), json!({ "text": "ok" })];
    let asked = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&asked);
    let refusing = move |_| {
        seen.store(true, Ordering::SeqCst);
        async { Decision::Deny(Some("No.".to_owned())) }
    };
    let agent =
        scripted(&workspace, &steps).ask(AskMode::Untrusted).on_approval(refusing).start().await.unwrap();
    agent.prompt_and_wait("go").await.unwrap();
    agent.stop().await;
    assert!(asked.load(Ordering::SeqCst) && !workspace.work().join("made").exists());
    // With nobody to answer, the answer is no.
    let agent = scripted(&workspace, &steps).ask(AskMode::Untrusted).start().await.unwrap();
    agent.prompt_and_wait("go").await.unwrap();
    agent.stop().await;
    assert!(!workspace.work().join("made").exists());
    let agent = scripted(&workspace, &steps).start().await.unwrap();
    agent.prompt_and_wait("go").await.unwrap();
    agent.stop().await;
    assert!(workspace.work().join("made").exists());
}

#[tokio::test]
async fn sessions_are_kept_where_the_caller_says() {
    let workspace = Workspace::empty();
    let steps = [json!({ "text": "ok" })];
    let agent = scripted(&workspace, &steps).start().await.unwrap();
    agent.prompt_and_wait("hi").await.unwrap();
    assert_eq!(agent.get_state().await.unwrap().session_file, None);
    agent.stop().await;
    let file = workspace.home().join("kept.jsonl");
    for messages in [2, 4] {
        let agent = scripted(&workspace, &steps).session_file(&file).start().await.unwrap();
        agent.prompt_and_wait("hi").await.unwrap();
        assert_eq!(agent.get_state().await.unwrap().message_count, messages);
        agent.stop().await;
    }
    let folder = workspace.home().join("sessions");
    let agent = scripted(&workspace, &steps).session_folder(&folder).start().await.unwrap();
    agent.prompt_and_wait("hi").await.unwrap();
    assert!(Path::new(&agent.get_state().await.unwrap().session_file.unwrap()).starts_with(&folder));
    assert_eq!(agent.list_sessions().await.unwrap().sessions.len(), 1);
    agent.stop().await;
}

#[tokio::test]
async fn limits_end_a_run() {
    let workspace = Workspace::empty();
    let limits = LimitSettings { turns: Some(2), ..LimitSettings::default() };
    let agent = scripted(&workspace, &[bash("true")]).run_limits(limits).start().await.unwrap();
    let Outcome::Failed { kind, .. } = agent.prompt_and_wait("go").await.unwrap().outcome else {
        panic!("no limit")
    };
    assert_eq!(kind, Some(ErrorKind::TooManyTurns));
    agent.stop().await;
    let limits = LimitSettings { cost: Some(-1.0), ..LimitSettings::default() };
    let error = scripted(&workspace, &[]).session_limits(limits).start().await.unwrap_err();
    assert_eq!(error.to_string(), "-1 is no limit for cost: 0 means unlimited");
}

/// The environment of the test has a home folder and a search path, at least.
#[tokio::test]
async fn nothing_comes_from_the_environment() {
    let workspace = Workspace::empty();
    let steps = [bash("/usr/bin/env >environment"), json!({ "text": "ok" })];
    let agent = scripted(&workspace, &steps).start().await.unwrap();
    agent.prompt_and_wait("go").await.unwrap();
    agent.stop().await;
    let seen = || fs::read_to_string(workspace.work().join("environment")).unwrap();
    assert!(!seen().contains("HOME="), "{}", seen());
    let variables =
        [("COLOUR", "blue"), ("SOME_API_KEY", "secret")].map(|(name, value)| (name.into(), value.into()));
    let agent = scripted(&workspace, &steps).environment(variables).start().await.unwrap();
    agent.prompt_and_wait("go").await.unwrap();
    agent.stop().await;
    assert!(seen().contains("COLOUR=blue") && !seen().contains("secret"), "{}", seen());
}

#[tokio::test]
async fn mistakes_of_the_caller_are_told() {
    let workspace = Workspace::empty();
    let missing = Agent::builder(workspace.work().join("nowhere")).start().await.unwrap_err();
    assert!(missing.to_string().contains("nowhere is of no use: it is not a folder"), "{missing}");
    let model = Agent::builder(workspace.work()).model("nobody/nothing").start().await.unwrap_err();
    assert!(model.to_string().contains("nobody/nothing"), "{model}");
    let key = Agent::builder(workspace.work()).api_key("k").start().await.unwrap_err();
    assert!(key.to_string().contains("a key needs a model"), "{key}");
    let tool = Tool::new("no good name", "Bad.", json!({}), async |_| Ok::<_, String>(""));
    let tool = scripted(&workspace, &[]).tool(tool).start().await.unwrap_err();
    assert!(tool.to_string().starts_with("the agent refuses to serve: set_host_tools: "), "{tool}");
    // Without a model it starts, and a prompt says what to do.
    let agent = Agent::builder(workspace.work()).start().await.unwrap();
    assert_eq!(agent.prompt("hi").await.unwrap_err().code(), Some("no_model"));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_or_dropping_ends_commands() {
    for is_stopped in [true, false] {
        let workspace = Workspace::empty();
        let agent = scripted(&workspace, &[bash("echo $$ >process; sleep 60")]).start().await.unwrap();
        let mut events = agent.events();
        agent.prompt("go").await.unwrap();
        let file = workspace.work().join("process");
        eventually("the command runs", || fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n')));
        let process: u32 = fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        if is_stopped {
            agent.stop().await;
        } else {
            drop(agent);
        }
        eventually("the command is killed", || !is_alive(process));
        while events.next().await.unwrap().is_some() {}
    }
}

#[test]
fn page_names_every_method_of_the_builder() {
    let page = include_str!("../../../docs/rust-library.md");
    let source = include_str!("../src/builder.rs");
    let methods =
        source.lines().filter_map(|line| line.strip_prefix("    pub fn ")?.split(['(', '<']).next());
    for name in methods {
        assert!(page.contains(&format!("`{name}`")), "the page does not name {name}");
    }
}

/// Cargo puts examples beside the tests.
#[test]
fn example_calls_its_tool() {
    let workspace = Workspace::empty();
    let call = json!({ "toolCalls": [{ "name": "temperature", "arguments": { "city": "Oslo" } }] });
    let steps = json!({ "steps": [call, { "text": "It is mild." }] });
    fs::write(workspace.work().join("script.json"), steps.to_string()).unwrap();
    let program = bowline_testkit::bowline().with_file_name("examples").join("own_tool");
    let output = std::process::Command::new(&program)
        .arg("scripted/script.json")
        .current_dir(workspace.work())
        .output()
        .unwrap_or_else(|error| panic!("{} cannot be started: {error}", program.display()));
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text, "called temperature\nDone: It is mild.\n");
}

#[tokio::test]
async fn many_agents_and_many_prompts_in_one_process() {
    let workspace = Workspace::empty();
    let mut agents = JoinSet::new();
    for number in 0..50 {
        let builder = scripted(&workspace, &[json!({ "text": "ok" })]);
        let agent = builder.start().await.unwrap();
        agents.spawn(async move {
            for prompt in 0..20 {
                let run = agent.prompt_and_wait(format!("{number}: {prompt}")).await.unwrap();
                assert_eq!(run.outcome, Outcome::Done);
            }
            agent.stop().await;
        });
    }
    agents.join_all().await;
}
