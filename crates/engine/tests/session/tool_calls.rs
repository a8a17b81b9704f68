//! The tool calls of an answer: in parallel, refused, broken, stopped.

use std::sync::Arc;

use bowline_testkit::Reply;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::setup::Setup;
use crate::test_tools::{AskingGate, TestTool};

/// Returns the names of the tools in the records of a type.
fn tools_of(records: &[Value], name: &str) -> Vec<String> {
    let found = records.iter().filter(|record| record["type"] == name);
    found.map(|record| record["toolName"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn parallel_calls_end_in_any_order_and_results_keep_the_order_of_the_calls() {
    let (slow, fast) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let setup = Setup::new().tool(TestTool::gated("slow", &slow)).tool(TestTool::gated("fast", &fast));
    let replies = [Reply::new().tool("slow", json!({})).tool("fast", json!({})), Reply::text("done")];
    let mut driver = setup.replies(replies).start();
    driver.prompt("p", "go");
    driver.until_type("tool_execution_start").await;
    driver.until_type("tool_execution_start").await;
    fast.add_permits(1);
    assert_eq!(driver.until_type("tool_execution_end").await["toolName"], "fast");
    slow.add_permits(1);
    driver.until_settled().await;
    let records = driver.records();
    assert_eq!(tools_of(&records, "tool_execution_end"), ["fast", "slow"]);
    assert_eq!(
        driver.conversation(),
        ["user: go", "assistant: [slow][fast]", "toolResult: slow", "toolResult: fast", "assistant: done"]
    );
    driver.finish();
}

#[tokio::test]
async fn unknown_tool_becomes_an_error_result_that_names_the_known_ones() {
    let replies = [Reply::new().tool("teleport", json!({})), Reply::text("sorry")];
    let mut driver = Setup::new().replies(replies).start();
    driver.run("go").await;
    let result = &driver.conversation()[2];
    assert!(
        result.starts_with("toolResult: There is no tool named teleport. The tools are: read,"),
        "{result}"
    );
    driver.finish();
}

#[tokio::test]
async fn calls_of_a_truncated_answer_are_not_carried_out() {
    let reply = Reply::new().tool("quick", json!({})).stop_reason("max_tokens");
    let setup = Setup::new().tool(TestTool::quick("quick")).replies([reply, Reply::text("done")]);
    let mut driver = setup.start();
    driver.run("go").await;
    assert!(driver.conversation()[2].contains("was not carried out"));
    driver.finish();
}

#[tokio::test]
async fn panicking_tool_becomes_an_error_result_and_the_run_goes_on() {
    let setup = Setup::new().tool(TestTool::panicking("broken")).tool(TestTool::quick("quick"));
    let replies = [Reply::new().tool("broken", json!({})).tool("quick", json!({})), Reply::text("done")];
    let mut driver = setup.replies(replies).start();
    let records = driver.run("go").await;
    assert_eq!(records.last().unwrap()["error"], Value::Null);
    let conversation = driver.conversation();
    assert!(conversation[2].contains("toolResult: Internal error"), "{conversation:?}");
    assert_eq!(conversation[3..], ["toolResult: quick", "assistant: done"]);
    driver.finish();
}

#[tokio::test]
async fn gate_refuses_a_call_with_a_reason_for_the_model() {
    let gate = AskingGate { asks_about: "", refuses: "quick" };
    let replies = [Reply::new().tool("quick", json!({})), Reply::text("done")];
    let mut driver = Setup::new().tool(TestTool::quick("quick")).gate(gate).replies(replies).start();
    driver.run("go").await;
    assert_eq!(driver.conversation()[2], "toolResult: it is forbidden");
    driver.finish();
}

#[tokio::test]
async fn progress_is_emitted_while_a_tool_runs() {
    let permits = Arc::new(Semaphore::new(0));
    let gated = Arc::clone(&permits);
    let tool = TestTool::new("reporting", move |context, _| {
        let permits = Arc::clone(&gated);
        async move {
            let content = vec![bowline_core::message::Content::text("half")];
            (context.progress)(bowline_tools::Progress { content, details: None });
            permits.acquire().await.unwrap().forget();
            bowline_tools::Outcome::text("whole")
        }
    });
    let replies = [Reply::new().tool("reporting", json!({})), Reply::text("done")];
    let mut driver = Setup::new().tool(tool).replies(replies).start();
    driver.prompt("p", "go");
    let update = driver.until_type("tool_execution_update").await;
    assert_eq!(update["partialResult"]["content"][0]["text"], "half");
    permits.add_permits(1);
    driver.until_settled().await;
    driver.finish();
}

#[tokio::test]
async fn calls_beyond_the_limit_wait_in_order() {
    let permits = Arc::new(Semaphore::new(0));
    let mut setup = Setup::new().tool(TestTool::gated("gated", &permits));
    setup.settings.max_parallel_tools = 2.try_into().unwrap();
    let calls = (0..5).fold(Reply::new(), |reply, _| reply.tool("gated", json!({})));
    let mut driver = setup.replies([calls, Reply::text("done")]).start();
    driver.prompt("p", "go");
    for started in 2..=5 {
        while tools_of(&driver.records(), "tool_execution_start").len() < started {
            driver.until_type("tool_execution_start").await;
        }
        assert_eq!(tools_of(&driver.records(), "tool_execution_start").len(), started);
        permits.add_permits(1);
        driver.until_type("tool_execution_end").await;
    }
    permits.add_permits(1);
    driver.until_settled().await;
    let starts: Vec<_> =
        driver.records().into_iter().filter(|record| record["type"] == "tool_execution_start").collect();
    let calls: Vec<_> = starts.iter().map(|record| record["toolCallId"].as_str().unwrap()).collect();
    assert!(calls.is_sorted() && calls.len() == 5, "{calls:?}");
    driver.finish();
}

#[tokio::test]
async fn calls_that_waited_are_not_started_after_an_abort() {
    let permits = Arc::new(Semaphore::new(0));
    let mut setup = Setup::new().tool(TestTool::gated("gated", &permits));
    setup.settings.max_parallel_tools = 2.try_into().unwrap();
    let calls = (0..100).fold(Reply::new(), |reply, _| reply.tool("gated", json!({})));
    let mut driver = setup.replies([calls]).start();
    driver.prompt("p", "go");
    driver.until_type("tool_execution_start").await;
    driver.until_type("tool_execution_start").await;
    driver.send("a", bowline_core::command::Command::Abort);
    driver.until_settled().await;
    let conversation = driver.conversation();
    assert_eq!(conversation.len(), 102);
    assert_eq!(conversation[2..4], ["toolResult: stopped", "toolResult: stopped"]);
    assert!(conversation[4..].iter().all(|text| text == "toolResult: Aborted before it was started."));
    driver.finish();
}
