//! Extensions at hooks: what each result does, the order, and that nothing waits for one that does not answer.

use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;

use bowline_core::Event;
use bowline_core::ask::{Decision, Question};
use bowline_core::command::{Command, Draft, Queue};
use bowline_core::hook::*;
use bowline_core::message::{Content, Message};
use bowline_core::policy::Questions;
use bowline_core::prompt::PromptChanges;
use bowline_core::reply::{Answer, CancelledChange, Disposition};
use bowline_core::slash_command::{CommandKind, Packaging, Scope, SlashCommand, SourceInfo};
use bowline_core::ui::{Dialog, DialogAnswer, DialogKind, Display};
use bowline_engine::{Delivery, ExtensionInput, OfferedTool, Output};
use bowline_testkit::{Gate, Reply};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::driver::{Driver, course, draft};
use crate::setup::Setup;
use crate::test_extension::TestExtension;
use crate::test_tools::TestTool;

pub(crate) fn setup(extension: &TestExtension, replies: impl IntoIterator<Item = Reply>) -> Setup {
    with_hosts(&[extension], replies)
}

fn with_hosts(extensions: &[&TestExtension], replies: impl IntoIterator<Item = Reply>) -> Setup {
    let mut setup = Setup::new().policy(|policy| policy.questions = Questions::Asked).replies(replies);
    for extension in extensions {
        setup.hosts.push(Arc::new((*extension).clone()));
    }
    setup.tool(TestTool::quick("quick"))
}

fn tool_reply() -> [Reply; 2] {
    [Reply::new().tool("quick", json!({ "a": 1 })), Reply::text("done")]
}

/// Runs a prompt with an extension that returns `answer` at `hook`, and returns the driver.
async fn run(hook: HookKind, answer: Result<HookResult, String>, replies: Vec<Reply>) -> Driver {
    let extension = TestExtension::returning("ext", hook, answer);
    let mut driver = setup(&extension, replies).start();
    driver.run("go").await;
    driver.until_idle().await;
    driver
}

pub(crate) fn failures(driver: &Driver) -> Vec<(String, String, String)> {
    let failed = driver.outputs().iter().filter_map(|output| match output {
        Output::Event(Event::ExtensionFailed(error)) => {
            Some((error.extension.clone(), error.event.clone(), error.error.clone()))
        }
        _ => None,
    });
    failed.collect()
}

fn custom(text: &str) -> CustomMessageDraft {
    CustomMessageDraft {
        custom_type: "note".to_owned(),
        content: vec![Content::text(text)].into(),
        display: true,
        details: None,
    }
}

pub(crate) fn command(name: &str) -> SlashCommand {
    SlashCommand {
        name: name.to_owned(),
        description: None,
        argument_hint: None,
        has_completion: false,
        kind: CommandKind::Extension,
        source_info: SourceInfo {
            path: PathBuf::from("ext"),
            source: "cli".to_owned(),
            scope: Scope::Temporary,
            packaging: Packaging::TopLevel,
            base_folder: None,
        },
    }
}

#[tokio::test]
async fn blocked_call_does_not_run_and_tells_the_model_why() {
    let block = HookResult::Block { reason: Some("not here".to_owned()), terminate: false };
    let mut driver = run(HookKind::ToolCall, Ok(block), tool_reply().into()).await;
    assert_eq!(driver.conversation()[2], "toolResult: not here");
    assert_eq!(failures(&driver), []);
    driver.finish();
}

#[tokio::test]
async fn failing_guard_blocks_the_call() {
    let mut driver = run(HookKind::ToolCall, Err("guard broke".to_owned()), tool_reply().into()).await;
    assert_eq!(driver.conversation()[2], "toolResult: guard broke");
    assert_eq!(failures(&driver), []);
    driver.finish();
}

#[tokio::test]
async fn block_that_terminates_ends_the_run() {
    let block = HookResult::Block { reason: None, terminate: true };
    let mut driver = run(HookKind::ToolCall, Ok(block), tool_reply().into()).await;
    assert_eq!(driver.conversation().last().unwrap(), "toolResult: Tool execution was blocked");
    assert_eq!(driver.requests().len(), 1);
    // The run ends after a tool, which it never does by itself.
    driver.finish_without_grammar();
}

#[tokio::test]
async fn arguments_are_changed_one_extension_after_the_other() {
    let change = |name: &'static str| {
        TestExtension::new(name, &[HookKind::ToolCall], move |event, _| async move {
            let HookEvent::ToolCall { arguments, .. } = event else { panic!("{event:?}") };
            let mut arguments = (*arguments).clone();
            let before = arguments.get("by").and_then(|by| by.as_str()).unwrap_or_default().to_owned();
            arguments.insert("by".to_owned(), json!(format!("{before}{name}")));
            Ok(HookResult::Arguments { arguments, validate: false })
        })
    };
    let (first, second) = (change("a"), change("b"));
    let echo = TestTool::new("echo", |_, arguments| async move {
        bowline_tools::Outcome::text(arguments["by"].as_str().unwrap_or_default())
    });
    let replies = [Reply::new().tool("echo", json!({})), Reply::text("done")];
    let mut driver = with_hosts(&[&first, &second], replies).tool(echo).start();
    driver.run("go").await;
    driver.until_idle().await;
    assert_eq!(driver.conversation()[2], "toolResult: ab");
    driver.finish();
}

#[tokio::test]
async fn result_is_changed_before_it_is_recorded() {
    let change = ToolResultChange {
        content: Some(vec![Content::text("other")]),
        is_error: Some(true),
        ..ToolResultChange::default()
    };
    let mut driver = run(HookKind::ToolResult, Ok(HookResult::ToolResult(change)), tool_reply().into()).await;
    assert_eq!(driver.conversation()[2], "toolResult: other");
    assert_eq!(driver.of_type("tool_execution_end")[0]["isError"], true);
    driver.finish();
}

/// Returns what is known of the end of a call whose tool returns structured content, after a change of its result.
async fn structured_end(change: ToolResultChange) -> serde_json::Value {
    let structured = TestTool::new("structured", |_, _| async move {
        let structured_content = Some(Box::new(json!({ "rows": [1] })));
        bowline_tools::Outcome { structured_content, ..bowline_tools::Outcome::text("one row") }
    });
    let changed = Ok(HookResult::ToolResult(change));
    let extension = TestExtension::returning("ext", HookKind::ToolResult, changed);
    let replies = [Reply::new().tool("structured", json!({})), Reply::text("done")];
    let mut driver = setup(&extension, replies).tool(structured).start();
    driver.run("go").await;
    driver.until_idle().await;
    let stored = driver.conversation().join(" ");
    assert!(!stored.contains("rows"), "{stored}");
    let result = driver.of_type("tool_execution_end")[0]["result"].clone();
    driver.finish();
    result
}

#[tokio::test]
async fn structured_content_goes_with_the_content_that_it_belongs_to() {
    let kept = structured_end(ToolResultChange::default()).await;
    assert_eq!(kept["structuredContent"], json!({ "rows": [1] }));
    let content = Some(vec![Content::text("other")]);
    let dropped =
        structured_end(ToolResultChange { content: content.clone(), ..ToolResultChange::default() }).await;
    assert_eq!((dropped.get("structuredContent"), &dropped["content"][0]["text"]), (None, &json!("other")));
    let structured_content = Some(Box::new(json!([])));
    let replaced = ToolResultChange { content, structured_content, ..ToolResultChange::default() };
    assert_eq!(structured_end(replaced).await["structuredContent"], json!([]));
}

#[tokio::test]
async fn extension_can_have_the_user_decide_about_a_call() {
    let ask = HookResult::Ask { reason: "sure?".to_owned() };
    let extension = TestExtension::returning("ext", HookKind::ToolCall, Ok(ask));
    let mut driver = setup(&extension, tool_reply()).start();
    driver.prompt("p", "go");
    let asked = driver.until_asked().await;
    let Question::Approval(approval) = &asked.question else { panic!("{asked:?}") };
    assert_eq!(approval.reason, "sure?");
    driver.answer(asked.id, Decision::Allow);
    driver.until_settled().await;
    assert_eq!(driver.conversation()[2], "toolResult: quick");
    driver.until_idle().await;
    driver.finish();
}

#[tokio::test]
async fn input_is_transformed_or_handled() {
    let transform = HookResult::Transform { text: "other words".to_owned(), images: None };
    let mut driver = run(HookKind::Input, Ok(transform), vec![Reply::text("ok")]).await;
    assert_eq!(driver.conversation()[0], "user: other words");
    driver.finish();

    let extension = TestExtension::returning("ext", HookKind::Input, Ok(HookResult::Handled));
    let mut driver = setup(&extension, []).start();
    driver.prompt("p", "go");
    let answer = driver.until_reply("p").await.unwrap();
    assert!(matches!(answer, Answer::Accepted(Disposition::Handled)), "{answer:?}");
    assert!(driver.conversation().is_empty() && driver.of_type("agent_start").is_empty());
    driver.finish();
}

#[tokio::test]
async fn failing_input_hook_is_reported_and_the_input_stays() {
    let mut driver = run(HookKind::Input, Err("boom".to_owned()), vec![Reply::text("ok")]).await;
    assert_eq!(driver.conversation()[0], "user: go");
    assert_eq!(failures(&driver), [("ext".to_owned(), "input".to_owned(), "boom".to_owned())]);
    driver.finish();
}

#[tokio::test]
async fn result_that_a_hook_does_not_have_is_a_failure() {
    let mut driver = run(HookKind::Input, Ok(HookResult::Cancel), vec![Reply::text("ok")]).await;
    assert_eq!(failures(&driver).len(), 1);
    assert_eq!(driver.conversation()[0], "user: go");
    driver.finish();
}

#[tokio::test]
async fn messages_and_system_prompt_are_added_to_a_prompt() {
    let additions = StartAdditions {
        message: Some(custom("remember this")),
        changes: Box::new(PromptChanges {
            forced: Some("Be someone else.".to_owned()),
            sections: vec![("extra".to_owned(), Some("More.".to_owned()))],
            ..PromptChanges::default()
        }),
    };
    let start = Ok(HookResult::Start(additions));
    let extension = TestExtension::returning("ext", HookKind::BeforeAgentStart, start);
    let mut driver = setup(&extension, [Reply::text("one"), Reply::text("two")]).start();
    driver.run("go").await;
    driver.until_idle().await;
    assert_eq!(driver.conversation()[..2], ["user: go", "custom: remember this"]);
    let system = driver.requests()[0]["system"].to_string();
    assert!(system.contains("Be someone else.") && system.contains("<extra>"), "{system}");
    driver.finish();
}

#[tokio::test]
async fn message_of_an_extension_starts_a_run_as_a_prompt_does() {
    let extension = TestExtension::new("ext", &[HookKind::BeforeAgentStart], |event, _| async move {
        let HookEvent::BeforeAgentStart { prompt, message, .. } = event else { panic!("{event:?}") };
        let Some(Message::Custom(message)) = message.as_deref() else { panic!("{message:?}") };
        assert_eq!((&*prompt, &*message.custom_type), ("wake up", "note"));
        let changes = PromptChanges { forced: Some("Be awake.".to_owned()), ..PromptChanges::default() };
        let additions = StartAdditions { message: Some(custom("remember this")), changes: Box::new(changes) };
        Ok(HookResult::Start(additions))
    });
    let mut driver = setup(&extension, [Reply::text("one")]).start();
    let link = extension.link();
    let send = |text: &str, delivery, triggers_turn| {
        let message = custom(text);
        let link = link.clone();
        async move { link.send(ExtensionInput::SendMessage { message, delivery, triggers_turn }).await }
    };
    send("with the prompt", Delivery::NextTurn, None).await;
    send("wake up", Delivery::Steer, Some(true)).await;
    driver.until_settled().await;
    let expected = ["custom: wake up", "custom: with the prompt", "custom: remember this", "assistant: one"];
    assert_eq!(driver.conversation(), expected);
    let system = driver.requests()[0]["system"].to_string();
    assert!(system.contains("Be awake."), "{system}");
    assert!(failures(&driver).is_empty());
    driver.until_idle().await;
    driver.finish();
}

#[tokio::test]
async fn message_is_replaced_in_context_file_and_events() {
    let extension = TestExtension::new("ext", &[HookKind::MessageEnd], |event, _| async move {
        let HookEvent::MessageEnd(message) = event else { panic!("{event:?}") };
        let mut message = (*message).clone();
        match &mut message {
            Message::User(user) => user.content = vec![Content::text("redacted")],
            Message::ToolResult(result) => result.content = vec![Content::text("shortened")],
            _ => return Ok(HookResult::None),
        }
        Ok(HookResult::Message(Arc::new(message)))
    });
    let mut driver = setup(&extension, tool_reply()).start();
    driver.run("go").await;
    driver.until_idle().await;
    assert_eq!(
        driver.conversation(),
        ["user: redacted", "assistant: [quick]", "toolResult: shortened", "assistant: done"]
    );
    let told = driver.of_type("message_end");
    assert_eq!(told[0]["message"]["content"][0]["text"], "redacted");
    driver.finish();
}

#[tokio::test]
async fn message_of_another_role_is_refused() {
    let other = Arc::new(Message::user("x", Vec::new(), 1));
    let driver = run(HookKind::MessageEnd, Ok(HookResult::Message(other)), vec![Reply::text("ok")]).await;
    let text = "message_end handlers must return a message with the same role";
    assert!(failures(&driver).iter().any(|(_, event, error)| event == "message_end" && error == text));
    driver.finish();
}

#[tokio::test]
async fn context_is_changed_for_the_request_only() {
    let messages = vec![Arc::new(Message::user("only this", Vec::new(), 1))];
    let mut driver =
        run(HookKind::Context, Ok(HookResult::Messages(messages)), vec![Reply::text("ok")]).await;
    assert!(driver.requests()[0]["messages"].to_string().contains("only this"));
    assert_eq!(driver.conversation()[0], "user: go");
    driver.finish();
}

#[tokio::test]
async fn boundaries_add_entries_and_turns() {
    for hook in [HookKind::TurnEnd, HookKind::AgentBeforeSettle] {
        let count = Arc::new(std::sync::atomic::AtomicU32::new(0));
        let extension = TestExtension::new("ext", &[hook], move |_, _| {
            let is_first = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
            let entries = vec![EntryDraft::Message(custom("look again"))];
            let boundary = HookResult::Boundary { entries, continues: Some(true) };
            std::future::ready(Ok(if is_first { boundary } else { HookResult::None }))
        });
        let mut driver = setup(&extension, [Reply::text("one"), Reply::text("two")]).start();
        driver.run("go").await;
        driver.until_idle().await;
        let expected = ["user: go", "assistant: one", "custom: look again", "assistant: two"];
        assert_eq!(driver.conversation(), expected, "{hook:?}");
        assert_eq!(driver.of_type("entry_appended").len(), 1);
        assert_eq!(driver.of_type("agent_settled").len(), 1);
        driver.finish();
    }
}

#[tokio::test]
async fn run_stops_after_the_turn_when_an_extension_wants_it() {
    let stop = HookResult::Stop { reason: None };
    let driver = run(HookKind::ToolResult, Ok(stop), tool_reply().into()).await;
    assert_eq!(driver.requests().len(), 1);
    // The run ends after a tool, which it never does by itself.
    driver.finish_without_grammar();
}

#[tokio::test]
async fn change_of_session_can_be_cancelled() {
    let extension = TestExtension::returning("ext", HookKind::SessionBeforeSwitch, Ok(HookResult::Cancel));
    let mut driver = setup(&extension, []).start();
    driver.send("n", Command::NewSession { parent: None });
    let answer = driver.until_reply("n").await.unwrap();
    assert!(matches!(answer, Answer::Cancelled(CancelledChange::Switch)), "{answer:?}");
    driver.until_idle().await;
    driver.finish();
}

#[tokio::test]
async fn compaction_can_be_cancelled_or_written_by_an_extension() {
    let long = crate::setup::long;
    let extension = TestExtension::returning("ext", HookKind::SessionBeforeCompact, Ok(HookResult::Cancel));
    let mut driver = setup(&extension, [Reply::text(&long("one")), Reply::text(&long("two"))]).start();
    driver.run(&long("go")).await;
    driver.run(&long("again")).await;
    driver.send("c", Command::Compact { instructions: None });
    driver.until_reply("c").await.unwrap_err();
    assert_eq!(driver.refusal("c"), "Compaction cancelled");
    assert_eq!(driver.of_type("compaction_end")[0]["aborted"], true);
    driver.until_idle().await;
    driver.finish();

    let draft = SummaryDraft {
        summary: "all of it".to_owned(),
        first_kept: None,
        tokens_before: None,
        details: None,
        usage: None,
    };
    let extension =
        TestExtension::returning("ext", HookKind::SessionBeforeCompact, Ok(HookResult::Compaction(draft)));
    let mut driver = setup(&extension, [Reply::text(&long("one")), Reply::text(&long("two"))]).start();
    driver.run(&long("go")).await;
    driver.run(&long("again")).await;
    let answer = driver.carry_out(Command::Compact { instructions: None }).await;
    let Answer::Compacted(result) = answer else { panic!("{answer:?}") };
    assert!(result.from_extension && result.summary == "all of it");
    assert_eq!(driver.requests().len(), 2);
    driver.until_idle().await;
    driver.finish();
}

#[tokio::test]
async fn shell_command_is_answered_by_an_extension() {
    let answer = ShellAnswer {
        output: "from afar".to_owned(),
        exit_code: Some(3),
        cancelled: false,
        truncated: false,
        full_output_path: None,
    };
    let extension = TestExtension::returning("ext", HookKind::UserBash, Ok(HookResult::Shell(answer)));
    let mut driver = setup(&extension, []).start();
    let command = Command::Shell { command: "exit 9".to_owned(), exclude_from_context: false };
    let answer = driver.carry_out(command).await;
    let Answer::Shell(result) = answer else { panic!("{answer:?}") };
    assert_eq!((&*result.output, result.exit_code), ("from afar", Some(3)));
    driver.until_idle().await;
    driver.finish();
}

#[tokio::test]
async fn events_wait_for_extensions_that_see_them_first() {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let held = Arc::clone(&gate);
    let extension = TestExtension::new("ext", &[HookKind::TurnStart], move |_, link| {
        let held = Arc::clone(&held);
        async move {
            let message = "seen".to_owned();
            link.send(ExtensionInput::Display(Display::Notify { message, level: None })).await;
            held.acquire().await.unwrap().forget();
            Ok(HookResult::None)
        }
    });
    let mut driver = setup(&extension, [Reply::text("ok")]).start();
    driver.prompt("p", "go");
    driver.until(|output| matches!(output, Output::Event(Event::Display { .. }))).await;
    // Neither the event nor what follows it is out, and the model is not called. The state is.
    assert!(driver.of_type("turn_start").is_empty());
    assert!(driver.requests().is_empty());
    assert!(driver.state().is_streaming);
    gate.add_permits(1);
    driver.until_settled().await;
    driver.until_idle().await;
    driver.finish();
}

#[tokio::test]
async fn hooks_are_called_in_the_order_of_a_run() {
    let all: Vec<_> = HookKind::ALL.iter().copied().filter(|hook| hook.role() != HookRole::Streams).collect();
    let extension = TestExtension::new("ext", &all, |_, _| std::future::ready(Ok(HookResult::None)));
    let mut driver = setup(&extension, tool_reply()).start();
    driver.run("go").await;
    driver.until_idle().await;
    let expected = [
        "session_start",
        "resources_discover",
        "input",
        "before_agent_start",
        "message_end",
        "agent_start",
        "turn_start",
        "message_start",
        "context",
        "context_with_system",
        "before_provider_headers",
        "before_provider_request",
        "after_provider_response",
        "message_start",
        "message_end",
        "tool_execution_start",
        "tool_call",
        "tool_result",
        "tool_execution_end",
        "message_end",
        "message_start",
        "turn_end",
        "turn_start",
        "context",
        "context_with_system",
        "before_provider_headers",
        "before_provider_request",
        "after_provider_response",
        "message_start",
        "message_end",
        "turn_end",
        "agent_end",
        "agent_before_settle",
        "agent_settled",
    ];
    assert_eq!(extension.seen(), expected);
    let mirrored = extension.mirrored.lock().unwrap().clone().unwrap();
    assert_eq!(mirrored.session_id, driver.state().session_id);
    assert!(mirrored.all_tools.iter().any(|tool| tool.definition.name == "grep"));
    assert_eq!(course(&driver.records()).last(), Some(&"agent_settled"));
    driver.finish();
}

#[tokio::test]
async fn extensions_that_are_only_told_hold_up_nothing() {
    let all: Vec<_> = HookKind::ALL.to_vec();
    let extension = TestExtension::new("ext", &[], |_, _| pending()).told(&all);
    let mut driver = setup(&extension, tool_reply()).start();
    driver.run("go").await;
    driver.until_idle().await;
    let seen = extension.seen();
    for hook in
        ["input", "agent_start", "message_update", "tool_call", "tool_result", "turn_end", "agent_settled"]
    {
        assert!(seen.iter().any(|name| name == hook), "{hook} is missing in {seen:?}");
    }
    driver.finish();
}

/// Every hook of a run, with a reply that reaches it.
#[tokio::test]
async fn abort_never_waits_for_a_hook_that_does_not_answer() {
    let hooks = HookKind::ALL.iter().copied().filter(|hook| {
        !matches!(hook.role(), HookRole::Streams)
            && !matches!(hook, HookKind::SessionStart | HookKind::ResourcesDiscover)
    });
    for hook in hooks {
        let extension = TestExtension::new("ext", &[hook], |_, _| pending());
        let mut driver = setup(&extension, tool_reply()).start();
        driver.prompt("p", "go");
        let name = hook.as_str();
        while !extension.seen().iter().any(|seen| seen == name) && !driver.session.is_idle() {
            // A hook that does not answer reports nothing.
            let _ = tokio::time::timeout(std::time::Duration::from_millis(2), driver.step()).await;
        }
        driver.send("a", Command::Abort);
        driver.until_reply("a").await.unwrap();
        driver.until_idle().await;
        driver.send("g", Command::GetState);
        driver.until_reply("g").await.unwrap();
        driver.finish();
    }
}

#[tokio::test]
async fn dialog_is_answered_by_the_user() {
    let extension = TestExtension::new("ext", &[HookKind::ToolCall], |_, link| async move {
        let kind = DialogKind::Confirm { message: "really?".to_owned() };
        let dialog = Dialog { kind, title: "Run?".to_owned(), timeout: None };
        match link.ask(dialog, CancellationToken::new()).await {
            DialogAnswer::Confirmed(true) => Ok(HookResult::None),
            _ => Ok(HookResult::Block { reason: Some("no".to_owned()), terminate: false }),
        }
    });
    for (answer, expected) in [(true, "toolResult: quick"), (false, "toolResult: no")] {
        let mut driver = setup(&extension, tool_reply()).start();
        driver.prompt("p", "go");
        let asked = driver.until_asked().await;
        driver.answer(asked.id, Decision::Dialog(DialogAnswer::Confirmed(answer)));
        driver.until_settled().await;
        assert_eq!(driver.conversation()[2], expected);
        driver.until_idle().await;
        driver.finish();
    }
}

#[tokio::test]
async fn dialog_times_out_by_itself_and_is_withdrawn_by_abort() {
    let extension = TestExtension::new("ext", &[HookKind::Input], |_, link| async move {
        let kind = DialogKind::Input { placeholder: None };
        let timeout = Some(std::time::Duration::from_millis(20));
        let dialog = Dialog { kind, title: "Name".to_owned(), timeout };
        let answer = link.ask(dialog, CancellationToken::new()).await;
        assert_eq!(answer, DialogAnswer::Cancelled);
        Ok(HookResult::Transform { text: "nobody answered".to_owned(), images: None })
    });
    let mut driver = setup(&extension, [Reply::text("ok")]).start();
    driver.run("go").await;
    assert_eq!(driver.conversation()[0], "user: nobody answered");
    driver.until_idle().await;
    driver.finish();

    let extension = TestExtension::new("ext", &[HookKind::ToolCall], |_, link| async move {
        let kind = DialogKind::Input { placeholder: None };
        let dialog = Dialog { kind, title: "Name".to_owned(), timeout: None };
        link.ask(dialog, CancellationToken::new()).await;
        Ok(HookResult::None)
    });
    let mut driver = setup(&extension, tool_reply()).start();
    driver.prompt("p", "go");
    driver.until_asked().await;
    driver.send("a", Command::Abort);
    // Everything happens in the same breath: nothing waits for the extension.
    assert!(driver.is_replied("a"), "{}", driver.transcript());
    assert_eq!(driver.conversation()[2], "toolResult: Operation aborted");
    driver.until_idle().await;
    driver.finish();
}

#[tokio::test]
async fn commands_of_extensions_are_run_listed_and_cannot_be_queued() {
    let extension = TestExtension::new("ext", &[], |_, _| pending());
    let gate = Gate::new();
    let mut driver = setup(&extension, [Reply::text("a").gate(&gate)]).start();
    let commands = vec![command("hello"), command("fail"), command("hello")];
    let link = extension.link();
    link.send(ExtensionInput::Commands { extension: "ext".into(), commands }).await;
    let answer = driver.carry_out(Command::GetCommands).await;
    let Answer::Commands(listed) = answer else { panic!("{answer:?}") };
    let names: Vec<_> = listed.iter().map(|command| command.name.as_str()).collect();
    assert_eq!(names, ["hello:1", "fail", "hello:2"]);

    driver.prompt("p", "/hello:2 one two  three");
    driver.until_reply("p").await.unwrap();
    driver.prompt("f", "/fail");
    driver.until_reply("f").await.unwrap();
    assert_eq!(extension.seen(), ["/hello one two  three", "/fail "]);
    let failed = ("command:fail".to_owned(), "command".to_owned(), "it failed".to_owned());
    assert_eq!(failures(&driver), [failed]);
    driver.enqueue("q", Queue::Steering, "/hello:1");
    assert!(driver.refusal("q").contains("cannot be queued"), "{}", driver.refusal("q"));
    driver.prompt("t", "/unknown stays text");
    driver.until_delta("a").await;
    gate.open();
    driver.until_settled().await;
    assert_eq!(driver.conversation()[0], "user: /unknown stays text");
    driver.until_idle().await;
    driver.finish();
}

#[tokio::test]
async fn messages_of_extensions_reach_the_conversation_as_they_say() {
    let extension = TestExtension::new("ext", &[], |_, _| pending());
    let gate = Gate::new();
    let replies = [Reply::text("one").gate(&gate), Reply::text("two"), Reply::text("three")];
    let mut driver = setup(&extension, replies).start();
    let link = extension.link();
    let send = |text: &str, delivery, triggers_turn| {
        let message = custom(text);
        let link = link.clone();
        async move { link.send(ExtensionInput::SendMessage { message, delivery, triggers_turn }).await }
    };
    send("with the prompt", Delivery::NextTurn, None).await;
    send("at once", Delivery::Steer, None).await;
    driver.step().await;
    driver.step().await;
    driver.step().await;
    driver.prompt("p", "go");
    driver.until_delta("one").await;
    send("after the turn", Delivery::Steer, Some(false)).await;
    send("steered", Delivery::Steer, None).await;
    send("followed", Delivery::FollowUp, None).await;
    driver.until_reports(3).await;
    for _ in 0..3 {
        driver.step().await;
    }
    assert_eq!(driver.state().pending_message_count, 0);
    gate.open();
    driver.until_settled().await;
    let expected = [
        "custom: at once",
        "user: go",
        "custom: with the prompt",
        "assistant: one",
        "custom: after the turn",
        "custom: steered",
        "assistant: two",
        "custom: followed",
        "assistant: three",
    ];
    assert_eq!(driver.conversation(), expected);
    driver.until_idle().await;
    driver.finish();
}

#[tokio::test]
async fn messages_sent_as_the_user_start_a_run_or_are_refused() {
    let extension = TestExtension::new("ext", &[], |_, _| pending());
    let gate = Gate::new();
    let mut driver = setup(&extension, [Reply::text("one").gate(&gate)]).start();
    let send = |text: &str| ExtensionInput::SendUserMessage {
        message: Draft { text: text.to_owned(), ..Draft::default() },
        queue: None,
        expands_templates: false,
    };
    let link = extension.link();
    link.send(send("from the extension")).await;
    driver.until_delta("one").await;
    link.send(send("too early")).await;
    while failures(&driver).is_empty() {
        driver.step().await;
    }
    assert_eq!(failures(&driver)[0].1, "send_user_message");
    gate.open();
    driver.until_settled().await;
    assert_eq!(driver.conversation()[0], "user: from the extension");
    driver.until_idle().await;
    driver.finish();
}

#[tokio::test]
async fn offered_tools_can_be_called_replaced_and_switched_off() {
    let extension = TestExtension::new("ext", &[], |_, _| pending());
    let replies = [Reply::new().tool("deploy", json!({})), Reply::text("done"), Reply::text("again")];
    let mut driver = setup(&extension, replies).start();
    let tool = OfferedTool {
        tool: Arc::new(TestTool::quick("deploy")),
        snippet: Some("ships it".to_owned()),
        guidelines: vec!["Deploy on Fridays.".to_owned()],
        is_active: true,
        source_info: None,
    };
    let link = extension.link();
    link.send(ExtensionInput::Tools { extension: "ext".into(), tools: vec![tool] }).await;
    driver.step().await;
    driver.step().await;
    driver.run("go").await;
    assert_eq!(driver.conversation()[2], "toolResult: deploy");
    let system = driver.requests()[0]["system"].to_string();
    assert!(system.contains("deploy: ships it") && system.contains("Fridays"), "{system}");
    driver.until_idle().await;
    link.send(ExtensionInput::SetActiveTools { names: vec!["read".to_owned(), "nothing".to_owned()] }).await;
    while driver.state().tools.len() != 1 {
        driver.step().await;
    }
    assert_eq!(*driver.state().tools, ["read".to_owned()]);
    driver.until_idle().await;
    driver.finish();
}

#[tokio::test]
async fn prompts_wait_for_extensions_and_the_state_does_not() {
    let extension = TestExtension::new("ext", &[HookKind::SessionStart], |_, _| async {
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        Ok(HookResult::None)
    });
    let mut driver = setup(&extension, [Reply::text("ok")]).start();
    driver.prompt("p", "go");
    assert!(!driver.is_replied("p"));
    driver.state();
    driver.until_settled().await;
    assert_eq!(extension.seen()[0], "session_start");
    driver.until_idle().await;
    driver.finish();
}

#[tokio::test]
async fn leaving_a_session_ends_the_commands_and_dialogs_of_its_extensions() {
    let extension =
        TestExtension::new("ext", &[HookKind::SessionShutdown, HookKind::SessionStart], |_, _| {
            std::future::ready(Ok(HookResult::None))
        });
    let mut driver = setup(&extension, []).start();
    let commands = vec![command("wait")];
    extension.link().send(ExtensionInput::Commands { extension: "ext".into(), commands }).await;
    driver.step().await;
    driver.step().await;
    driver.send("p", Command::Prompt { message: draft("/wait"), when_busy: None });
    while !extension.seen().iter().any(|seen| seen == "/wait ") {
        driver.step().await;
    }
    driver.send("n", Command::NewSession { parent: None });
    driver.until_reply("n").await.unwrap();
    assert!(driver.is_replied("p"));
    assert!(failures(&driver)[0].2.contains("stale"), "{:?}", failures(&driver));
    driver.until_idle().await;
    assert_eq!(extension.seen()[2..], ["session_shutdown", "session_start"]);
    driver.finish();
}

#[tokio::test]
async fn request_is_changed_as_it_is_sent_and_its_key_is_not_shown() {
    let hooks =
        [HookKind::BeforeProviderHeaders, HookKind::BeforeProviderRequest, HookKind::AfterProviderResponse];
    let shown = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&shown);
    let extension = TestExtension::new("ext", &hooks, move |event, _| {
        seen.lock().unwrap().push(format!("{event:?}"));
        std::future::ready(Ok(match event {
            HookEvent::BeforeProviderHeaders(_) => {
                HookResult::Headers([("x-extra".to_owned(), Some("1".to_owned()))].into())
            }
            HookEvent::BeforeProviderRequest(mut payload) => {
                payload["metadata"] = json!({ "user_id": "someone" });
                HookResult::Payload(payload)
            }
            _ => HookResult::None,
        }))
    });
    let mut driver = setup(&extension, [Reply::text("ok")]).start();
    driver.run("go").await;
    driver.until_idle().await;
    let request = &driver.server.requests()[0];
    assert_eq!(request.body["metadata"]["user_id"], "someone");
    assert_eq!(request.header("x-extra"), Some("1"));
    assert_eq!(request.header("x-api-key"), Some("sk-test"));
    let shown = shown.lock().unwrap().join("\n");
    assert!(shown.contains("anthropic-version") && shown.contains("status: 200"), "{shown}");
    assert!(!shown.contains("sk-test"), "{shown}");
    driver.finish();
}
