//! What requests contain in both APIs: prompt, tools, history, images, results and keys, and what they omit.

use std::time::Duration;

use bowline_testkit::{
    Agent, Api, Gate, Launch, ModelServer, Reply, Request, SECRET, Usage, Workspace, announced,
    session_lines, types,
};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(10);
const APIS: [Api; 2] = [Api::AnthropicMessages, Api::OpenaiCompletions];
const PNG: &str = "iVBORw0KGgo=";

/// Starts an agent with a model that does not reason and whose tools are only `read` and `bash`.
fn prepare(api: Api) -> (ModelServer, Workspace, Agent) {
    let server = ModelServer::start();
    let workspace = Workspace::new(&server, api);
    let agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--tools", "read,bash"]).start();
    (server, workspace, agent)
}

/// Returns the system prompt of a request.
fn system(request: &Request) -> &str {
    let body = &request.body;
    body["system"][0]["text"].as_str().or_else(|| body["messages"][0]["content"].as_str()).unwrap()
}

/// Returns the messages of a request without a system prompt.
fn messages(request: &Request) -> Vec<Value> {
    let messages = request.body["messages"].as_array().unwrap();
    messages.iter().filter(|message| message["role"] != "system").cloned().collect()
}

/// Returns a message without its cache markers.
fn unmarked(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            fields.shift_remove("cache_control");
            for field in fields.values_mut() {
                *field = unmarked(field.take());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = unmarked(item.take())),
        _ => {}
    }
    value
}

#[test]
fn request_has_model_prompt_tools_and_limits() {
    for api in APIS {
        let (server, workspace, mut agent) = prepare(api);
        agent.run("hello");
        let request = &server.requests()[0];
        let body = &request.body;
        assert_eq!((&body["model"], &body["stream"]), (&json!("m1"), &json!(true)));
        assert!(system(request).starts_with("You are bowline"), "{body}");
        assert!(system(request).contains(workspace.work().to_str().unwrap()), "{body}");
        assert_eq!(request.header("content-type"), Some("application/json"));
        let tools = body["tools"].as_array().unwrap();
        match api {
            Api::AnthropicMessages => {
                assert_eq!(request.path.split('?').next(), Some("/v1/messages"));
                assert_eq!(request.header("x-api-key"), Some(SECRET));
                assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
                assert_eq!(body["max_tokens"], 32_000);
                let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
                assert_eq!(names, ["read", "bash"]);
                assert_eq!(tools[1]["input_schema"]["properties"]["command"]["type"], "string");
                assert_eq!(
                    unmarked(body["messages"].clone()),
                    json!([{ "role": "user", "content": [{ "type": "text", "text": "hello" }] }])
                );
            }
            Api::OpenaiCompletions => {
                assert_eq!(request.path, "/chat/completions");
                assert_eq!(request.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
                assert_eq!(body["max_completion_tokens"], 32_000);
                assert_eq!(body["stream_options"], json!({ "include_usage": true }));
                let names: Vec<_> =
                    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
                assert_eq!(names, ["read", "bash"]);
                assert_eq!(tools[1]["type"], "function");
                assert_eq!(tools[1]["function"]["parameters"]["required"], json!(["command"]));
                assert_eq!(body["messages"][1], json!({ "role": "user", "content": "hello" }));
            }
        }
    }
}

#[test]
fn history_is_sent_with_an_unchanged_prompt() {
    for api in APIS {
        let (server, _workspace, mut agent) = prepare(api);
        server.reply(Reply::text("first answer"));
        server.reply(Reply::text("second answer"));
        agent.run("first");
        agent.run("second");
        let requests = server.requests();
        assert_eq!(system(&requests[0]), system(&requests[1]), "providers cache by the prompt");
        let expected = match api {
            Api::AnthropicMessages => json!([
                { "role": "user", "content": [{ "type": "text", "text": "first" }] },
                { "role": "assistant", "content": [{ "type": "text", "text": "first answer" }] },
                { "role": "user", "content": [{ "type": "text", "text": "second" }] },
            ]),
            Api::OpenaiCompletions => json!([
                { "role": "user", "content": "first" },
                { "role": "assistant", "content": "first answer" },
                { "role": "user", "content": "second" },
            ]),
        };
        assert_eq!(unmarked(messages(&requests[1]).into()), expected);
    }
}

#[test]
fn image_is_sent_in_the_form_of_the_api() {
    for api in APIS {
        let (server, _workspace, mut agent) = prepare(api);
        let image = json!({ "type": "image", "data": PNG, "mimeType": "image/png" });
        agent.carry_out(json!({ "type": "prompt", "message": "what is this?", "images": [image] }));
        agent.collect_until_settled();
        let content = unmarked(messages(&server.requests()[0])[0]["content"].clone());
        let sent = match api {
            Api::AnthropicMessages => {
                json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": PNG } })
            }
            Api::OpenaiCompletions => {
                json!({ "type": "image_url", "image_url": { "url": format!("data:image/png;base64,{PNG}") } })
            }
        };
        assert_eq!(content, json!([{ "type": "text", "text": "what is this?" }, sent]));
    }
}

#[test]
fn tool_results_and_errors_are_sent_with_their_calls() {
    for api in APIS {
        let (server, workspace, mut agent) = prepare(api);
        let _workspace = workspace.file("there.txt", "its content\n");
        server.reply(
            Reply::text("Looking.")
                .tool("read", json!({ "path": "there.txt" }))
                .tool("bash", json!({ "command": "echo oh no; exit 3" }))
                .tool("fly", json!({ "to": "moon" })),
        );
        agent.run("look");
        let sent = unmarked(messages(&server.requests()[1]).into());
        match api {
            Api::AnthropicMessages => {
                let calls = sent[1]["content"].as_array().unwrap();
                assert_eq!(calls[0], json!({ "type": "text", "text": "Looking." }));
                assert_eq!(
                    (&calls[1]["name"], &calls[1]["input"]),
                    (&json!("read"), &json!({ "path": "there.txt" }))
                );
                let results = sent[2]["content"].as_array().unwrap();
                assert_eq!((&sent[2]["role"], results.len()), (&json!("user"), 3));
                for (call, result) in calls[1..].iter().zip(results) {
                    assert_eq!(call["id"], result["tool_use_id"]);
                }
                let errors: Vec<_> = results.iter().map(|result| result["is_error"] == true).collect();
                assert_eq!(errors, [false, true, true]);
                assert_eq!(results[0]["content"][0]["text"], "its content\n");
            }
            Api::OpenaiCompletions => {
                let calls = sent[1]["tool_calls"].as_array().unwrap();
                assert_eq!(sent[1]["content"], "Looking.");
                let arguments = calls[0]["function"]["arguments"].as_str().unwrap();
                assert_eq!(serde_json::from_str::<Value>(arguments).unwrap(), json!({ "path": "there.txt" }));
                for (index, call) in calls.iter().enumerate() {
                    let result = &sent[2 + index];
                    assert_eq!((&result["role"], &result["tool_call_id"]), (&json!("tool"), &call["id"]));
                }
                assert_eq!(sent[2]["content"], "its content\n");
            }
        }
        let text = sent.to_string();
        assert!(
            text.contains("oh no") && text.contains("code 3") && text.contains("no tool named fly"),
            "{text}"
        );
    }
}

#[test]
fn thinking_level_is_requested_in_the_form_of_the_api() {
    for (api, cases) in [
        (
            Api::AnthropicMessages,
            vec![
                ("off", json!({ "type": "disabled" })),
                ("minimal", json!({ "type": "enabled", "budget_tokens": 1024 })),
                ("low", json!({ "type": "enabled", "budget_tokens": 2048 })),
                ("medium", json!({ "type": "enabled", "budget_tokens": 8192 })),
                ("high", json!({ "type": "enabled", "budget_tokens": 16384 })),
            ],
        ),
        (
            Api::OpenaiCompletions,
            vec![
                ("off", Value::Null),
                ("minimal", json!("minimal")),
                ("medium", json!("medium")),
                ("high", json!("high")),
            ],
        ),
    ] {
        let server = ModelServer::start();
        let workspace = Workspace::new(&server, api);
        let mut agent = Launch::rpc(&workspace).model("mock/m2").start();
        let field = if api == Api::AnthropicMessages { "thinking" } else { "reasoning_effort" };
        for (level, expected) in cases {
            agent.carry_out(json!({ "type": "set_thinking_level", "level": level }));
            agent.run("think");
            assert_eq!(server.requests().last().unwrap().body[field], expected, "{} {level}", api.name());
        }
        agent.carry_out(json!({ "type": "set_model", "provider": "mock", "modelId": "m1" }));
        agent.run("do not think");
        assert_eq!(server.requests().last().unwrap().body[field], Value::Null, "m1 does not reason");
    }
}

#[test]
fn thinking_is_returned_to_its_model_and_is_text_for_others() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::new().thinking("a thought").then_text("said"));
    let mut agent = Launch::rpc(&workspace).model("mock/m2:low").start();
    agent.run("one");
    agent.run("two");
    agent.carry_out(json!({ "type": "set_model", "provider": "mock", "modelId": "m1" }));
    agent.run("three");
    let requests = server.requests();
    assert_eq!(
        messages(&requests[1])[1]["content"][0],
        json!({ "type": "thinking", "thinking": "a thought", "signature": "c2lnbmF0dXJl" })
    );
    let kinds: Vec<_> = messages(&requests[2])[1]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["type"].clone())
        .collect();
    assert_eq!(kinds, ["text", "text"]);
}

#[test]
fn cache_is_marked_at_prompt_last_tool_and_last_message() {
    let (server, _workspace, mut agent) = prepare(Api::AnthropicMessages);
    agent.run("one");
    agent.run("two");
    let body = &server.requests()[1].body;
    let mark = json!({ "type": "ephemeral" });
    assert_eq!(body["system"][0]["cache_control"], mark);
    assert_eq!(body["tools"][1]["cache_control"], mark);
    assert_eq!(body["messages"][2]["content"][0]["cache_control"], mark);
    let marks = body.to_string().matches("cache_control").count();
    assert_eq!(marks, 3, "a provider allows four, and one must not move");
}

#[test]
fn usage_and_cost_are_in_the_final_message() {
    for api in APIS {
        let (server, _workspace, mut agent) = prepare(api);
        let usage = Usage { input: 1_000_000, output: 500_000, cache_read: 2_000_000, cache_write: 100_000 };
        server.reply(Reply::text("dear").usage(usage));
        let records = agent.run("spend");
        let answer = announced(&records).pop().unwrap();
        assert_eq!(
            (&answer["api"], &answer["provider"], &answer["model"], &answer["stopReason"]),
            (&json!(api.name()), &json!("mock"), &json!("m1"), &json!("stop"))
        );
        let usage = &answer["usage"];
        let counts = ["input", "output", "cacheRead", "cacheWrite", "totalTokens"];
        assert_eq!(
            counts.map(|name| usage[name].as_u64().unwrap()),
            [1_000_000, 500_000, 2_000_000, 100_000, 3_600_000],
            "{}",
            api.name()
        );
        let costs = ["input", "output", "cacheRead", "cacheWrite", "total"];
        assert_eq!(costs.map(|name| usage["cost"][name].as_f64().unwrap()), [1.0, 1.0, 0.2, 0.125, 2.325]);
    }
}

/// Returns a workspace with a provider whose settings are `fields`.
fn provider(server: &ModelServer, fields: Value) -> Workspace {
    let mut mock =
        json!({ "baseUrl": server.base_url(), "api": "openai-completions", "models": [{ "id": "m1" }] });
    mock.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    Workspace::empty().models(json!({ "providers": { "mock": mock } }))
}

#[test]
fn first_source_with_a_key_takes_precedence() {
    let auth = r#"{"mock":{"type":"api_key","key":"key-of-auth"}}"#;
    let flag = ["--api-key", "key-of-flag"];
    // The provider in models.json, whether auth.json has a key, the flags, and the key that is sent.
    let cases: [(Value, bool, &[&str], Option<&str>); 9] = [
        (json!({ "apiKey": "key-of-models" }), true, &flag, Some("key-of-flag")),
        (json!({ "apiKey": "key-of-models" }), true, &[], Some("key-of-auth")),
        (json!({ "apiKey": "key-of-models" }), false, &[], Some("key-of-models")),
        (json!({ "apiKey": "$NAMED" }), false, &[], Some("key-of-variable")),
        (json!({ "apiKey": "pre-${NAMED}-post" }), false, &[], Some("pre-key-of-variable-post")),
        (json!({ "apiKey": "a$$b" }), false, &[], Some("a$b")),
        (json!({ "apiKey": "!printf 'key-of-command\n'" }), false, &[], Some("key-of-command")),
        (json!({}), false, &[], Some("key-of-environment")),
        (json!({}), false, &flag, Some("key-of-flag")),
    ];
    for (settings, has_auth, arguments, expected) in cases {
        let server = ModelServer::start();
        let mut workspace = provider(&server, settings.clone());
        if has_auth {
            workspace = workspace.home_file(".bowline/auth.json", auth);
        }
        let mut agent = Launch::rpc(&workspace)
            .model("mock/m1")
            .arguments(arguments)
            .environment("NAMED", "key-of-variable")
            .environment("MOCK_API_KEY", "key-of-environment")
            .start();
        agent.run("hello");
        let sent = server.requests()[0].header("authorization").map(ToOwned::to_owned);
        assert_eq!(sent, expected.map(|key| format!("Bearer {key}")), "{settings} {has_auth} {arguments:?}");
    }
}

#[test]
fn builtin_provider_uses_environment_key_and_configured_address() {
    let server = ModelServer::start();
    let workspace =
        Workspace::empty().models(json!({ "providers": { "anthropic": { "baseUrl": server.base_url() } } }));
    let mut agent = Launch::rpc(&workspace)
        .arguments(&["--provider", "anthropic"])
        .environment("ANTHROPIC_API_KEY", "key-of-environment")
        .start();
    let model = agent.get("get_state")["model"].clone();
    assert_eq!((&model["provider"], &model["api"]), (&json!("anthropic"), &json!("anthropic-messages")));
    agent.run("hello");
    let request = &server.requests()[0];
    assert_eq!(request.header("x-api-key"), Some("key-of-environment"));
    assert_eq!(request.body["model"], model["id"]);
}

#[test]
fn login_takes_effect_without_a_restart() {
    let server = ModelServer::start();
    let workspace =
        Workspace::empty().models(json!({ "providers": { "anthropic": { "baseUrl": server.base_url() } } }));
    let mut agent = Launch::rpc(&workspace).model("anthropic/claude-sonnet-4-5").start();
    let error = agent.refuse(json!({ "type": "prompt", "message": "hello" }));
    assert!(error.contains("ANTHROPIC_API_KEY") && error.contains("auth.json"), "{error}");
    let _workspace =
        workspace.home_file(".bowline/auth.json", r#"{"anthropic":{"type":"api_key","key":"key-of-login"}}"#);
    agent.run("hello again");
    assert_eq!(server.requests()[0].header("x-api-key"), Some("key-of-login"));
}

#[test]
fn headers_from_models_json_are_sent() {
    let server = ModelServer::start();
    let workspace = provider(
        &server,
        json!({ "apiKey": "key", "headers": { "X-Team": "agents", "X-Token": "$NAMED", "X-Made": "!echo made" },
            "models": [{ "id": "m1", "headers": { "x-team": "of the model" } }] }),
    );
    let mut agent =
        Launch::rpc(&workspace).model("mock/m1").environment("NAMED", "from the environment").start();
    agent.run("hello");
    let request = &server.requests()[0];
    let sent = ["x-team", "x-token", "x-made"].map(|name| request.header(name).unwrap().to_owned());
    assert_eq!(sent, ["of the model", "from the environment", "made"]);
}

#[test]
fn failed_or_aborted_answer_is_not_sent_again() {
    for api in APIS {
        let (server, _workspace, mut agent) = prepare(api);
        server.reply(Reply::status(400).body(r#"{"error":{"message":"no such thing"}}"#));
        let records = agent.run("one");
        assert_eq!(announced(&records).pop().unwrap()["stopReason"], "error");

        let gate = Gate::new();
        server.reply(Reply::text("half an ans").tool("bash", json!({ "command": "touch ran" })).gate(&gate));
        agent.carry_out(json!({ "type": "prompt", "message": "two" }));
        gate.wait_until_reached(LIMIT);
        agent.carry_out(json!({ "type": "abort" }));
        let records = agent.collect_until_settled();
        assert_eq!(announced(&records).pop().unwrap()["stopReason"], "aborted");

        agent.run("three");
        let sent = messages(&server.requests()[2]);
        assert!(sent.iter().all(|message| message["role"] == "user"), "{sent:?}");
        let text = Value::from(sent).to_string();
        assert!(["one", "two", "three"].iter().all(|prompt| text.contains(prompt)), "{text}");
        assert!(!text.contains("half an ans") && !text.contains("no such thing"), "{text}");
    }
}

#[test]
fn retry_repeats_the_request_without_the_failed_answer() {
    for api in APIS {
        let server = ModelServer::start();
        let workspace = Workspace::new(&server, api).settings(json!({ "retry": { "baseDelayMs": 1 } }));
        let gate = Gate::new();
        server.reply(Reply::text("never heard").gate(&gate).stream_error("overloaded_error"));
        server.reply(Reply::status(503));
        server.reply(Reply::text("at last"));
        server.reply(Reply::text("and on"));
        let mut agent = workspace.start();
        agent.carry_out(json!({ "type": "prompt", "message": "go" }));
        gate.wait_until_reached(LIMIT);
        agent.carry_out(json!({ "type": "bash", "command": "echo meanwhile" }));
        gate.open();
        let records = agent.collect_until_settled();
        let ends: Vec<_> = records.iter().filter(|record| record["type"] == "agent_end").collect();
        let retried: Vec<_> = ends.iter().map(|end| end["willRetry"] == true).collect();
        assert_eq!(retried, [true, true, false]);
        agent.run("more");

        let requests = server.requests();
        assert_eq!(messages(&requests[1]), messages(&requests[2]));
        for request in &requests[1..] {
            assert!(!request.body.to_string().contains("never heard"), "{}", request.body);
        }
        let roles = |agent: &mut Agent| {
            let messages = agent.get("get_messages")["messages"].as_array().unwrap().clone();
            messages.iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let expected = ["user", "bashExecution", "assistant", "user", "assistant"];
        assert_eq!(roles(&mut agent), expected);
        let file = agent.get("get_state")["sessionFile"].as_str().unwrap().to_owned();
        agent.finish();
        let lines = session_lines(&file);
        assert_eq!(types(&lines).iter().filter(|kind| **kind == "context_edit").count(), 2);
        for (index, line) in lines.iter().enumerate().filter(|(_, line)| line["type"] == "context_edit") {
            assert_eq!(line["targetId"], lines[index - 1]["id"]);
            assert_eq!(lines[index - 1]["message"]["stopReason"], "error");
        }
        let mut agent = Launch::rpc(&workspace).arguments(&["--session", &file]).start();
        assert_eq!(roles(&mut agent), expected, "the same after opening the session again");
    }
}
