//! Which model and thinking level are used: flags, settings, commands, and no model at all.

use bowline_testkit::{Agent, Launch, Workspace, keys, session_lines, types};
use serde_json::{Value, json};

/// Returns a workspace with two providers of two models each. No server listens at their addresses.
fn two_providers() -> Workspace {
    let provider = |names: [&str; 2]| {
        json!({ "baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "apiKey": "key-of-provider",
            "models": names.map(|id| json!({ "id": id, "reasoning": id.ends_with('r') })) })
    };
    Workspace::empty()
        .models(json!({ "providers": { "near": provider(["small", "clever"]), "far": provider(["large", "thinker"]) } }))
}

/// Returns `provider/id` and the thinking level of the model in use.
fn in_use(agent: &mut Agent) -> String {
    let state = agent.get("get_state");
    let model = &state["model"];
    let name = format!("{}/{}", model["provider"].as_str().unwrap(), model["id"].as_str().unwrap());
    format!("{name} {}", state["thinkingLevel"].as_str().unwrap())
}

#[test]
fn flags_and_settings_select_the_model() {
    let default =
        json!({ "defaultProvider": "far", "defaultModel": "thinker", "defaultThinkingLevel": "low" });
    let cases: [(&[&str], Value, &str); 14] = [
        (&[], json!({}), "near/small off"),
        (&["--model", "far/large"], json!({}), "far/large off"),
        (&["--model", "FAR/Thinker"], json!({}), "far/thinker medium"),
        (&["--model", "thinker"], json!({}), "far/thinker medium"),
        (&["--model", "think"], json!({}), "far/thinker medium"),
        (&["--model", "thinker:high"], json!({}), "far/thinker high"),
        (&["--model", "thinker:high", "--thinking", "minimal"], json!({}), "far/thinker minimal"),
        (&["--model", "thinker", "--thinking", "max"], json!({}), "far/thinker high"),
        (&["--model", "large", "--thinking", "high"], json!({}), "far/large off"),
        (&["--provider", "far"], json!({}), "far/large off"),
        (&["--provider", "far", "--model", "thinker"], json!({}), "far/thinker medium"),
        (&[], default.clone(), "far/thinker low"),
        (&["--model", "clever"], default, "near/clever low"),
        (&[], json!({ "enabledModels": ["far/*", "near/small"] }), "far/large off"),
    ];
    for (arguments, settings, expected) in cases {
        let workspace = two_providers().settings(settings.clone());
        let mut agent = Launch::rpc(&workspace).arguments(arguments).start();
        assert_eq!(in_use(&mut agent), expected, "{arguments:?} {settings}");
    }
}

#[test]
fn unknown_model_is_a_fatal_error() {
    let workspace = two_providers();
    for (arguments, expected) in [
        (&["--model", "gone"][..], "Model \"gone\" not found"),
        (&["--model", "thinker:enormous"], "\"enormous\""),
        (&["--provider", "nowhere", "--model", "x"], "Unknown provider \"nowhere\""),
        (&["--provider", "nowhere"], "Unknown provider \"nowhere\""),
        (&["--models", "gone"], "Model \"gone\" not found"),
        (&["--models", "nothing*"], "\"nothing*\""),
        (&["--model", "scripted/no-such-file.json"], "no-such-file.json"),
    ] {
        let error = Launch::rpc(&workspace).arguments(arguments).start().fatal_error();
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn unknown_id_of_a_known_provider_is_used_with_a_warning() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = Launch::rpc(&workspace).model("mock/brand-new").start();
    assert_eq!(agent.get("get_state")["model"]["id"], "brand-new");
    agent.wait_for_stderr("brand-new");
    agent.run("hello");
    assert_eq!(server.requests()[0].body["model"], "brand-new");
}

#[test]
fn everything_but_a_prompt_works_without_a_model() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).start();
    let state = agent.get("get_state");
    assert!(!keys(&state).contains(&"model"), "{state}");
    assert_eq!(state["thinkingLevel"], "off");
    assert_eq!(agent.get("get_available_models"), json!({ "models": [] }));
    assert_eq!(agent.get("cycle_model"), Value::Null);
    assert_eq!(agent.get("cycle_thinking_level"), Value::Null);
    assert_eq!(agent.get("get_session_stats")["totalMessages"], 0);
    assert_eq!(agent.carry_out(json!({ "type": "bash", "command": "echo hi" }))["output"], "hi\n");
    let response = agent.ask(json!({ "type": "prompt", "message": "hello" }));
    assert_eq!((&response["success"], &response["code"]), (&json!(false), &json!("no_model")), "{response}");
    let error = response["error"].as_str().unwrap();
    assert!(error.starts_with("No model selected."), "{error}");
    for help in ["ANTHROPIC_API_KEY", "bowline doctor", "--model", "scripted/demo"] {
        assert!(error.contains(help), "{help}: {error}");
    }
    assert_eq!(agent.get("get_state")["isStreaming"], false);
    // Selecting a model is enough.
    agent.carry_out(json!({ "type": "set_model", "provider": "scripted", "modelId": "demo" }));
    agent.carry_out(json!({ "type": "prompt", "message": "hello" }));
    agent.until_type("agent_start");
}

#[test]
fn prompt_without_a_key_is_refused_with_instructions() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).model("groq/llama-3.3-70b-versatile").start();
    assert_eq!(agent.get("get_state")["model"]["provider"], "groq");
    let response = agent.ask(json!({ "type": "prompt", "message": "hello" }));
    assert_eq!((&response["success"], &response["code"]), (&json!(false), &json!("no_credentials")));
    let error = response["error"].as_str().unwrap();
    assert!(error.contains("GROQ_API_KEY") && error.contains("auth.json"), "{error}");
}

#[test]
fn set_model_affects_the_next_call_and_is_saved() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    agent.run("first");
    let data = agent.carry_out(json!({ "type": "set_model", "provider": "mock", "modelId": "m2" }));
    assert_eq!(
        keys(&data),
        [
            "id",
            "name",
            "api",
            "provider",
            "baseUrl",
            "reasoning",
            "input",
            "cost",
            "contextWindow",
            "maxTokens"
        ]
    );
    assert_eq!((&data["id"], &data["reasoning"]), (&json!("m2"), &json!(true)));
    assert_eq!(agent.get("get_state")["model"], data);
    agent.run("second");
    let asked: Vec<_> = server.requests().iter().map(|request| request.body["model"].clone()).collect();
    assert_eq!(asked, ["m1", "m2"]);
    let file = agent.get("get_state")["sessionFile"].as_str().unwrap().to_owned();
    agent.finish();
    let changes: Vec<_> = session_lines(&file)
        .into_iter()
        .filter(|line| line["type"] == "model_change")
        .map(|line| line["modelId"].clone())
        .collect();
    assert_eq!(changes, ["m1", "m2"]);
    let mut agent = Launch::rpc(&workspace).arguments(&["--continue"]).start();
    assert_eq!(agent.get("get_state")["model"]["id"], "m2", "the session's own model");
    agent.finish();
    let mut agent = Launch::rpc(&workspace).arguments(&["--continue", "--model", "mock/m1"]).start();
    assert_eq!(agent.get("get_state")["model"]["id"], "m1", "the new user message comes first");
}

#[test]
fn unusable_model_is_not_set() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    for (provider, id, expected) in [
        ("mock", "m3", "Model not found: mock/m3"),
        ("nowhere", "m1", "Model not found: nowhere/m1"),
        ("groq", "llama-3.3-70b-versatile", "GROQ_API_KEY"),
    ] {
        let error = agent.refuse(json!({ "type": "set_model", "provider": provider, "modelId": id }));
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(agent.get("get_state")["model"]["id"], "m1");
}

#[test]
fn cycle_model_wraps_around() {
    let workspace = two_providers();
    for (arguments, is_scoped, expected) in [
        (&[][..], false, vec!["near/clever off", "far/large off", "far/thinker off", "near/small off"]),
        (
            &["--models", "far/*:low,near/small"],
            true,
            vec!["far/thinker low", "near/small off", "far/large off"],
        ),
        (&["--models", "clever:high,thinker:minimal"], true, vec!["far/thinker minimal", "near/clever high"]),
    ] {
        let mut agent = Launch::rpc(&workspace).arguments(arguments).start();
        for expected in expected {
            let data = agent.get("cycle_model");
            assert_eq!(keys(&data), ["model", "thinkingLevel", "isScoped"]);
            assert_eq!(data["isScoped"], is_scoped);
            let model = &data["model"];
            let name = format!("{}/{}", model["provider"].as_str().unwrap(), model["id"].as_str().unwrap());
            assert_eq!(
                format!("{name} {}", data["thinkingLevel"].as_str().unwrap()),
                expected,
                "{arguments:?}"
            );
            assert_eq!(in_use(&mut agent), expected);
        }
    }
    let mut agent = Launch::rpc(&workspace).arguments(&["--models", "near/small"]).start();
    let response = agent.ask(json!({ "type": "cycle_model" }));
    assert_eq!((&response["success"], response.get("data")), (&json!(true), Some(&Value::Null)));
    assert_eq!(in_use(&mut agent), "near/small off");
}

#[test]
fn available_models_are_listed_without_secrets() {
    let secret = "sk-of-the-listed-provider";
    let workspace = Workspace::empty().models(json!({ "providers": {
        "mock": { "baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "apiKey": secret,
            "headers": { "x-secret": secret }, "models": [{ "id": "m1", "headers": { "x-other": secret },
                "reasoning": true, "thinkingLevelMap": { "max": "max", "minimal": null } }] },
        "empty": { "baseUrl": "http://127.0.0.1:9", "api": "anthropic-messages", "apiKey": "$NOT_SET",
            "models": [{ "id": "unusable" }] },
    } }));
    let mut agent = Launch::rpc(&workspace).start();
    let data = agent.get("get_available_models");
    let models = data["models"].as_array().unwrap();
    assert_eq!(models.len(), 1, "{data}");
    assert!(!data.to_string().contains(secret), "{data}");
    let expected = json!({ "id": "m1", "name": "m1", "api": "openai-completions", "provider": "mock",
        "baseUrl": "http://127.0.0.1:9", "reasoning": true, "input": ["text"],
        "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 },
        "contextWindow": 128_000, "maxTokens": 16_384, "thinkingLevelMap": { "minimal": null, "max": "max" } });
    assert_eq!(models[0], expected);
    assert_eq!(keys(&models[0]), keys(&expected));
}

#[test]
fn thinking_level_event_precedes_the_response_and_only_on_change() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent = Launch::rpc(&workspace).model("mock/m2:medium").start();
    let mut records_of = |command: Value| {
        agent.send(command.clone());
        let records = agent.until(|record| record["type"] == "response");
        assert_eq!(records.last().unwrap()["success"], true, "{command}");
        records
    };
    let set = |level: &str| json!({ "type": "set_thinking_level", "level": level });
    let changed = |level: &str, record: &Value| json!({ "type": "thinking_level_changed", "level": level, "entryId": record["entryId"] });
    let records = records_of(set("low"));
    assert_eq!(types(&records), ["thinking_level_changed", "response"]);
    assert_eq!(records[0], changed("low", &records[0]));
    assert_eq!(records[1].get("data"), None);
    assert_eq!(types(&records_of(set("low"))), ["response"], "nothing changed");
    let records = records_of(set("max"));
    assert_eq!(records[0], changed("high", &records[0]), "the nearest level of the model");
    let records = records_of(json!({ "type": "cycle_thinking_level" }));
    assert_eq!(
        (&records[0], &records[1]["data"]),
        (&changed("off", &records[0]), &json!({ "level": "off" }))
    );
    let records = records_of(json!({ "type": "cycle_thinking_level" }));
    assert_eq!(
        (&records[0], &records[1]["data"]),
        (&changed("minimal", &records[0]), &json!({ "level": "minimal" }))
    );
    let records = records_of(json!({ "type": "get_available_thinking_levels" }));
    assert_eq!(records[0]["data"], json!({ "levels": ["off", "minimal", "low", "medium", "high"] }));
    let records = records_of(json!({ "type": "set_model", "provider": "mock", "modelId": "m1" }));
    assert_eq!(types(&records), ["thinking_level_changed", "response"]);
    let clamped = json!({ "type": "thinking_level_changed", "level": "off" });
    assert_eq!(records[0], clamped, "the file keeps the level that was chosen");
    let records = records_of(json!({ "type": "cycle_thinking_level" }));
    assert_eq!((types(&records), records[0].get("data")), (vec!["response"], Some(&Value::Null)));
    let records = records_of(json!({ "type": "get_available_thinking_levels" }));
    assert_eq!(records[0]["data"], json!({ "levels": ["off"] }));
}

#[test]
fn unknown_thinking_level_is_refused() {
    let (_server, workspace) = Workspace::with_server();
    let mut agent =
        Launch::rpc(&workspace).model("mock/m2:low").arguments(&["--thinking", "very-hard"]).start();
    agent.wait_for_stderr("--thinking very-hard is ignored");
    let error = agent.refuse(json!({ "type": "set_thinking_level", "level": "very hard" }));
    assert!(error.contains("\"level\"") && error.contains("\"xhigh\""), "{error}");
    assert_eq!(agent.get("get_state")["thinkingLevel"], "low");
}

#[test]
fn model_and_level_can_change_during_a_run() {
    let (server, workspace) = Workspace::with_server();
    let gate = bowline_testkit::Gate::new();
    server.reply(
        bowline_testkit::Reply::text("one moment").gate(&gate).tool("bash", json!({ "command": "true" })),
    );
    let mut agent = workspace.start();
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    gate.wait_until_reached(std::time::Duration::from_secs(10));
    agent.carry_out(json!({ "type": "set_model", "provider": "mock", "modelId": "m2" }));
    agent.carry_out(json!({ "type": "set_thinking_level", "level": "high" }));
    gate.open();
    agent.collect_until_settled();
    let requests = server.requests();
    assert_eq!((&requests[0].body["model"], &requests[1].body["model"]), (&json!("m1"), &json!("m2")));
    assert_eq!(requests[1].body["thinking"]["type"], "enabled");
}

#[test]
fn chosen_level_survives_a_model_that_cannot_think() {
    for dialect in ["pi", "omp"] {
        let (_server, workspace) = Workspace::with_server();
        let mut agent = Launch::rpc(&workspace).dialect(dialect).model("mock/m2").start_greeted();
        agent.carry_out(json!({ "type": "set_thinking_level", "level": "high" }));
        let mut level_with = |id: &str| {
            agent.carry_out(json!({ "type": "set_model", "provider": "mock", "modelId": id }));
            agent.get("get_state")["thinkingLevel"].clone()
        };
        assert_eq!(level_with("m1"), "off", "{dialect}");
        assert_eq!(level_with("m2"), "high", "{dialect}");
        for (id, level) in [("m1", "off"), ("m2", "high"), ("m1", "off")] {
            let data = agent.get("cycle_model");
            assert_eq!(
                (&data["model"]["id"], &data["thinkingLevel"]),
                (&json!(id), &json!(level)),
                "{dialect}"
            );
        }
        // As in pi, such a model leaves nothing to choose.
        agent.carry_out(json!({ "type": "set_thinking_level", "level": "low" }));
        assert_eq!(agent.get("get_state")["thinkingLevel"], "off", "{dialect}");
        agent.carry_out(json!({ "type": "set_model", "provider": "mock", "modelId": "m2" }));
        assert_eq!(agent.get("get_state")["thinkingLevel"], "high", "{dialect}");
    }
}

#[test]
fn chosen_level_survives_reopening_the_session() {
    let (_server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(json!({ "defaultThinkingLevel": "low" }));
    let reopened = |level: &str| {
        let mut agent = Launch::rpc(&workspace).arguments(&["--continue"]).start();
        assert_eq!(in_use(&mut agent), "mock/m1 off");
        agent.carry_out(json!({ "type": "set_model", "provider": "mock", "modelId": "m2" }));
        assert_eq!(in_use(&mut agent), format!("mock/m2 {level}"));
    };
    // The only level of a model does not count as a choice.
    let mut agent = Launch::rpc(&workspace).model("mock/m1").start();
    agent.run("hello");
    agent.finish();
    reopened("low");
    let mut agent = Launch::rpc(&workspace).model("mock/m2").start();
    agent.carry_out(json!({ "type": "set_thinking_level", "level": "high" }));
    agent.run("hello");
    agent.carry_out(json!({ "type": "set_model", "provider": "mock", "modelId": "m1" }));
    let file = agent.get("get_state")["sessionFile"].as_str().unwrap().to_owned();
    agent.finish();
    let levels: Vec<_> = session_lines(&file)
        .into_iter()
        .filter(|line| line["type"] == "thinking_level_change")
        .map(|line| line["thinkingLevel"].clone())
        .collect();
    assert_eq!(levels, ["low", "high"]);
    reopened("high");
}

#[test]
fn settings_give_models_levels_and_budgets_of_their_own() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(json!({ "modelThinkingLevels": { "mock/m2": "low" },
        "defaultThinkingLevel": "high", "thinkingBudgets": { "low": 1500, "high": 3000 } }));
    let mut agent = Launch::rpc(&workspace).model("mock/m1").start();
    agent.carry_out(json!({ "type": "set_model", "provider": "mock", "modelId": "m2" }));
    assert_eq!(in_use(&mut agent), "mock/m2 low");
    agent.run("hello");
    agent.carry_out(json!({ "type": "set_thinking_level", "level": "high" }));
    agent.run("hello");
    let sent: Vec<_> =
        server.requests().iter().map(|request| request.body["thinking"]["budget_tokens"].clone()).collect();
    assert_eq!(sent, [1500, 3000]);
    agent.finish();
    let mut agent = Launch::rpc(&workspace).model("mock/m2").start();
    assert_eq!(in_use(&mut agent), "mock/m2 low");
    agent.finish();
    let mut agent = Launch::rpc(&workspace).model("mock/m2:minimal").start();
    assert_eq!(in_use(&mut agent), "mock/m2 minimal", "a named level takes precedence");
}

#[test]
fn blocked_images_are_replaced_by_a_note() {
    let (server, workspace) = Workspace::with_server();
    let models = json!({ "providers": { "mock": { "baseUrl": server.base_url(), "api": "anthropic-messages",
        "apiKey": "a-key", "models": [{ "id": "m1", "input": ["text", "image"] }] } } });
    let workspace =
        workspace.models(models).settings(json!({ "images": { "blockImages": true, "autoResize": false } }));
    let mut agent = workspace.start();
    let image = json!({ "type": "image", "data": PIXEL, "mimeType": "image/png" });
    agent.carry_out(json!({ "type": "prompt", "message": "look", "images": [image] }));
    agent.collect_until_settled();
    let body = server.requests()[0].body.to_string();
    assert!(!body.contains(PIXEL) && !body.contains("base64"), "{body}");
    assert!(body.contains("the settings block images"), "{body}");
}

/// An image of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[test]
fn session_chooses_no_script_and_no_recording() {
    let script = json!({ "steps": [{ "toolCalls": [{ "name": "bash", "arguments": { "command": "touch marker" } }] }] });
    for provider in ["scripted", "replay"] {
        for has_default in [true, false] {
            let (server, workspace) = if has_default {
                Workspace::with_server()
            } else {
                (bowline_testkit::ModelServer::start(), Workspace::empty())
            };
            let workspace = workspace.file("script.json", &script.to_string());
            let path = workspace.work().join("script.json");
            let entry = |id: &str, parent: Value, more: Value| {
                let mut entry =
                    json!({ "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z" });
                entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                entry
            };
            let lines = [
                json!({ "type": "session", "version": 3, "id": "evil", "timestamp": "2026-01-01T00:00:00.000Z",
                    "cwd": workspace.work() }),
                entry(
                    "aaaaaaaa",
                    Value::Null,
                    json!({ "type": "model_change", "provider": provider, "modelId": path }),
                ),
                entry(
                    "bbbbbbbb",
                    json!("aaaaaaaa"),
                    json!({ "type": "message", "message": { "role": "user",
                    "content": [{ "type": "text", "text": "hello" }], "timestamp": 1 } }),
                ),
            ];
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let workspace = workspace.file("evil.jsonl", &text);
            let mut agent = Launch::rpc(&workspace).arguments(&["--session", "evil.jsonl"]).start();
            let state = agent.get("get_state");
            assert_eq!(state["messageCount"], 1, "{state}");
            if has_default {
                assert_eq!(state["model"]["id"], "m1");
                agent.run("go on");
                assert_eq!(server.requests().len(), 1);
            } else {
                assert_eq!(state.get("model"), None);
                assert!(agent.refuse(json!({ "type": "prompt", "message": "go on" })).contains("No model"));
            }
            assert!(!workspace.work().join("marker").exists());
        }
    }
}

#[test]
fn script_or_recording_that_is_no_regular_file_is_refused_at_once() {
    let workspace = Workspace::empty();
    let fifo = workspace.work().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for model in ["scripted/fifo", "replay/fifo", "scripted//dev/zero"] {
        let error = Launch::rpc(&workspace).model(model).start().fatal_error();
        assert!(error.contains("not a regular file"), "{model}: {error}");
    }
    let mut agent = Launch::rpc(&workspace).start();
    agent.carry_out(json!({ "type": "set_model", "provider": "scripted", "modelId": "fifo" }));
    let records = agent.run("hello");
    let error = records.last().unwrap()["error"].as_str().unwrap();
    assert!(error.contains("is a FIFO, not a regular file"), "{error}");
}
