//! A panic in the handling of an input ends what is in progress with an internal error; the session can be used again.

use std::sync::Arc;

use bowline_core::Event;
use bowline_core::command::Command;
use bowline_core::event::RunOutcome;
use bowline_core::policy::{PromptAnswer, Questions};
use bowline_core::reply::Answer;
use bowline_engine::{CallGate, GatedCall, Output, Verdict};
use bowline_testkit::Reply;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::setup::Setup;
use crate::test_tools::TestTool;
use crate::user_commands::shell;

/// A gate that asks about calls of `risky` and panics at those of `broken`.
#[derive(Debug)]
struct PanickingGate;

impl CallGate for PanickingGate {
    fn check(&self, call: &GatedCall<'_>) -> Verdict {
        assert_ne!(call.tool, "broken", "the gate is broken");
        if call.tool == "risky" { Verdict::Ask { reason: "why not".to_owned() } } else { Verdict::Run }
    }
}

fn setup(replies: impl IntoIterator<Item = Reply>) -> Setup {
    let never = Arc::new(Semaphore::new(0));
    let setup = Setup::new().gate(PanickingGate).policy(|policy| policy.questions = Questions::Asked);
    let setup = setup.tool(TestTool::quick("broken")).tool(TestTool::quick("risky"));
    setup.tool(TestTool::gated("gated", &never)).replies(replies)
}

#[tokio::test]
async fn panicking_gate_ends_the_run_with_an_internal_error() {
    let mut driver = setup([Reply::new().tool("broken", json!({})), Reply::text("fine")]).start();
    driver.prompt("p", "go");
    let settled = driver.until_settled().await;
    assert!(settled["error"].as_str().unwrap().starts_with("Internal error: "), "{settled}");
    let records = driver.run("and now?").await;
    assert_eq!(records.last().unwrap()["aborted"], false);
    assert_eq!(driver.conversation().last().unwrap(), "assistant: fine");
    driver.finish();
}

#[tokio::test]
async fn running_calls_and_open_questions_end_with_the_run() {
    let calls = Reply::new().tool("gated", json!({})).tool("risky", json!({})).tool("broken", json!({}));
    let calls = calls.tool("gated", json!({}));
    let setup = setup([calls]).policy(|policy| policy.prompt_answer = PromptAnswer::OnSettled);
    let mut driver = setup.start();
    driver.send("s", shell("sleep 600"));
    driver.prompt("p", "go");
    let ask = driver.until_asked().await;
    driver.until_settled().await;
    let resolved =
        |output: &Output| matches!(output, Output::Event(Event::AskResolved { id, .. }) if *id == ask.id);
    assert_eq!(driver.outputs().iter().filter(|output| resolved(output)).count(), 1);
    assert_eq!(driver.of_type("tool_execution_end").len(), 4);
    assert!(matches!(driver.replies("p")[..], [Ok(Answer::RunOver(RunOutcome::Failed(_)))]));
    assert!(driver.replies("s")[0].is_err(), "the command was ended too");
    driver.run("and now?").await;
    driver.finish();
}

#[tokio::test]
async fn commands_that_wait_are_carried_out_after_a_panic() {
    let setup = setup([Reply::new().tool("broken", json!({}))]);
    let mut driver = setup.policy(|policy| policy.order = bowline_core::policy::Order::OneAtATime).start();
    driver.prompt("p", "go");
    driver.send("g", Command::GetState);
    driver.prompt("q", "and now?");
    driver.until_settled().await;
    driver.until_settled().await;
    assert_eq!(driver.conversation().last().unwrap(), "assistant: ok");
    driver.finish();
}
