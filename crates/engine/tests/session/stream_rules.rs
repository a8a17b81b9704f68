//! Answers that break stream rules.

use bowline_core::command::{Command, Queue};
use bowline_core::reply::Answer;
use bowline_core::stream_rule::{InterruptedAnswer, RuleInterrupt, RuleRepeat};
use bowline_testkit::{Gate, Reply};
use serde_json::{Value, json};

use crate::driver::{Driver, course};
use crate::setup::{Setup, overloaded, work_of};
use crate::test_tools::TestTool;

/// Returns an agent in whose project there are rules: name, fields.
fn with_rules(rules: &[(&str, &str)]) -> Setup {
    let mut setup = Setup::new();
    let folder = work_of(setup.home.path()).join(".omp/rules");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, fields) in rules {
        std::fs::write(folder.join(format!("{name}.md")), format!("---\n{fields}\n---\nRule {name}.\n"))
            .unwrap();
    }
    setup.settings.stream_rules.enabled = true;
    setup.settings.stream_rules.own_folder = setup.home.path().to_owned();
    setup
}

/// Returns what the model saw as the last message.
fn last_message(driver: &Driver) -> String {
    let requests = driver.requests();
    requests.last().unwrap()["messages"].as_array().unwrap().last().unwrap()["content"].to_string()
}

fn types_of_entries(driver: &Driver) -> Vec<String> {
    let file = std::fs::read_to_string(driver.file()).unwrap();
    let entries = file.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let named = entries.map(|entry| match entry["customType"].as_str() {
        Some(custom) => format!("{}:{custom}", entry["type"].as_str().unwrap()),
        None => entry["type"].as_str().unwrap().to_owned(),
    });
    named.collect()
}

#[tokio::test]
async fn answer_that_breaks_a_rule_is_interrupted_and_asked_for_again_with_the_rule() {
    let mut driver = with_rules(&[("no-panic", "condition: 'panic!\\('")])
        .replies([
            Reply::text("I use pan").then_text("ic!(now) and").then_text(" more"),
            Reply::text("I return an error"),
        ])
        .start();
    let records = driver.run("go").await;
    assert_eq!(
        course(&records),
        [
            "agent_start",
            "turn_start",
            "message_end",
            "ttsr_triggered",
            "message_end",
            "turn_end",
            "agent_end",
            "entry_appended",
            "entry_appended",
            "agent_start",
            "turn_start",
            "message_end",
            "turn_end",
            "agent_end",
            "agent_settled"
        ]
    );
    let triggered = &driver.of_type("ttsr_triggered")[0]["rules"][0];
    assert_eq!((&triggered["name"], &triggered["content"]), (&json!("no-panic"), &json!("Rule no-panic.")));
    let interrupted = &driver.of_type("turn_end")[0]["message"];
    assert_eq!(interrupted["stopReason"], "aborted");
    assert_eq!(interrupted["errorMessage"], "TTSR matched rule: no-panic");
    assert_eq!(interrupted["content"][0]["text"], "I use panic!(now) and");
    assert_eq!(driver.of_type("agent_end")[0]["willRetry"], true);
    let conversation = driver.conversation();
    assert_eq!((&*conversation[0], &*conversation[2]), ("user: go", "assistant: I return an error"));
    assert!(conversation[1].starts_with("custom: <system-interrupt reason=\"rule_violation\" rule=\"no-panic\" path=\".omp/rules/no-panic.md\">"));
    assert_eq!(conversation.len(), 3);
    assert!(last_message(&driver).contains("Rule no-panic."));
    let entries = types_of_entries(&driver);
    assert!(
        entries.ends_with(
            &["custom_message:ttsr-injection", "custom:ttsr_injection", "message"].map(str::to_owned)
        ),
        "{entries:?}"
    );
    driver.finish();
}

#[tokio::test]
async fn rule_steps_in_once_and_a_second_breach_passes() {
    let mut driver = with_rules(&[("a", "condition: bad")])
        .replies([Reply::text("bad "), Reply::text("bad again"), Reply::text("bad later")])
        .start();
    driver.run("go").await;
    driver.run("go on").await;
    assert_eq!(driver.of_type("ttsr_triggered").len(), 1);
    driver.finish();
}

#[tokio::test]
async fn rules_that_stepped_in_are_known_when_the_session_is_opened_again() {
    let mut driver = with_rules(&[("a", "condition: bad")])
        .replies([
            Reply::text("bad "),
            Reply::text("good"),
            Reply::text("bad in between"),
            Reply::text("good"),
            Reply::text("bad again"),
        ])
        .start();
    driver.run("go").await;
    let file = driver.file();
    driver.carry_out(Command::NewSession { parent: None }).await;
    driver.run("go").await;
    assert_eq!(driver.of_type("ttsr_triggered").len(), 2, "another session");
    driver.carry_out(Command::SwitchSession { path: file }).await;
    driver.run("go").await;
    assert_eq!(driver.of_type("ttsr_triggered").len(), 2, "the first session again");
    driver.finish();
}

#[tokio::test]
async fn rule_steps_in_again_after_a_gap_of_turns() {
    let mut setup = with_rules(&[("a", "condition: bad")]);
    setup.settings.stream_rules.repeat = RuleRepeat::AfterGap(2);
    let replies =
        [Reply::text("bad "), Reply::text("bad too soon"), Reply::text("bad in time"), Reply::text("good")];
    let mut driver = setup.replies(replies).start();
    driver.run("one").await;
    assert_eq!(driver.of_type("ttsr_triggered").len(), 1);
    driver.run("two").await;
    assert_eq!(driver.of_type("ttsr_triggered").len(), 2);
    driver.finish();
}

#[tokio::test]
async fn interrupted_answer_can_be_kept_for_the_model() {
    let mut setup = with_rules(&[("a", "condition: bad")]);
    setup.settings.stream_rules.interrupted_answer = InterruptedAnswer::Keep;
    let mut driver = setup.replies([Reply::text("so bad!"), Reply::text("good")]).start();
    driver.run("go").await;
    assert!(
        last_message(&driver).contains("<interrupted-output>\\nso bad!\\n</interrupted-output>"),
        "{}",
        last_message(&driver)
    );
    let conversation = driver.conversation();
    assert_eq!((&*conversation[1], conversation.len()), ("assistant: so bad!", 4));
    driver.finish();
}

#[tokio::test]
async fn tool_call_that_breaks_a_rule_does_not_run() {
    let mut driver = with_rules(&[("a", "condition: 'rm -rf'\nscope: 'tool:bash'")])
        .replies([
            Reply::new().tool("bash", json!({"command": "touch made; rm -rf /nowhere"})),
            Reply::text("rm -rf is not run"),
        ])
        .start();
    driver.run("go").await;
    assert_eq!(driver.of_type("tool_execution_start"), [Value::Null; 0]);
    assert_eq!(driver.of_type("ttsr_triggered").len(), 1);
    assert!(!work_of(driver.home.path()).join("made").exists());
    driver.finish();
}

#[tokio::test]
async fn result_of_a_call_mentions_a_rule_that_does_not_interrupt() {
    let mut driver = with_rules(&[("a", "condition: hello\nscope: tool\ninterruptMode: never")])
        .tool(TestTool::quick("hello"))
        .replies([
            Reply::new().tool("hello", json!({"text": "hello"})).tool("hello", json!({"text": "hello"})),
            Reply::text("done"),
        ])
        .start();
    let records = driver.run("go").await;
    assert_eq!(driver.of_type("ttsr_triggered").len(), 1);
    let ends = driver.of_type("tool_execution_end");
    let reminder = ends[0]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(reminder.starts_with("<system-reminder reason=\"rule_violation\" rule=\"a\""), "{reminder}");
    assert_eq!(ends[0]["result"]["content"][1]["text"], "hello");
    assert_eq!(ends[1]["result"]["content"].as_array().unwrap().len(), 1, "one call mentions it");
    assert_eq!(course(&records).iter().filter(|name| **name == "agent_start").count(), 1);
    assert!(types_of_entries(&driver).contains(&"custom:ttsr_injection".to_owned()));
    driver.finish();
}

#[tokio::test]
async fn model_is_told_afterwards_of_a_rule_that_does_not_interrupt_its_text() {
    let mut setup = with_rules(&[("a", "condition: bad")]);
    setup.settings.stream_rules.interrupt = RuleInterrupt::ToolOnly;
    let mut driver = setup.replies([Reply::text("bad idea"), Reply::text("better")]).start();
    let records = driver.run("go").await;
    assert_eq!(driver.of_type("ttsr_triggered"), [Value::Null; 0]);
    assert_eq!(
        course(&records)[2..],
        [
            "message_end",
            "message_end",
            "turn_end",
            "entry_appended",
            "turn_start",
            "message_end",
            "turn_end",
            "agent_end",
            "agent_settled"
        ]
    );
    let conversation = driver.conversation();
    assert!(conversation[1] == "assistant: bad idea" && conversation[3] == "assistant: better");
    assert!(conversation[2].starts_with("custom: <system-reminder reason=\"rule_violation\" rule=\"a\""));
    driver.finish();
}

#[tokio::test]
async fn steering_message_is_delivered_with_the_rule() {
    let gate = Gate::new();
    let mut driver = with_rules(&[("a", "condition: bad")])
        .replies([Reply::text("so").gate(&gate).then_text(" bad!"), Reply::text("good")])
        .start();
    driver.prompt("p", "go");
    driver.until_delta("so").await;
    driver.enqueue("s", Queue::Steering, "and hurry");
    gate.open();
    driver.until_settled().await;
    let conversation = driver.conversation();
    assert!(
        conversation[1].starts_with("custom: ") && conversation[2] == "user: and hurry",
        "{conversation:?}"
    );
    driver.finish();
}

#[tokio::test]
async fn abort_ends_the_run_that_a_rule_continued() {
    let gate = Gate::new();
    let mut driver = with_rules(&[("a", "condition: bad")])
        .replies([Reply::text("bad "), Reply::text("good").gate(&gate)])
        .start();
    driver.prompt("p", "go");
    driver.until_delta("good").await;
    driver.send("a", Command::Abort);
    let settled = driver.until_settled().await;
    assert_eq!(settled["aborted"], true);
    gate.open();
    driver.finish();
}

#[tokio::test]
async fn rule_that_breaks_a_retried_answer_ends_the_retries() {
    let mut driver = with_rules(&[("a", "condition: bad")])
        .retry_after(std::time::Duration::from_millis(1))
        .replies([overloaded(), Reply::text("bad "), Reply::text("good")])
        .start();
    driver.run("go").await;
    assert_eq!(driver.of_type("auto_retry_end")[0]["success"], true);
    driver.finish();
}

#[tokio::test]
async fn rules_that_never_let_an_answer_pass_end_at_the_limit_of_turns() {
    let mut setup = with_rules(&[("a", "condition: bad")]);
    setup.settings.stream_rules.repeat = RuleRepeat::AfterGap(1);
    setup.settings.limits.run.turns = Some(5);
    setup.server.default_reply(Reply::text("bad "));
    let mut driver = setup.start();
    let records = driver.run("go").await;
    assert_eq!(records.last().unwrap()["errorKind"], "too_many_turns");
    driver.finish();
}

#[tokio::test]
async fn session_that_cannot_be_written_ends_the_run() {
    let gate = Gate::new();
    let mut driver = with_rules(&[("a", "condition: bad")])
        .replies([Reply::text("so").gate(&gate).then_text(" bad!")])
        .start();
    driver.prompt("p", "go");
    driver.until_delta("so").await;
    let file = driver.file();
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    gate.open();
    driver.until_settled().await;
    driver.without_file_check();
    driver.finish();
}

#[tokio::test]
async fn nothing_is_read_or_watched_without_the_setting() {
    let mut setup = with_rules(&[("a", "condition: bad")]);
    setup.settings.stream_rules.enabled = false;
    let mut driver = setup.replies([Reply::text("bad ")]).start();
    driver.run("go").await;
    assert_eq!(driver.of_type("ttsr_triggered"), [Value::Null; 0]);
    let Answer::Messages(messages) = driver.carry_out(Command::GetMessages).await else { panic!() };
    assert_eq!(messages.len(), 2);
    driver.finish();
}
