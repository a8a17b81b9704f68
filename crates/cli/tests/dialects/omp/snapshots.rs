//! Updates that repeat the message so far.

use bowline_testkit::{Api, ModelServer, Reply, Workspace, of_type};
use serde_json::json;

use super::run;

#[test]
fn every_update_repeats_the_message_so_far() {
    for api in [Api::AnthropicMessages, Api::OpenaiCompletions] {
        let server = ModelServer::start();
        let call = json!({ "command": "echo \u{2028} \"hi\"" });
        server.reply(Reply::text("one \"two\"\n").then_text("\u{2028} three").tool("bash", call.clone()));
        let workspace = Workspace::new(&server, api);
        let mut agent = workspace.start_in("omp");
        let records = run(&mut agent, "go");
        let updates = of_type(&records, "message_update");
        let mut text = String::new();
        for update in &updates {
            let step = &update["assistantMessageEvent"];
            assert_eq!(update["message"], step["partial"]);
            assert_eq!(update["message"]["role"], "assistant");
            assert!(update["message"].get("duration").is_none(), "the run has not ended");
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
