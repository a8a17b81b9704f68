//! The message so far, in every update.

use std::thread;
use std::time::{Duration, Instant};

use bowline_testkit::{Api, ModelServer, Reply, Workspace, of_type};
use serde_json::{Value, json};

use crate::{run, start};

#[test]
fn every_update_repeats_the_message_so_far() {
    for api in [Api::AnthropicMessages, Api::OpenaiCompletions] {
        let server = ModelServer::start();
        let call = json!({ "command": "echo \u{2028} \"hi\"" });
        server.reply(Reply::text("one \"two\"\n").then_text("\u{2028} three").tool("bash", call.clone()));
        let workspace = Workspace::new(&server, api);
        let mut agent = start(&workspace);
        let records = run(&mut agent, "go");
        let updates = of_type(&records, "message_update");
        let mut text = String::new();
        for update in &updates {
            let step = &update["assistantMessageEvent"];
            assert_eq!(update["message"], step["partial"]);
            assert_eq!(update["message"]["role"], "assistant");
            assert!(update["message"].get("duration").is_none(), "it is not over");
            if step["type"] == "text_delta" {
                text.push_str(step["delta"].as_str().unwrap());
                let index = usize::try_from(step["contentIndex"].as_u64().unwrap()).unwrap();
                assert!(text.ends_with(update["message"]["content"][index]["text"].as_str().unwrap()));
            }
            if step["type"] == "toolcall_end" {
                assert_eq!(step["toolCall"]["arguments"], call);
                break;
            }
        }
        let ended = of_type(&records, "message_end");
        let answer = ended.iter().find(|record| record["message"]["role"] == "assistant").unwrap();
        let last =
            updates.iter().rfind(|update| update["message"]["timestamp"] == answer["message"]["timestamp"]);
        assert_eq!(last.unwrap()["message"]["content"], answer["message"]["content"]);
    }
}

fn text_of(message: &Value) -> &str {
    message["content"][0]["text"].as_str().unwrap_or_default()
}

#[test]
fn a_slow_reader_of_snapshots_costs_bounded_memory_and_misses_nothing() {
    const LIMIT: u64 = 64 * 1024;
    let server = ModelServer::start();
    server.reply(Reply::new().deltas(8_000, 20));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let mut agent = start(&workspace);
    agent.set_timeout(Duration::from_secs(60));
    agent.send(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("message_update");
    agent.pause_reading();
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(3) {
        let resident = agent.memory_kib().resident;
        assert!(resident < LIMIT, "{resident} KiB after {:?}", started.elapsed());
        thread::sleep(Duration::from_millis(20));
    }
    agent.resume_reading();
    agent.until_type("agent_end");
    let records = agent.transcript();
    let updates = of_type(records, "message_update");
    let deltas = updates.iter().filter_map(|update| update["assistantMessageEvent"]["delta"].as_str());
    let text: String = deltas.collect();
    assert_eq!(text.len(), 160_000);
    assert!(text_of(&updates.last().unwrap()["message"]) == text);
    let answer = of_type(records, "message_end").pop().unwrap();
    assert!(text_of(&answer["message"]) == text);
    assert!(updates.len() < 4_000, "updates join while the reader lags");
}
