//! One session in the dialect `pi`, as the binary serves it.

use bowline_testkit::{Reply, assert_well_formed};
use serde_json::{Value, json};

use crate::agent::World;
use crate::client::serve;

#[tokio::test]
async fn runs_are_those_of_the_dialect_and_a_bad_line_costs_one_response() {
    let world = World::new();
    world.server.reply(Reply::new().tool("broken", json!({})));
    world.server.reply(Reply::text("fine"));
    serve(world.connect_pi(), async |client| {
        let mut pipe = client.into_pipe();
        let mut received = Vec::new();
        let lines = |received: &[u8]| -> Vec<Value> {
            let text = String::from_utf8_lossy(received).into_owned();
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
        };
        let settled = |received: &[u8]| {
            lines(received).iter().filter(|record| record["type"] == "agent_settled").count()
        };
        pipe.send(b"{\"id\":1,\"type\":\"prompt\",\"message\":\"go\"}\nnot json\n").await.unwrap();
        while settled(&received) < 1 {
            pipe.receive(&mut received).await.unwrap();
        }
        pipe.send(b"{\"id\":2,\"type\":\"prompt\",\"message\":\"again\"}\n").await.unwrap();
        while settled(&received) < 2 {
            pipe.receive(&mut received).await.unwrap();
        }
        pipe.close();
        while pipe.receive(&mut received).await.unwrap() > 0 {}
        let records = lines(&received);
        assert_well_formed(&records);
        let ends: Vec<_> = records.iter().filter(|record| record["type"] == "agent_settled").collect();
        assert!(ends[0]["error"].as_str().unwrap().starts_with("Internal error"), "{}", ends[0]);
        assert_eq!(ends[1]["error"], Value::Null);
        let responses: Vec<_> = records.iter().filter(|record| record["type"] == "response").collect();
        assert_eq!(responses.len(), 3);
    })
    .await;
}
