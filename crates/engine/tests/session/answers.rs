//! One answer after another: from a prompt to the event that ends its run.

use bowline_core::command::Command;
use bowline_core::reply::{Answer, Disposition};
use bowline_testkit::{Gate, Reply};
use serde_json::json;

use crate::driver::course;
use crate::setup::Setup;
use crate::test_tools::TestTool;

#[tokio::test]
async fn prompt_answer_and_settled() {
    let mut driver = Setup::new().replies([Reply::text("hello")]).start();
    driver.prompt("p", "hi");
    assert!(matches!(driver.replies("p")[..], [Ok(Answer::Accepted(Disposition::Started))]));
    let settled = driver.until_settled().await;
    assert_eq!(settled["aborted"], false);
    assert_eq!(
        course(&driver.records()),
        ["agent_start", "turn_start", "message_end", "message_end", "turn_end", "agent_end", "agent_settled"]
    );
    assert_eq!(driver.conversation(), ["user: hi", "assistant: hello"]);
    driver.finish();
}

#[tokio::test]
async fn sessions_in_memory_run_without_a_file() {
    let mut driver = Setup::new().in_memory().replies([Reply::text("hello")]).start();
    driver.run("hi").await;
    assert_eq!(driver.session.file(), None);
    assert_eq!(driver.conversation(), ["user: hi", "assistant: hello"]);
    driver.finish();
}

#[tokio::test]
async fn second_prompt_during_a_run_is_refused() {
    let mut driver = Setup::new().start();
    driver.prompt("p", "one");
    driver.prompt("q", "two");
    assert!(driver.refusal("q").contains("already processing"));
    driver.until_settled().await;
    assert_eq!(driver.conversation(), ["user: one", "assistant: ok"]);
    driver.finish();
}

#[tokio::test]
async fn tools_lead_to_another_turn_that_carries_their_results() {
    let replies = [Reply::text("let me see").tool("quick", json!({})), Reply::text("done")];
    let mut driver = Setup::new().tool(TestTool::quick("quick")).replies(replies).start();
    let records = driver.run("go").await;
    assert_eq!(
        course(&records),
        [
            "agent_start",
            "turn_start",
            "message_end",
            "message_end",
            "tool_execution_start",
            "tool_execution_end",
            "message_end",
            "turn_end",
            "turn_start",
            "message_end",
            "turn_end",
            "agent_end",
            "agent_settled"
        ]
    );
    let sent = driver.requests().pop().unwrap()["messages"].to_string();
    assert!(sent.contains("tool_result") && sent.contains("quick"), "{sent}");
    driver.finish();
}

#[tokio::test]
async fn deltas_are_emitted_as_they_arrive() {
    let gate = Gate::new();
    let mut driver = Setup::new().replies([Reply::text("one").gate(&gate).then_text("two")]).start();
    driver.prompt("p", "hi");
    driver.until_delta("one").await;
    assert!(driver.state().is_streaming);
    assert!(driver.of_type("message_end").len() == 1, "only the prompt has ended");
    gate.open();
    driver.until_delta("two").await;
    driver.until_settled().await;
    assert!(!driver.state().is_streaming);
    driver.finish();
}

#[tokio::test]
async fn provider_that_closes_the_stream_ends_the_run_with_an_error() {
    let mut driver = Setup::new().replies([Reply::text("half").then_text("lost").interrupt_after(1)]).start();
    let records = driver.run("hi").await;
    let settled = records.last().unwrap();
    assert!(settled["error"].is_string(), "{settled}");
    assert_eq!(driver.conversation(), ["user: hi", "assistant: half"]);
    driver.finish();
}

#[tokio::test]
async fn unknown_model_is_refused_and_the_current_one_stays() {
    let mut driver = Setup::new().start();
    driver.send("m", Command::SetModel { provider: "mock".to_owned(), id: "none".to_owned() });
    assert_eq!(driver.refusal("m"), "Model not found: mock/none");
    driver.run("hi").await;
    assert_eq!(driver.requests()[0]["model"], "m1");
    driver.finish();
}
