//! Shutting down in each phase: at most one run ends, once, and every command is replied to.

use std::sync::Arc;
use std::time::Duration;

use bowline_core::command::{Command, Draft};
use bowline_core::message::Content;
use bowline_core::policy::{Order, PromptAnswer, Questions};
use bowline_core::reply::RefusalCode;
use bowline_testkit::Reply;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::driver::Driver;
use crate::setup::{NEARLY_FULL, Setup, long, overloaded};
use crate::test_tools::{AskingGate, TestTool};
use crate::user_commands::shell;

/// Shuts a session down, and checks that as many runs end as have started.
async fn check(mut driver: Driver) {
    let started = driver.of_type("agent_start").len();
    let settled = driver.of_type("agent_settled").len();
    driver.shut_down();
    driver.send("late", Command::GetState);
    let Some(Err(refusal)) = driver.replies("late").pop() else { panic!("a late command is refused") };
    assert_eq!(refusal.code, RefusalCode::ShuttingDown);
    driver.until_idle().await;
    assert_eq!(driver.of_type("agent_settled").len(), settled.max(started.min(1)));
    driver.finish();
}

#[tokio::test]
async fn while_idle() {
    check(Setup::new().start()).await;
}

#[tokio::test]
async fn while_the_model_answers() {
    let setup = Setup::new().policy(|policy| policy.prompt_answer = PromptAnswer::OnSettled);
    let mut driver = setup.replies([Reply::mute()]).start();
    driver.prompt("p", "go");
    driver.until_requests(1).await;
    check(driver).await;
}

#[tokio::test]
async fn while_a_tool_runs() {
    let never = Arc::new(Semaphore::new(0));
    let setup = Setup::new().tool(TestTool::gated("gated", &never));
    let mut driver = setup.replies([Reply::new().tool("gated", json!({}))]).start();
    driver.prompt("p", "go");
    driver.until_type("tool_execution_start").await;
    driver.send("a", Command::Abort);
    check(driver).await;
}

#[tokio::test]
async fn while_the_user_is_asked() {
    let setup = Setup::new().policy(|policy| policy.questions = Questions::Asked);
    let setup = setup.gate(AskingGate::about("risky")).tool(TestTool::quick("risky"));
    let mut driver = setup.replies([Reply::new().tool("risky", json!({}))]).start();
    driver.prompt("p", "go");
    driver.until_asked().await;
    check(driver).await;
}

#[tokio::test]
async fn during_a_backoff() {
    let mut driver = Setup::new().retry_after(Duration::from_secs(3600)).replies([overloaded()]).start();
    driver.prompt("p", "go");
    driver.until_type("auto_retry_start").await;
    check(driver).await;
}

#[tokio::test]
async fn while_images_are_resized() {
    let mut driver = Setup::new().start();
    let data = "iVBORw0KGgoAAAANSUhEUgAACWAAAAJYCAAAAADDCIKI".to_owned();
    let images = vec![Content::Image { data, mime_type: "image/png".to_owned() }];
    driver.send("p", Command::Prompt { message: Draft { images, ..Draft::default() }, when_busy: None });
    check(driver).await;
}

#[tokio::test]
async fn during_a_compaction_in_a_run() {
    let replies = [Reply::text("one"), Reply::text("two").usage(NEARLY_FULL), Reply::mute()];
    let mut driver = Setup::new().replies(replies).start();
    driver.run(&long("ONE")).await;
    driver.prompt("p", &long("TWO"));
    driver.until_type("compaction_start").await;
    driver.shut_down();
    driver.until_idle().await;
    assert_eq!(driver.of_type("agent_settled").len(), 2);
    driver.finish();
}

#[tokio::test]
async fn during_a_requested_compaction() {
    let replies = [Reply::text("one"), Reply::text("two"), Reply::mute()];
    let mut driver = Setup::new().replies(replies).start();
    driver.run(&long("ONE")).await;
    driver.run(&long("TWO")).await;
    driver.send("c", Command::Compact { instructions: None });
    driver.shut_down();
    assert_eq!(driver.refusal("c"), "Compaction cancelled");
    driver.finish();
}

#[tokio::test]
async fn while_another_session_is_opened_or_copied() {
    let mut driver = Setup::new().start();
    driver.run("one?").await;
    let path = driver.file();
    driver.carry_out(Command::NewSession { parent: None }).await;
    driver.send("w", Command::SwitchSession { path });
    driver.send("m", Command::GetMessages);
    driver.prompt("p", "waits");
    driver.shut_down();
    driver.until_idle().await;
    assert!(driver.replies("w")[0].is_ok(), "what came before the end is for the other session");
    driver.finish();

    let mut driver = Setup::new().start();
    driver.run("one?").await;
    driver.send("c", Command::Clone);
    driver.send("n", Command::NewSession { parent: None });
    driver.shut_down();
    driver.until_idle().await;
    driver.finish();
}

#[tokio::test]
async fn while_a_user_initiated_command_runs() {
    let mut driver = Setup::new().start();
    driver.send("s", shell("sleep 600"));
    driver.send("l", Command::ListSessions { query: bowline_core::command::SessionQuery::default() });
    check(driver).await;
}

#[tokio::test]
async fn with_commands_that_wait_their_turn() {
    let setup = Setup::new().policy(|policy| policy.order = Order::OneAtATime);
    let mut driver = setup.replies([Reply::mute()]).start();
    driver.prompt("p", "go");
    driver.send("s", shell("sleep 600"));
    driver.prompt("q", "waits");
    driver.send("g", Command::GetState);
    driver.send("k", Command::Clone);
    driver.shut_down();
    driver.until_idle().await;
    driver.finish();
}
