//! Sessions are opened in the background.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::agent::World;
use crate::client::{command, open, serve};

/// Writes a session file of about this many bytes.
fn large_session(directory: &Path, work: &Path, size: usize) -> PathBuf {
    let header = json!({ "type": "session", "version": 3, "id": "large", "cwd": work,
        "timestamp": "2025-01-01T00:00:00.000Z" });
    let mut content = format!("{header}\n");
    let text = "many words ".repeat(100);
    let mut parent = serde_json::Value::Null;
    for number in 0.. {
        if content.len() >= size {
            break;
        }
        let id = format!("{number:08x}");
        let message =
            json!({ "role": "user", "content": [{ "type": "text", "text": text }], "timestamp": 0 });
        let entry = json!({ "type": "message", "id": id, "parentId": parent,
            "timestamp": "2025-01-01T00:00:00.000Z", "message": message });
        content.push_str(&format!("{entry}\n"));
        parent = id.into();
    }
    let file = directory.join("large.jsonl");
    fs::write(&file, content).unwrap();
    file
}

#[tokio::test]
async fn state_is_answered_at_once_while_a_large_session_is_opened() {
    let world = World::new();
    let file = large_session(world.home.path(), &world.work(), 6 << 20);
    serve(world.connect(), async |mut client| {
        client.send(open(1, "o", &world.work(), Some(&file))).await;
        let answered = |client: &crate::client::Client| !client.of_type(1, "response").is_empty();
        let mut count = 0;
        while !answered(&client) {
            client.ask(0, "get_state").await;
            count += 1;
        }
        assert!(count > 3, "the state was answered {count} times while the session was opened");
        assert_eq!(client.response(1, "o").await["success"], true);

        // The same for the session that changes to the large one itself.
        client.send(json!({ "session": 1, "id": "c", "close": true })).await;
        client.response(1, "c").await;
        client
            .send_all([
                json!({ "session": 0, "command": { "id": "w", "type": "switch_session", "sessionPath": file } }),
                command(0, "s", "get_state"),
                command(0, "m", "get_last_assistant_text"),
            ])
            .await;
        let state = client.response(0, "s").await;
        assert_ne!(state["data"]["sessionId"], "large", "the state is that of the current session");
        assert_eq!(client.response(0, "w").await["success"], true);
        assert_eq!(client.ask(0, "get_state").await["data"]["sessionId"], "large");
        client.finish().await;
    })
    .await;
}
