//! Hooks as a session sees them: events in, results and inputs out, with real commands between.

#![expect(clippy::unwrap_used, reason = "helpers report failures by panicking")]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bowline_core::command::Queue;
use bowline_core::event::{CompactionReason, FileOperations};
use bowline_core::hook::{
    Boundary, CompactionPreparation, EntryDraft, HookEvent, HookKind, HookResult, InputSource, SessionReason,
    StartAdditions, Subscription, TurnOutcome,
};
use bowline_core::message::{AssistantContent, AssistantMessage, Content, Message, TextBlock};
use bowline_core::ui::Display;
use bowline_engine::{About, Delivery, Extension, ExtensionInput};
use bowline_tools::{BoxFuture, Options};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};
use tokio_util::sync::CancellationToken;

use super::config::HookConfig;
use super::runner::Runner;
use super::session_hooks::{Recipient, SessionHooks};
use super::tools::text_of;

/// Keeps what hooks send.
#[derive(Debug, Clone, Default)]
struct Inbox(Arc<Mutex<Vec<ExtensionInput>>>);

impl Recipient for Inbox {
    fn send(&self, input: ExtensionInput) -> BoxFuture<'_, bool> {
        if !matches!(input, ExtensionInput::GetContext { .. }) {
            self.0.lock().unwrap().push(input);
        }
        Box::pin(std::future::ready(true))
    }
}

struct Bench {
    hooks: SessionHooks,
    inbox: Inbox,
    ended: CancellationToken,
    directory: TempDir,
}

impl Bench {
    fn new(settings: &Value) -> Self {
        let directory = tempdir().unwrap();
        let mut config = HookConfig::default();
        config.add("settings.json", settings);
        assert_eq!(config.warnings, []);
        let about = About {
            session_id: "s1".to_owned(),
            session_file: Some("/sessions/s1.jsonl".into()),
            directory: directory.path().to_owned(),
            providers: bowline_llm::Providers::new(bowline_llm::Sources::default()).unwrap(),
            reason: SessionReason::Startup,
            guards: Default::default(),
        };
        let inbox = Inbox::default();
        let ended = CancellationToken::new();
        let runner = Runner::new(Arc::new(Options::default()), ended.clone());
        let hooks = SessionHooks::new(about, None, Box::new(inbox.clone()), runner, Arc::new(config), None);
        Self { hooks, inbox, ended, directory }
    }

    /// Hooks with one command at one event.
    fn with(event: &str, command: &str) -> Self {
        Self::new(&json!({event: [{"hooks": [{"type": "command", "command": command}]}]}))
    }

    async fn call(&self, event: HookEvent) -> HookResult {
        self.hooks.call(Arc::new(event), CancellationToken::new()).await.unwrap()
    }

    fn sent(&self) -> Vec<String> {
        let described = |input: &ExtensionInput| match input {
            ExtensionInput::Failed(error) => format!("{} {}: {}", error.extension, error.event, error.error),
            ExtensionInput::Display(Display::Notify { message, .. }) => format!("notify {message}"),
            ExtensionInput::SendMessage { message, delivery, .. } => {
                assert!(!message.display);
                format!("{delivery:?} {}", text_of(&message.content))
            }
            other => format!("{other:?}"),
        };
        self.inbox.0.lock().unwrap().iter().map(described).collect()
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.directory.path().join(name)).unwrap_or_default()
    }

    /// What a command wrote to the file `input`, which it read from stdin.
    fn input(&self) -> Value {
        serde_json::from_str(&self.file("input")).unwrap()
    }
}

fn tool_call(tool: &str, arguments: &Value) -> HookEvent {
    let arguments = Arc::new(arguments.as_object().unwrap().clone());
    HookEvent::ToolCall { call_id: "c1".to_owned(), tool: tool.to_owned(), arguments }
}

fn tool_result(tool: &str, arguments: &Value, text: &str, is_error: bool) -> HookEvent {
    HookEvent::ToolResult {
        call_id: "c1".to_owned(),
        tool: tool.to_owned(),
        arguments: Arc::new(arguments.as_object().unwrap().clone()),
        content: vec![Content::text(text)],
        details: None,
        structured_content: None,
        usage: None,
        is_error,
    }
}

fn input(text: &str, queue: Option<Queue>) -> HookEvent {
    HookEvent::Input {
        text: text.to_owned(),
        images: Vec::new(),
        source: InputSource::Rpc,
        streaming_behavior: queue,
    }
}

fn settles(outcome: TurnOutcome) -> HookEvent {
    let boundary = Boundary { can_continue: true, ..Boundary::default() };
    HookEvent::AgentBeforeSettle { outcome, boundary }
}

fn block(reason: &str) -> HookResult {
    HookResult::Block { reason: Some(reason.to_owned()), terminate: false }
}

/// A command that prints an object.
fn prints(object: &Value) -> String {
    format!("cat > /dev/null; printf '%s' '{object}'")
}

fn decides(decision: &str, reason: &str) -> String {
    let output = json!({"permissionDecision": decision, "permissionDecisionReason": reason});
    prints(&json!({"hookSpecificOutput": output}))
}

#[tokio::test]
async fn every_event_has_the_fields_that_all_have() {
    let bench = Bench::with("PreToolUse", "cat > input; env > env; pwd > pwd");
    assert_eq!(bench.call(tool_call("bash", &json!({"command": "ls"}))).await, HookResult::None);
    let directory = bench.directory.path().to_string_lossy().into_owned();
    assert_eq!(
        bench.input(),
        json!({
            "session_id": "s1", "transcript_path": "/sessions/s1.jsonl", "cwd": directory,
            "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": {"command": "ls"}, "tool_use_id": "c1",
            "bowline": {"toolName": "bash", "args": {"command": "ls"}},
        })
    );
    let environment = bench.file("env");
    for name in ["CLAUDE_PROJECT_DIR", "BOWLINE_PROJECT_DIR"] {
        assert!(environment.contains(&format!("{name}={directory}\n")), "{environment}");
    }
    assert_eq!(Path::new(bench.file("pwd").trim()), bench.directory.path().canonicalize().unwrap());
    assert_eq!(bench.sent(), [""; 0]);
}

#[tokio::test]
async fn guard_blocks_by_exit_code_or_object() {
    let call = || tool_call("bash", &json!({"command": "rm -rf /"}));
    let script = "grep -q 'rm -rf' && { echo 'not that' >&2; exit 2; }; exit 0";
    let bench = Bench::with("PreToolUse", script);
    assert_eq!(bench.call(call()).await, block("not that"));
    assert_eq!(bench.call(tool_call("bash", &json!({"command": "ls"}))).await, HookResult::None);
    assert_eq!(Bench::with("PreToolUse", &decides("deny", "no")).call(call()).await, block("no"));
    let old = prints(&json!({"decision": "block", "reason": "old"}));
    assert_eq!(Bench::with("PreToolUse", &old).call(call()).await, block("old"));
    let ask = HookResult::Ask { reason: "sure?".to_owned() };
    assert_eq!(Bench::with("PreToolUse", &decides("ask", "sure?")).call(call()).await, ask);
    assert_eq!(Bench::with("PreToolUse", &decides("allow", "")).call(call()).await, HookResult::None);
}

#[tokio::test]
async fn commands_run_at_the_same_time_and_the_strictest_wins() {
    // Each waits for the other: run one after the other, the first would never end.
    let meet = |own: &str, other: &str, then: &str| {
        format!("touch {own}; while [ ! -e {other} ]; do sleep 0.01; done; {then}")
    };
    let hook = |command: String| json!({"type": "command", "command": command, "timeout": 20});
    let bench = Bench::new(&json!({"PreToolUse": [{"matcher": "Bash", "hooks": [
        hook(meet("a", "b", &decides("ask", "sure?"))),
        hook(meet("b", "a", &decides("deny", "no"))),
        hook("echo ran >> count".to_owned()),
    ]}, {"hooks": [hook("echo ran >> count".to_owned())]}]}));
    assert_eq!(bench.call(tool_call("bash", &json!({"command": "x"}))).await, block("no"));
    assert_eq!(bench.file("count"), "ran\n", "identical commands run once");
}

#[tokio::test]
async fn arguments_are_replaced_and_checked_and_the_user_is_asked_about_the_new_ones() {
    let output = json!({"permissionDecision": "ask", "permissionDecisionReason": "ok?",
        "updatedInput": {"file_path": "/other", "content": "x"}});
    let bench = Bench::with("PreToolUse", &prints(&json!({"hookSpecificOutput": output})));
    let arguments = json!({"path": "/other", "content": "x"}).as_object().unwrap().clone();
    assert_eq!(
        bench.call(tool_call("write", &json!({"path": "a", "content": "x"}))).await,
        HookResult::All(vec![
            HookResult::Arguments { arguments, validate: true },
            HookResult::Ask { reason: "ok?".to_owned() },
        ])
    );
}

#[tokio::test]
async fn continue_false_ends_the_run_without_the_call() {
    let bench = Bench::with(
        "PreToolUse",
        &prints(&json!({"continue": false, "stopReason": "enough", "systemMessage": "look"})),
    );
    let reason = Some("enough".to_owned());
    let expected = HookResult::All(vec![
        HookResult::Stop { reason: reason.clone() },
        HookResult::Block { reason, terminate: true },
    ]);
    assert_eq!(bench.call(tool_call("ls", &json!({}))).await, expected);
    assert_eq!(bench.sent(), ["notify look", "notify enough"]);
}

#[tokio::test]
async fn failures_are_reported_and_block_only_if_the_hook_says_so() {
    for (command, error) in [
        ("echo oops >&2; exit 1", "exited with code 1: oops"),
        ("/no/such/program 2> /dev/null", "exited with code 127"),
        ("kill -9 $$", "was killed by signal 9"),
        ("sleep 60", "timed out"),
        ("echo '{'", "printed what is not JSON: EOF while parsing an object at line 1 column 1"),
    ] {
        for (choice, blocks) in [("continue", false), ("block", true)] {
            let hook = json!({"type": "command", "command": command, "timeout": 0.3, "onFailure": choice});
            let bench = Bench::new(&json!({"PreToolUse": [{"hooks": [hook]}]}));
            let result = bench.call(tool_call("ls", &json!({}))).await;
            assert_eq!(bench.sent(), [format!("hook:PreToolUse tool_call: the command `{command}` {error}")]);
            let expected = block(&format!("A PreToolUse hook failed: it {error}"));
            assert_eq!(result, if blocks { expected } else { HookResult::None });
        }
    }
}

#[tokio::test]
async fn abort_kills_the_command_and_what_it_asked_about_does_not_happen() {
    let bench = Bench::with("PreToolUse", "touch begun; sleep 300");
    let cancel = CancellationToken::new();
    let call = tokio::spawn(bench.hooks.call(Arc::new(tool_call("ls", &json!({}))), cancel.clone()));
    while !bench.directory.path().join("begun").exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let begin = Instant::now();
    cancel.cancel();
    let result = call.await.unwrap().unwrap();
    assert!(matches!(result, HookResult::Block { .. }), "{result:?}");
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert_eq!(bench.sent(), [""; 0]);
}

#[tokio::test]
async fn end_of_the_session_ends_its_commands() {
    let bench = Bench::with("PreToolUse", "touch begun; sleep 300");
    let call =
        tokio::spawn(bench.hooks.call(Arc::new(tool_call("ls", &json!({}))), CancellationToken::new()));
    while !bench.directory.path().join("begun").exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    bench.ended.cancel();
    assert!(matches!(call.await.unwrap().unwrap(), HookResult::Block { .. }));
}

#[tokio::test]
async fn results_are_extended_and_replaced() {
    let arguments = || json!({"path": "a.rs", "edits": [{"oldText": "x", "newText": "y"}]});
    let bench = Bench::with("PostToolUse", "cat > input; echo 'a.rs:1: unused' >&2; exit 2");
    let HookResult::ToolResult(change) = bench.call(tool_result("edit", &arguments(), "Edited", false)).await
    else {
        panic!()
    };
    let text = text_of(&change.content.unwrap());
    assert_eq!(text, "Edited\nFeedback from the PostToolUse hook:\na.rs:1: unused");
    assert_eq!((change.details, change.is_error), (None, None));
    let path = bench.directory.path().join("a.rs").to_string_lossy().into_owned();
    let seen = bench.input();
    assert_eq!(seen["tool_input"]["file_path"], path);
    assert_eq!(seen["tool_response"]["filePath"], path);
    assert_eq!(seen["tool_name"], "Edit");

    let output = json!({"hookSpecificOutput": {"updatedToolOutput": "short", "additionalContext": "note"}});
    let bench = Bench::with("PostToolUse", &prints(&output));
    let HookResult::ToolResult(change) =
        bench.call(tool_result("bash", &json!({"command": "x"}), "long", false)).await
    else {
        panic!()
    };
    assert_eq!(text_of(&change.content.unwrap()), "short\nContext from the PostToolUse hook:\nnote");
    let bench = Bench::with("PostToolUse", &prints(&json!({"continue": false})));
    let stop = HookResult::Stop { reason: None };
    assert_eq!(bench.call(tool_result("ls", &json!({}), "x", false)).await, stop);
}

#[tokio::test]
async fn failed_calls_have_an_event_of_their_own() {
    let bench = Bench::with("PostToolUse", "touch ran");
    assert_eq!(bench.call(tool_result("ls", &json!({}), "no", true)).await, HookResult::None);
    assert!(!bench.directory.path().join("ran").exists());
    let bench = Bench::with("PostToolUseFailure", "cat > input");
    bench.call(tool_result("ls", &json!({}), "no such folder", true)).await;
    assert_eq!(bench.input()["error"], "no such folder");
}

#[tokio::test]
async fn prompts_are_blocked_or_extended() {
    let bench =
        Bench::with("UserPromptSubmit", "grep -q password && { echo 'no secrets' >&2; exit 2; }; exit 0");
    assert_eq!(bench.call(input("my password", None)).await, HookResult::Handled);
    assert_eq!(bench.sent(), ["notify no secrets"]);
    assert_eq!(bench.call(input("hello", None)).await, HookResult::None);

    let bench = Bench::with("UserPromptSubmit", "cat > input; echo today is Monday");
    let HookResult::Start(StartAdditions { message: Some(message), .. }) =
        bench.call(input("hello", None)).await
    else {
        panic!()
    };
    assert_eq!(text_of(&message.content), "Context from the UserPromptSubmit hook:\ntoday is Monday");
    assert_eq!((message.custom_type.as_str(), message.display), ("command_hook", false));
    assert_eq!(bench.input()["prompt"], "hello");
    assert_eq!(bench.call(input("hello", Some(Queue::Steering))).await, HookResult::None);
    assert_eq!(bench.sent(), ["Steer Context from the UserPromptSubmit hook:\ntoday is Monday"]);
}

#[tokio::test]
async fn stop_hook_sends_the_model_back_at_most_8_times_in_a_row() {
    let script = "cat >> input; echo >> input; echo 'run the tests' >&2; exit 2";
    let bench = Bench::with("Stop", script);
    let answer = AssistantMessage {
        content: vec![AssistantContent::Text(TextBlock { text: "done".to_owned(), text_signature: None })],
        api: String::new(),
        provider: String::new(),
        model: String::new(),
        thinking_level: None,
        usage: bowline_core::usage::Usage::default(),
        stop_reason: bowline_core::message::StopReason::Stop,
        timestamp: 0,
        response_id: None,
        raw_stop_reason: None,
        error_message: None,
        error_kind: None,
        duration: None,
        time_to_first_piece: None,
        completed_at: None,
    };
    bench.hooks.tell(&HookEvent::TurnEnd {
        index: 0,
        message: Arc::new(Message::Assistant(answer)),
        tool_results: Vec::new(),
        message_entry: None,
        tool_result_entries: Vec::new(),
        outcome: TurnOutcome::Completed,
        boundary: Boundary::default(),
    });
    for round in 0..10 {
        let result = bench.call(settles(TurnOutcome::Completed)).await;
        if round == 8 {
            assert_eq!(result, HookResult::None);
            assert!(bench.sent()[0].contains("8 times in a row"), "{:?}", bench.sent());
            continue;
        }
        let HookResult::Boundary { entries, continues: Some(true) } = result else { panic!("{round}") };
        let [EntryDraft::Message(message)] = entries.as_slice() else { panic!() };
        assert_eq!(text_of(&message.content), "Feedback from the Stop hook:\nrun the tests");
    }
    let active: Vec<_> = bench
        .file("input")
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|input| {
            assert_eq!(input["last_assistant_message"], "done");
            input["stop_hook_active"].as_bool().unwrap()
        })
        .collect();
    // The ninth ended the run, so the tenth is the first of another.
    assert_eq!(active, [false, true, true, true, true, true, true, true, true, false]);
    bench.hooks.tell(&HookEvent::AgentSettled { aborted: true });
    bench.call(settles(TurnOutcome::Completed)).await;
    let last = bench.file("input").lines().rfind(|line| !line.is_empty()).unwrap().to_owned();
    assert_eq!(serde_json::from_str::<Value>(&last).unwrap()["stop_hook_active"], false);
    assert_eq!(bench.call(settles(TurnOutcome::Error)).await, HookResult::None);
}

#[tokio::test]
async fn session_start_adds_context_by_its_source() {
    let hook = |matcher: &str| {
        json!({"matcher": matcher, "hooks": [
            {"type": "command", "command": format!("cat > input; echo from {matcher}")},
        ]})
    };
    let bench = Bench::new(&json!({"SessionStart": [hook("startup"), hook("resume"), hook("clear")]}));
    for (reason, source) in [
        (SessionReason::Startup, "startup"),
        (SessionReason::Resume, "resume"),
        (SessionReason::Fork, "resume"),
        (SessionReason::New, "clear"),
    ] {
        bench.call(HookEvent::SessionStart { reason, previous_file: None }).await;
        assert_eq!(bench.input()["source"], source);
        assert_eq!(
            bench.sent().pop().unwrap(),
            format!("{:?} Context from the SessionStart hook:\nfrom {source}", Delivery::NextTurn)
        );
    }
    bench.call(HookEvent::SessionStart { reason: SessionReason::Reload, previous_file: None }).await;
    assert_eq!(bench.sent().len(), 4);
}

#[tokio::test]
async fn session_end_and_compaction_are_told_and_change_nothing() {
    let bench = Bench::with("SessionEnd", "cat > input; exit 2");
    let end = HookEvent::SessionShutdown { reason: SessionReason::New, target: None };
    assert_eq!(bench.call(end).await, HookResult::None);
    assert_eq!(bench.input()["reason"], "clear");
    assert_eq!(bench.sent().len(), 1);

    let bench = Bench::with("PreCompact", &format!("tee input | {}", prints(&json!({"decision": "block"}))));
    let preparation = CompactionPreparation {
        first_kept: bowline_core::event::EntryName::from("e1"),
        messages: Vec::new(),
        turn_prefix: Vec::new(),
        tokens_before: 0,
        previous_summary: None,
        files: FileOperations::default(),
        reserve_tokens: 0,
        keep_recent_tokens: 0,
        instructions: Some("keep the plan".to_owned()),
        reason: CompactionReason::Threshold,
        will_retry: false,
    };
    assert_eq!(bench.call(HookEvent::SessionBeforeCompact(Box::new(preparation))).await, HookResult::None);
    let seen = bench.input();
    assert_eq!((&seen["trigger"], &seen["custom_instructions"]), (&json!("auto"), &json!("keep the plan")));
}

#[tokio::test]
async fn notifications_run_commands_that_nobody_waits_for() {
    let command = format!("cat > input; {}; touch done", prints(&json!({"systemMessage": "again"})));
    let bench = Bench::with("Notification", &command);
    assert_eq!(bench.hooks.subscription(HookKind::UiNotify, None), Subscription::Told);
    bench.hooks.tell(&HookEvent::UiNotify { message: "hello".to_owned(), level: None });
    while !bench.directory.path().join("done").exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(bench.input()["message"], "hello");
    assert_eq!(bench.sent(), [""; 0], "a notification causes no other");
}

#[tokio::test]
async fn flood_of_notifications_is_bounded_and_reported_once() {
    let bench = Bench::with("Notification", "sleep 300");
    for _ in 0..100 {
        bench.hooks.tell(&HookEvent::UiPromptStart { kind: "confirm", title: "Sure?".to_owned() });
    }
    while bench.sent().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(bench.sent().len(), 1);
    assert!(bench.sent()[0].contains("too many commands"), "{:?}", bench.sent());
    bench.ended.cancel();
}

#[tokio::test]
async fn background_hooks_are_not_waited_for() {
    let bench = Bench::new(&json!({"PreToolUse": [{"hooks": [
        {"type": "command", "command": "sleep 0.2; touch done; exit 2", "async": true},
    ]}]}));
    assert_eq!(bench.call(tool_call("ls", &json!({}))).await, HookResult::None);
    assert!(!bench.directory.path().join("done").exists());
    while !bench.directory.path().join("done").exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn only_hooks_that_exist_are_subscribed_to() {
    let bench = Bench::new(&json!({
        "PreToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "x"}]}],
        "Stop": [{"hooks": [{"type": "command", "command": "x"}]}],
    }));
    for hook in HookKind::ALL {
        for tool in ["edit", "write", "bash", "mcp__a__b"] {
            let expected = match (hook, tool) {
                (HookKind::ToolCall, "edit" | "write") | (HookKind::AgentBeforeSettle, _) => {
                    Subscription::Awaited
                }
                (HookKind::TurnEnd | HookKind::AgentSettled, _) => Subscription::Told,
                _ => Subscription::None,
            };
            assert_eq!(bench.hooks.subscription(*hook, Some(tool)), expected, "{hook:?} {tool}");
        }
    }
}

#[tokio::test]
async fn conditions_save_starting_commands() {
    let hook = json!({"type": "command", "command": "echo no >&2; exit 2", "if": "Bash(git push *)"});
    let bench = Bench::new(&json!({"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}));
    assert_eq!(bench.call(tool_call("bash", &json!({"command": "git pull"}))).await, HookResult::None);
    assert_eq!(bench.call(tool_call("bash", &json!({"command": "cd x && git push"}))).await, block("no"));
}
