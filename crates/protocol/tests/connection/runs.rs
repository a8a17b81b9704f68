//! Prompts and what follows from them.

use std::time::Duration;

use bowline_protocol::{Event, Handlers, Outcome, PromptCommand};
use serde_json::{Value, json};

use crate::agent::{Agent, connection};

fn usage(tokens: i64) -> Value {
    let cost = json!({ "input": 0.5, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.5 });
    json!({ "input": tokens, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": tokens, "cost": cost })
}

fn answer(text: &str, entry: &str) -> Value {
    let content = if text.is_empty() { json!([]) } else { json!([{ "type": "text", "text": text }]) };
    json!({ "type": "message_end", "entryId": entry, "message": {
        "role": "assistant", "content": content, "api": "scripted", "provider": "p", "model": "m",
        "usage": usage(3), "stopReason": "stop", "timestamp": 1,
    } })
}

async fn accept(agent: &mut Agent, disposition: &str) -> Value {
    agent.answer("prompt", json!({ "disposition": disposition })).await
}

#[tokio::test]
async fn run_adds_up_what_came_of_it() {
    let (client, mut agent) = connection(Handlers::default());
    let running = tokio::spawn({
        let client = client.clone();
        async move { client.prompt_and_wait("hi").await }
    });
    accept(&mut agent, "started").await;
    agent.send(answer("failed half-", "a1")).await;
    // The response is retried.
    let edit = json!({ "type": "context_edit", "id": "e", "parentId": "a1", "timestamp": "t", "targetId": "a1", "replacement": null });
    agent.send(json!({ "type": "entry_appended", "entry": edit })).await;
    agent.send(answer("the text", "a2")).await;
    agent.send(answer("", "a3")).await;
    agent.send(json!({ "type": "agent_settled", "aborted": false, "output": { "n": 1 } })).await;
    let run = running.await.unwrap().unwrap();
    assert_eq!((run.outcome, run.text.as_str(), run.messages.len()), (Outcome::Done, "the text", 2));
    let usage = run.usage.unwrap();
    assert_eq!((usage.total_tokens, usage.cost.total), (9, 1.5));
    assert_eq!(run.output, Some(json!({ "n": 1 })));
}

#[tokio::test]
async fn outcomes_are_told_apart() {
    let ends = [
        (json!({ "aborted": true, "errorKind": "aborted" }), Outcome::Aborted),
        (json!({ "aborted": false }), Outcome::Done),
        (
            json!({ "aborted": false, "error": "no key", "errorKind": "auth" }),
            Outcome::Failed { message: "no key".to_owned(), kind: Some(bowline_protocol::ErrorKind::Auth) },
        ),
    ];
    for (end, outcome) in ends {
        let (client, mut agent) = connection(Handlers::default());
        let running = tokio::spawn(async move { client.prompt_and_wait(String::from("hi")).await });
        accept(&mut agent, "started").await;
        let mut record = json!({ "type": "agent_settled" });
        record.as_object_mut().unwrap().extend(end.as_object().unwrap().clone());
        agent.send(record).await;
        assert_eq!(running.await.unwrap().unwrap().outcome, outcome);
    }
    let (client, mut agent) = connection(Handlers::default());
    let running = tokio::spawn(async move { client.prompt_and_wait("/command").await });
    accept(&mut agent, "handled").await;
    assert_eq!(running.await.unwrap().unwrap().outcome, Outcome::Handled);
}

#[tokio::test]
async fn run_yields_its_events_up_to_its_end() {
    let (client, mut agent) = connection(Handlers::default());
    let running = tokio::spawn({
        let client = client.clone();
        async move {
            let schema = json!({ "type": "object" }).as_object().cloned();
            client.run(PromptCommand { output_schema: schema, ..PromptCommand::new("hi") }).await
        }
    });
    let command = accept(&mut agent, "started").await;
    assert_eq!(command["outputSchema"], json!({ "type": "object" }));
    let mut run = running.await.unwrap().unwrap();
    agent.send(json!({ "type": "agent_start" })).await;
    agent.send(answer("x", "a1")).await;
    agent.send(json!({ "type": "agent_settled", "aborted": false })).await;
    agent.send(json!({ "type": "agent_start" })).await;
    let mut kinds = Vec::new();
    while let Some(event) = run.next().await.unwrap() {
        kinds.push(match event {
            Event::AgentStart(_) => "start",
            Event::MessageEnd(_) => "message",
            Event::AgentSettled(_) => "end",
            _ => "other",
        });
    }
    assert_eq!(kinds, ["start", "message", "end"]);
    let run = run.finish().await.unwrap();
    assert_eq!((run.outcome, run.text.as_str()), (Outcome::Done, "x"));
}

#[tokio::test]
async fn run_that_takes_too_long_is_aborted() {
    let (client, mut agent) = connection(Handlers::default());
    let running =
        tokio::spawn(async move { client.prompt_and_wait_within("hi", Duration::from_millis(50)).await });
    accept(&mut agent, "started").await;
    agent.send(answer("half", "a1")).await;
    agent.answer("abort", json!(null)).await;
    agent.send(json!({ "type": "agent_settled", "aborted": true, "errorKind": "aborted" })).await;
    let run = running.await.unwrap().unwrap();
    assert_eq!((run.outcome, run.text.as_str()), (Outcome::TimedOut, "half"));
}
