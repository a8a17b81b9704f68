//! Calls that the user is asked about before they run.

use std::sync::Arc;

use bowline_core::Event;
use bowline_core::ask::{AskId, Decision, Question};
use bowline_core::command::{Command, InterruptMode, Queue};
use bowline_core::policy::Questions;
use bowline_engine::Output;
use bowline_testkit::Reply;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::driver::Driver;
use crate::setup::Setup;
use crate::test_tools::{AskingGate, TestTool};

/// Returns a session in which calls of `risky` are asked about.
fn setup(replies: impl IntoIterator<Item = Reply>) -> Setup {
    let setup = Setup::new().policy(|policy| policy.questions = Questions::Asked);
    let setup = setup.gate(AskingGate::about("risky")).tool(TestTool::quick("risky"));
    setup.tool(TestTool::quick("quick")).replies(replies)
}

fn risky() -> [Reply; 2] {
    [Reply::new().tool("risky", json!({ "a": 1 })), Reply::text("done")]
}

/// Returns the decisions that were announced.
fn resolved(driver: &Driver) -> Vec<(AskId, Decision)> {
    let resolved = driver.outputs().iter().filter_map(|output| match output {
        Output::Event(Event::AskResolved { id, decision, .. }) => Some((*id, decision.clone())),
        _ => None,
    });
    resolved.collect()
}

#[tokio::test]
async fn allowed_call_runs() {
    let mut driver = setup(risky()).start();
    driver.prompt("p", "go");
    let ask = driver.until_asked().await;
    let Question::Approval(approval) = &ask.question else { panic!("{ask:?}") };
    assert_eq!((&*approval.tool, &*approval.reason), ("risky", "it is dangerous"));
    assert_eq!(approval.arguments["a"], 1);
    driver.answer(ask.id, Decision::Allow);
    driver.until_settled().await;
    assert_eq!(driver.conversation()[2], "toolResult: risky");
    assert_eq!(resolved(&driver), [(ask.id, Decision::Allow)]);
    driver.finish();
}

#[tokio::test]
async fn denied_call_tells_the_model_why() {
    let mut driver = setup(risky()).start();
    driver.prompt("p", "go");
    let ask = driver.until_asked().await;
    driver.answer(ask.id, Decision::Deny { reason: Some("Not today.".to_owned()) });
    driver.until_settled().await;
    assert!(
        driver.conversation()[2]
            .starts_with("toolResult: The user rejected this call. Not today.\nGo on without it")
    );
    driver.finish();
}

#[tokio::test]
async fn other_calls_run_while_one_waits_for_an_answer() {
    let replies = [Reply::new().tool("risky", json!({})).tool("quick", json!({})), Reply::text("done")];
    let mut driver = setup(replies).start();
    driver.prompt("p", "go");
    let ask = driver.until_asked().await;
    assert_eq!(driver.until_type("tool_execution_end").await["toolName"], "quick");
    assert_eq!(driver.requests().len(), 1, "the turn waits for the answer");
    driver.answer(ask.id, Decision::Allow);
    driver.until_settled().await;
    assert_eq!(driver.conversation()[2..4], ["toolResult: risky", "toolResult: quick"]);
    driver.finish();
}

#[tokio::test]
async fn abort_resolves_the_question_and_ends_the_run_at_once() {
    let mut driver = setup(risky()).start();
    driver.prompt("p", "go");
    let ask = driver.until_asked().await;
    driver.answer(AskId(ask.id.0 + 1000), Decision::Allow);
    assert!(resolved(&driver).is_empty(), "an unknown id is ignored");
    driver.send("a", Command::Abort);
    assert!(driver.is_replied("a"), "nothing is left to wait for");
    assert_eq!(driver.until_settled().await["aborted"], true);
    assert_eq!(resolved(&driver), [(ask.id, Decision::Deny { reason: None })]);
    let count = driver.outputs().len();
    driver.answer(ask.id, Decision::Allow);
    assert_eq!(driver.outputs().len(), count, "a late answer is ignored");
    driver.finish();
}

#[tokio::test]
async fn abort_stops_the_running_call_beside_a_question() {
    let never = Arc::new(Semaphore::new(0));
    let replies = [Reply::new().tool("gated", json!({})).tool("risky", json!({}))];
    let mut driver = setup(replies).tool(TestTool::gated("gated", &never)).start();
    driver.prompt("p", "go");
    let ask = driver.until_asked().await;
    driver.send("a", Command::Abort);
    assert_eq!(resolved(&driver).len(), 1);
    driver.answer(ask.id, Decision::Allow);
    driver.until_settled().await;
    assert_eq!(driver.conversation()[2], "toolResult: stopped");
    driver.finish();
}

#[tokio::test]
async fn call_is_denied_where_the_client_cannot_be_asked() {
    let mut driver = setup(risky()).policy(|policy| policy.questions = Questions::Assumed).start();
    driver.run("go").await;
    assert!(driver.conversation()[2].contains("the client cannot ask for it: it is dangerous"));
    assert!(resolved(&driver).is_empty());
    driver.finish();
}

#[tokio::test]
async fn calls_run_one_by_one_behind_a_question_where_steering_interrupts() {
    let replies = [Reply::new().tool("risky", json!({})).tool("quick", json!({})), Reply::text("done")];
    let setup = setup(replies).policy(|policy| policy.interrupt_mode = InterruptMode::Immediate);
    let mut driver = setup.start();
    driver.prompt("p", "go");
    let ask = driver.until_asked().await;
    assert_eq!(driver.of_type("tool_execution_start").len(), 1);
    driver.enqueue("s", Queue::Steering, "rather not");
    driver.answer(ask.id, Decision::Deny { reason: None });
    driver.until_settled().await;
    assert_eq!(driver.conversation()[3], "toolResult: Skipped due to queued user message.");
    driver.finish();
}
