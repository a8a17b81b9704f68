//! Compaction outside an overflow: at the threshold before a prompt, between turns and after a run, and on request.

use std::sync::Arc;
use std::time::Duration;

use bowline_core::command::{Command, Queue};
use bowline_core::policy::{AbortAnswer, CompactionAnswer, IdleQueue, WhileCompacting, WhileRunning};
use bowline_core::reply::Answer;
use bowline_testkit::{Gate, Reply};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::driver::{Driver, course, draft};
use crate::setup::{NEARLY_FULL, Setup, long, overloaded};
use crate::test_tools::TestTool;

const COMPACT: Command = Command::Compact { instructions: None };

fn failure() -> Reply {
    Reply::status(400).body("no summary today")
}

/// Returns a session with two exchanges, of which a compaction keeps the second. The window is full if `second` says so.
async fn with_a_past(second: Reply, further: impl IntoIterator<Item = Reply>) -> Driver {
    let setup = Setup::new().tool(TestTool::quick("quick")).replies([Reply::text("one"), second]);
    let mut driver = setup.replies(further).start();
    driver.carry_out(Command::SetAutoCompaction { enabled: false }).await;
    driver.run(&long("ONE")).await;
    driver.run(&long("TWO")).await;
    driver.carry_out(Command::SetAutoCompaction { enabled: true }).await;
    driver
}

/// Returns a session whose window is full before the next prompt.
async fn full(further: impl IntoIterator<Item = Reply>) -> Driver {
    with_a_past(Reply::text("two").usage(NEARLY_FULL), further).await
}

fn only(records: &[Value], name: &str) -> Value {
    let found: Vec<_> = records.iter().filter(|record| record["type"] == name).collect();
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found[0].clone()
}

#[tokio::test]
async fn full_window_is_compacted_before_a_prompt() {
    let mut driver = full([Reply::text("SUMMARY"), Reply::text("three")]).await;
    driver.prompt("p", "three?");
    assert!(!driver.is_replied("p") && driver.state().is_compacting);
    driver.prompt("q", "four?");
    assert!(driver.refusal("q").contains("while compaction is in progress"));
    driver.until_settled().await;
    assert_eq!(
        driver.conversation(),
        ["compactionSummary: SUMMARY", "user: TWO", "assistant: two", "user: three?", "assistant: three"]
    );
    driver.finish();
}

#[tokio::test]
async fn prompt_is_accepted_although_the_compaction_before_it_failed() {
    let mut driver = full([failure(), Reply::text("three")]).await;
    let records = driver.run("three?").await;
    assert!(only(&records, "compaction_end")["errorMessage"].as_str().unwrap().contains("no summary today"));
    assert_eq!(driver.conversation()[4..], ["user: three?", "assistant: three"]);
    driver.finish();
}

#[tokio::test]
async fn abort_of_the_compaction_before_a_prompt_refuses_the_prompt() {
    let mut driver = full([Reply::mute()]).await;
    driver.prompt("p", "three?");
    driver.send("a", Command::Abort);
    assert_eq!(driver.refusal("p"), "Compaction cancelled");
    assert!(driver.is_replied("a"));
    driver.finish();
}

#[tokio::test]
async fn full_window_is_compacted_between_turns() {
    let calls = Reply::new().tool("quick", json!({})).usage(NEARLY_FULL);
    let mut driver =
        with_a_past(Reply::text("two"), [calls, Reply::text("SUMMARY"), Reply::text("done")]).await;
    let records = driver.run(&long("THREE")).await;
    let course = course(&records);
    let middle = ["turn_end", "compaction_start", "compaction_end", "turn_start"];
    assert!(course.windows(4).any(|window| window == middle), "{course:?}");
    assert_eq!(
        driver.conversation(),
        [
            "compactionSummary: SUMMARY",
            "user: THREE",
            "assistant: [quick]",
            "toolResult: quick",
            "assistant: done"
        ]
    );
    driver.finish();
}

#[tokio::test]
async fn failed_compaction_is_not_tried_again_at_every_turn() {
    let calls = || Reply::new().tool("quick", json!({})).usage(NEARLY_FULL);
    let further = [calls(), failure(), calls(), calls(), Reply::text("done").usage(NEARLY_FULL)];
    let mut driver = with_a_past(Reply::text("two"), further).await;
    let records = driver.run(&long("THREE")).await;
    assert!(only(&records, "compaction_end")["errorMessage"].is_string());
    assert_eq!(driver.server.replies_left(), 0);
    driver.finish();
}

#[tokio::test]
async fn full_window_with_nothing_to_summarise_is_reported_once_in_a_run() {
    let calls = || Reply::new().tool("quick", json!({})).usage(NEARLY_FULL);
    let replies = [calls(), calls(), Reply::text("done").usage(NEARLY_FULL)];
    let mut driver = Setup::new().tool(TestTool::quick("quick")).replies(replies).start();
    let records = driver.run("one?").await;
    assert!(only(&records, "compaction_end")["errorMessage"].as_str().unwrap().contains("too small"));
    driver.finish();
}

#[tokio::test]
async fn abort_of_the_compaction_between_turns_ends_the_run() {
    let calls = Reply::new().tool("quick", json!({})).usage(NEARLY_FULL);
    let mut driver = with_a_past(Reply::text("two"), [calls, Reply::mute()]).await;
    driver.prompt("p", &long("THREE"));
    driver.until_type("compaction_start").await;
    driver.send("a", Command::Abort);
    assert_eq!(driver.until_type("compaction_end").await["aborted"], true);
    assert_eq!(driver.until_settled().await["aborted"], true);
    driver.finish();
}

#[tokio::test]
async fn full_window_is_compacted_after_a_run() {
    let further = [Reply::text("three").usage(NEARLY_FULL), Reply::text("SUMMARY")];
    let mut driver = with_a_past(Reply::text("two"), further).await;
    let records = driver.run(&long("THREE")).await;
    let end = ["agent_end", "compaction_start", "compaction_end", "agent_settled"];
    assert!(course(&records).ends_with(&end));
    // The count was reported before the compaction, so it does not cause another.
    let records = driver.run("four?").await;
    assert!(!course(&records).contains(&"compaction_start"));
    driver.finish();
}

#[tokio::test]
async fn run_is_done_although_the_compaction_after_it_failed() {
    let mut driver =
        with_a_past(Reply::text("two"), [Reply::text("three").usage(NEARLY_FULL), failure()]).await;
    let records = driver.run(&long("THREE")).await;
    assert!(only(&records, "compaction_end")["errorMessage"].is_string());
    assert_eq!(records.last().unwrap()["error"], Value::Null);
    driver.finish();
}

#[tokio::test]
async fn abort_of_the_compaction_after_a_run_ends_it_as_aborted() {
    let further = [Reply::text("three").usage(NEARLY_FULL), Reply::mute()];
    let mut driver = with_a_past(Reply::text("two"), further).await;
    driver.prompt("p", &long("THREE"));
    driver.until_type("compaction_start").await;
    driver.send("a", Command::Abort);
    assert_eq!(driver.until_settled().await["aborted"], true);
    assert_eq!(driver.conversation().last().unwrap(), "assistant: three");
    driver.finish();
}

#[tokio::test]
async fn requested_compaction_replies_with_its_result() {
    let mut driver = with_a_past(Reply::text("two"), [Reply::text("SUMMARY")]).await;
    let Answer::Compacted(result) = driver.carry_out(COMPACT).await else { panic!() };
    assert_eq!(result.summary, "SUMMARY");
    assert_eq!(driver.conversation(), ["compactionSummary: SUMMARY", "user: TWO", "assistant: two"]);
    driver.finish();
}

#[tokio::test]
async fn requested_compaction_fails_is_aborted_or_finds_nothing_to_do() {
    let mut driver =
        with_a_past(Reply::text("two"), [failure(), Reply::mute(), Reply::text("SUMMARY")]).await;
    driver.send("failed", COMPACT);
    driver.until_idle().await;
    assert!(driver.refusal("failed").starts_with("Summarization failed"), "{}", driver.refusal("failed"));
    driver.send("aborted", COMPACT);
    driver.until_requests(4).await;
    driver.send("a", Command::Abort);
    assert_eq!(driver.refusal("aborted"), "Compaction cancelled");
    driver.carry_out(COMPACT).await;
    driver.send("again", COMPACT);
    assert_eq!(driver.refusal("again"), "Already compacted");
    driver.carry_out(Command::NewSession { parent: None }).await;
    driver.send("empty", COMPACT);
    assert_eq!(driver.refusal("empty"), "Nothing to compact (session too small)");
    driver.finish();
}

#[tokio::test]
async fn requested_compaction_stops_the_run() {
    let gate = Gate::new();
    let further = [Reply::text("half").gate(&gate), Reply::text("SUMMARY")];
    let mut driver = with_a_past(Reply::text("two"), further).await;
    driver.prompt("p", &long("THREE"));
    driver.until_delta("half").await;
    driver.send("c", COMPACT);
    assert_eq!(driver.until_settled().await["aborted"], true);
    assert!(driver.until_reply("c").await.is_ok());
    driver.finish();
}

#[tokio::test]
async fn second_compaction_is_refused_and_the_first_goes_on() {
    let mut driver = with_a_past(Reply::text("two"), [Reply::text("SUMMARY")]).await;
    driver.send("first", COMPACT);
    driver.send("second", COMPACT);
    assert_eq!(driver.refusal("second"), "Compaction already in progress");
    assert!(driver.until_reply("first").await.is_ok());
    driver.finish();
}

/// Returns a session with two exchanges under a policy for compactions.
async fn under(while_compacting: WhileCompacting, further: impl IntoIterator<Item = Reply>) -> Driver {
    let setup = Setup::new().policy(|policy| {
        policy.while_compacting = while_compacting;
        policy.idle_queue = IdleQueue::StartsRun;
    });
    let mut driver = setup.replies([Reply::text("one"), Reply::text("two")]).replies(further).start();
    driver.run(&long("ONE")).await;
    driver.run(&long("TWO")).await;
    driver
}

#[tokio::test]
async fn messages_wait_for_a_requested_compaction_where_the_policy_says_so() {
    let gate = Gate::new();
    let replies = [Reply::text("SUMMARY").gate(&gate), Reply::text("three"), Reply::text("four")];
    let mut driver = under(WhileCompacting::MessagesWait, replies).await;
    driver.send("c", COMPACT);
    assert!(matches!(driver.carry_out(Command::GetLastAssistantText).await, Answer::LastAssistantText(_)));
    driver.enqueue("s", Queue::Steering, "three?");
    driver.prompt("p", "four?");
    driver.send("name", Command::SetSessionName { name: "after both".to_owned() });
    assert!(driver.state().is_compacting, "the state is answered meanwhile");
    assert!(["s", "p", "name"].iter().all(|id| !driver.is_replied(id)));
    gate.open();
    assert!(driver.until_reply("c").await.is_ok());
    assert!(driver.refusal("p").contains("already processing"), "the steering message started a run");
    driver.until_settled().await;
    assert_eq!(driver.conversation()[3..], ["user: three?", "assistant: three"]);
    driver.finish();
}

#[tokio::test]
async fn everything_waits_for_a_requested_compaction_where_the_policy_says_so() {
    let replies = [Reply::text("SUMMARY"), Reply::text("three")];
    let mut driver = under(WhileCompacting::EverythingWaits, replies).await;
    driver.send("c", COMPACT);
    driver.send("again", COMPACT);
    driver.send("s", Command::GetState);
    driver.prompt("p", "three?");
    assert!(["c", "again", "s", "p"].iter().all(|id| !driver.is_replied(id)));
    driver.until_settled().await;
    assert_eq!(driver.refusal("again"), "Already compacted");
    assert_eq!(driver.conversation()[3..], ["user: three?", "assistant: three"]);
    driver.finish();
}

#[tokio::test]
async fn abort_ends_a_compaction_at_once_and_then_the_prompt_that_waits_for_it() {
    for while_compacting in [WhileCompacting::MessagesWait, WhileCompacting::EverythingWaits] {
        let mut driver = under(while_compacting, [Reply::mute(), Reply::mute()]).await;
        driver.send("c", COMPACT);
        driver.prompt("p", "three?");
        driver.send("a", Command::Abort);
        assert_eq!(driver.refusal("c"), "Compaction cancelled");
        assert!(driver.is_replied("p") && driver.is_replied("a"));
        assert_eq!(driver.until_settled().await["aborted"], true);
        driver.finish();
    }
}

#[tokio::test]
async fn abort_that_is_replied_to_at_once_refuses_the_prompts_that_wait() {
    let setup = Setup::new().policy(|policy| policy.abort_answer = AbortAnswer::AtOnce);
    let never = Arc::new(Semaphore::new(0));
    let setup = setup.tool(TestTool::gated("gated", &never));
    let mut driver = setup.replies([Reply::new().tool("gated", json!({}))]).start();
    driver.prompt("p", "go");
    driver.until_type("tool_execution_start").await;
    driver.send("a", Command::Abort);
    assert!(driver.is_replied("a"));
    driver.prompt("q", "next");
    assert!(!driver.is_replied("q"), "it waits for the tool to stop");
    driver.send("b", Command::Abort);
    assert!(driver.is_replied("b"));
    assert_eq!(driver.refusal("q"), "aborted before it started");
    driver.until_settled().await;
    driver.finish();
}

#[tokio::test]
async fn prompt_during_the_compaction_before_another_counts_as_one_during_its_run() {
    let setup = Setup::new().policy(|policy| {
        policy.while_compacting = WhileCompacting::MessagesWait;
        policy.while_running = WhileRunning::Refused;
    });
    let replies = [Reply::text("one"), Reply::text("two").usage(NEARLY_FULL), Reply::text("SUMMARY")];
    let mut driver = setup.replies(replies).start();
    driver.carry_out(Command::SetAutoCompaction { enabled: false }).await;
    driver.run(&long("ONE")).await;
    driver.run(&long("TWO")).await;
    driver.carry_out(Command::SetAutoCompaction { enabled: true }).await;
    driver.prompt("p", "three?");
    driver.prompt("q", "four?");
    driver.send("r", Command::Prompt { message: draft("five?"), when_busy: Some(Queue::FollowUp) });
    driver.send("c", COMPACT);
    assert!(driver.refusal("q").contains("already processing") && driver.refusal("c").contains("is running"));
    driver.until_settled().await;
    assert_eq!(driver.conversation()[3..], ["user: three?", "assistant: ok", "user: five?", "assistant: ok"]);
    driver.finish();
}

#[tokio::test]
async fn requested_compaction_is_replied_to_when_it_starts_where_the_policy_says_so() {
    let setup = Setup::new().policy(|policy| policy.compaction_answer = CompactionAnswer::WhenStarted);
    let mut driver = setup.replies([Reply::text("one"), Reply::text("two"), Reply::text("SUMMARY")]).start();
    driver.run(&long("ONE")).await;
    driver.run(&long("TWO")).await;
    driver.send("c", COMPACT);
    assert!(driver.is_replied("c"));
    driver.until_type("compaction_end").await;
    driver.finish();
}

#[tokio::test]
async fn failed_summary_is_retried() {
    let setup = Setup::new().retry_after(Duration::from_millis(1));
    let replies = [Reply::text("one"), Reply::text("two"), overloaded(), Reply::text("SUMMARY")];
    let mut driver = setup.replies(replies).start();
    driver.run(&long("ONE")).await;
    driver.run(&long("TWO")).await;
    driver.carry_out(COMPACT).await;
    assert_eq!(
        course(&driver.records())[14..],
        [
            "compaction_start",
            "summarization_retry_scheduled",
            "summarization_retry_attempt_start",
            "summarization_retry_finished",
            "compaction_end"
        ]
    );
    driver.finish();
}

#[tokio::test]
async fn abort_while_a_summary_waits_for_its_retry_ends_the_retry_first() {
    let setup = Setup::new().retry_after(Duration::from_secs(3600));
    let mut driver = setup.replies([Reply::text("one"), Reply::text("two"), overloaded()]).start();
    driver.run(&long("ONE")).await;
    driver.run(&long("TWO")).await;
    driver.send("c", COMPACT);
    driver.until_type("summarization_retry_scheduled").await;
    driver.send("a", Command::Abort);
    assert_eq!(driver.refusal("c"), "Compaction cancelled");
    driver.finish();
}
