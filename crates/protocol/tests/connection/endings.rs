//! The agent ends: everybody who waits knows why, and another one may take over.

use bowline_protocol::{Error, Event, Handlers, Tool};
use serde_json::json;
use tokio::time::timeout;

use crate::agent::{WAIT, attach, connection, ending, named};

#[tokio::test]
async fn death_reaches_everybody_who_waits_and_later_commands() {
    let (client, mut agent) = connection(Handlers::default());
    let mut events = client.events();
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.get_state().await }
    });
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { client.prompt_and_wait("hi").await }
    });
    agent.next().await;
    agent.next().await;
    agent.send(named("before")).await;
    // Half a record is none.
    agent.write(b"{\"type\":\"agent_settled\",\"abor").await;
    let mut told = ending("it burned", false);
    (told.exit_code, told.stderr) = (Some(7), "smoke\nfire".to_owned());
    agent.end(told.clone()).await;
    let error = asking.await.unwrap().unwrap_err();
    assert_eq!(error.ending(), Some(&told));
    assert_eq!(error.to_string(), "it burned; stderr ends with:\nsmoke\nfire");
    assert_eq!(waiting.await.unwrap().unwrap_err().ending(), Some(&told));
    assert!(matches!(events.next().await.unwrap(), Some(Event::SessionInfoChanged(_))));
    assert_eq!(events.next().await.unwrap_err().ending(), Some(&told));
    assert_eq!(events.next().await.unwrap(), None);
    assert_eq!(client.get_state().await.unwrap_err().ending(), Some(&told));
    assert_eq!(client.events().next().await.unwrap(), None);
    assert_eq!(*client.ended().await, told);
}

#[tokio::test]
async fn closing_sends_what_was_said_before_and_ends_without_an_error() {
    let (client, mut agent) = connection(Handlers::default());
    let mut events = client.events();
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.abort().await }
    });
    let command = agent.next().await;
    client.close("enough");
    let late = client.get_state().await.unwrap_err();
    assert_eq!(late.to_string(), "enough");
    agent.respond(&command, json!(null)).await;
    assert_eq!(agent.try_next().await, None);
    timeout(WAIT, asking).await.unwrap().unwrap().unwrap();
    agent.end(ending("done", false)).await;
    assert_eq!(events.next().await.unwrap(), None);
    assert!(client.ended().await.was_requested);
}

#[tokio::test]
async fn the_next_agent_is_told_what_the_last_one_knew() {
    let nothing = |_| async { Ok::<_, String>("nothing") };
    let handlers = Handlers::default().tool(Tool::new("nothing", "Does nothing.", json!({}), nothing));
    let (client, mut agent) = connection(handlers);
    agent.answer("set_host_tools", json!({ "toolNames": ["nothing"] })).await;
    let mut events = client.events();
    let setting = tokio::spawn({
        let client = client.clone();
        async move {
            client.set_auto_retry(false).await.unwrap();
            client.set_thinking_level(bowline_protocol::ThinkingLevel::Low).await.unwrap();
            client.request(json!({ "type": "set_steering_mode", "mode": "all" })).await.unwrap();
            client.set_auto_compaction(true).await.unwrap_err();
        }
    });
    for kind in ["set_auto_retry", "set_thinking_level", "set_steering_mode"] {
        agent.answer(kind, json!(null)).await;
    }
    let refused = agent.next().await;
    agent.send(json!({ "type": "response", "id": refused["id"], "success": false, "error": "no", "code": "invalid_argument" })).await;
    setting.await.unwrap();
    agent.end(ending("it burned", true)).await;
    assert!(events.next().await.unwrap_err().ending().unwrap().will_restart);

    // What is sent meanwhile waits for the next agent.
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.get_last_assistant_text().await }
    });
    tokio::task::yield_now().await;
    let (mut next, introduction) = attach(&client);
    next.answer("set_host_tools", json!({ "toolNames": ["nothing"] })).await;
    assert_eq!(next.answer("set_thinking_level", json!(null)).await["level"], "low");
    assert_eq!(next.answer("set_steering_mode", json!(null)).await["mode"], "all");
    assert_eq!(next.answer("set_auto_retry", json!(null)).await["enabled"], false);
    introduction.accepted().await.unwrap();
    next.answer("get_last_assistant_text", json!({ "text": "back" })).await;
    assert_eq!(asking.await.unwrap().unwrap().text.unwrap(), "back");
    next.send(named("goes on")).await;
    assert!(matches!(events.next().await.unwrap(), Some(Event::SessionInfoChanged(_))));
}

#[tokio::test]
async fn agent_that_refuses_the_tools_is_reported() {
    let nothing = |_| async { Ok::<_, String>("nothing") };
    let handlers = Handlers::default().tool(Tool::new("no good name", "", json!({}), nothing));
    let client = bowline_protocol::Connection::new(bowline_protocol::Options::default(), handlers);
    let (mut agent, introduction) = attach(&client);
    let command = agent.next().await;
    agent.send(json!({ "type": "response", "id": command["id"], "success": false, "error": "bad name", "code": "invalid_argument" })).await;
    let error = introduction.accepted().await.unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error}");
}

#[tokio::test]
async fn agent_that_is_silent_from_the_start_is_reported() {
    let limits = bowline_protocol::Timeouts::default().usual(std::time::Duration::from_millis(20));
    let options = bowline_protocol::Options { timeouts: limits, ..bowline_protocol::Options::default() };
    let nothing = |_| async { Ok::<_, String>("nothing") };
    let handlers = Handlers::default().tool(Tool::new("nothing", "", json!({}), nothing));
    let client = bowline_protocol::Connection::new(options, handlers);
    let (_agent, introduction) = attach(&client);
    let error = timeout(WAIT, introduction.accepted()).await.unwrap().unwrap_err();
    assert!(matches!(error, Error::TimedOut { .. }), "{error}");
}
