//! A conversation that has become too long for the model.

use bowline_core::command::Command;
use bowline_core::event::QueueCause;
use bowline_testkit::Reply;
use serde_json::Value;

use crate::driver::{Driver, course};
use crate::setup::{Setup, long, too_long};

/// Returns an answer that the window truncated: it is shorter than the model's own limit.
fn truncated(text: &str) -> Reply {
    Reply::text(text).stop_reason("max_tokens")
}

/// Returns a session with two exchanges, of which a compaction keeps the second.
async fn with_a_past(further: impl IntoIterator<Item = Reply>) -> Driver {
    let setup = Setup::new().replies([Reply::text("one"), Reply::text("two")]);
    let mut driver = setup.replies(further).start();
    driver.run(&long("ONE")).await;
    driver.run(&long("TWO")).await;
    driver
}

#[tokio::test]
async fn overflow_is_compacted_and_the_model_called_again() {
    let mut driver = with_a_past([too_long(), Reply::text("SUMMARY"), Reply::text("three")]).await;
    let records = driver.run("three?").await;
    assert_eq!(
        course(&records)[4..],
        [
            "turn_end",
            "agent_end",
            "entry_appended",
            "compaction_start",
            "compaction_end",
            "agent_start",
            "turn_start",
            "message_end",
            "turn_end",
            "agent_end",
            "agent_settled"
        ]
    );
    assert_eq!(records.last().unwrap()["error"], Value::Null);
    assert_eq!(driver.conversation()[3..], ["user: three?", "assistant: three"]);
    driver.finish();
}

#[tokio::test]
async fn second_overflow_ends_the_run_and_the_next_prompt_is_another_case() {
    let further = [too_long(), Reply::text("SUMMARY"), too_long()];
    let mut driver = with_a_past(further).await;
    let records = driver.run(&long("THREE")).await;
    assert!(records.last().unwrap()["error"].as_str().unwrap().contains("prompt is too long"));
    assert_eq!(driver.of_type("compaction_end").len(), 2);
    for reply in [too_long(), Reply::text("SUMMARY"), Reply::text("four")] {
        driver.server.reply(reply);
    }
    let records = driver.run(&long("FOUR")).await;
    assert_eq!(records.last().unwrap()["error"], Value::Null);
    driver.finish();
}

#[tokio::test]
async fn overflow_whose_compaction_fails_ends_the_run_with_the_overflow() {
    let mut driver = with_a_past([too_long(), Reply::status(400).body("no summary")]).await;
    let records = driver.run("three?").await;
    assert!(records.last().unwrap()["error"].as_str().unwrap().contains("prompt is too long"));
    driver.finish();
}

#[tokio::test]
async fn abort_of_the_compaction_for_an_overflow_ends_the_run() {
    let mut driver = with_a_past([too_long(), Reply::mute()]).await;
    driver.prompt("p", "three?");
    driver.until_type("compaction_start").await;
    driver.send("a", Command::Abort);
    assert_eq!(driver.until_settled().await["aborted"], true);
    driver.finish();
}

#[tokio::test]
async fn overflow_with_nothing_to_compact_ends_the_run() {
    let mut driver = Setup::new().replies([too_long()]).start();
    let records = driver.run("one?").await;
    assert!(records.last().unwrap()["error"].is_string());
    assert!(driver.of_type("compaction_end")[0]["errorMessage"].as_str().unwrap().contains("too small"));
    driver.finish();
}

#[tokio::test]
async fn truncated_answer_is_asked_for_again() {
    let mut driver = with_a_past([truncated("hal"), Reply::text("SUMMARY"), Reply::text("whole")]).await;
    driver.run("three?").await;
    assert_eq!(driver.conversation()[3..], ["user: three?", "assistant: whole"]);
    driver.finish();
}

#[tokio::test]
async fn answer_that_is_truncated_again_stands() {
    let mut driver = with_a_past([truncated("hal"), Reply::text("SUMMARY"), truncated("half")]).await;
    let records = driver.run("three?").await;
    assert_eq!(records.last().unwrap()["error"], Value::Null);
    assert_eq!(driver.conversation()[3..], ["user: three?", "assistant: half"]);
    let end = driver.of_type("compaction_end").pop().unwrap();
    assert!(end["errorMessage"].as_str().unwrap().starts_with("Truncated response recovery failed"));
    driver.finish();
}

#[tokio::test]
async fn truncated_answer_is_put_back_when_the_compaction_fails_or_is_aborted() {
    let mut driver = with_a_past([truncated("half"), Reply::status(400).body("no summary")]).await;
    let records = driver.run("three?").await;
    assert_eq!(records.last().unwrap()["error"], Value::Null);
    assert_eq!(driver.conversation().last().unwrap(), "assistant: half");
    driver.finish();

    let mut driver = with_a_past([truncated("half"), Reply::mute()]).await;
    driver.prompt("p", "three?");
    driver.until_type("compaction_start").await;
    driver.send("a", Command::Abort);
    assert_eq!(driver.until_settled().await["aborted"], true);
    assert_eq!(driver.conversation().last().unwrap(), "assistant: half");
    driver.finish();
}

#[tokio::test]
async fn truncated_answer_stands_where_nothing_can_be_summarised() {
    let mut driver = Setup::new().replies([truncated("half")]).start();
    driver.run("one?").await;
    assert!(driver.of_type("compaction_start").is_empty());
    assert_eq!(driver.conversation().last().unwrap(), "assistant: half");
    driver.finish();
}

#[tokio::test]
async fn queued_message_follows_a_truncated_answer_that_stands() {
    let further = [
        truncated("hal"),
        Reply::text("SUMMARY"),
        truncated("half"),
        Reply::text("SUMMARY"),
        Reply::text("four"),
    ];
    let mut driver = with_a_past(further).await;
    driver.prompt("p", "three?");
    driver.until_type("compaction_start").await;
    driver.enqueue("f", bowline_core::command::Queue::FollowUp, "four?");
    driver.until_settled().await;
    assert!(driver.conversation().contains(&"user: four?".to_owned()));
    let delivered = driver.outputs().iter().any(|output| {
        matches!(
            output,
            bowline_engine::Output::Event(bowline_core::Event::QueueChanged {
                cause: QueueCause::Delivered,
                ..
            })
        )
    });
    assert!(delivered);
    driver.finish();
}
