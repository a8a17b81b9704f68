//! Prompts, and what is said to the run meanwhile.

use std::time::Duration;

use bowline_client::{ErrorKind, Event, Message, Outcome, PromptCommand, Step};
use futures_util::StreamExt as _;
use serde_json::json;

use crate::trial::{Trial, bash};

#[tokio::test]
async fn text_arrives_as_it_is_written() {
    let trial = Trial::new();
    let client = trial.client(&[json!({ "text": "Hello, you." })]).start().await.unwrap();
    let mut run = client.run("hi").await.unwrap();
    let mut text = String::new();
    while let Some(event) = run.next().await.unwrap() {
        if let Event::MessageUpdate(update) = event
            && let Step::TextDelta(step) = update.assistant_message_event
        {
            text += &step.delta;
        }
    }
    let run = run.finish().await.unwrap();
    assert_eq!(
        (text.as_str(), run.text.as_str(), run.outcome),
        ("Hello, you.", "Hello, you.", Outcome::Done)
    );
    assert!(run.usage.unwrap().total_tokens > 0);
    client.stop().await;
}

#[tokio::test]
async fn steering_and_follow_ups_reach_the_run() {
    let trial = Trial::new();
    // The tool waits until the message has been sent.
    let steps = [
        bash("while [ ! -e steered ]; do sleep 0.01; done"),
        json!({ "text": "One." }),
        json!({ "text": "Two." }),
    ];
    let client = trial.client(&steps).start().await.unwrap();
    let mut run = client.run("go").await.unwrap();
    while let Some(event) = run.next().await.unwrap() {
        if let Event::ToolExecutionStart(_) = event {
            client.steer("and this").await.unwrap();
            client.follow_up("then this").await.unwrap();
            trial.file("steered", "");
        }
    }
    let run = run.finish().await.unwrap();
    let roles: String = run
        .messages
        .iter()
        .map(|message| match message {
            Message::User(_) => 'u',
            Message::Assistant(_) => 'a',
            Message::ToolResult(_) => 't',
            _ => '?',
        })
        .collect();
    assert_eq!((roles.as_str(), run.text.as_str()), ("uatuaua", "Two."));
    client.stop().await;
}

#[tokio::test]
async fn run_that_takes_too_long_is_aborted() {
    let trial = Trial::new();
    let client = trial.client(&[json!({ "text": "some", "hang": true })]).start().await.unwrap();
    let run = client.prompt_and_wait_within("hi", Duration::from_millis(200)).await.unwrap();
    assert_eq!(run.outcome, Outcome::TimedOut);
    assert!(!client.get_state().await.unwrap().is_streaming);
    client.stop().await;
}

#[tokio::test]
async fn run_ends_with_the_output_that_was_asked_for() {
    let trial = Trial::new();
    let client = trial.client(&[json!({ "text": "{\"files\":3}" })]).start().await.unwrap();
    let schema =
        json!({ "type": "object", "properties": { "files": { "type": "integer" } }, "required": ["files"] });
    let output_schema = schema.as_object().cloned();
    let prompt = PromptCommand { output_schema, ..PromptCommand::new("how many?") };
    let run = client.prompt_and_wait(prompt).await.unwrap();
    assert_eq!(run.output, Some(json!({ "files": 3 })));
    client.stop().await;
}

#[tokio::test]
async fn failed_run_is_an_outcome_with_a_kind() {
    let trial = Trial::new().settings(json!({ "retry": { "maxRetries": 0 } }));
    let failing = json!({ "text": "x", "error": { "kind": "unavailable", "message": "the sky fell" } });
    let client = trial.client(&[failing]).start().await.unwrap();
    let run = client.prompt_and_wait("hi").await.unwrap();
    let Outcome::Failed { message, kind } = run.outcome else { panic!("it did not fail: {run:?}") };
    assert!(message.contains("the sky fell"), "{message}");
    assert_eq!(kind.unwrap(), ErrorKind::Overloaded);
    client.stop().await;
}

/// Events are a `Stream`, too.
#[tokio::test]
async fn several_readers_see_the_same_events() {
    let trial = Trial::new();
    let client = trial.client(&[json!({ "text": "ok" })]).start().await.unwrap();
    let (first, second) = (client.events(), client.events());
    client.prompt_and_wait("hi").await.unwrap();
    client.stop().await;
    let first: Vec<_> = first.map(Result::unwrap).collect().await;
    let second: Vec<_> = second.map(Result::unwrap).collect().await;
    assert_eq!(first, second);
    assert!(matches!(first.last(), Some(Event::AgentSettled(_))));
}
