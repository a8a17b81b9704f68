//! A panic in the handling of an input ends what is in progress with an internal error; the session can be used again.

use std::sync::Arc;
use std::time::Duration;

use bowline_core::ErrorKind;
use bowline_core::Event;
use bowline_core::command::{Command, Queue, SessionQuery};
use bowline_core::policy::{PromptAnswer, Questions};
use bowline_core::reply::Answer;
use bowline_engine::{Asking, CallGate, Check, GatedCall, Output, Verdict};
use bowline_testkit::{Gate, Reply};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::driver::Driver;
use crate::setup::{NEARLY_FULL, Setup, long, overloaded, too_long};
use crate::test_tools::TestTool;
use crate::user_commands::shell;

/// A gate that asks about calls of `risky` and panics at those of `broken`.
#[derive(Debug)]
struct PanickingGate;

impl CallGate for PanickingGate {
    fn check(&self, call: &GatedCall<'_>) -> Check {
        assert_ne!(call.tool, "broken", "the gate is broken");
        if call.tool == "risky" {
            let reason = "why not".to_owned();
            return Verdict::Ask(Box::new(Asking { reason, ..Asking::default() })).into();
        }
        Verdict::run().into()
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
    let [Ok(Answer::RunOver(outcome))] = &driver.replies("p")[..] else {
        panic!("{:?}", driver.replies("p"))
    };
    assert_eq!(outcome.error_kind(), Some(ErrorKind::Internal));
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

/// Has the session panic, and checks that its run ends with the error and that it can be used again.
async fn check_run(mut driver: Driver) {
    let settled = driver.of_type("agent_settled").len();
    driver.panic();
    let ends = driver.of_type("agent_settled");
    assert_eq!(ends.len(), settled + 1, "{}", driver.transcript());
    assert!(ends[settled]["error"].is_string(), "{}", ends[settled]);
    check_use(driver).await;
}

/// Checks that a session that has recovered can be used again.
async fn check_use(mut driver: Driver) {
    driver.until_idle().await;
    driver.server.reply(Reply::text("usable"));
    driver.server.default_reply(Reply::text("usable"));
    driver.run("and now?").await;
    assert_eq!(driver.conversation().last().unwrap(), "assistant: usable");
    driver.finish();
}

#[tokio::test]
async fn while_the_model_answers() {
    let mut driver = Setup::new().replies([Reply::mute()]).start();
    driver.prompt("p", "go");
    driver.until_requests(1).await;
    driver.enqueue("s", Queue::FollowUp, "later");
    check_run(driver).await;

    let mut driver = Setup::new().replies([Reply::text("half").gate(&Gate::new())]).start();
    driver.prompt("p", "go");
    driver.until_delta("half").await;
    check_run(driver).await;
}

#[tokio::test]
async fn during_a_backoff() {
    let mut driver = Setup::new().retry_after(Duration::from_secs(3600)).replies([overloaded()]).start();
    driver.prompt("p", "go");
    driver.until_type("auto_retry_start").await;
    check_run(driver).await;
}

#[tokio::test]
async fn while_a_run_is_stopping() {
    let never = Arc::new(Semaphore::new(0));
    let setup = Setup::new().tool(TestTool::gated("gated", &never));
    let mut driver = setup.replies([Reply::new().tool("gated", json!({}))]).start();
    driver.prompt("p", "go");
    driver.until_type("tool_execution_start").await;
    driver.send("a", Command::Abort);
    driver.send("n", Command::NewSession { parent: None });
    check_run(driver).await;
}

/// Returns a session with two exchanges, of which a compaction keeps the second.
async fn with_a_past(further: impl IntoIterator<Item = Reply>) -> Driver {
    let setup = Setup::new().tool(TestTool::quick("quick"));
    let setup = setup.replies([Reply::text("one"), Reply::text("two")]).replies(further);
    let mut driver = setup.start();
    driver.run(&long("ONE")).await;
    driver.run(&long("TWO")).await;
    driver
}

#[tokio::test]
async fn during_a_compaction_in_a_run() {
    let between_turns = Reply::new().tool("quick", json!({})).usage(NEARLY_FULL);
    let after_the_run = Reply::text("three").usage(NEARLY_FULL);
    let truncated = Reply::text("hal").stop_reason("max_tokens");
    for reply in [between_turns, after_the_run, too_long(), truncated] {
        let mut driver = with_a_past([reply, Reply::mute()]).await;
        driver.prompt("p", &long("THREE"));
        driver.until_type("compaction_start").await;
        driver.until_requests(4).await;
        check_run(driver).await;
    }
}

#[tokio::test]
async fn during_a_summary_outside_a_run() {
    let mut driver = with_a_past([Reply::mute()]).await;
    driver.send("c", Command::Compact { instructions: None });
    driver.until_requests(3).await;
    driver.panic();
    assert!(driver.refusal("c").starts_with("Internal error: boom"));
    check_use(driver).await;

    let mut driver = with_a_past([Reply::mute()]).await;
    let entry = driver.of_type("message_end")[2]["entryId"].as_str().unwrap().to_owned();
    driver.send("n", Command::NavigateTree { entry, summarize: true, instructions: None });
    driver.until_requests(3).await;
    driver.panic();
    assert!(driver.replies("n")[0].is_err());
    check_use(driver).await;
}

#[tokio::test]
async fn while_a_prompt_waits_for_a_compaction() {
    let mut driver = with_a_past([Reply::text("three").usage(NEARLY_FULL), Reply::mute()]).await;
    driver.carry_out(Command::SetAutoCompaction { enabled: false }).await;
    driver.run(&long("THREE")).await;
    driver.carry_out(Command::SetAutoCompaction { enabled: true }).await;
    driver.prompt("p", "four?");
    driver.until_requests(4).await;
    driver.panic();
    assert!(driver.refusal("p").starts_with("Internal error: boom"));
    driver.carry_out(Command::SetAutoCompaction { enabled: false }).await;
    check_use(driver).await;
}

#[tokio::test]
async fn while_other_things_are_in_progress() {
    let mut driver = Setup::new().start();
    driver.run("one?").await;
    let path = driver.file();
    driver.carry_out(Command::NewSession { parent: None }).await;
    driver.send("l", Command::ListSessions { query: SessionQuery::default() });
    driver.panic();
    driver.send("s", shell("sleep 600"));
    driver.send("w", Command::SwitchSession { path });
    driver.send("m", Command::GetMessages);
    driver.panic();
    for id in ["s", "l", "w"] {
        assert!(driver.refusal(id).starts_with("Internal error: boom"));
    }
    assert!(driver.replies("m")[0].is_ok(), "a command that has waited is carried out");
    check_use(driver).await;
}
