//! A process that dies is started again, and the session goes on.

use std::time::Duration;

use bowline_client::{Client, Error, Event, Outcome, Restarts, StartError, ThinkingLevel};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::trial::{Trial, WAIT, bash};

/// Kills the process, and waits until there is another one.
async fn die(client: &Client) {
    let process = client.process_id().unwrap();
    assert!(
        std::process::Command::new("kill").args(["-9", &process.to_string()]).status().unwrap().success()
    );
    let replaced = async {
        while client.process_id().is_none_or(|id| id == process) {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(WAIT, replaced).await.expect("another process");
}

#[tokio::test]
async fn session_goes_on_after_a_crash() {
    let trial = Trial::new();
    let client = trial.client(&[json!({ "text": "ok" })]).restarts(Restarts::UpTo(3)).start().await.unwrap();
    let mut ends = client.events_of(|kind| kind == "agent_settled");
    client.prompt_and_wait("first").await.unwrap();
    let before = client.get_state().await.unwrap();
    die(&client).await;
    let after = client.get_state().await.unwrap();
    assert_eq!((after.session_id, after.message_count), (before.session_id, 2));
    client.prompt_and_wait("second").await.unwrap();
    assert!(matches!(ends.next().await, Ok(Some(Event::AgentSettled(_)))));
    let died = ends.next().await.unwrap_err();
    assert!(died.ending().unwrap().will_restart, "{died}");
    assert!(matches!(ends.next().await, Ok(Some(Event::AgentSettled(_)))));
    assert_eq!(client.get_messages().await.unwrap().messages.len(), 4);
    client.stop().await;
}

#[tokio::test]
async fn session_without_a_message_goes_on_too() {
    let trial = Trial::new();
    let client = trial.client(&[json!({ "text": "ok" })]).restarts(Restarts::UpTo(3)).start().await.unwrap();
    let before = client.get_state().await.unwrap().session_id;
    die(&client).await;
    assert_eq!(client.get_state().await.unwrap().session_id, before);
    client.new_session().await.unwrap();
    client.prompt_and_wait("hi").await.unwrap();
    let other = client.get_state().await.unwrap();
    assert_ne!(other.session_id, before);
    die(&client).await;
    assert_eq!(client.get_state().await.unwrap().session_id, other.session_id);
    client.stop().await;
}

#[tokio::test]
async fn what_was_set_is_set_again() {
    let trial = Trial::new();
    trial.file("other.json", &json!({ "steps": [{ "text": "Other." }] }).to_string());
    let client = trial.client(&[json!({ "text": "ok" })]).restarts(Restarts::UpTo(3)).start().await.unwrap();
    client.set_model("scripted", "other.json").await.unwrap();
    client.set_thinking_level(ThinkingLevel::Low).await.unwrap();
    client.set_auto_compaction(false).await.unwrap();
    die(&client).await;
    let state = client.get_state().await.unwrap();
    assert_eq!(state.model.unwrap().id, "other.json");
    assert_eq!(state.thinking_level, ThinkingLevel::Low);
    assert!(!state.auto_compaction_enabled);
    client.stop().await;
}

#[tokio::test]
async fn run_is_not_repeated_and_whoever_waits_for_it_knows() {
    let trial = Trial::new();
    let client =
        trial.client(&[bash("echo $$ >>runs; sleep 60")]).restarts(Restarts::UpTo(3)).start().await.unwrap();
    let mut run = client.run("go").await.unwrap();
    while !matches!(run.next().await.unwrap().unwrap(), Event::ToolExecutionStart(_)) {}
    let (error, ()) = tokio::join!(run.finish(), die(&client));
    let error = error.unwrap_err();
    assert!(matches!(&error, Error::Ended(ending) if ending.will_restart), "{error}");
    assert!(!client.get_state().await.unwrap().is_streaming);
    let stopped = client.prompt_and_wait_within("continue", Duration::from_millis(300)).await.unwrap();
    assert_eq!(stopped.outcome, Outcome::TimedOut);
    client.stop().await;
}

#[tokio::test]
async fn session_in_memory_begins_anew() {
    let trial = Trial::new();
    let builder = trial.client(&[json!({ "text": "ok" })]).no_session().restarts(Restarts::UpTo(1));
    let client = builder.start().await.unwrap();
    client.prompt_and_wait("first").await.unwrap();
    die(&client).await;
    let state = client.get_state().await.unwrap();
    assert_eq!((state.message_count, state.session_file), (0, None));
    client.stop().await;
}

#[tokio::test]
async fn it_gives_up_after_some_deaths() {
    let trial = Trial::new();
    let client = trial.client(&[]).restarts(Restarts::UpTo(1)).start().await.unwrap();
    die(&client).await;
    client.get_state().await.unwrap();
    let process = client.process_id().unwrap();
    assert!(
        std::process::Command::new("kill").args(["-9", &process.to_string()]).status().unwrap().success()
    );
    let ending = timeout(WAIT, client.ended()).await.unwrap();
    assert!(!ending.will_restart && !ending.was_requested, "{ending:?}");
    assert!(matches!(client.get_state().await, Err(Error::Ended(_))));
    client.stop().await;
}

#[tokio::test]
async fn stopping_while_it_is_started_again() {
    let trial = Trial::new();
    let client = trial.client(&[]).restarts(Restarts::UpTo(9)).start().await.unwrap();
    let process = client.process_id().unwrap();
    assert!(
        std::process::Command::new("kill").args(["-9", &process.to_string()]).status().unwrap().success()
    );
    while client.process_id().is_some() {
        tokio::task::yield_now().await;
    }
    let asking = tokio::spawn({
        let connection = client.connection();
        async move { connection.get_state().await }
    });
    let ending = timeout(WAIT, client.stop()).await.unwrap();
    assert!(ending.was_requested, "{ending:?}");
    // It was answered by the next process, or there was none.
    let _ = timeout(WAIT, asking).await.expect("an answer or an error");
}

#[tokio::test]
async fn flag_that_chooses_the_session_is_refused() {
    let trial = Trial::new();
    for flag in ["--continue", "--session=x", "--no-session"] {
        let error = trial.client(&[]).restarts(Restarts::UpTo(1)).argument(flag).start().await.unwrap_err();
        assert!(matches!(error, StartError::SessionFlag { .. }), "{error}");
        assert!(error.to_string().contains(flag.split('=').next().unwrap()), "{error}");
    }
}

#[tokio::test]
async fn sessions_are_chosen() {
    let trial = Trial::new();
    let client = trial.client(&[json!({ "text": "ok" })]).session_id("ticket-1").start().await.unwrap();
    client.prompt_and_wait("hi").await.unwrap();
    let state = client.get_state().await.unwrap();
    assert_eq!(state.session_id, "ticket-1");
    client.stop().await;
    for builder in [
        trial.client(&[]).session_id("ticket-1"),
        trial.client(&[]).session(state.session_file.unwrap()),
        trial.client(&[]).continue_session(),
    ] {
        let client = builder.start().await.unwrap();
        let state = client.get_state().await.unwrap();
        assert_eq!((state.session_id.as_str(), state.message_count), ("ticket-1", 2));
        client.stop().await;
    }
}
