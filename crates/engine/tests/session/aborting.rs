//! Aborts in every phase of a run: it ends once, and the abort is replied to.

use std::sync::Arc;

use bowline_core::command::Command;
use bowline_core::policy::AbortAnswer;
use bowline_testkit::{Gate, Reply};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::driver::draft;
use crate::setup::Setup;
use crate::test_tools::TestTool;

#[tokio::test]
async fn abort_without_a_run_succeeds() {
    let mut driver = Setup::new().start();
    driver.send("a", Command::Abort);
    assert!(driver.replies("a")[0].is_ok());
    driver.finish();
}

#[tokio::test]
async fn abort_before_the_first_delta_announces_an_empty_answer() {
    let mut driver = Setup::new().replies([Reply::mute()]).start();
    driver.prompt("p", "hi");
    driver.until_requests(1).await;
    driver.send("a", Command::Abort);
    assert_eq!(driver.until_settled().await["aborted"], true);
    assert_eq!(driver.conversation(), ["user: hi", "assistant: "]);
    driver.finish();
}

#[tokio::test]
async fn abort_after_a_delta_keeps_what_arrived() {
    let gate = Gate::new();
    let mut driver = Setup::new().replies([Reply::text("half").gate(&gate).then_text("lost")]).start();
    driver.prompt("p", "hi");
    driver.until_delta("half").await;
    driver.send("a", Command::Abort);
    driver.send("b", Command::Abort);
    assert_eq!(driver.until_settled().await["aborted"], true);
    assert_eq!(driver.conversation(), ["user: hi", "assistant: half"]);
    // The rest of the stream is stale, whether or not it still arrives.
    gate.open();
    driver.run("again").await;
    assert_eq!(driver.conversation()[2..], ["user: again", "assistant: ok"]);
    driver.finish();
}

#[tokio::test]
async fn prompt_and_abort_in_one_write_abort_the_prompt() {
    let mut driver = Setup::new().start();
    driver.prompt("p", "hi");
    driver.send("a", Command::Abort);
    assert_eq!(driver.until_settled().await["aborted"], true);
    driver.finish();
}

#[tokio::test]
async fn abort_waits_for_tools_to_stop() {
    let never = Arc::new(Semaphore::new(0));
    let replies = [Reply::new().tool("gated", json!({})).tool("gated", json!({}))];
    let mut driver = Setup::new().tool(TestTool::gated("gated", &never)).replies(replies).start();
    driver.prompt("p", "go");
    driver.until_type("tool_execution_start").await;
    driver.send("a", Command::Abort);
    assert!(!driver.is_replied("a"), "the abort is replied to when the run is over");
    assert_eq!(driver.until_settled().await["aborted"], true);
    assert_eq!(driver.conversation()[2..], ["toolResult: stopped", "toolResult: stopped"]);
    driver.finish();
}

#[tokio::test]
async fn tool_that_ignores_cancellation_is_dropped_after_its_grace() {
    let replies = [Reply::new().tool("stuck", json!({}))];
    let mut driver = Setup::new().tool(TestTool::stuck("stuck")).replies(replies).start();
    driver.prompt("p", "go");
    driver.until_type("tool_execution_start").await;
    driver.send("a", Command::Abort);
    driver.until_settled().await;
    assert!(driver.conversation()[2].contains("did not stop in time"));
    driver.finish();
}

#[tokio::test]
async fn prompts_after_an_abort_wait_for_the_run_to_end_and_keep_their_order() {
    let never = Arc::new(Semaphore::new(0));
    let replies = [Reply::new().tool("gated", json!({})), Reply::text("answer to two")];
    let mut driver = Setup::new().tool(TestTool::gated("gated", &never)).replies(replies).start();
    driver.prompt("p", "one");
    driver.until_type("tool_execution_start").await;
    driver.send("a", Command::Abort);
    driver.prompt("q", "two");
    driver.send("s", Command::GetState);
    assert!(!driver.is_replied("q") && !driver.is_replied("s"));
    driver.until_settled().await;
    driver.until_settled().await;
    assert_eq!(driver.conversation()[3..], ["user: two", "assistant: answer to two"]);
    driver.finish();
}

#[tokio::test]
async fn abort_and_prompt_starts_another_run_when_the_first_has_ended() {
    let never = Arc::new(Semaphore::new(0));
    let replies = [Reply::new().tool("gated", json!({})), Reply::text("answer to two")];
    let mut driver = Setup::new().tool(TestTool::gated("gated", &never)).replies(replies).start();
    driver.prompt("p", "one");
    driver.until_type("tool_execution_start").await;
    driver.send("q", Command::AbortAndPrompt { message: draft("two") });
    assert_eq!(driver.until_settled().await["aborted"], true);
    assert_eq!(driver.until_settled().await["aborted"], false);
    assert_eq!(driver.conversation()[3..], ["user: two", "assistant: answer to two"]);
    driver.finish();
}

#[tokio::test]
async fn abort_is_replied_to_at_once_where_the_policy_says_so() {
    let never = Arc::new(Semaphore::new(0));
    let replies = [Reply::new().tool("gated", json!({}))];
    let setup = Setup::new().policy(|policy| policy.abort_answer = AbortAnswer::AtOnce);
    let mut driver = setup.tool(TestTool::gated("gated", &never)).replies(replies).start();
    driver.prompt("p", "go");
    driver.until_type("tool_execution_start").await;
    driver.send("a", Command::Abort);
    assert!(driver.is_replied("a"));
    assert_eq!(driver.until_settled().await["aborted"], true);
    driver.finish();
}
