//! Prompts whose images are resized before their run starts.

use bowline_core::command::{Command, Draft, Queue};
use bowline_core::message::Content;
use bowline_core::policy::{IdleQueue, PromptAnswer};
use bowline_testkit::Reply;

use crate::setup::Setup;

/// The header of a PNG of 2400 by 600 pixels, which is larger than models take.
const LARGE: &str = "iVBORw0KGgoAAAANSUhEUgAACWAAAAJYCAAAAADDCIKI";

fn message_with_image() -> Draft {
    let image = Content::Image { data: LARGE.to_owned(), mime_type: "image/png".to_owned() };
    Draft { text: "look".to_owned(), images: vec![image], ..Draft::default() }
}

fn prompt_with_image() -> Command {
    Command::Prompt { message: message_with_image(), when_busy: None }
}

#[tokio::test]
async fn run_starts_once_the_images_are_resized() {
    let mut driver = Setup::new().start();
    driver.send("p", prompt_with_image());
    assert!(!driver.is_replied("p") && driver.state().is_streaming);
    driver.prompt("q", "another");
    assert!(driver.refusal("q").contains("already processing"));
    driver.enqueue("s", Queue::Steering, "closely");
    driver.until_settled().await;
    let conversation = driver.conversation();
    assert!(conversation[0].starts_with("user: look"), "{conversation:?}");
    assert_eq!(conversation[1..], ["user: closely", "assistant: ok"]);
    driver.finish();
}

#[tokio::test]
async fn abort_refuses_a_prompt_whose_images_are_being_resized() {
    let mut driver = Setup::new().start();
    driver.send("p", prompt_with_image());
    driver.send("a", Command::Abort);
    assert_eq!(driver.refusal("p"), "the prompt was aborted");
    assert!(driver.replies("a")[0].is_ok());
    assert!(driver.session.is_idle() && driver.requests().is_empty());
    driver.run("go").await;
    assert_eq!(driver.conversation(), ["user: go", "assistant: ok"]);
    driver.finish();
}

#[tokio::test]
async fn prompt_that_was_answered_on_receipt_is_refused_by_a_second_reply() {
    let setup = Setup::new().policy(|policy| policy.prompt_answer = PromptAnswer::OnReceipt);
    let mut driver = setup.start();
    driver.send("p", prompt_with_image());
    driver.send("a", Command::Abort);
    assert!(matches!(driver.replies("p")[..], [Ok(_), Err(_)]));
    driver.finish();
}

#[tokio::test]
async fn new_session_refuses_a_prompt_whose_images_are_being_resized() {
    let mut driver = Setup::new().start();
    let before = driver.session.id().to_owned();
    driver.send("p", prompt_with_image());
    driver.send("n", Command::NewSession { parent: None });
    assert!(driver.replies("p")[0].is_err() && driver.replies("n")[0].is_ok());
    assert_ne!(driver.session.id(), before);
    driver.finish();
}

#[tokio::test]
async fn messages_behind_a_queued_image_wait_for_it() {
    let mut driver = Setup::new().start();
    driver.send("s", Command::Enqueue { message: message_with_image(), queue: Queue::Steering });
    driver.enqueue("t", Queue::Steering, "then");
    driver.prompt("p", "go");
    assert!(!driver.is_replied("s") && !driver.is_replied("t") && !driver.is_replied("p"));
    driver.until_settled().await;
    let conversation = driver.conversation();
    assert_eq!(conversation[0], "user: go");
    assert!(conversation[1].starts_with("user: look"), "{conversation:?}");
    assert!(conversation.contains(&"user: then".to_owned()), "{conversation:?}");
    driver.finish();
}

#[tokio::test]
async fn queued_image_starts_no_run_after_the_shutdown() {
    let setup = Setup::new().policy(|policy| policy.idle_queue = IdleQueue::StartsRun);
    let mut driver = setup.replies([Reply::mute()]).start();
    driver.prompt("p", "go");
    driver.send("s", Command::Enqueue { message: message_with_image(), queue: Queue::Steering });
    driver.shut_down();
    driver.until_idle().await;
    assert_eq!(driver.refusal("s"), "bowline is shutting down");
    assert_eq!(driver.of_type("agent_settled").len(), 1);
    driver.finish();
}
