//! Two sessions on one connection, with interleaved runs.

use bowline_testkit::{Gate, Reply, session_messages};
use serde_json::{Value, json};

use crate::agent::World;
use crate::client::{command, prompt, serve};

#[tokio::test]
async fn interleaved_prompts_have_their_own_answers_ends_and_files() {
    let world = World::new();
    let (zero, one) = (Gate::new(), Gate::new());
    serve(world.connect(), async |mut client| {
        let opened = client.open(1, &world.work()).await;
        world.server.reply(Reply::text("zero begins").gate(&zero).then_text(" zero ends"));
        client.prompt(0, "p", "to zero").await;
        client.until_delta(0, "zero begins").await;
        world.server.reply(Reply::text("one begins").gate(&one).then_text(" one ends"));
        client.prompt(1, "p", "to one").await;
        client.until_delta(1, "one begins").await;
        assert!(client.of_type(0, "agent_settled").is_empty());
        // The run that started last ends first.
        one.open();
        client.until_type(1, "agent_settled").await;
        assert!(client.of_type(0, "agent_settled").is_empty(), "session 0 is still running");
        zero.open();
        client.until_type(0, "agent_settled").await;

        assert_eq!(client.conversation(0).await, ["user: to zero", "assistant: zero begins zero ends"]);
        assert_eq!(client.conversation(1).await, ["user: to one", "assistant: one begins one ends"]);
        for session in [0, 1] {
            assert_eq!(client.of_type(session, "agent_settled").len(), 1);
        }
        let file = opened["data"]["file"].as_str().unwrap();
        let stored = session_messages(file);
        assert_eq!(stored[0]["content"][0]["text"], "to one");
        assert_eq!(stored.len(), 2);
        let state = client.ask(0, "get_state").await;
        assert_ne!(state["data"]["sessionFile"], file);
        client.finish().await;
    })
    .await;
}

#[tokio::test]
async fn abort_and_steering_reach_one_session_only() {
    let world = World::new();
    let gate = Gate::new();
    serve(world.connect(), async |mut client| {
        client.open(1, &world.work()).await;
        world.server.reply(Reply::text("zero").gate(&gate));
        client.prompt(0, "p", "to zero").await;
        client.until_delta(0, "zero").await;
        world.server.reply(Reply::text("one").gate(&Gate::new()));
        client.prompt(1, "p", "to one").await;
        client.until_delta(1, "one").await;
        client
            .send_all([
                json!({ "session": 0, "command": { "id": "s", "type": "steer", "message": "and this" } }),
                command(1, "a", "abort"),
            ])
            .await;
        assert_eq!(client.until_type(1, "agent_settled").await["aborted"], true);
        assert!(client.of_type(0, "agent_settled").is_empty());
        gate.open();
        assert_eq!(client.until_type(0, "agent_settled").await["aborted"], false);
        assert_eq!(
            client.conversation(0).await,
            ["user: to zero", "assistant: zero", "user: and this", "assistant: ok"]
        );
        assert_eq!(client.conversation(1).await, ["user: to one", "assistant: one"]);
        client.finish().await;
    })
    .await;
}

#[tokio::test]
async fn same_ids_in_two_sessions_are_replied_to_in_each() {
    let world = World::new();
    serve(world.connect(), async |mut client| {
        client.open(7, &world.work()).await;
        client.send_all([prompt(0, "x", "a"), prompt(7, "x", "b"), command(7, "y", "get_state")]).await;
        client.until_type(0, "agent_settled").await;
        client.until_type(7, "agent_settled").await;
        client.finish().await;
    })
    .await;
}

#[tokio::test]
async fn question_is_answered_by_the_session_that_asked() {
    let world = World::new();
    serve(world.connect(), async |mut client| {
        client.open(1, &world.work()).await;
        let call = || Reply::new().tool("risky", json!({}));
        world.server.reply(call());
        client.prompt(0, "p", "go").await;
        let ask = client.until_type(0, "ask").await["ask"].clone();
        let answer = |session: u64, ask: &Value| {
            json!({ "session": session, "answer": { "ask": ask, "allow": true } })
        };
        // The same id means nothing in another session, nor in one that does not exist.
        client.send_all([answer(1, &ask), answer(9, &ask)]).await;
        let state = client.ask(0, "get_state").await;
        assert_eq!(state["data"]["isStreaming"], true);
        client.send(answer(0, &ask)).await;
        client.until_type(0, "ask_resolved").await;
        assert_eq!(client.until_type(0, "agent_settled").await["aborted"], false);
        assert_eq!(client.conversation(0).await[2], "toolResult: risky");
        client.finish().await;
    })
    .await;
}
