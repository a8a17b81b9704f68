//! Who reads slowly slows the agent down, and nobody waits for ever.

use bowline_protocol::{Bounds, Error, Event, Handlers, Options, Timeouts};
use serde_json::json;
use std::time::Duration;
use tokio::time::timeout;

use crate::agent::{CAPACITY, WAIT, connection, connection_with, named};

const RECORDS: usize = 2000;

fn bounded(pause: usize, close: usize) -> Options {
    Options { bounds: Bounds { pause, close }, ..Options::default() }
}

fn flood() -> Vec<u8> {
    (0..RECORDS).flat_map(|number| format!("{}\n", named(&format!("{number:0>400}"))).into_bytes()).collect()
}

#[tokio::test]
async fn slow_reader_stops_the_agent_and_loses_nothing() {
    let (client, mut agent) = connection_with(Handlers::default(), bounded(64 * 1024, 1024 * 1024));
    let mut events = client.events();
    let flood = flood();
    let most = 64 * 1024 + 3 * CAPACITY;
    assert!(flood.len() > 2 * most);
    let writing = tokio::spawn(async move {
        agent.write(&flood[..flood.len() / 2]).await;
        agent.write(&flood[flood.len() / 2..]).await;
        agent
    });
    for _ in 0..10_000 {
        tokio::task::yield_now().await;
    }
    assert!(!writing.is_finished(), "the agent was not slowed down");
    for number in 0..RECORDS {
        let event = timeout(WAIT, events.next()).await.expect("an event").unwrap().unwrap();
        let Event::SessionInfoChanged(record) = event else { panic!("not a name: {event:?}") };
        assert_eq!(record.name.parse(), Ok(number));
    }
    drop(writing.await.unwrap());
}

#[tokio::test]
async fn command_works_while_nobody_reads_the_events() {
    let (client, mut agent) = connection_with(Handlers::default(), bounded(1024, 16 * 1024 * 1024));
    let mut events = client.events();
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.get_last_assistant_text().await }
    });
    let command = agent.next().await;
    agent.write(&flood()).await;
    agent.respond(&command, json!({ "text": "here" })).await;
    assert_eq!(timeout(WAIT, asking).await.unwrap().unwrap().unwrap().text.unwrap(), "here");
    for _ in 0..RECORDS {
        events.next().await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn stream_that_is_left_unread_too_long_is_closed_with_an_error() {
    let (client, mut agent) = connection_with(Handlers::default(), bounded(1024, 1_000_000));
    let (mut forgotten, mut read) = (client.events(), client.events());
    let reading = tokio::spawn(async move {
        for _ in 0..RECORDS {
            read.next().await.unwrap().unwrap();
        }
    });
    let kept = client.keep_reading();
    agent.write(&flood()).await;
    timeout(WAIT, reading).await.unwrap().unwrap();
    drop(kept);
    let error = loop {
        match forgotten.next().await {
            Ok(event) => assert!(event.is_some(), "it ended without an error"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Lagged { limit: 1_000_000 }), "{error}");
    assert_eq!(forgotten.next().await.unwrap(), None);
}

#[tokio::test]
async fn stream_that_was_dropped_holds_nobody_up() {
    let (client, mut agent) = connection_with(Handlers::default(), bounded(1024, 1024 * 1024));
    let (forgotten, mut read) = (client.events(), client.events());
    agent.send(named(&"x".repeat(5000))).await;
    assert!(read.next().await.unwrap().is_some());
    drop(forgotten);
    agent.send(named("after")).await;
    assert!(timeout(WAIT, read.next()).await.expect("an event").unwrap().is_some());
}

#[tokio::test]
async fn commands_have_time_limits_and_late_responses_hurt_nobody() {
    let brief = Some(Duration::from_millis(20));
    let timeouts = Timeouts::default().of("get_tree", brief).of("compact", None);
    let options = Options { timeouts, ..Options::default() };
    let (client, mut agent) = connection_with(Handlers::default(), options);
    let mut events = client.events();
    let error = client.get_tree().await.unwrap_err();
    assert!(matches!(&error, Error::TimedOut { command, .. } if command == "get_tree"), "{error}");
    let command = agent.next().await;
    agent.respond(&command, json!({})).await;
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.get_last_assistant_text().await }
    });
    agent.answer("get_last_assistant_text", json!({ "text": "now" })).await;
    assert_eq!(asking.await.unwrap().unwrap().text.unwrap(), "now");
    agent.send(named("only this")).await;
    assert!(matches!(events.next().await.unwrap().unwrap(), Event::SessionInfoChanged(_)));
}

#[tokio::test]
async fn refusal_has_a_code_and_a_text() {
    let (client, mut agent) = connection(Handlers::default());
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.prompt("hi").await }
    });
    let command = agent.next().await;
    agent.send(json!({ "type": "response", "id": command["id"], "command": "prompt", "success": false, "error": "a run is in progress", "code": "busy" })).await;
    let error = asking.await.unwrap().unwrap_err();
    assert_eq!(error.code(), Some("busy"));
    assert_eq!(error.to_string(), "prompt: a run is in progress (busy)");
}

#[tokio::test]
async fn response_of_another_form_is_an_error() {
    let (client, mut agent) = connection(Handlers::default());
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.get_state().await }
    });
    agent.answer("get_state", json!({ "isStreaming": "perhaps" })).await;
    let error = asking.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Unreadable { .. }), "{error}");
}
