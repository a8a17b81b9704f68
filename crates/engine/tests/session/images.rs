//! Prompts whose images are resized before their run starts.

use bowline_core::command::{Command, Draft, Queue};
use bowline_core::message::Content;
use bowline_core::policy::PromptAnswer;

use crate::setup::Setup;

/// The header of a PNG of 2400 by 600 pixels, which is larger than models take.
const LARGE: &str = "iVBORw0KGgoAAAANSUhEUgAACWAAAAJYCAAAAADDCIKI";

fn prompt_with_image() -> Command {
    let image = Content::Image { data: LARGE.to_owned(), mime_type: "image/png".to_owned() };
    let message = Draft { text: "look".to_owned(), images: vec![image], ..Draft::default() };
    Command::Prompt { message, when_busy: None }
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
