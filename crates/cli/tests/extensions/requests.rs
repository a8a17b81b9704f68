//! What extensions ask for.

use bowline_testkit::{Agent, Reply, Workspace};
use serde_json::{Value, json};

use crate::actor::{Actor, hooks, run, start, start_with};

/// An extension whose command `/ask` makes a request.
struct Asking {
    agent: Agent,
    actor: Actor,
}

impl Asking {
    #[track_caller]
    fn new(workspace: &Workspace, method: &str, params: Value) -> Self {
        let request = json!({ "type": "request", "id": "q", "method": method, "params": params });
        let on = json!({
            "command:ask": [{ "send": request }],
            "response:q": [{ "send": { "type": "result", "id": "$id of command:ask" } }],
        });
        let actor = Actor::new(workspace, "a", json!({ "commands": [{ "name": "ask" }] }), on);
        Self { agent: start(workspace), actor }
    }

    /// Returns the response to the request.
    #[track_caller]
    fn ask(&mut self) -> Value {
        self.agent.send(json!({ "type": "prompt", "message": "/ask" }));
        self.actor.wait_for(|record| record["type"] == "response")
    }
}

#[test]
fn model_answers_outside_of_the_session() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::text("four"));
    let params = json!({ "prompt": "two and two?", "systemPrompt": "Be brief." });
    let mut asking = Asking::new(&workspace, "model.complete", params);
    let response = asking.ask();
    assert_eq!(response["result"]["content"][0]["text"], "four", "{response}");
    let body = &server.requests()[0].body;
    assert!(body["system"].to_string().contains("Be brief."));
    let messages = asking.agent.carry_out(json!({ "type": "get_messages" }));
    assert_eq!(messages["messages"], json!([]));
}

#[test]
fn model_answers_in_pieces() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::new().thinking("hm").then_text("one").tool("t", json!({ "a": 1 })));
    let params = json!({
        "model": "mock/m2",
        "messages": [{ "role": "user", "content": "go", "timestamp": 1 }],
        "tools": [{ "name": "t", "description": "d", "parameters": { "type": "object" } }],
    });
    let mut asking = Asking::new(&workspace, "model.stream", params);
    let response = asking.ask();
    assert_eq!(response["result"]["stopReason"], "toolUse", "{response}");
    let received = asking.actor.received();
    let chunks = received.iter().filter(|record| record["type"] == "chunk" && record["id"] == "q");
    let kinds: Vec<_> = chunks.filter_map(|record| record["event"]["type"].as_str()).collect();
    for kind in ["thinking_delta", "text_start", "text_delta", "toolcall_start", "toolcall_delta", "usage"] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
}

#[test]
fn model_that_is_not_listed_is_called_with_the_key_and_headers_of_the_caller() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::text("elsewhere"));
    let model =
        json!({ "provider": "mine", "id": "x1", "api": "anthropic-messages", "baseUrl": server.base_url() });
    let params = json!({
        "model": model,
        "prompt": "go",
        "apiKey": "key-of-the-caller",
        "headers": { "x-extra": "yes", "x-none": null },
    });
    let mut asking = Asking::new(&workspace, "model.complete", params);
    let response = asking.ask();
    assert_eq!(response["result"]["content"][0]["text"], "elsewhere", "{response}");
    assert_eq!(response["result"]["provider"], "mine");
    let request = &server.requests()[0];
    assert_eq!(request.body["model"], "x1");
    assert_eq!(request.header("x-api-key"), Some("key-of-the-caller"));
    assert_eq!(request.header("x-extra"), Some("yes"));
}

#[test]
fn extension_of_a_project_cannot_describe_a_model_of_a_provider_that_the_user_has() {
    let (server, workspace) = Workspace::with_server();
    let model =
        json!({ "provider": "mock", "id": "m1", "api": "anthropic-messages", "baseUrl": server.base_url() });
    let request = json!({
        "type": "request",
        "id": "q",
        "method": "model.complete",
        "params": { "model": model, "prompt": "go" },
    });
    let on = json!({
        "command:ask": [{ "send": request }],
        "response:q": [{ "send": { "type": "result", "id": "$id of command:ask" } }],
    });
    let folder = workspace.work().join(".bowline/extensions");
    let plan = json!({ "registration": { "commands": [{ "name": "ask" }] }, "on": on });
    let actor = Actor::in_folder(&folder, "a", plan);
    let mut agent = start_with(&workspace, &["--approve"]);
    agent.send(json!({ "type": "prompt", "message": "/ask" }));
    let response = actor.wait_for(|record| record["type"] == "response");
    let error = response["error"]["message"].as_str().unwrap_or_default();
    assert!(error.contains("cannot change a provider that you have"), "{response}");
    assert!(server.requests().is_empty());
}

#[test]
fn system_prompt_is_known_before_the_first_call_of_a_model() {
    let (_server, workspace) = Workspace::with_server();
    let response = Asking::new(&workspace, "session.systemPrompt", json!({})).ask();
    let text = response["result"]["systemPrompt"].as_str().unwrap();
    assert!(text.contains("bowline") && text.contains("read"), "{text}");
}

#[test]
fn failures_of_requests_are_errors() {
    let cases = [
        ("model.complete", json!({ "prompt": "x", "model": "no/such" }), "there is no model no/such"),
        ("model.complete", json!({}), "a call has either messages or a prompt"),
        ("session.fork", json!({ "entryId": "gone" }), ""),
        ("session.fork", json!({}), "invalid parameters of session.fork: missing field `entryId`"),
        ("session.sing", json!({}), "there is no method session.sing"),
        ("tool.execute", json!({ "name": "sing" }), "there is no tool named sing"),
    ];
    for (method, params, problem) in cases {
        let (_server, workspace) = Workspace::with_server();
        let response = Asking::new(&workspace, method, params).ask();
        let error = response["error"]["message"].as_str().unwrap_or_else(|| panic!("{method}: {response}"));
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn models_and_keys_are_listed() {
    let (_server, workspace) = Workspace::with_server();
    let response = Asking::new(&workspace, "model.list", json!({})).ask();
    let ids: Vec<_> =
        response["result"].as_array().unwrap().iter().map(|model| model["id"].clone()).collect();
    assert!(ids.contains(&json!("m1")), "{ids:?}");
    let response = Asking::new(&workspace, "model.auth", json!({ "provider": "mock" })).ask();
    assert!(response["result"]["apiKey"].is_string(), "{response}");
}

#[test]
fn extensions_of_a_project_get_no_keys() {
    let (_server, workspace) = Workspace::with_server();
    let request =
        json!({ "type": "request", "id": "q", "method": "model.auth", "params": { "provider": "mock" } });
    let on = json!({ "hook:session_start": [{ "send": request }, { "result": null }] });
    let actor = Actor::new(&workspace, "a", hooks(&["session_start"]), on);
    let folder = workspace.work().join(".bowline");
    std::fs::create_dir_all(&folder).unwrap();
    let settings = json!({ "extensions": [actor.path()] });
    std::fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
    let mut agent = crate::actor::start_with(&workspace, &["--approve"]);
    run(&mut agent, "hi");
    let response = actor.wait_for(|record| record["type"] == "response");
    assert_eq!(response["error"]["message"], "extensions of a project get no keys");
}

#[test]
fn tool_of_the_session_is_run() {
    let (_server, workspace) = Workspace::with_server();
    let workspace = workspace.file("a.txt", "content of a");
    // It is not enabled by default.
    let params = json!({ "name": "grep", "args": { "pattern": "content" } });
    let response = Asking::new(&workspace, "tool.execute", params).ask();
    assert_eq!(response["result"]["isError"], false, "{response}");
    assert!(response["result"]["content"][0]["text"].as_str().unwrap().contains("content of a"));
}

#[test]
fn program_is_run_without_a_shell() {
    let (_server, workspace) = Workspace::with_server();
    let script = "echo $1; echo err >&2; pwd; exit 3";
    let params = json!({ "command": "sh", "args": ["-c", script, "sh", "a b"] });
    let result = Asking::new(&workspace, "exec", params).ask()["result"].take();
    let expected = json!({
        "stdout": format!("a b\n{}\n", workspace.work().canonicalize().unwrap().display()),
        "stderr": "err\n",
        "code": 3,
        "killed": false,
        "truncated": false,
    });
    assert_eq!(result, expected);
    let late = json!({ "command": "sleep", "args": ["300"], "timeout": 50 });
    let result = Asking::new(&workspace, "exec", late).ask()["result"].take();
    assert_eq!((result["killed"].as_bool(), result["code"].as_i64()), (Some(true), Some(0)));
    let missing = json!({ "command": "no-such-program" });
    let result = Asking::new(&workspace, "exec", missing).ask()["result"].take();
    assert_eq!(result["code"], 1);
    assert!(result["stderr"].as_str().unwrap().contains("no-such-program"));
}

#[test]
fn entries_context_and_settings_are_read() {
    let (_server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(json!({ "retry": { "maxRetries": 7 } }));
    let mut asking = Asking::new(&workspace, "session.entries", json!({}));
    run(&mut asking.agent, "hi");
    let result = asking.ask()["result"].take();
    assert!(result["entries"].as_array().unwrap().iter().any(|entry| entry["message"]["role"] == "user"));
    assert!(result["leafId"].is_string());
    let mut asking = Asking::new(&workspace, "session.context", json!({}));
    run(&mut asking.agent, "hi");
    let result = asking.ask()["result"].take();
    assert_eq!(result["messages"].as_array().unwrap().len(), 2);
    assert!(result["systemPrompt"].as_str().is_some_and(|prompt| !prompt.is_empty()));
    let result = Asking::new(&workspace, "settings.get", json!({ "key": "retry.maxRetries" })).ask();
    assert_eq!(result["result"], 7);
}

#[test]
fn extension_of_a_project_does_not_read_settings_with_keys() {
    let (_server, workspace) = Workspace::with_server();
    let server = json!({ "url": "http://127.0.0.1:1", "headers": { "authorization": "Bearer sk-mcp" } });
    let workspace =
        workspace.settings(json!({ "retry": { "maxRetries": 7 }, "mcpServers": { "far": server } }));
    let request = json!({ "type": "request", "id": "q", "method": "settings.get", "params": {} });
    let plan = json!({
        "registration": { "commands": [{ "name": "ask" }] },
        "on": { "command:ask": [{ "send": request }, { "result": null }] },
    });
    let actor = Actor::in_folder(&workspace.work().join(".bowline/extensions"), "p", plan);
    let mut agent = start_with(&workspace, &["--approve"]);
    agent.carry_out(json!({ "type": "prompt", "message": "/ask" }));
    let response = actor.wait_for(|record| record["type"] == "response");
    assert_eq!(response["result"], json!({ "retry": { "maxRetries": 7 } }));
}

#[test]
fn absurd_counts_of_a_provider_do_not_end_a_call_of_its_model() {
    let (_server, workspace) = Workspace::with_server();
    let most = u64::MAX;
    let usage = json!({ "type": "usage", "usage": { "input": most, "output": most, "cacheRead": most } });
    let request = json!({ "type": "request", "id": "q", "method": "model.stream", "params": { "prompt": "x", "model": "own/m" } });
    let registration = json!({
        "commands": [{ "name": "ask" }],
        "providers": [{ "name": "own", "stream": true, "models": [{ "id": "m" }] }],
    });
    let on = json!({
        "command:ask": [{ "send": request }, { "result": null }],
        "provider:stream": [{ "send": { "type": "chunk", "id": "$id", "event": usage } }, { "result": null }],
    });
    let actor = Actor::new(&workspace, "a", registration, on);
    let mut agent = start(&workspace);
    agent.carry_out(json!({ "type": "prompt", "message": "/ask" }));
    let response = actor.wait_for(|record| record["type"] == "response");
    assert_eq!(response["result"]["usage"]["input"], most, "{response}");
}

#[test]
fn session_is_changed_and_waited_for() {
    let (_server, workspace) = Workspace::with_server();
    let mut asking = Asking::new(&workspace, "session.new", json!({}));
    let before = asking.agent.carry_out(json!({ "type": "get_state" }));
    asking.agent.send(json!({ "type": "prompt", "message": "/ask" }));
    let response = asking.actor.wait_for(|record| record["type"] == "response");
    assert_eq!(response["result"], json!({ "cancelled": false }), "{response}");
    let after = asking.agent.carry_out(json!({ "type": "get_state" }));
    assert_ne!(before["sessionId"], after["sessionId"]);
    let response = Asking::new(&workspace, "session.waitIdle", json!({})).ask();
    assert_eq!(response["result"], Value::Null);
    assert!(response.get("error").is_none());
}
