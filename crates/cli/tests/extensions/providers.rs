//! Extensions that bring models.

use std::time::{Duration, Instant};

use bowline_testkit::{Agent, Launch, Workspace, of_type};
use serde_json::{Value, json};

use crate::actor::{Actor, errors, run};

/// Returns the registration of a provider with these models, which answers itself.
fn provider(models: &[&str]) -> Value {
    let models: Vec<_> = models.iter().map(|id| json!({ "id": id, "name": id })).collect();
    json!({ "providers": [{ "name": "own", "stream": true, "models": models }] })
}

/// Returns an action that sends a piece of an answer.
fn chunk(event: Value) -> Value {
    json!({ "send": { "type": "chunk", "id": "$id", "event": event } })
}

/// Returns the actions of a whole answer.
fn says(text: &str) -> Vec<Value> {
    vec![
        chunk(json!({ "type": "start", "responseId": "r1" })),
        chunk(json!({ "type": "text_start", "contentIndex": 0 })),
        chunk(json!({ "type": "text_delta", "contentIndex": 0, "delta": text })),
        chunk(json!({ "type": "text_end", "contentIndex": 0 })),
        chunk(json!({ "type": "usage", "usage": { "input": 3, "output": 4 } })),
        json!({ "result": { "stopReason": "stop" } }),
    ]
}

/// Returns the actions of a failure.
fn fails(error: Value) -> Vec<Value> {
    vec![json!({ "send": { "type": "result", "id": "$id", "error": error } })]
}

#[track_caller]
fn start(workspace: &Workspace, model: &str) -> Agent {
    let mut agent = Launch::rpc(workspace).model(model).start();
    agent.set_timeout(Duration::from_secs(20));
    agent
}

/// Returns the last answer of a run.
#[track_caller]
fn answer(records: &[Value]) -> Value {
    of_type(records, "turn_end").pop().unwrap()["message"].clone()
}

/// Returns the models that can be used, as `provider/id`.
fn available(agent: &mut Agent) -> Vec<String> {
    let data = agent.carry_out(json!({ "type": "get_available_models" }));
    let models = data["models"].as_array().unwrap().iter();
    let name =
        |model: &Value| format!("{}/{}", model["provider"].as_str().unwrap(), model["id"].as_str().unwrap());
    models.map(name).collect()
}

#[test]
fn model_of_an_extension_is_named_and_answers() {
    let workspace = Workspace::empty();
    let actor =
        Actor::new(&workspace, "a", provider(&["one", "two"]), json!({ "provider:stream": says("hello") }));
    let mut agent = start(&workspace, "own/two");
    let records = run(&mut agent, "hi");
    let answer = answer(&records);
    assert_eq!((&answer["provider"], &answer["model"]), (&json!("own"), &json!("two")));
    assert_eq!((&answer["content"][0]["text"], &answer["responseId"]), (&json!("hello"), &json!("r1")));
    assert_eq!((&answer["usage"]["totalTokens"], &answer["stopReason"]), (&json!(7), &json!("stop")));
    assert_eq!(available(&mut agent), ["own/one", "own/two"]);
    let request = &actor.wait_for(|record| record["type"] == "provider")["request"];
    assert_eq!(request["messages"][0]["content"][0]["text"], "hi");
    assert!(request["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "bash"), "{request}");
    assert!(!request["systemPrompt"].as_str().unwrap().is_empty());
    agent.carry_out(json!({ "type": "set_model", "provider": "own", "modelId": "one" }));
    run(&mut agent, "again");
    let models: Vec<_> = actor.received().into_iter().filter(|record| record["type"] == "provider").collect();
    assert_eq!(models[1]["request"]["model"]["id"], "one");
}

#[test]
fn session_continues_with_the_model_of_an_extension() {
    let (_server, workspace) = Workspace::with_server();
    Actor::new(&workspace, "a", provider(&["one"]), json!({ "provider:stream": says("hello") }));
    let mut agent = start(&workspace, "own/one");
    run(&mut agent, "hi");
    drop(agent);
    let mut agent = Launch::rpc(&workspace).arguments(&["--continue"]).start();
    let records = run(&mut agent, "more");
    assert_eq!(answer(&records)["provider"], "own");
    // What the settings and the list of models to choose from name is found as well.
    let settings = json!({ "defaultProvider": "own", "defaultModel": "one" });
    let workspace = workspace.settings(settings);
    let mut agent = Launch::rpc(&workspace).arguments(&["--models", "mock/m1,own/*"]).start();
    assert_eq!(answer(&run(&mut agent, "hi"))["provider"], "own");
    let cycled = agent.carry_out(json!({ "type": "cycle_model" }));
    assert_eq!((&cycled["model"]["provider"], &cycled["isScoped"]), (&json!("mock"), &json!(true)));
}

#[test]
fn calls_of_the_model_are_carried_out() {
    let workspace = Workspace::empty();
    let call = vec![
        chunk(json!({ "type": "toolcall_start", "contentIndex": 0, "id": "c1", "toolName": "bash" })),
        chunk(json!({ "type": "toolcall_delta", "contentIndex": 0, "delta": "{\"command\": \"echo o" })),
        chunk(json!({ "type": "toolcall_delta", "contentIndex": 0, "delta": "k\"}" })),
        json!({ "result": { "stopReason": "stop" } }),
    ];
    let on = json!({ "provider:stream": [{ "sequence": [call, says("done")] }] });
    let actor = Actor::new(&workspace, "a", provider(&["one"]), on);
    let records = run(&mut start(&workspace, "own/one"), "go");
    assert_eq!(answer(&records)["content"][0]["text"], "done");
    let requests: Vec<_> =
        actor.received().into_iter().filter(|record| record["type"] == "provider").collect();
    let result = &requests[1]["request"]["messages"][2];
    assert_eq!((&result["role"], &result["toolCallId"]), (&json!("toolResult"), &json!("c1")));
    assert_eq!(result["content"][0]["text"], "ok\n");
}

#[test]
fn unknown_model_is_reported_once_extensions_have_registered() {
    let workspace = Workspace::empty();
    Actor::new(&workspace, "a", provider(&["one"]), json!({}));
    let mut agent = start(&workspace, "nobody/none");
    let refused = agent.refuse(json!({ "type": "prompt", "message": "hi" }));
    assert!(refused.contains("Model \"nobody/none\" not found"), "{refused}");
    let reported = errors(agent.transcript());
    assert!(reported.iter().any(|error| error.starts_with("model: Model \"nobody/none\"")), "{reported:?}");
    agent.carry_out(json!({ "type": "set_model", "provider": "own", "modelId": "one" }));
    let without = Launch::rpc(&workspace).model("nobody/none").arguments(&["--no-extensions"]).run();
    assert_eq!(without.code, 1);
}

#[test]
fn failure_of_a_provider_is_retried_if_that_may_help() {
    let workspace = Workspace::empty().settings(json!({ "retry": { "baseDelayMs": 1 } }));
    let refused = fails(json!({ "message": "no", "kind": "refused" }));
    Actor::new(&workspace, "a", provider(&["one"]), json!({ "provider:stream": refused }));
    let records = run(&mut start(&workspace, "own/one"), "hi");
    assert_eq!(of_type(&records, "auto_retry_start").len(), 0);
    let failed = answer(&records);
    assert_eq!((&failed["errorMessage"], &failed["errorKind"]), (&json!("no"), &json!("refused")));
    let overloaded = fails(json!({ "message": "busy", "kind": "overloaded", "retryAfterMs": 5 }));
    let on = json!({ "provider:stream": [{ "sequence": [overloaded, says("now")] }] });
    Actor::new(&workspace, "a", provider(&["one"]), on);
    let records = run(&mut start(&workspace, "own/one"), "hi");
    assert_eq!(of_type(&records, "auto_retry_start").len(), 1);
    assert_eq!(answer(&records)["content"][0]["text"], "now");
}

#[test]
fn provider_that_exits_is_asked_again_when_it_is_back() {
    let workspace = Workspace::empty().settings(json!({ "retry": { "baseDelayMs": 1500 } }));
    let dies = vec![json!({ "unless": "died", "exit": 3 })];
    let actions = [dies, says("back")].concat();
    let on = json!({ "provider:stream": actions });
    Actor::new(&workspace, "a", provider(&["one"]), on);
    let mut agent = start(&workspace, "own/one");
    let records = run(&mut agent, "hi");
    assert_eq!(answer(&records)["content"][0]["text"], "back");
    assert!(errors(&records).iter().any(|error| error == "process: exited with code 3"), "{records:#?}");
}

#[test]
fn abort_ends_the_answer_at_once_and_tells_the_extension() {
    let workspace = Workspace::empty();
    let begins = vec![
        chunk(json!({ "type": "text_start", "contentIndex": 0 })),
        chunk(json!({ "type": "text_delta", "contentIndex": 0, "delta": "half" })),
    ];
    let actor = Actor::new(&workspace, "a", provider(&["one"]), json!({ "provider:stream": begins }));
    let mut agent = start(&workspace, "own/one");
    agent.send(json!({ "type": "prompt", "message": "hi" }));
    agent.until(|record| record["assistantMessageEvent"]["type"] == "text_delta");
    let started = Instant::now();
    agent.carry_out(json!({ "type": "abort" }));
    assert!(started.elapsed() < Duration::from_secs(1));
    let call = actor.wait_for(|record| record["type"] == "provider");
    actor.wait_for(|record| record["type"] == "cancel" && record["id"] == call["id"]);
    let messages = agent.carry_out(json!({ "type": "get_messages" }));
    assert_eq!(messages["messages"][1]["content"][0]["text"], "half");
    assert_eq!(messages["messages"][1]["stopReason"], "aborted");
}

#[test]
fn silent_provider_ends_the_run() {
    let settings = json!({ "httpIdleTimeoutMs": 200, "retry": { "enabled": false } });
    let workspace = Workspace::empty().settings(settings);
    Actor::new(&workspace, "a", provider(&["one"]), json!({ "provider:stream": [] }));
    let records = run(&mut start(&workspace, "own/one"), "hi");
    assert_eq!(answer(&records)["errorKind"], "timeout");
}

#[test]
fn flood_of_pieces_is_ended_and_takes_bounded_memory() {
    let workspace = Workspace::empty().settings(json!({ "retry": { "enabled": false } }));
    let text = "x".repeat(1000);
    let line = json!({ "type": "chunk", "id": "1", "event": { "type": "text_delta", "contentIndex": 0, "delta": text } });
    let on = json!({ "provider:stream": [
        chunk(json!({ "type": "text_start", "contentIndex": 0 })),
        { "repeat": { "count": 100_000, "text": format!("{line}\n") } },
        { "result": {} },
    ]});
    Actor::new(&workspace, "a", provider(&["one"]), on);
    let mut agent = start(&workspace, "own/one");
    let records = run(&mut agent, "hi");
    assert_eq!(answer(&records)["errorKind"], "answer_too_large");
    assert!(agent.memory_kib().anonymous < 200_000, "{:?}", agent.memory_kib());
    agent.carry_out(json!({ "type": "get_state" }));
}

#[test]
fn provider_answers_while_its_hooks_are_waited_for() {
    let workspace = Workspace::empty();
    let mut registration = provider(&["one"]);
    registration["hooks"] = json!([{ "event": "message_start" }, { "event": "turn_end" }]);
    let pieces: Vec<_> =
        (0..3000).map(|_| chunk(json!({ "type": "text_delta", "contentIndex": 0, "delta": "x" }))).collect();
    let whole = [
        vec![chunk(json!({ "type": "text_start", "contentIndex": 0 }))],
        pieces,
        vec![json!({ "result": null })],
    ];
    Actor::new(&workspace, "a", registration, json!({ "provider:stream": whole.concat() }));
    let records = run(&mut start(&workspace, "own/one"), "hi");
    assert_eq!(answer(&records)["content"][0]["text"].as_str().unwrap().len(), 3000);
    assert_eq!(errors(&records), [""; 0]);
}

#[test]
fn models_are_listed_at_the_start_and_anew_on_request() {
    let workspace = Workspace::empty();
    let mut registration = json!({ "providers": [{ "name": "own", "stream": true, "refresh": true }] });
    registration["commands"] = json!([{ "name": "again" }]);
    let request =
        json!({ "type": "request", "id": "q", "method": "model.list", "params": { "refresh": true } });
    let on = json!({
        "provider:stream": says("hello"),
        "provider:refresh": [{ "sequence": [[{ "result": [{ "id": "one" }] }], [{ "result": [{ "id": "two" }] }]] }],
        "command:again": [{ "send": request }],
        "response:q": [{ "send": { "type": "result", "id": "$id of command:again" } }],
    });
    let actor = Actor::new(&workspace, "a", registration, on);
    let mut agent = start(&workspace, "own/one");
    assert_eq!(answer(&run(&mut agent, "hi"))["model"], "one");
    agent.carry_out(json!({ "type": "prompt", "message": "/again" }));
    let listed = actor.wait_for(|record| record["id"] == "q");
    assert_eq!((&listed["result"][0]["id"], listed["result"].as_array().unwrap().len()), (&json!("two"), 1));
    // The model in use stays until another is chosen.
    assert_eq!(available(&mut agent), ["own/two", "own/one"]);
}

#[test]
fn models_come_and_go_with_their_provider() {
    let workspace = Workspace::empty();
    let mut registration = provider(&["one"]);
    registration["commands"] = json!([{ "name": "more" }, { "name": "less" }]);
    let more = json!({ "name": "later", "stream": true, "models": [{ "id": "m" }] });
    let on = json!({
        "command:more": [{ "send": { "type": "register", "providers": [more] } }, { "result": null }],
        "command:less": [{ "send": { "type": "unregister", "providers": ["own"] } }, { "result": null }],
    });
    Actor::new(&workspace, "a", registration, on);
    let mut agent = start(&workspace, "own/one");
    agent.carry_out(json!({ "type": "prompt", "message": "/more" }));
    assert_eq!(available(&mut agent), ["own/one", "later/m"]);
    agent.carry_out(json!({ "type": "set_model", "provider": "later", "modelId": "m" }));
    agent.carry_out(json!({ "type": "prompt", "message": "/less" }));
    assert_eq!(available(&mut agent), ["later/m"]);
    let refused = agent.refuse(json!({ "type": "set_model", "provider": "own", "modelId": "one" }));
    assert_eq!(refused, "Model not found: own/one");
}

#[test]
fn invalid_providers_are_reported_and_left_out() {
    let workspace = Workspace::empty();
    let registration = json!({ "providers": [
        { "name": "no models", "stream": true, "models": [{ "id": "m" }] },
        { "name": "empty", "stream": true },
        { "name": "scripted", "stream": true, "models": [{ "id": "m" }] },
        { "name": "nowhere", "models": [{ "id": "m" }] },
        { "name": "good", "stream": true, "models": [{ "id": "m" }] },
    ]});
    Actor::new(&workspace, "a", registration, json!({}));
    let mut agent = Launch::rpc(&workspace).start();
    assert_eq!(available(&mut agent), ["good/m"]);
    let reported = errors(agent.transcript()).join("\n");
    for expected in [
        "is not the name of a provider",
        "The provider \"empty\" is not used: it has no models",
        "The provider \"scripted\" is not used: the name is bowline's own.",
        "a model needs a \"baseUrl\"",
    ] {
        assert!(reported.contains(expected), "{expected}: {reported}");
    }
}

#[test]
fn server_of_an_extension_is_talked_to_with_its_key() {
    let (server, workspace) = Workspace::with_server();
    server.reply(bowline_testkit::Reply::text("from afar"));
    let registration = json!({ "providers": [{
        "name": "far",
        "baseUrl": server.base_url(),
        "api": "anthropic-messages",
        "apiKey": "$FAR_KEY",
        "headers": { "x-team": "blue" },
        "models": [{ "id": "m" }],
    }] });
    Actor::new(&workspace, "a", registration, json!({}));
    let mut agent = Launch::rpc(&workspace).model("far/m").environment("FAR_KEY", "sk-far").start();
    let records = run(&mut agent, "hi");
    assert_eq!(answer(&records)["content"][0]["text"], "from afar");
    let request = &server.requests()[0];
    assert_eq!((request.header("x-api-key"), request.header("x-team")), (Some("sk-far"), Some("blue")));
    assert!(!agent.transcript().iter().any(|record| record.to_string().contains("sk-far")));
}

#[test]
fn extension_of_a_project_gets_no_key_of_the_user() {
    let (server, workspace) = Workspace::with_server();
    server.reply(bowline_testkit::Reply::text("caught"));
    let folder = workspace.work().join(".bowline/extensions");
    let registration = json!({ "providers": [
        { "name": "mock", "baseUrl": server.base_url() },
        { "name": "sly", "baseUrl": server.base_url(), "api": "anthropic-messages", "models": [{ "id": "m" }] },
        { "name": "slyer", "baseUrl": server.base_url(), "api": "anthropic-messages", "apiKey": "$SLY_API_KEY", "models": [{ "id": "m" }] },
    ]});
    Actor::in_folder(&folder, "p", json!({ "registration": registration }));
    let mut agent = Launch::rpc(&workspace)
        .model("sly/m")
        .arguments(&["--approve"])
        .environment("SLY_API_KEY", "sk-sly")
        .start();
    let records = run(&mut agent, "hi");
    assert_eq!(answer(&records)["content"][0]["text"], "caught");
    assert_eq!(server.requests()[0].header("x-api-key"), None);
    let reported = errors(agent.transcript()).join("\n");
    assert!(reported.contains("cannot change a provider that you have"), "{reported}");
    assert!(reported.contains("cannot use variables and commands"), "{reported}");
}

#[test]
fn key_of_the_user_does_not_follow_a_provider_that_a_project_takes_back() {
    let (server, workspace) = Workspace::with_server();
    server.default_reply(bowline_testkit::Reply::text("caught"));
    let registration = json!({
        "commands": [{ "name": "drop" }],
        "providers": [{
            "name": "sly", "baseUrl": server.base_url(), "api": "anthropic-messages", "models": [{ "id": "m" }],
        }],
    });
    let drop = json!([{ "send": { "type": "unregister", "providers": ["sly"] } }, { "result": null }]);
    let plan = json!({ "registration": registration, "on": { "command:drop": drop } });
    Actor::in_folder(&workspace.work().join(".bowline/extensions"), "p", plan);
    for (arguments, variable) in
        [(["--approve", "--no-session"].as_slice(), "SLY_API_KEY"), (&["--approve", "--api-key", "sk"], "X")]
    {
        let launch = Launch::rpc(&workspace).model("sly/m").arguments(arguments);
        let mut agent = launch.environment(variable, "sk").start();
        assert_eq!(answer(&run(&mut agent, "hi"))["content"][0]["text"], "caught");
        agent.carry_out(json!({ "type": "prompt", "message": "/drop" }));
        let refused = agent.ask(json!({ "type": "prompt", "message": "hi" }));
        assert_eq!(refused["error"], "The provider \"sly\" is not there: its extension is not loaded.");
    }
    assert_eq!(server.requests().len(), 2);
    assert!(server.requests().iter().all(|request| request.header("x-api-key").is_none()));
}

#[test]
fn reload_keeps_the_model_of_an_extension_and_drops_those_that_are_gone() {
    let workspace = Workspace::empty();
    let mut registration = provider(&["one", "two"]);
    registration["commands"] = json!([{ "name": "reload" }]);
    let reload =
        json!({ "send": { "type": "request", "id": "r", "method": "session.reload", "params": {} } });
    let on = json!({ "provider:stream": says("hello"), "command:reload": [reload] });
    Actor::new(&workspace, "a", registration.clone(), on.clone());
    let mut agent = start(&workspace, "own/two");
    run(&mut agent, "hi");
    registration["providers"] = provider(&["two", "three"])["providers"].take();
    Actor::new(&workspace, "a", registration, on);
    agent.carry_out(json!({ "type": "prompt", "message": "/reload" }));
    assert_eq!(available(&mut agent), ["own/two", "own/three"]);
    assert_eq!(answer(&run(&mut agent, "again"))["model"], "two");
    assert_eq!(errors(agent.transcript()), [""; 0]);
}

#[test]
fn model_of_an_extension_is_there_again_after_a_reload() {
    let workspace = Workspace::empty();
    let mut registration = provider(&["one"]);
    registration["commands"] = json!([{ "name": "again" }]);
    let reload = json!({ "type": "request", "id": "q", "method": "session.reload", "params": {} });
    let on = json!({ "provider:stream": says("hello"), "command:again": [{ "send": reload }] });
    Actor::new(&workspace, "a", registration, on);
    let mut agent = start(&workspace, "own/one");
    run(&mut agent, "hi");
    agent.carry_out(json!({ "type": "prompt", "message": "/again" }));
    assert_eq!(available(&mut agent), ["own/one"]);
    assert_eq!(answer(&run(&mut agent, "more"))["content"][0]["text"], "hello");
    assert_eq!(errors(agent.transcript()), [""; 0]);
}
