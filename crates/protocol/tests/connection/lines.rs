//! What an agent may write: anything. It costs at most a line.

use bowline_protocol::{Connection, Event, Events, Handlers, Options};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::agent::{WAIT, connection, connection_with, named};

async fn next(events: &mut Events) -> Event {
    timeout(WAIT, events.next()).await.expect("an event").unwrap().expect("an event before the end")
}

async fn name(events: &mut Events) -> String {
    match next(events).await {
        Event::SessionInfoChanged(record) => record.name,
        event => panic!("not a name: {event:?}"),
    }
}

fn last_text(client: &Connection) -> impl Future<Output = Option<String>> + use<> {
    let client = client.clone();
    async move { client.get_last_assistant_text().await.unwrap().text }
}

#[tokio::test]
async fn garbage_is_shown_and_the_next_command_works() {
    let (client, mut agent) = connection(Handlers::default());
    let mut events = client.events();
    let asking = tokio::spawn(last_text(&client));
    let command = agent.next().await;
    agent.write(b"npm WARN this is no record\n\n \r\n[1,2]\n{\"no\":\"type\"}\n\x00\xff\xfe\n").await;
    agent.write(&[b'[', b'['].repeat(200_000)).await;
    agent.write(b"\n{\"type\":7}\n{\"type\":\"response\"}\n{\"type\":\"response\",\"id\":\"nobody\",\"success\":true}\n").await;
    agent.write(b"{\"type\":\"agent_settled\",\"aborted\":\"perhaps\"}\n").await;
    agent.respond(&command, json!({ "text": "fine" })).await;
    assert_eq!(asking.await.unwrap().unwrap(), "fine");
    agent.send(named("last")).await;
    let mut seen = Vec::new();
    loop {
        match next(&mut events).await {
            Event::Unknown(value) => seen.push(value),
            Event::SessionInfoChanged(_) => break,
            event => panic!("garbage became {event:?}"),
        }
    }
    assert_eq!(seen.len(), 8, "{seen:?}");
    assert_eq!(seen[0], "npm WARN this is no record");
    assert_eq!(seen[1], "[1,2]");
    assert_eq!(seen[2], json!({ "no": "type" }));
    assert_eq!(seen[3], "a line that is not UTF-8");
    assert_eq!(seen[7], json!({ "type": "agent_settled", "aborted": "perhaps" }));
}

#[tokio::test]
async fn line_separators_of_unicode_do_not_end_a_record() {
    let (client, mut agent) = connection(Handlers::default());
    let mut events = client.events();
    let text = "a\u{2028}b\u{2029}c\u{85}d\u{b}e\u{c}f";
    agent
        .write(
            format!("{{\"type\":\"session_info_changed\",\"name\":\"{text}\"}}\r\n")
                .replace('\u{b}', "\\u000b")
                .replace('\u{c}', "\\u000c")
                .as_bytes(),
        )
        .await;
    assert_eq!(name(&mut events).await, text);
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.steer("x\u{2028}y\nz").await }
    });
    let command = agent.answer("steer", json!({ "disposition": "queued" })).await;
    assert_eq!(command["message"], "x\u{2028}y\nz");
    asking.await.unwrap().unwrap();
}

#[tokio::test]
async fn record_arrives_in_single_bytes() {
    let (client, mut agent) = connection(Handlers::default());
    let mut events = client.events();
    for byte in format!("{}\n", named("é in pieces")).bytes() {
        agent.write(&[byte]).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(name(&mut events).await, "é in pieces");
}

#[tokio::test]
async fn record_of_20_megabytes_arrives_whole() {
    const SIZE: usize = 20 * 1024 * 1024 + 17;
    let (client, mut agent) = connection(Handlers::default());
    let mut events = client.events();
    let asking = tokio::spawn(last_text(&client));
    let command = agent.next().await;
    agent.send(named(&"x".repeat(SIZE))).await;
    agent.respond(&command, json!({ "text": "y".repeat(SIZE) })).await;
    assert_eq!(asking.await.unwrap().unwrap().len(), SIZE);
    assert_eq!(name(&mut events).await.len(), SIZE);
}

#[tokio::test]
async fn record_above_the_limit_is_skipped_and_reported() {
    let options = Options { line_limit: 1000, ..Options::default() };
    let (client, mut agent) = connection_with(Handlers::default(), options);
    let mut events = client.events();
    agent.send(named(&"x".repeat(5000))).await;
    agent.send(named("after")).await;
    assert_eq!(next(&mut events).await, Event::Unknown("a line of more than 1000 bytes".into()));
    assert_eq!(name(&mut events).await, "after");
}

#[tokio::test]
async fn what_a_later_version_adds_is_kept() {
    let (client, mut agent) = connection(Handlers::default());
    let mut events = client.events();
    agent.send(json!({ "type": "session_info_changed", "name": "n", "colour": "blue" })).await;
    agent.send(json!({ "type": "moon_phase", "phase": "full" })).await;
    let Event::SessionInfoChanged(record) = next(&mut events).await else { panic!("no such event") };
    assert_eq!(record.further.get("colour"), Some(&Value::from("blue")));
    assert_eq!(next(&mut events).await, Event::Unknown(json!({ "type": "moon_phase", "phase": "full" })));
    // A command without data may get some.
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.abort().await }
    });
    agent.answer("abort", json!({ "aborted": true })).await;
    asking.await.unwrap().unwrap();
}

#[tokio::test]
async fn command_of_a_later_version_is_sent_as_it_is() {
    let (client, mut agent) = connection(Handlers::default());
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.request(json!({ "type": "sing", "song": "any", "id": "mine" })).await }
    });
    let command = agent.answer("sing", json!({ "la": 3 })).await;
    assert_eq!(command["song"], "any");
    assert_ne!(command["id"], "mine");
    assert_eq!(asking.await.unwrap().unwrap(), json!({ "la": 3 }));
    let error = client.request(json!({ "song": "any" })).await.unwrap_err();
    assert!(error.to_string().contains("it needs a type"), "{error}");
    assert!(client.request(json!([1])).await.is_err());
}
