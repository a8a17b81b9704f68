//! What the agent asks of the client, each in a task of its own.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bowline_protocol::{
    Decision, DialogAnswer, Event, ExtensionUiRequestRecord, Handlers, HostUriOperation, HostUriScheme, Tool,
    ToolCall, ToolOutput,
};
use serde_json::{Value, json};

use crate::agent::{Agent, connection, ending};

fn call(id: &str, tool: &str, arguments: Value) -> Value {
    json!({ "type": "host_tool_call", "id": id, "toolCallId": format!("call-{id}"), "toolName": tool, "arguments": arguments })
}

async fn with_tool(tool: Tool) -> (bowline_protocol::Connection, Agent) {
    let name = tool.name().to_owned();
    let (client, mut agent) = connection(Handlers::default().tool(tool));
    let command = agent.answer("set_host_tools", json!({ "toolNames": [&name] })).await;
    assert_eq!(command["tools"][0]["name"], name);
    (client, agent)
}

#[tokio::test]
async fn tool_reports_progress_and_returns_content() {
    let tool = Tool::new("weather", "", json!({ "type": "object" }), async |call: ToolCall| {
        let city = call.argument("city").as_str().ok_or("no city")?;
        call.update(format!("looking at {city}")).await.map_err(|_| "gone")?;
        Ok::<_, &str>(
            ToolOutput::default().text("rain").image("AAAA", "image/png").details(json!({ "mm": 3 })),
        )
    });
    let (_client, mut agent) = with_tool(tool).await;
    agent.send(call("1", "weather", json!({ "city": "Oslo" }))).await;
    let update = agent.next().await;
    assert_eq!(
        update,
        json!({ "type": "host_tool_update", "id": "1", "partialResult": { "content": [{ "type": "text", "text": "looking at Oslo" }] } })
    );
    let content = json!([{ "type": "text", "text": "rain" }, { "type": "image", "data": "AAAA", "mimeType": "image/png" }]);
    let result = json!({ "content": content, "details": { "mm": 3 } });
    assert_eq!(agent.next().await, json!({ "type": "host_tool_result", "id": "1", "result": result }));
    agent.send(call("2", "weather", json!({}))).await;
    let failed = agent.next().await;
    assert_eq!(
        (&failed["isError"], &failed["result"]["content"][0]["text"]),
        (&json!(true), &json!("no city"))
    );
}

#[tokio::test]
async fn arguments_become_a_type_and_mistakes_in_them_a_text_for_the_model() {
    let tool = Tool::new("repeat", "", json!({}), async |call: ToolCall| {
        let (text, times): (String, usize) =
            call.arguments::<std::collections::BTreeMap<String, Value>>().map(|all| {
                (
                    all["text"].as_str().unwrap_or_default().to_owned(),
                    all["times"].as_u64().unwrap_or(0) as usize,
                )
            })?;
        Ok::<_, String>(text.repeat(times))
    });
    let (_client, mut agent) = with_tool(tool).await;
    agent.send(call("1", "repeat", json!({ "text": "ab", "times": 2 }))).await;
    assert_eq!(agent.next().await["result"]["content"][0]["text"], "abab");
    let strict =
        Tool::new("strict", "", json!({}), async |call: ToolCall| call.arguments::<Vec<u8>>().map(|_| ""));
    let (_client, mut agent) = with_tool(strict).await;
    agent.send(call("1", "strict", json!({}))).await;
    let failed = agent.next().await;
    assert!(
        failed["result"]["content"][0]["text"].as_str().unwrap().starts_with("invalid arguments: "),
        "{failed}"
    );
}

#[tokio::test]
async fn tool_that_panics_has_failed() {
    for is_early in [true, false] {
        let tool = Tool::new("broken", "", json!({}), move |_| {
            assert!(!is_early, "broken at once");
            async move { if is_early { Ok::<_, String>("") } else { panic!("broken later") } }
        });
        let (_client, mut agent) = with_tool(tool).await;
        for id in ["1", "2"] {
            agent.send(call(id, "broken", json!({}))).await;
            let failed = agent.next().await;
            assert_eq!((&failed["id"], &failed["isError"]), (&json!(id), &json!(true)));
            assert_eq!(failed["result"]["content"][0]["text"], "the tool panicked");
        }
    }
}

/// Counts how many of it there are.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn until(is_so: impl Fn() -> bool) {
    for _ in 0..1_000_000 {
        if is_so() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("it did not happen");
}

#[tokio::test]
async fn call_that_is_cancelled_is_dropped_and_not_answered() {
    let running = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&running);
    let tool = Tool::new("endless", "", json!({}), move |call: ToolCall| {
        let counted = Counted::new(&count);
        async move {
            let _counted = counted;
            if call.argument("ends") != &json!(true) {
                pending::<()>().await;
            }
            Ok::<_, String>("over")
        }
    });
    let (_client, mut agent) = with_tool(tool).await;
    agent.send(call("1", "endless", json!({}))).await;
    until(|| running.load(Ordering::SeqCst) == 1).await;
    agent.send(json!({ "type": "host_tool_cancel", "id": "c", "targetId": "1" })).await;
    until(|| running.load(Ordering::SeqCst) == 0).await;
    agent.send(call("2", "endless", json!({ "ends": true }))).await;
    assert_eq!(agent.next().await["id"], "2");
    // The end of the agent drops the rest.
    agent.send(call("3", "endless", json!({}))).await;
    until(|| running.load(Ordering::SeqCst) == 1).await;
    agent.end(ending("it burned", false)).await;
    until(|| running.load(Ordering::SeqCst) == 0).await;
}

#[tokio::test]
async fn tools_can_be_replaced() {
    let tool =
        |name: &'static str| Tool::new(name, "", json!({}), move |_| async move { Ok::<_, String>(name) });
    let (client, mut agent) = with_tool(tool("old")).await;
    for (new, is_accepted, kept) in [("new", true, "new"), ("bad", false, "new")] {
        let setting = tokio::spawn({
            let client = client.clone();
            async move { client.set_tools(vec![tool(new)]).await }
        });
        let command = agent.next().await;
        // Until the agent knows, the model may call either.
        agent.send(call("1", "old", json!({}))).await;
        assert_eq!(agent.next().await["result"]["content"][0]["text"].as_str() == Some("old"), new == "new");
        let (id, error) = (&command["id"], "no");
        agent.send(json!({ "type": "response", "id": id, "success": is_accepted, "error": error, "data": { "toolNames": [new] } })).await;
        assert_eq!(setting.await.unwrap().is_ok(), is_accepted);
        agent.send(call("2", kept, json!({}))).await;
        assert_eq!(agent.next().await["result"]["content"][0]["text"], kept);
    }
    agent.send(call("3", "old", json!({}))).await;
    assert_eq!(agent.next().await["isError"], true);
}

#[tokio::test]
async fn tool_that_there_is_not_has_failed() {
    let (_client, mut agent) = connection(Handlers::default());
    agent.send(call("1", "gone", json!({}))).await;
    let failed = agent.next().await;
    assert_eq!(failed["isError"], true);
    assert!(failed["result"]["content"][0]["text"].as_str().unwrap().contains("gone"));
}

#[tokio::test]
async fn flood_of_calls_is_answered_with_no() {
    let tool = Tool::new("endless", "", json!({}), |_| pending::<Result<String, String>>());
    let (client, mut agent) = with_tool(tool).await;
    for number in 0..300 {
        agent.send(call(&number.to_string(), "endless", json!({}))).await;
    }
    for number in 256..300 {
        let failed = agent.next().await;
        assert_eq!((&failed["id"], &failed["isError"]), (&json!(number.to_string()), &json!(true)));
    }
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.abort().await }
    });
    agent.answer("abort", json!(null)).await;
    asking.await.unwrap().unwrap();
}

fn dialog(id: &str, method: &str, more: Value) -> Value {
    let mut record = json!({ "type": "extension_ui_request", "id": id, "method": method, "title": "T" });
    record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    record
}

async fn answering(request: ExtensionUiRequestRecord) -> DialogAnswer {
    match request {
        ExtensionUiRequestRecord::Select(it) => DialogAnswer::Value(it.options[1].clone()),
        ExtensionUiRequestRecord::Confirm(it) => DialogAnswer::Confirmed(it.message == "yes"),
        ExtensionUiRequestRecord::Input(_) => pending().await,
        ExtensionUiRequestRecord::Editor(_) => panic!("there is no editor"),
        _ => DialogAnswer::Cancelled,
    }
}

#[tokio::test]
async fn dialogs_are_answered_by_the_handler() {
    let (_client, mut agent) = connection(Handlers::default().on_dialog(answering));
    let answers = [
        (dialog("1", "select", json!({ "options": ["a", "b"] })), json!({ "value": "b" })),
        (dialog("2", "confirm", json!({ "message": "yes" })), json!({ "confirmed": true })),
        (dialog("3", "input", json!({ "timeout": 20 })), json!({ "cancelled": true, "timedOut": true })),
        (dialog("4", "editor", json!({})), json!({ "cancelled": true })),
    ];
    for (request, answer) in answers {
        agent.send(request.clone()).await;
        let mut expected = json!({ "type": "extension_ui_response", "id": request["id"] });
        expected.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        assert_eq!(agent.next().await, expected);
    }
    // What only shows something has no answer.
    agent.send(dialog("5", "notify", json!({ "message": "hello" }))).await;
    agent.send(dialog("6", "confirm", json!({ "message": "no" }))).await;
    assert_eq!(agent.next().await["id"], "6");
}

#[tokio::test]
async fn dialogs_without_a_handler_are_closed_unless_they_are_left_to_the_reader_of_events() {
    let (_client, mut agent) = connection(Handlers::default());
    agent.send(dialog("1", "confirm", json!({ "message": "sure?" }))).await;
    assert_eq!(agent.next().await["cancelled"], true);
    let (client, mut agent) = connection(Handlers::default().leave_dialogs());
    let mut events = client.events();
    agent.send(dialog("1", "confirm", json!({ "message": "sure?" }))).await;
    let Some(Event::ExtensionUiRequest(request)) = events.next().await.unwrap() else { panic!("no dialog") };
    let ExtensionUiRequestRecord::Confirm(request) = request else { panic!("another dialog") };
    let mut answer = bowline_protocol::ExtensionUiResponseAnswer::new(request.id);
    answer.confirmed = Some(true);
    client.answer(answer).await.unwrap();
    assert_eq!(agent.next().await["confirmed"], true);
}

fn approval(id: &str, tool: &str) -> Value {
    let options = json!(["once", "session", "project", "deny"]);
    json!({ "type": "approval_request", "id": id, "kind": "file", "tool": tool, "cwd": "/", "reason": { "code": "untrusted", "text": "why" }, "options": options, "digest": "d" })
}

#[tokio::test]
async fn approvals_are_decided_by_the_handler_and_withdrawn_ones_dropped() {
    let open = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&open);
    let handlers = Handlers::default().on_approval(move |request| {
        let counted = Counted::new(&count);
        async move {
            let _counted = counted;
            match request.tool.as_str() {
                "read" => Decision::Once,
                "write" => Decision::Session,
                "edit" => Decision::Project,
                "bash" => Decision::Deny(Some("not now".to_owned())),
                "grep" => panic!("no idea"),
                _ => pending().await,
            }
        }
    });
    let (_client, mut agent) = connection(handlers);
    assert_eq!(agent.answer("set_client_capabilities", json!(null)).await["approvals"], "record");
    for (tool, decision) in
        [("read", "once"), ("write", "session"), ("edit", "project"), ("bash", "deny"), ("grep", "deny")]
    {
        agent.send(approval(tool, tool)).await;
        let answer = agent.answer("approval_response", json!(null)).await;
        assert_eq!((&answer["approvalId"], &answer["decision"]), (&json!(tool), &json!(decision)));
        assert_eq!(answer.get("message").and_then(Value::as_str), (tool == "bash").then_some("not now"));
    }
    agent.send(approval("open", "ls")).await;
    until(|| open.load(Ordering::SeqCst) == 1).await;
    agent.send(json!({ "type": "approval_resolved", "id": "open", "decision": "deny", "by": "abort" })).await;
    until(|| open.load(Ordering::SeqCst) == 0).await;
}

/// Whatever a later version asks for, it need not wait for the answer.
#[tokio::test]
async fn request_of_an_unknown_form_is_answered_with_no() {
    let handlers = Handlers::default().on_approval(async |_| Decision::Once).on_dialog(answering);
    let (_client, mut agent) = connection(handlers);
    agent.answer("set_client_capabilities", json!(null)).await;
    let requests = [
        ("approval_request", json!({ "type": "approval_response", "approvalId": "1", "decision": "deny" })),
        ("extension_ui_request", json!({ "type": "extension_ui_response", "id": "1", "cancelled": true })),
        ("host_tool_call", json!({ "type": "host_tool_result", "id": "1", "isError": true })),
        ("host_uri_request", json!({ "type": "host_uri_result", "id": "1", "isError": true })),
    ];
    for (kind, expected) in requests {
        agent.send(json!({ "type": kind, "id": "1", "method": "sing" })).await;
        let answer = agent.next().await;
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&answer[name], value, "{kind}: {answer}");
        }
    }
}

#[tokio::test]
async fn addresses_are_read_and_written() {
    let scheme = HostUriScheme::new("notes");
    let handlers = Handlers::default().on_uri([scheme], async |request| match request.operation {
        HostUriOperation::Write if request.content.is_none() => Err("nothing to write".to_owned()),
        HostUriOperation::Write => Ok("written".to_owned()),
        _ => Ok(format!("content of {}", request.url)),
    });
    let (_client, mut agent) = connection(handlers);
    let command = agent.answer("set_host_uri_schemes", json!({ "schemes": ["notes"] })).await;
    assert_eq!(command["schemes"][0]["scheme"], "notes");
    let request = |id: &str, operation: &str| json!({ "type": "host_uri_request", "id": id, "operation": operation, "url": "notes://todo" });
    agent.send(request("1", "read")).await;
    assert_eq!(
        agent.next().await,
        json!({ "type": "host_uri_result", "id": "1", "content": "content of notes://todo" })
    );
    agent.send(request("2", "write")).await;
    let failed = agent.next().await;
    assert_eq!((&failed["isError"], &failed["error"]), (&json!(true), &json!("nothing to write")));
}
