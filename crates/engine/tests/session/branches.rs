//! Moving to another entry of the session, with a summary of the branch that is left.

use bowline_core::command::Command;
use bowline_core::reply::Answer;
use bowline_testkit::Reply;

use crate::driver::Driver;
use crate::setup::Setup;

/// Returns a session with two exchanges, and the entry of the second prompt.
async fn with_two_exchanges(further: impl IntoIterator<Item = Reply>) -> (Driver, String) {
    let setup = Setup::new().replies([Reply::text("one"), Reply::text("two")]);
    let mut driver = setup.replies(further).start();
    driver.run("one?").await;
    driver.run("two?").await;
    let entry = driver.of_type("message_end")[2]["entryId"].as_str().unwrap().to_owned();
    (driver, entry)
}

fn navigate(entry: &str, summarize: bool) -> Command {
    Command::NavigateTree { entry: entry.to_owned(), summarize, instructions: None }
}

#[tokio::test]
async fn navigation_without_a_summary_takes_no_time() {
    let (mut driver, entry) = with_two_exchanges([]).await;
    driver.send("n", navigate(&entry, false));
    let Answer::Navigated(navigated) = driver.replies("n").remove(0).unwrap() else { panic!() };
    assert_eq!(navigated.text.as_deref(), Some("two?"));
    assert_eq!(driver.conversation(), ["user: one?", "assistant: one"]);
    driver.run("other?").await;
    assert_eq!(driver.conversation(), ["user: one?", "assistant: one", "user: other?", "assistant: ok"]);
    driver.finish();
}

#[tokio::test]
async fn branch_is_summarised_before_it_is_left() {
    let (mut driver, entry) = with_two_exchanges([Reply::text("BRANCH")]).await;
    driver.send("n", navigate(&entry, true));
    assert!(!driver.is_replied("n") && driver.state().is_compacting);
    driver.prompt("p", "too early");
    let Ok(Answer::Navigated(navigated)) = driver.until_reply("n").await else { panic!() };
    assert!(navigated.summary_entry.is_some());
    assert!(driver.conversation()[2].starts_with("branchSummary: BRANCH"));
    assert!(driver.replies("p")[0].is_err());
    driver.finish();
}

#[tokio::test]
async fn abort_or_failure_of_the_summary_stays_on_the_branch() {
    let (mut driver, entry) = with_two_exchanges([Reply::mute(), Reply::status(400).body("no")]).await;
    driver.send("n", navigate(&entry, true));
    driver.until_requests(3).await;
    driver.send("a", Command::Abort);
    assert_eq!(driver.refusal("n"), "Navigation cancelled");
    driver.send("m", navigate(&entry, true));
    driver.until_idle().await;
    assert!(driver.refusal("m").starts_with("Summarization failed"));
    assert_eq!(driver.conversation().len(), 4);
    driver.finish();
}

#[tokio::test]
async fn unknown_entry_is_refused_without_ending_the_run() {
    let (mut driver, _) = with_two_exchanges([]).await;
    driver.prompt("p", "three?");
    driver.send("n", navigate("none", true));
    driver.send("f", Command::Fork { entry: "none".to_owned(), point: None });
    assert!(driver.replies("n")[0].is_err() && driver.replies("f")[0].is_err());
    assert_eq!(driver.until_settled().await["aborted"], false);
    driver.finish();
}

#[tokio::test]
async fn navigation_stops_the_run_first() {
    let (mut driver, entry) = with_two_exchanges([Reply::mute()]).await;
    driver.prompt("p", "three?");
    driver.until_requests(3).await;
    driver.send("n", navigate(&entry, false));
    assert_eq!(driver.until_settled().await["aborted"], true);
    assert!(driver.until_reply("n").await.is_ok());
    // A move is recorded with the next entry only.
    driver.run("other?").await;
    driver.finish();
}
