//! The end of a connection.

use std::time::{Duration, Instant};

use bowline_testkit::Reply;
use serde_json::json;

use crate::agent::World;
use crate::client::{open, prompt, serve};

#[tokio::test]
async fn end_of_input_ends_all_sessions() {
    let world = World::new();
    serve(world.connect(), async |mut client| {
        client.open(1, &world.work()).await;
        client.open(2, &world.work()).await;
        world.server.reply(Reply::new().tool("stuck", json!({})));
        client.prompt(0, "p", "go").await;
        client.until_type(0, "tool_execution_start").await;
        world.server.reply(Reply::new().tool("risky", json!({})));
        client.prompt(1, "p", "go").await;
        client.until_type(1, "ask").await;
        world.server.reply(Reply::mute());
        client.send_all([prompt(2, "p", "go"), open(3, "o", &world.work(), None)]).await;
        client.response(2, "p").await;
        client.close();
        let closed = Instant::now();
        for session in [0, 1, 2] {
            assert_eq!(client.until_type(session, "agent_settled").await["aborted"], true);
        }
        assert!(closed.elapsed() < Duration::from_secs(5), "it took {:?}", closed.elapsed());
        client.finish().await;
    })
    .await;
}

#[tokio::test]
async fn signal_ends_the_connection_with_its_code() {
    let world = World::new();
    serve(world.connect(), async |mut client| {
        world.server.reply(Reply::mute());
        client.prompt(0, "p", "go").await;
        client.response(0, "p").await;
        client.stop(130);
        assert_eq!(client.until_type(0, "agent_settled").await["aborted"], true);
        assert_eq!(client.end().await, 130);
    })
    .await;
}

#[tokio::test]
async fn last_line_needs_no_line_end() {
    let world = World::new();
    serve(world.connect_pi(), async |client| {
        let mut pipe = client.into_pipe();
        pipe.send(br#"{"id":"s","type":"get_state"}"#).await.unwrap();
        pipe.close();
        let mut received = Vec::new();
        while pipe.receive(&mut received).await.unwrap() > 0 {}
        let record: serde_json::Value = serde_json::from_slice(&received).unwrap();
        assert_eq!(record["id"], "s");
    })
    .await;
}
