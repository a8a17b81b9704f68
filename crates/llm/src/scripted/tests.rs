use std::time::Instant;

use futures_util::StreamExt;
use serde_json::json;

use super::*;
use crate::assembly::Assembly;
use crate::conversation::tests::messages;
use crate::output_limit::tests::request;
use bowline_core::Message;
use bowline_core::message::AssistantMessage;

/// Plays a script, written to a file, for the given conversation.
struct Player {
    scripts: Scripts,
    id: String,
    _directory: tempfile::TempDir,
}

impl Player {
    fn new(script: &serde_json::Value) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("script.json");
        std::fs::write(&path, script.to_string()).unwrap();
        let id = path.to_str().unwrap().to_owned();
        Self { scripts: Scripts::new(Duration::from_millis(50)), id, _directory: directory }
    }

    async fn ask(&self, messages: Vec<Arc<Message>>) -> Result<AssistantMessage, StreamError> {
        let request = ModelRequest { model: model(&self.id), messages, ..request(json!({})) };
        play(stream(&self.scripts, &request), &self.id).await
    }
}

async fn play(mut stream: AnswerStream, id: &str) -> Result<AssistantMessage, StreamError> {
    let mut assembly = Assembly::new(model(id), 1);
    while let Some(events) = stream.next().await {
        for event in events? {
            assembly.apply(event);
        }
    }
    assert!(assembly.is_done());
    Ok(assembly.finish())
}

fn conversation(answers: usize) -> Vec<Arc<Message>> {
    let mut all = vec![json!({"role": "user", "content": "go"})];
    for _ in 0..answers {
        all.push(json!({"role": "assistant", "content": [{"type": "text", "text": "x"}]}));
        all.push(json!({"role": "assistant", "content": [], "stopReason": "error"}));
    }
    messages(json!(all))
}

#[tokio::test]
async fn conversation_determines_the_step() {
    let steps = json!([
        {"thinking": "hm", "text": "äöü and more text", "chunk": 3, "usage": {"input": 5, "output": 6},
         "toolCalls": [{"name": "ls", "arguments": {"path": "."}}]},
        {"text": "two"},
    ]);
    let player = Player::new(&json!({"steps": steps}));
    let first = player.ask(conversation(0)).await.unwrap();
    assert_eq!(first.text(), "äöü and more text");
    assert_eq!(first.stop_reason, StopReason::ToolUse);
    let call = first.tool_calls().next().unwrap();
    assert_eq!((call.id.as_str(), &call.arguments["path"]), ("call_0_0", &json!(".")));
    assert_eq!((first.usage.input, first.usage.output), (5, 6));
    let second = player.ask(conversation(1)).await.unwrap();
    assert_eq!((second.text().as_str(), second.stop_reason), ("two", StopReason::Stop));
    assert!(second.usage.output > 0);
    assert_eq!(
        player.ask(conversation(2)).await.unwrap().text(),
        "The script is over: it has no step for this request."
    );
    let cycling = Player::new(&json!({"steps": steps, "cycle": true}));
    assert_eq!(cycling.ask(conversation(3)).await.unwrap().text(), "two");
}

#[tokio::test]
async fn step_fails_as_often_as_specified() {
    let error = json!({"kind": "rate-limited", "message": "slow down", "times": 2, "afterDeltas": 1});
    let player = Player::new(&json!({"steps": [{"text": "aabb", "chunk": 2, "error": error}]}));
    for _ in 0..2 {
        let error = player.ask(conversation(0)).await.unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (FailureKind::RateLimited, "slow down"));
    }
    assert_eq!(player.ask(conversation(0)).await.unwrap().text(), "aabb");
}

#[tokio::test]
async fn hanging_step_times_out() {
    let player = Player::new(&json!({"steps": [{"text": "half", "hang": true}]}));
    assert_eq!(player.ask(conversation(0)).await.unwrap_err().kind, FailureKind::TimedOut);
}

#[tokio::test]
async fn many_deltas_are_fast_and_delays_are_kept() {
    let player = Player::new(
        &json!({"steps": [{"text": "ab", "repeat": 8000}, {"text": "abc", "chunk": 1, "delayMs": 20}]}),
    );
    assert_eq!(player.ask(conversation(0)).await.unwrap().text().len(), 16000);
    let started = Instant::now();
    player.ask(conversation(1)).await.unwrap();
    assert!(started.elapsed() >= Duration::from_millis(40));
}

#[tokio::test]
async fn unusable_script_is_explained() {
    for (script, reason) in [
        (json!({"steps": [{"txt": "x"}]}), "unknown field `txt`"),
        (json!({"steps": [{"error": {"kind": "odd", "message": ""}}]}), "unknown kind \"odd\""),
    ] {
        let player = Player::new(&script);
        let error = player.ask(conversation(0)).await.unwrap_err();
        assert!(error.message.contains(reason), "{error}");
        assert!(check(&player.id).is_err());
    }
    assert!(matches!(check("/nonexistent.json"), Err(Error::Script { .. })));
}

#[tokio::test]
async fn demo_is_a_complete_run() {
    check(DEMO).unwrap();
    let scripts = Scripts::new(Duration::from_secs(1));
    let mut tools = Vec::new();
    for answers in 0..6 {
        let request =
            ModelRequest { model: model(DEMO), messages: conversation(answers), ..request(json!({})) };
        let message = play(stream(&scripts, &request), DEMO).await.unwrap();
        tools.extend(message.tool_calls().map(|call| call.name.clone()));
    }
    assert_eq!(tools, ["write", "read", "bash", "edit", "bash"]);
}
