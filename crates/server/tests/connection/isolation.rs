//! Trouble in one session leaves the others alone.

use bowline_testkit::{Gate, Reply};
use serde_json::json;

use crate::agent::World;
use crate::client::{command, serve};

#[tokio::test]
async fn stuck_tool_in_one_session_does_not_delay_another() {
    let world = World::new();
    serve(world.connect(), async |mut client| {
        client.open(1, &world.work()).await;
        world.server.reply(Reply::new().tool("stuck", json!({})));
        client.prompt(1, "p", "go").await;
        client.until_type(1, "tool_execution_start").await;
        client.send(command(1, "a", "abort")).await;
        // The tool is being given its time to stop.
        client.run(0, "p", "go").await;
        assert!(client.of_type(1, "agent_settled").is_empty(), "session 1 is still stopping");
        client.until_type(1, "agent_settled").await;
        client.finish().await;
    })
    .await;
}

#[tokio::test]
async fn panic_in_one_session_leaves_the_other_alone() {
    let world = World::new();
    let gate = Gate::new();
    serve(world.connect(), async |mut client| {
        client.open(1, &world.work()).await;
        world.server.reply(Reply::text("zero").gate(&gate));
        client.prompt(0, "p", "go").await;
        client.until_delta(0, "zero").await;
        world.server.reply(Reply::new().tool("broken", json!({})));
        let settled = client.run(1, "p", "go").await;
        assert!(settled["error"].as_str().unwrap().starts_with("Internal error: "), "{settled}");
        gate.open();
        assert_eq!(client.until_type(0, "agent_settled").await["aborted"], false);
        // The session that panicked can be used again.
        assert_eq!(client.run(1, "q", "again").await["aborted"], false);
        assert_eq!(client.conversation(1).await.last().unwrap(), "assistant: ok");
        client.finish().await;
    })
    .await;
}
