//! Calls of the model that fail and are made again.

use std::time::Duration;

use bowline_core::command::Command;
use bowline_testkit::Reply;
use serde_json::Value;

use crate::driver::course;
use crate::setup::{Setup, overloaded};

const SOON: Duration = Duration::from_millis(1);
const LATER: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn failed_answer_is_retried_after_a_backoff() {
    let mut driver = Setup::new().retry_after(SOON).replies([overloaded(), Reply::text("there")]).start();
    let records = driver.run("hi").await;
    assert_eq!(
        course(&records),
        [
            "agent_start",
            "turn_start",
            "message_end",
            "message_end",
            "turn_end",
            "agent_end",
            "auto_retry_start",
            "entry_appended",
            "agent_start",
            "turn_start",
            "message_end",
            "auto_retry_end",
            "turn_end",
            "agent_end",
            "agent_settled"
        ]
    );
    assert_eq!(driver.conversation(), ["user: hi", "assistant: there"]);
    driver.finish();
}

#[tokio::test]
async fn retries_end_after_the_last_one_fails() {
    let replies = [overloaded(), overloaded(), overloaded(), overloaded()];
    let mut driver = Setup::new().retry_after(SOON).replies(replies).start();
    let records = driver.run("hi").await;
    let settled = records.last().unwrap();
    assert!(settled["error"].as_str().unwrap().contains("Given up after 3 retries"), "{settled}");
    assert_eq!(driver.of_type("auto_retry_start").len(), 3);
    assert_eq!(driver.of_type("auto_retry_end")[0]["success"], false);
    driver.finish();
}

#[tokio::test]
async fn abort_during_the_backoff_ends_the_run() {
    let mut driver = Setup::new().retry_after(LATER).replies([overloaded()]).start();
    driver.prompt("p", "hi");
    driver.until_type("auto_retry_start").await;
    driver.send("a", Command::Abort);
    assert!(driver.is_replied("a"), "an abort during the backoff is over at once");
    assert_eq!(driver.until_settled().await["aborted"], true);
    driver.finish();
}

#[tokio::test]
async fn abort_retry_ends_the_run_during_the_backoff_only() {
    let mut driver = Setup::new().retry_after(LATER).replies([overloaded()]).start();
    driver.send("early", Command::AbortRetry);
    driver.prompt("p", "hi");
    driver.send("while answering", Command::AbortRetry);
    driver.until_type("auto_retry_start").await;
    driver.send("a", Command::AbortRetry);
    let end = driver.until_type("auto_retry_end").await;
    assert_eq!((&end["success"], &end["finalError"]), (&Value::Bool(false), &Value::from("Retry cancelled")));
    assert_eq!(driver.until_settled().await["aborted"], true);
    driver.finish();
}

#[tokio::test]
async fn switching_retries_off_ends_the_next_failure_at_once() {
    let mut driver = Setup::new().retry_after(SOON).replies([overloaded()]).start();
    driver.carry_out(Command::SetAutoRetry { enabled: false }).await;
    driver.run("hi").await;
    assert!(driver.of_type("auto_retry_start").is_empty());
    driver.finish();
}

#[tokio::test]
async fn steering_during_the_backoff_is_delivered_after_the_retried_turn() {
    let replies = [overloaded(), Reply::text("one"), Reply::text("two")];
    let mut driver = Setup::new().retry_after(SOON).replies(replies).start();
    driver.prompt("p", "hi");
    driver.until_type("auto_retry_start").await;
    driver.enqueue("s", bowline_core::command::Queue::Steering, "also");
    driver.until_settled().await;
    assert_eq!(driver.conversation(), ["user: hi", "assistant: one", "user: also", "assistant: two"]);
    driver.finish();
}
