//! A session file that can no longer be written.

use std::fs;
use std::sync::Arc;

use bowline_core::reply::{Refusal, RefusalCode};
use bowline_testkit::{Gate, Reply};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::driver::Driver;
use crate::setup::Setup;
use crate::test_tools::TestTool;

/// Takes the file away, so that nothing more can be appended to it.
fn break_file(driver: &mut Driver) {
    fs::remove_file(driver.file()).unwrap();
    driver.without_file_check();
}

#[tokio::test]
async fn answer_that_cannot_be_written_ends_the_run_with_the_reason() {
    let gate = Gate::new();
    let mut driver = Setup::new().replies([Reply::text("half").gate(&gate).then_text("whole")]).start();
    driver.prompt("p", "hi");
    driver.until_delta("half").await;
    break_file(&mut driver);
    gate.open();
    let settled = driver.until_settled().await;
    assert!(settled["error"].as_str().unwrap().starts_with("the session cannot be written"), "{settled}");
    assert_eq!(driver.conversation(), ["user: hi"]);
    driver.finish();
}

#[tokio::test]
async fn calls_of_an_answer_that_cannot_be_written_are_not_carried_out() {
    let gate = Gate::new();
    let reply = Reply::text("half").gate(&gate).tool("quick", json!({}));
    let mut driver = Setup::new().tool(TestTool::quick("quick")).replies([reply]).start();
    driver.prompt("p", "hi");
    driver.until_delta("half").await;
    break_file(&mut driver);
    gate.open();
    assert!(driver.until_settled().await["error"].is_string());
    assert!(driver.of_type("tool_execution_start").is_empty());
    driver.finish();
}

#[tokio::test]
async fn tool_result_that_cannot_be_written_ends_the_run_before_the_model_is_called() {
    let permits = Arc::new(Semaphore::new(0));
    let reply = Reply::new().tool("gated", json!({}));
    let mut driver = Setup::new().tool(TestTool::gated("gated", &permits)).replies([reply]).start();
    driver.prompt("p", "hi");
    driver.until_type("tool_execution_start").await;
    break_file(&mut driver);
    permits.add_permits(1);
    assert!(driver.until_settled().await["error"].is_string());
    assert_eq!(driver.requests().len(), 1);
    driver.finish();
}

#[tokio::test]
async fn prompt_that_cannot_be_written_is_refused() {
    let mut driver = Setup::new().start();
    driver.run("one?").await;
    break_file(&mut driver);
    driver.prompt("p", "two?");
    let reply = driver.replies("p").remove(0);
    assert!(matches!(reply, Err(Refusal { code: RefusalCode::StorageFailed, .. })), "{reply:?}");
    assert!(driver.session.is_idle());
    driver.finish();
}
