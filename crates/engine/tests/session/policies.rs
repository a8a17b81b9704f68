//! The choices of a dialect: when prompts are replied to, and in which order commands are carried out.

use bowline_core::command::{Command, Queue};
use bowline_core::event::RunOutcome;
use bowline_core::policy::{Order, PromptAnswer, ToolResults, WhileRunning};
use bowline_core::reply::{Answer, Disposition};
use bowline_testkit::{Gate, Reply};
use serde_json::json;

use crate::driver::{Driver, draft};
use crate::setup::Setup;
use crate::test_tools::TestTool;

fn start(prompt_answer: PromptAnswer, replies: impl IntoIterator<Item = Reply>) -> Driver {
    Setup::new().policy(|policy| policy.prompt_answer = prompt_answer).replies(replies).start()
}

#[tokio::test]
async fn prompt_is_replied_to_on_receipt() {
    let mut driver = start(PromptAnswer::OnReceipt, []);
    driver.prompt("p", "one?");
    driver.prompt("q", "two?");
    assert!(matches!(driver.replies("q")[..], [Ok(Answer::Accepted(Disposition::Started)), Err(_)]));
    driver.send("r", Command::Prompt { message: draft("three?"), when_busy: Some(Queue::FollowUp) });
    driver.until_settled().await;
    driver.send("c", Command::Continue { message: draft("four?") });
    driver.until_settled().await;
    driver.send("a", Command::AbortAndPrompt { message: draft("five?") });
    driver.until_settled().await;
    driver.finish();
}

#[tokio::test]
async fn prompt_is_replied_to_when_its_run_is_over() {
    let gate = Gate::new();
    let replies =
        [Reply::text("one").gate(&gate), Reply::text("two"), Reply::mute(), Reply::status(400).body("no")];
    let mut driver = start(PromptAnswer::OnSettled, replies);
    driver.prompt("done", "one?");
    driver.until_delta("one").await;
    driver.send("q", Command::Prompt { message: draft("two?"), when_busy: Some(Queue::FollowUp) });
    assert!(!driver.is_replied("done") && driver.is_replied("q"));
    gate.open();
    driver.until_settled().await;
    assert!(matches!(driver.replies("done")[..], [Ok(Answer::RunOver(RunOutcome::Done))]));
    driver.prompt("aborted", "three?");
    driver.until_requests(3).await;
    driver.send("a", Command::Abort);
    assert!(matches!(driver.replies("aborted")[..], [Ok(Answer::RunOver(RunOutcome::Aborted))]));
    driver.prompt("failed", "four?");
    driver.until_idle().await;
    assert!(matches!(driver.replies("failed")[..], [Ok(Answer::RunOver(RunOutcome::Failed(_)))]));
    driver.finish();
}

#[tokio::test]
async fn commands_wait_their_turn_and_only_what_cancels_overtakes() {
    let gate = Gate::new();
    let replies = [Reply::text("one").gate(&gate), Reply::mute(), Reply::text("three")];
    let setup = Setup::new().policy(|policy| policy.order = Order::OneAtATime).replies(replies);
    let mut driver = setup.start();
    driver.prompt("p", "one?");
    driver.send("s", Command::GetState);
    driver.prompt("q", "two?");
    driver.prompt("r", "three?");
    assert!(!driver.is_replied("s") && !driver.is_replied("q"));
    driver.until_delta("one").await;
    gate.open();
    driver.until_settled().await;
    assert!(driver.is_replied("s") && driver.is_replied("q") && !driver.is_replied("r"));
    driver.until_requests(2).await;
    driver.send("a", Command::Abort);
    assert!(driver.is_replied("a"));
    driver.until_settled().await;
    driver.until_settled().await;
    assert_eq!(driver.conversation()[4..], ["user: three?", "assistant: three"]);
    driver.finish();
}

#[tokio::test]
async fn commands_can_be_refused_during_a_run() {
    let setup = Setup::new().policy(|policy| policy.while_running = WhileRunning::Refused);
    let mut driver = setup.start();
    driver.prompt("p", "one?");
    driver.send("s", Command::GetState);
    driver.send("c", Command::Compact { instructions: None });
    assert!(driver.refusal("s").contains("is running") && driver.refusal("c").contains("is running"));
    driver.until_settled().await;
    driver.finish();
}

#[tokio::test]
async fn results_are_recorded_as_tools_end_where_the_policy_says_so() {
    let setup = Setup::new().policy(|policy| policy.tool_results = ToolResults::AsTheyEnd);
    let replies = [Reply::new().tool("quick", json!({})).tool("none", json!({})), Reply::text("done")];
    let mut driver = setup.tool(TestTool::quick("quick")).replies(replies).start();
    driver.prompt("p", "go");
    driver.until_settled().await;
    // The call of an unknown tool ends at once, before the other one.
    let conversation = driver.conversation();
    assert!(
        conversation[2].contains("no tool named none") && conversation[3].contains("quick"),
        "{conversation:?}"
    );
    driver.finish_without_grammar();
}

#[tokio::test]
async fn continue_needs_a_conversation() {
    let mut driver = Setup::new().start();
    driver.send("c", Command::Continue { message: draft("one?") });
    assert!(matches!(driver.replies("c")[..], [Ok(Answer::Accepted(Disposition::Started))]));
    let settled = driver.until_settled().await;
    assert!(settled["error"].as_str().unwrap().contains("no conversation"), "{settled}");
    assert!(driver.conversation().is_empty());
    driver.run("one?").await;
    driver.send("d", Command::Continue { message: draft("two?") });
    driver.until_settled().await;
    driver.finish();
}
