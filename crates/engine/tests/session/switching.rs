//! Changing to another session. Files are read and written in the background; commands wait meanwhile.

use std::fs;
use std::path::PathBuf;

use bowline_core::command::{Command, Queue};
use bowline_core::reply::{Answer, RefusalCode};
use bowline_testkit::Reply;

use crate::driver::Driver;
use crate::setup::Setup;
use crate::user_commands::shell;

/// Returns a new, empty session, and the file of the session before it, which has one exchange.
async fn with_another_session() -> (Driver, PathBuf) {
    let mut driver = Setup::new().replies([Reply::text("one")]).start();
    driver.run("one?").await;
    let file = driver.file();
    driver.carry_out(Command::NewSession { parent: None }).await;
    (driver, file)
}

fn switch(path: &std::path::Path) -> Command {
    Command::SwitchSession { path: path.to_owned() }
}

#[tokio::test]
async fn commands_wait_while_a_session_is_opened_and_get_state_does_not() {
    let (mut driver, file) = with_another_session().await;
    driver.send("w", switch(&file));
    assert_ne!(
        driver.state().session_file.as_deref(),
        Some(&*file),
        "the state is that of the current session"
    );
    driver.send("m", Command::GetMessages);
    driver.prompt("p", "two?");
    driver.enqueue("s", Queue::FollowUp, "three?");
    assert!(!driver.is_replied("m") && !driver.is_replied("p") && !driver.is_replied("s"));
    driver.until_settled().await;
    let Ok(Answer::Messages(messages)) = driver.until_reply("m").await else { panic!() };
    assert_eq!(messages.len(), 2, "the messages are those of the session that was opened");
    assert_eq!(driver.file(), file);
    assert_eq!(
        driver.conversation(),
        ["user: one?", "assistant: one", "user: two?", "assistant: ok", "user: three?", "assistant: ok"]
    );
    driver.finish();
}

#[tokio::test]
async fn abort_of_an_opening_is_replied_to_at_once() {
    let (mut driver, file) = with_another_session().await;
    let before = driver.session.id().to_owned();
    driver.send("w", switch(&file));
    driver.send("m", Command::GetMessages);
    driver.send("a", Command::Abort);
    assert!(driver.is_replied("a") && driver.is_replied("m"));
    assert_eq!(driver.refusal("w"), "Opening the session was aborted");
    assert_eq!(driver.session.id(), before);
    driver.run("two?").await;
    assert_eq!(driver.conversation(), ["user: two?", "assistant: ok"]);
    driver.finish();
}

#[tokio::test]
async fn missing_session_is_refused_without_ending_the_run() {
    let (mut driver, file) = with_another_session().await;
    driver.prompt("p", "two?");
    driver.send("w", switch(&file.with_extension("none")));
    assert!(driver.replies("w")[0].is_err());
    assert_eq!(driver.until_settled().await["aborted"], false);
    driver.send("v", switch(&file.with_extension("none")));
    driver.until_idle().await;
    assert!(driver.replies("v")[0].is_err());
    driver.finish();
}

#[tokio::test]
async fn current_session_is_switched_to_at_once() {
    let mut driver = Setup::new().start();
    driver.run("one?").await;
    let file = driver.file();
    driver.send("w", switch(&file));
    assert!(driver.is_replied("w"));
    driver.finish();
}

#[tokio::test]
async fn switching_stops_the_run_and_clears_the_queues() {
    let (mut driver, file) = with_another_session().await;
    driver.server.reply(Reply::mute());
    driver.prompt("p", "two?");
    driver.enqueue("s", Queue::FollowUp, "three?");
    driver.send("w", switch(&file));
    assert_eq!(driver.until_settled().await["aborted"], true);
    assert!(driver.until_reply("w").await.is_ok());
    assert_eq!(driver.state().pending_message_count, 0);
    driver.finish();
}

#[tokio::test]
async fn clone_and_fork_continue_in_a_copy() {
    let mut driver = Setup::new().replies([Reply::text("one"), Reply::text("two")]).start();
    driver.run("one?").await;
    driver.run("two?").await;
    let original = driver.file();
    let entry = driver.of_type("message_end")[2]["entryId"].as_str().unwrap().to_owned();
    driver.send("c", Command::Clone);
    driver.send("m", Command::GetMessages);
    assert!(!driver.is_replied("m"));
    driver.send("a", Command::Abort);
    assert!(driver.is_replied("a"), "an abort does not wait for the copy");
    assert!(driver.until_reply("c").await.is_ok());
    assert_ne!(driver.file(), original);
    assert_eq!(driver.conversation(), ["user: one?", "assistant: one", "user: two?", "assistant: two"]);

    driver.carry_out(switch(&original)).await;
    driver.send("f", Command::Fork { entry, point: None });
    driver.prompt("p", "other?");
    driver.until_settled().await;
    let Some(Ok(Answer::Forked { text })) = driver.replies("f").pop() else { panic!() };
    assert_eq!(text, "two?");
    assert_eq!(driver.conversation(), ["user: one?", "assistant: one", "user: other?", "assistant: ok"]);
    driver.finish();
}

#[tokio::test]
async fn command_that_ends_during_a_copy_is_recorded_in_the_session_it_was_started_in() {
    let mut driver = Setup::new().start();
    driver.carry_out(shell("printf past")).await;
    let original = driver.file();
    driver.send("s", shell("true # marked"));
    driver.until_reports(1).await;
    driver.send("c", Command::Clone);
    driver.step().await;
    assert!(driver.is_replied("s") && !driver.is_replied("c"));
    driver.until_reply("c").await.unwrap();
    assert_eq!(driver.conversation(), ["bashExecution: past"]);
    let stored = fs::read_to_string(original).unwrap();
    assert!(stored.contains("true # marked"), "{stored}");
    driver.finish();
}

#[tokio::test]
async fn command_that_ends_during_an_opening_is_recorded_although_the_opening_is_aborted() {
    let mut driver = Setup::new().start();
    driver.carry_out(shell("printf past")).await;
    let file = driver.file();
    driver.carry_out(Command::NewSession { parent: None }).await;
    driver.carry_out(shell("printf present")).await;
    driver.send("s", shell("true"));
    driver.until_reports(1).await;
    driver.send("w", switch(&file));
    driver.step().await;
    assert!(driver.is_replied("s") && !driver.is_replied("w"));
    driver.send("a", Command::Abort);
    driver.until_reply("w").await.unwrap_err();
    assert_eq!(driver.conversation(), ["bashExecution: present", "bashExecution: "]);
    driver.finish();
}

#[tokio::test]
async fn command_that_ends_after_the_change_is_not_part_of_the_other_session() {
    let mut driver = Setup::new().start();
    driver.send("s", shell("sleep 600"));
    driver.carry_out(Command::NewSession { parent: None }).await;
    driver.send("k", Command::AbortShell);
    driver.until_reply("s").await.unwrap();
    assert!(driver.conversation().is_empty());
    driver.finish();
}

#[tokio::test]
async fn background_jobs_are_replied_to_when_they_are_done() {
    let (mut driver, file) = with_another_session().await;
    driver.send("l", Command::ListSessions { query: bowline_core::command::SessionQuery::default() });
    driver.send("e", Command::ExportHtml { path: None });
    driver.state();
    assert!(!driver.is_replied("l") && !driver.is_replied("e"));
    let Ok(Answer::Sessions(page)) = driver.until_reply("l").await else { panic!() };
    assert_eq!(page.sessions[0].path, file);
    assert!(driver.refusal("e").contains("Nothing to export"));
    driver.carry_out(Command::DeleteSession { path: file.clone() }).await;
    driver.send("w", switch(&file));
    driver.until_idle().await;
    let Err(refusal) = driver.replies("w").remove(0) else { panic!() };
    assert_eq!(refusal.code, RefusalCode::SessionUnavailable);
    driver.finish();
}

#[tokio::test]
async fn abort_waits_behind_the_messages_for_another_session() {
    let (mut driver, file) = with_another_session().await;
    driver.send("w", switch(&file));
    driver.prompt("p", "for the other session");
    driver.send("a", Command::Abort);
    assert!(!driver.is_replied("a"), "the abort is meant for the prompt");
    driver.until_settled().await;
    assert!(driver.is_replied("p") && driver.is_replied("a"));
    assert!(driver.conversation().contains(&"user: for the other session".to_owned()));
    driver.finish();

    let mut driver = Setup::new().start();
    driver.run("one?").await;
    driver.send("c", Command::Clone);
    driver.enqueue("s", Queue::Steering, "for the copy");
    driver.send("a", Command::Abort);
    driver.until_reply("a").await.unwrap();
    assert!(driver.is_replied("s"));
    driver.finish();
}

#[tokio::test]
async fn end_of_input_waits_for_another_session_and_what_is_meant_for_it() {
    let (mut driver, file) = with_another_session().await;
    driver.send("w", switch(&file));
    driver.send("n", Command::SetSessionName { name: "meant for the other".to_owned() });
    driver.shut_down();
    driver.until_reply("n").await.unwrap();
    assert_eq!(driver.session.file(), Some(file.as_path()));
    driver.finish();
}

#[tokio::test]
async fn deleting_a_session_comes_before_switching_to_it() {
    let (mut driver, file) = with_another_session().await;
    driver.send("d", Command::DeleteSession { path: file.clone() });
    driver.send("w", switch(&file));
    assert!(driver.until_reply("w").await.is_err());
    assert!(!file.exists() && driver.refusal("w").contains("not found"));
    driver.finish();
}
