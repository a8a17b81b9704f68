//! What changes during a run takes effect with the next call of the model.

use std::sync::Arc;

use bowline_core::command::Command;
use bowline_engine::SystemPrompt;
use bowline_testkit::{Gate, Reply};
use bowline_tools::{Options, Toolbox};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::driver::Driver;
use crate::setup::Setup;
use crate::test_tools::TestTool;

/// Returns a run whose tool is running, and what lets the tool end.
async fn with_a_running_tool() -> (Driver, Arc<Semaphore>) {
    let permits = Arc::new(Semaphore::new(0));
    let replies = [Reply::new().tool("gated", json!({})), Reply::text("done")];
    let mut driver = Setup::new().tool(TestTool::gated("gated", &permits)).replies(replies).start();
    driver.prompt("p", "go");
    driver.until_type("tool_execution_start").await;
    (driver, permits)
}

fn tools_of(request: &Value) -> Vec<&str> {
    request["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn other_tools_are_in_the_next_request() {
    let (mut driver, permits) = with_a_running_tool().await;
    let toolbox = Toolbox::builtin(&Options::default()).with_tool(Arc::new(TestTool::quick("added")));
    driver.session.set_tools(toolbox.without("bash"));
    permits.add_permits(1);
    driver.until_settled().await;
    let requests = driver.requests();
    assert_eq!(tools_of(&requests[0]), ["read", "bash", "edit", "write", "gated"]);
    assert_eq!(tools_of(&requests[1]), ["read", "edit", "write", "grep", "find", "ls", "todo", "added"]);
    assert!(driver.state().tools.contains(&"added".to_owned()));
    driver.finish();
}

#[tokio::test]
async fn another_system_prompt_is_in_the_next_request() {
    let (mut driver, permits) = with_a_running_tool().await;
    let prompt = SystemPrompt { replacement: Some("Be terse.".to_owned()), ..SystemPrompt::default() };
    driver.session.set_system_prompt(prompt);
    permits.add_permits(1);
    driver.until_settled().await;
    let systems: Vec<_> = driver.requests().iter().map(|request| request["system"].to_string()).collect();
    assert!(!systems[0].contains("Be terse.") && systems[1].contains("Be terse."));
    driver.finish();
}

#[tokio::test]
async fn another_model_answers_the_next_turn_of_the_same_run() {
    let gate = Gate::new();
    let permits = Arc::new(Semaphore::new(1));
    let replies = [Reply::text("first").gate(&gate).tool("gated", json!({})), Reply::text("second")];
    let mut driver = Setup::new().tool(TestTool::gated("gated", &permits)).replies(replies).start();
    driver.prompt("p", "go");
    driver.until_delta("first").await;
    driver.carry_out(Command::SetModel { provider: "mock".to_owned(), id: "m2".to_owned() }).await;
    gate.open();
    driver.until_settled().await;
    let requested: Vec<_> = driver.requests().iter().map(|request| request["model"].clone()).collect();
    assert_eq!(requested, ["m1", "m2"]);
    let answers = driver.of_type("turn_end");
    let answered: Vec<_> = answers.iter().map(|record| &record["message"]["model"]).collect();
    assert_eq!(answered, ["m1", "m2"]);
    assert_eq!(driver.of_type("agent_settled").len(), 1);
    driver.finish();
}

#[tokio::test]
async fn tool_that_was_removed_while_the_user_was_asked_does_not_run() {
    use bowline_core::ask::Decision;
    use bowline_core::policy::Questions;

    let setup = Setup::new().policy(|policy| policy.questions = Questions::Asked);
    let setup = setup.gate(crate::test_tools::AskingGate::about("risky")).tool(TestTool::quick("risky"));
    let mut driver = setup.replies([Reply::new().tool("risky", json!({})), Reply::text("done")]).start();
    driver.prompt("p", "go");
    let ask = driver.until_asked().await;
    driver.session.set_tools(Toolbox::default());
    driver.answer(ask.id, Decision::Allow);
    driver.until_settled().await;
    assert_eq!(driver.conversation()[2], "toolResult: The tool risky was switched off.");
    driver.finish();
}
