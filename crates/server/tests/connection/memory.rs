//! What sessions and slow readers cost.

use std::time::Duration;

use bowline_core::policy::Policy;
use bowline_server::Limits;
use bowline_testkit::{Reply, memory_of};
use bowline_wire::{DEFAULT_LINE_LIMIT, Outbox};

use crate::agent::World;
use crate::client::{serve, serve_over};
use crate::numbered::Numbered;

fn used_kib() -> u64 {
    memory_of(std::process::id()).unwrap().anonymous
}

#[tokio::test]
async fn idle_further_session_costs_less_than_200_kib() {
    const COUNT: u64 = 200;
    let world = World::new();
    serve(world.connect(), async |mut client| {
        // What is built once, at the first use, is no part of a session's cost.
        client.run(0, "p", "hello").await;
        client.open(1, &world.work()).await;
        client.run(1, "p", "hello").await;
        let before = used_kib();
        for session in 2..2 + COUNT {
            client.open(session, &world.work()).await;
        }
        let each = used_kib().saturating_sub(before) / COUNT;
        eprintln!("an idle session costs {each} KiB");
        assert!(each < 200, "an idle session costs {each} KiB");
        client.finish().await;
    })
    .await;
}

#[tokio::test]
async fn reader_that_stops_costs_bounded_memory_and_misses_nothing() {
    const DELTAS: usize = 2_000;
    const SIZE: usize = 1_500;
    let world = World::new();
    let limits = Limits { line: DEFAULT_LINE_LIMIT, outbox: Outbox::new(64 * 1024) };
    let connection = world.connect_with(Box::new(Numbered::default()), Policy::default(), limits);
    world.server.reply(Reply::text("begins").deltas(DELTAS, SIZE));
    serve_over(connection, 16 * 1024, async |mut client| {
        client.prompt(0, "p", "go").await;
        client.until_delta(0, "begins").await;
        let before = used_kib();
        // Time for the stream to fill whatever it can.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let grown = used_kib().saturating_sub(before);
        assert!(grown < 2 * 1024, "a stream of 3 MB costs {grown} KiB while nobody reads");
        client.until_type(0, "agent_settled").await;
        let conversation = client.conversation(0).await;
        assert_eq!(conversation[1].len(), "assistant: begins".len() + DELTAS * SIZE);
        client.finish().await;
    })
    .await;
}
