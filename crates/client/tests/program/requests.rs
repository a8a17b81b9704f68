//! Tools, addresses, approvals and dialogs of the client, with the real program.

use std::path::Path;
use std::sync::{Arc, Mutex};

use bowline_client::{
    Decision, DialogAnswer, Event, ExtensionUiRequestRecord, HostUriScheme, Outcome, Tool, ToolCall,
};
use serde_json::{Value, json};

use crate::trial::{Trial, bash};

fn calls(tool: &str, arguments: Value) -> Value {
    json!({ "toolCalls": [{ "name": tool, "arguments": arguments }] })
}

#[tokio::test]
async fn model_calls_a_tool_of_the_client() {
    let trial = Trial::new();
    let city =
        json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
    let weather = Tool::new("weather", "The weather in a city.", city, async |call: ToolCall| {
        let city = call.argument("city").as_str().ok_or("no city")?;
        call.update(format!("looking at {city}")).await.map_err(|_| "gone")?;
        Ok::<_, &str>(format!("rain in {city}"))
    });
    let steps = [calls("weather", json!({ "city": "Oslo" })), json!({ "text": "It rains." })];
    let client = trial.client(&steps).tool(weather).start().await.unwrap();
    let mut run = client.run("How is the weather?").await.unwrap();
    let (mut progress, mut result) = (Value::Null, Value::Null);
    while let Some(event) = run.next().await.unwrap() {
        match event {
            Event::ToolExecutionUpdate(update) => {
                progress = serde_json::to_value(update.partial_result).unwrap();
            }
            Event::ToolExecutionEnd(end) => result = serde_json::to_value(end.result).unwrap(),
            _ => {}
        }
    }
    assert_eq!(progress["content"][0]["text"], "looking at Oslo");
    assert_eq!(result["content"][0]["text"], "rain in Oslo");
    assert_eq!(run.finish().await.unwrap().text, "It rains.");
    client.stop().await;
}

#[tokio::test]
async fn abort_drops_the_call_of_a_tool() {
    struct Dropped(Arc<Mutex<bool>>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = true;
        }
    }
    let trial = Trial::new();
    let dropped = Arc::new(Mutex::new(false));
    let flag = Arc::clone(&dropped);
    let endless = Tool::new("endless", "Never ends.", json!({ "type": "object" }), move |call: ToolCall| {
        let guard = Dropped(Arc::clone(&flag));
        async move {
            let _guard = guard;
            call.update("begun").await.map_err(|error| error.to_string())?;
            std::future::pending::<Result<String, String>>().await
        }
    });
    let client = trial.client(&[calls("endless", json!({}))]).tool(endless).start().await.unwrap();
    let mut run = client.run("go").await.unwrap();
    while let Some(event) = run.next().await.unwrap() {
        if let Event::ToolExecutionUpdate(_) = event {
            client.abort().await.unwrap();
        }
    }
    assert_eq!(run.finish().await.unwrap().outcome, Outcome::Aborted);
    client.stop().await;
    assert!(*dropped.lock().unwrap());
}

#[tokio::test]
async fn model_reads_an_address_of_the_client() {
    let trial = Trial::new();
    let steps = [calls("read", json!({ "path": "notes://todo" })), json!({ "text": "Milk." })];
    let notes = HostUriScheme::new("notes");
    let client = trial
        .client(&steps)
        .on_uri([notes], async |request| Ok(format!("buy milk ({})", request.url)))
        .start()
        .await
        .unwrap();
    let run = client.prompt_and_wait("What is to do?").await.unwrap();
    let messages = serde_json::to_string(&run.messages).unwrap();
    assert!(messages.contains("buy milk (notes://todo)"), "{messages}");
    client.stop().await;
}

#[tokio::test]
async fn user_decides_about_calls() {
    let trial = Trial::new();
    let steps = [bash("touch one"), bash("touch two"), json!({ "text": "ok" })];
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let approve = move |request: bowline_client::ApprovalRequestRecord| {
        let command = request.command.unwrap_or_default();
        seen.lock().unwrap().push(command.clone());
        async move {
            if command.contains("one") { Decision::Once } else { Decision::Deny(Some("Not two.".into())) }
        }
    };
    let client = trial
        .client(&steps)
        .argument("--ask")
        .argument("untrusted")
        .on_approval(approve)
        .start()
        .await
        .unwrap();
    let run = client.prompt_and_wait("go").await.unwrap();
    assert_eq!((trial.has("one"), trial.has("two")), (true, false));
    assert_eq!(*asked.lock().unwrap(), ["touch one", "touch two"]);
    assert!(serde_json::to_string(&run.messages).unwrap().contains("Not two."));
    client.stop().await;
}

#[tokio::test]
async fn dialogs_of_an_extension_are_answered() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let trial = Trial::new();
    let answers = async |request| match request {
        ExtensionUiRequestRecord::Select(it) => DialogAnswer::Value(it.options[1].clone()),
        ExtensionUiRequestRecord::Confirm(_) => DialogAnswer::Confirmed(true),
        ExtensionUiRequestRecord::Input(_) => DialogAnswer::Value("a name".to_owned()),
        _ => DialogAnswer::Cancelled,
    };
    let client = trial
        .client(&[json!({ "text": "ok" })])
        .variable("SDK", root.join("sdk/python"))
        .argument("--extension")
        .argument(root.join("tests/clients/python/asking.py"))
        .on_dialog(answers)
        .start()
        .await
        .unwrap();
    let mut run = client.run("/ask").await.unwrap();
    assert!(run.next().await.unwrap().is_none(), "an extension has dealt with it");
    let mut events = client.events_of(|kind| kind == "extension_ui_request");
    client.prompt_and_wait("/ask").await.unwrap();
    let told = loop {
        let event = events.next().await.unwrap().unwrap();
        if let Event::ExtensionUiRequest(ExtensionUiRequestRecord::Notify(it)) = event {
            break it.message;
        }
    };
    assert_eq!(told, "answers: ['b', True, 'a name', None]");
    client.stop().await;
}
