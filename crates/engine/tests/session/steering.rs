//! Messages that reach a run in progress.

use std::sync::Arc;

use bowline_core::command::{Command, InterruptMode, Queue};
use bowline_core::policy::IdleQueue;
use bowline_testkit::{Gate, Reply};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::setup::{NEARLY_FULL, Setup, long};
use crate::test_tools::TestTool;

#[tokio::test]
async fn steering_is_delivered_between_turns() {
    let permits = Arc::new(Semaphore::new(0));
    let replies = [Reply::new().tool("gated", json!({})), Reply::text("done")];
    let mut driver = Setup::new().tool(TestTool::gated("gated", &permits)).replies(replies).start();
    driver.prompt("p", "go");
    driver.until_type("tool_execution_start").await;
    driver.enqueue("s", Queue::Steering, "rather this");
    permits.add_permits(1);
    driver.until_settled().await;
    assert_eq!(
        driver.conversation(),
        ["user: go", "assistant: [gated]", "toolResult: gated", "user: rather this", "assistant: done"]
    );
    driver.finish();
}

#[tokio::test]
async fn immediate_steering_skips_the_calls_that_have_not_started() {
    let permits = Arc::new(Semaphore::new(0));
    let calls = Reply::new().tool("gated", json!({})).tool("gated", json!({})).tool("gated", json!({}));
    let setup = Setup::new().policy(|policy| policy.interrupt_mode = InterruptMode::Immediate);
    let setup = setup.tool(TestTool::gated("gated", &permits)).replies([calls, Reply::text("done")]);
    let mut driver = setup.start();
    driver.prompt("p", "go");
    driver.until_type("tool_execution_start").await;
    assert_eq!(driver.of_type("tool_execution_start").len(), 1, "calls run one by one");
    driver.enqueue("s", Queue::Steering, "stop that");
    permits.add_permits(3);
    driver.until_settled().await;
    let skipped = "toolResult: Skipped due to queued user message.";
    assert_eq!(
        driver.conversation()[2..],
        ["toolResult: gated", skipped, skipped, "user: stop that", "assistant: done"]
    );
    driver.finish();
}

#[tokio::test]
async fn follow_ups_are_delivered_when_the_run_would_end() {
    let gate = Gate::new();
    let replies = [Reply::text("one").gate(&gate), Reply::text("two"), Reply::text("three")];
    let mut driver = Setup::new().replies(replies).start();
    driver.prompt("p", "go");
    driver.until_delta("one").await;
    driver.enqueue("f", Queue::FollowUp, "then this");
    driver.send(
        "q",
        Command::Prompt { message: crate::driver::draft("and that"), when_busy: Some(Queue::FollowUp) },
    );
    gate.open();
    driver.until_settled().await;
    assert_eq!(
        driver.conversation(),
        [
            "user: go",
            "assistant: one",
            "user: then this",
            "assistant: two",
            "user: and that",
            "assistant: three"
        ]
    );
    driver.finish();
}

#[tokio::test]
async fn message_queued_during_the_last_compaction_starts_another_attempt() {
    let gate = Gate::new();
    let replies = [
        Reply::text("one"),
        Reply::text("two").usage(NEARLY_FULL),
        Reply::text("SUMMARY").gate(&gate),
        Reply::text("three"),
    ];
    let mut driver = Setup::new().replies(replies).start();
    driver.run(&long("ONE")).await;
    driver.prompt("p", &long("TWO"));
    driver.until_type("compaction_start").await;
    driver.enqueue("f", Queue::FollowUp, "three?");
    gate.open();
    assert_eq!(driver.until_settled().await["aborted"], false);
    assert_eq!(
        driver.conversation(),
        ["compactionSummary: SUMMARY", "user: TWO", "assistant: two", "user: three?", "assistant: three"]
    );
    driver.finish();
}

#[tokio::test]
async fn idle_messages_wait_for_the_next_prompt_or_start_a_run() {
    let mut driver = Setup::new().start();
    driver.enqueue("s", Queue::Steering, "later");
    driver.run("go").await;
    assert_eq!(driver.conversation(), ["user: go", "user: later", "assistant: ok"]);
    driver.finish();

    let setup = Setup::new().policy(|policy| policy.idle_queue = IdleQueue::StartsRun);
    let mut driver = setup.start();
    driver.enqueue("s", Queue::Steering, "now");
    driver.until_settled().await;
    assert_eq!(driver.conversation(), ["user: now", "assistant: ok"]);
    driver.finish();

    let setup = Setup::new().policy(|policy| policy.idle_queue = IdleQueue::WaitsForTurn);
    let mut driver = setup.start();
    driver.enqueue("s", Queue::Steering, "later");
    driver.run("go").await;
    assert_eq!(driver.conversation(), ["user: go", "assistant: ok", "user: later", "assistant: ok"]);
    driver.finish();
}

#[tokio::test]
async fn clearing_the_queue_returns_its_texts() {
    let mut driver = Setup::new().start();
    driver.enqueue("s", Queue::Steering, "one");
    driver.enqueue("f", Queue::FollowUp, "two");
    let cleared = driver.carry_out(Command::ClearQueue).await;
    let bowline_core::reply::Answer::Cleared { steering, follow_up } = cleared else { panic!("{cleared:?}") };
    assert_eq!((&*steering[0], &*follow_up[0]), ("one", "two"));
    driver.run("go").await;
    assert_eq!(driver.conversation(), ["user: go", "assistant: ok"]);
    driver.finish();
}
