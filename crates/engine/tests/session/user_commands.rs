//! User-initiated shell commands beside a run.

use std::sync::Arc;

use bowline_core::command::Command;
use bowline_core::reply::Answer;
use bowline_testkit::Reply;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::setup::Setup;
use crate::test_tools::TestTool;

pub fn shell(command: &str) -> Command {
    Command::Shell { command: command.to_owned(), exclude_from_context: false }
}

#[tokio::test]
async fn result_is_part_of_the_conversation() {
    let mut driver = Setup::new().start();
    let Answer::Shell(result) = driver.carry_out(shell("printf hello")).await else { panic!() };
    assert_eq!((&*result.output, result.exit_code), ("hello", Some(0)));
    assert_eq!(driver.conversation(), ["bashExecution: hello"]);
    driver.finish();
}

#[tokio::test]
async fn result_waits_for_the_end_of_the_turn_while_tools_run() {
    let permits = Arc::new(Semaphore::new(0));
    let replies = [Reply::new().tool("gated", json!({})), Reply::text("done")];
    let mut driver = Setup::new().tool(TestTool::gated("gated", &permits)).replies(replies).start();
    driver.prompt("p", "go");
    driver.until_type("tool_execution_start").await;
    driver.carry_out(shell("printf hello")).await;
    assert_eq!(driver.conversation().len(), 2, "a call and its result must not be separated");
    permits.add_permits(1);
    driver.until_settled().await;
    assert_eq!(driver.conversation()[2..], ["toolResult: gated", "bashExecution: hello", "assistant: done"]);
    driver.finish();
}

#[tokio::test]
async fn result_that_waited_is_recorded_when_the_run_is_aborted() {
    let never = Arc::new(Semaphore::new(0));
    let replies = [Reply::new().tool("gated", json!({}))];
    let mut driver = Setup::new().tool(TestTool::gated("gated", &never)).replies(replies).start();
    driver.prompt("p", "go");
    driver.until_type("tool_execution_start").await;
    driver.carry_out(shell("printf hello")).await;
    driver.send("a", Command::Abort);
    driver.until_settled().await;
    assert_eq!(driver.conversation()[2..], ["toolResult: stopped", "bashExecution: hello"]);
    driver.finish();
}

#[tokio::test]
async fn abort_of_the_commands_leaves_the_run_alone_and_the_other_way_round() {
    let mut driver = Setup::new().replies([Reply::mute()]).start();
    driver.send("s", shell("sleep 600"));
    driver.prompt("p", "go");
    driver.send("a", Command::Abort);
    driver.until_settled().await;
    assert!(!driver.is_replied("s"));
    driver.send("k", Command::AbortShell);
    let Ok(Answer::Shell(result)) = driver.until_reply("s").await else { panic!() };
    assert!(result.cancelled);
    driver.finish();
}
