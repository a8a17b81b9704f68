//! Opening and closing sessions.

use bowline_testkit::{Gate, Reply};
use serde_json::{Value, json};

use crate::agent::World;
use crate::client::{close, command, open, prompt, serve};

#[tokio::test]
async fn stored_session_is_opened_with_its_conversation() {
    let world = World::new();
    serve(world.connect(), async |mut client| {
        let opened = client.open(1, &world.work()).await;
        client.run(1, "p", "hello").await;
        let file = opened["data"]["file"].as_str().unwrap().to_owned();
        client.send(close(1, "c")).await;
        assert_eq!(client.response(1, "c").await["success"], true);
        client.send(open(2, "o", &world.work(), Some(file.as_ref()))).await;
        let reopened = client.response(2, "o").await;
        assert_eq!(reopened["data"], opened["data"]);
        assert_eq!(client.conversation(2).await, ["user: hello", "assistant: ok"]);
        client.run(2, "p", "again").await;
        client.finish().await;
    })
    .await;
}

#[tokio::test]
async fn session_that_cannot_be_opened_is_refused() {
    let world = World::new();
    serve(world.connect(), async |mut client| {
        let missing = world.home.path().join("none.jsonl");
        client.send(open(1, "file", &world.work(), Some(&missing))).await;
        assert_eq!(client.response(1, "file").await["code"], "session_unavailable");
        client.send(open(1, "directory", &world.home.path().join("none"), None)).await;
        assert_eq!(client.response(1, "directory").await["code"], "invalid_argument");
        client.send(open(0, "taken", &world.work(), None)).await;
        assert_eq!(client.response(0, "taken").await["code"], "invalid_argument");
        let file = client.open(2, &world.work()).await["data"]["file"].as_str().unwrap().to_owned();
        client.run(2, "p", "hello").await;
        client.send(open(3, "locked", &world.work(), Some(file.as_ref()))).await;
        assert_eq!(client.response(3, "locked").await["code"], "session_unavailable");
        assert_eq!(client.ask(0, "get_state").await["success"], true);
        client.finish().await;
    })
    .await;
}

#[tokio::test]
async fn number_that_is_being_opened_cannot_be_opened_again() {
    let world = World::new();
    serve(world.connect(), async |mut client| {
        client
            .send_all([open(1, "first", &world.work(), None), open(1, "second", &world.work(), None)])
            .await;
        assert_eq!(client.response(1, "second").await["code"], "invalid_argument");
        let opened = client.response(1, "first").await;
        let state = client.ask(1, "get_state").await;
        assert_eq!(state["data"]["sessionId"], opened["data"]["sessionId"]);
        client.finish().await;
    })
    .await;
}

#[tokio::test]
async fn commands_to_an_unknown_session_are_refused() {
    let world = World::new();
    serve(world.connect(), async |mut client| {
        client.send_all([prompt(5, "p", "hello"), close(5, "c")]).await;
        for id in ["p", "c"] {
            let response = client.response(5, id).await;
            assert_eq!(
                (&response["success"], &response["code"]),
                (&json!(false), &json!("session_unavailable"))
            );
        }
        client.finish().await;
    })
    .await;
}

#[tokio::test]
async fn closing_ends_the_run_before_it_is_replied_to() {
    let world = World::new();
    serve(world.connect(), async |mut client| {
        client.open(1, &world.work()).await;
        world.server.reply(Reply::text("half").gate(&Gate::new()));
        client.prompt(1, "p", "hello").await;
        client.until_delta(1, "half").await;
        client.send_all([close(1, "c"), prompt(1, "late", "too late")]).await;
        assert_eq!(client.until_type(1, "agent_settled").await["aborted"], true);
        client.response(1, "c").await;
        assert_eq!(client.response(1, "late").await["success"], false);
        // Its number is free again.
        client.open(1, &world.work()).await;
        assert_eq!(client.conversation(1).await, [""; 0]);
        assert_eq!(client.run(1, "again", "hello").await["aborted"], false);
        client.finish().await;
    })
    .await;
}

#[tokio::test]
async fn session_that_is_closing_refuses_commands_until_its_tools_have_stopped() {
    let world = World::new();
    serve(world.connect(), async |mut client| {
        client.open(1, &world.work()).await;
        world.server.reply(Reply::new().tool("stuck", json!({})));
        client.prompt(1, "p", "hello").await;
        client.until_type(1, "tool_execution_start").await;
        client.send_all([close(1, "c"), close(1, "d"), command(1, "s", "get_state")]).await;
        assert_eq!(client.response(1, "s").await["code"], "shutting_down");
        assert_eq!(client.until_type(1, "agent_settled").await["error"], Value::Null);
        client.response(1, "c").await;
        client.finish().await;
    })
    .await;
}

#[tokio::test]
async fn late_report_of_a_closed_session_does_not_reach_the_next_one_of_that_number() {
    let world = World::new();
    serve(world.connect(), async |mut client| {
        client.open(1, &world.work()).await;
        world.server.reply(Reply::new().tool("lingering", json!({})));
        client.prompt(1, "p", "hello").await;
        client.until_type(1, "tool_execution_start").await;
        client.send(close(1, "c")).await;
        client.until_type(1, "agent_settled").await;
        client.response(1, "c").await;
        client.open(1, &world.work()).await;
        // The call was the second task of its session; now the second task is an answer.
        client.run(1, "q", "hello").await;
        world.server.reply(Reply::text("half").gate(&Gate::new()));
        client.prompt(1, "r", "hello").await;
        client.until_delta(1, "half").await;
        let report = world.lingering.lock().unwrap().take().unwrap();
        report(bowline_tools::Progress { content: Vec::new(), details: None });
        let state = client.ask(1, "get_state").await;
        assert_eq!(state["data"]["isStreaming"], true, "the run goes on");
        client.send(command(1, "a", "abort")).await;
        let settled = client.until_type(1, "agent_settled").await;
        assert_eq!(settled["aborted"], true, "{settled}");
        client.finish().await;
    })
    .await;
}
