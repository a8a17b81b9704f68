//! `--list-models`, as a table and as JSON, and local model servers.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::thread;

use bowline_testkit::{Finished, Launch, Workspace};
use serde_json::{Value, json};

/// Runs bowline with environment variables; returns its exit code, stdout and stderr.
fn run(workspace: &Workspace, arguments: &[&str], variables: &[(&str, &str)]) -> (i32, String, String) {
    let mut launch = Launch::bowline(workspace).arguments(arguments);
    for (name, value) in variables {
        launch = launch.environment(name, value);
    }
    let Finished { code, stdout, stderr } = launch.run();
    (code, stdout, stderr)
}

fn own_provider() -> Workspace {
    Workspace::empty().models(json!({ "providers": { "home": { "baseUrl": "http://127.0.0.1:9",
        "api": "openai-completions", "models": [{ "id": "big", "contextWindow": 32768, "cost": { "input": 0.5, "output": 1.5 },
            "input": ["text", "image"], "reasoning": true }, { "id": "odd", "api": "pi-messages" }] } } }))
}

#[test]
fn models_are_listed_as_a_table() {
    let workspace = own_provider();
    let (code, stdout, stderr) = run(&workspace, &["--list-models", "home/"], &[]);
    assert_eq!(code, 0, "{stderr}");
    let lines: Vec<Vec<&str>> = stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0][..4], ["provider", "model", "context", "max"]);
    assert_eq!(lines[1], ["home", "big", "33K", "16K", "yes", "yes", "0.50/1.50", "yes"]);
    assert_eq!(lines[2], ["home", "odd", "128K", "16K", "no", "no", "-", "not", "supported:", "pi-messages"]);
    assert!(stderr.contains("2 models, 1 of them with a key"), "{stderr}");
}

#[test]
fn search_filters_the_list_and_keys_are_shown() {
    let workspace = Workspace::empty();
    let (code, all, _) = run(&workspace, &["--list-models"], &[]);
    assert_eq!((code, all.lines().count() > 1300), (0, true));
    let variables = [("ANTHROPIC_API_KEY", "k")];
    let (_, some, _) = run(&workspace, &["--list-models", "sonnet-5", "--provider", "Anthropic"], &variables);
    let keys: Vec<_> = some.lines().skip(1).map(|line| line.split_whitespace().last()).collect();
    assert!(!keys.is_empty() && keys.iter().all(|key| *key == Some("yes")), "{some}");
}

#[test]
fn usable_models_come_first() {
    let workspace = Workspace::empty();
    let variables = [("OPENAI_API_KEY", "k")];
    for arguments in [&["--list-models"][..], &["--list-models", "--json"]] {
        let (_, stdout, _) = run(&workspace, arguments, &variables);
        let kind = |line: &str| match serde_json::from_str::<Value>(line) {
            Ok(model) => (!model["hasKey"].as_bool().unwrap(), !model["supported"].as_bool().unwrap()),
            Err(_) => (!line.ends_with(" yes"), line.contains("not supported")),
        };
        let skipped = usize::from(arguments.len() == 1);
        let kinds: Vec<_> = stdout.lines().skip(skipped).map(kind).collect();
        assert!(kinds.is_sorted(), "{stdout}");
        assert!(!kinds[0].0 && kinds.last().unwrap().0);
    }
}

#[test]
fn names_cannot_break_the_table() {
    let workspace = Workspace::empty()
        .models(json!({ "providers": { "home": { "baseUrl": "http://127.0.0.1:9",
        "api": "openai-completions", "models": [{ "id": "a\nb\u{1b}[2J" }] } } }));
    let (_, stdout, _) = run(&workspace, &["--list-models", "home/"], &[]);
    assert!(stdout.lines().count() == 2 && stdout.contains("home      a b\\u001b[2J"), "{stdout}");
}

#[test]
fn empty_list_is_a_failure_with_a_message() {
    let (code, stdout, stderr) = run(&Workspace::empty(), &["--list-models", "no-such-thing"], &[]);
    assert_eq!((code, stdout.as_str()), (1, ""));
    assert!(stderr.contains("no known model has \"no-such-thing\""), "{stderr}");
}

#[test]
fn json_output_is_one_object_per_line() {
    let (_, stdout, _) = run(&own_provider(), &["--list-models", "home", "--json"], &[]);
    let models: Vec<Value> =
        stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_default()).collect();
    assert_eq!((&models[0]["id"], &models[0]["hasKey"]), (&json!("big"), &json!(true)));
    assert_eq!((&models[1]["id"], &models[1]["supported"]), (&json!("odd"), &json!(false)));
}

/// Starts a server on the loopback interface that lists models; returns its address.
fn model_list(body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap_or_else(|error| panic!("{error}"));
    let address = listener.local_addr().map(|address| address.to_string()).unwrap_or_default();
    thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let mut lines =
                BufReader::new(socket.try_clone().unwrap_or_else(|error| panic!("{error}"))).lines();
            let first = lines.next().and_then(Result::ok).unwrap_or_default();
            while lines.next().and_then(Result::ok).is_some_and(|line| !line.is_empty()) {}
            let is_list = first.starts_with("GET /v1/models ");
            let (status, body) = if is_list { ("200 OK", body) } else { ("404 Not Found", "") };
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = socket.write_all(format!("{head}{body}").as_bytes());
        }
    });
    address
}

const LIST: &str =
    r#"{"object":"list","data":[{"id":"qwen3:8b","object":"model"},{"id":"gemma","max_model_len":8192}]}"#;

#[test]
fn running_servers_are_queried_only_with_local() {
    let host = model_list(LIST);
    let nobody = [
        ("LMSTUDIO_BASE_URL", "http://127.0.0.1:9/v1"),
        ("LLAMACPP_BASE_URL", "http://127.0.0.1:9/v1"),
        ("VLLM_BASE_URL", "http://127.0.0.1:9/v1"),
    ];
    let variables = [&nobody[..], &[("OLLAMA_HOST", host.as_str())]].concat();
    let (code, stdout, stderr) = run(&Workspace::empty(), &["--list-models", "--local"], &variables);
    assert_eq!(code, 0, "{stderr}");
    let lines: Vec<Vec<&str>> = stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[1][..4], ["ollama", "qwen3:8b", "128K", "16K"]);
    assert_eq!(lines[2][..4], ["ollama", "gemma", "8K", "8K"]);
    assert!(stderr.contains("ollama: 2 models at http://127.0.0.1"), "{stderr}");
    assert!(stderr.contains("vllm: nothing answers at http://127.0.0.1:9/v1"), "{stderr}");
    let (code, _, stderr) = run(
        &Workspace::empty(),
        &["--list-models", "--local"],
        &[&nobody[..], &[("OLLAMA_HOST", "127.0.0.1:9")]].concat(),
    );
    assert_eq!(code, 1);
    assert!(stderr.contains("no model server on this machine has a model"), "{stderr}");
}

#[test]
fn models_json_takes_precedence_over_a_running_server() {
    let host = model_list(LIST);
    let workspace = Workspace::empty().models(json!({ "providers": { "ollama": {
        "models": [{ "id": "gemma", "maxTokens": 64, "reasoning": true }],
        "modelOverrides": { "qwen3:8b": { "contextWindow": 4096 } } } } }));
    let variables = [("OLLAMA_HOST", host.as_str())];
    let arguments = ["--list-models", "--local", "--json", "--provider", "ollama"];
    let (_, stdout, _) = run(&workspace, &arguments, &variables);
    let limits: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_default())
        .map(|model: Value| {
            json!([model["id"], model["contextWindow"], model["maxTokens"], model["reasoning"]])
        })
        .collect();
    assert_eq!(limits, [json!(["qwen3:8b", 4096, 16384, false]), json!(["gemma", 8192, 64, true])]);
}

#[test]
fn refused_prompt_names_a_running_local_server() {
    let host = model_list(LIST);
    let workspace = Workspace::empty();
    for (arguments, code) in
        [(&[][..], "no_model"), (&["--model", "groq/openai/gpt-oss-120b"], "no_credentials")]
    {
        let mut agent =
            Launch::rpc(&workspace).arguments(arguments).environment("OLLAMA_HOST", &host).start();
        let response = agent.ask(json!({ "type": "prompt", "message": "hello" }));
        assert_eq!((&response["success"], &response["code"]), (&json!(false), &json!(code)), "{response}");
        let error = response["error"].as_str().unwrap_or_default();
        let expected = format!(
            "A local model server is running (ollama at http://{host}/v1) with ollama/qwen3:8b, ollama/gemma: use it with --model ollama/qwen3:8b"
        );
        assert!(error.contains(&expected), "{error}");
        agent.finish();
    }
}

#[test]
fn refused_prompt_is_answered_at_end_of_stdin() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).start();
    agent.send(json!({ "id": "1", "type": "prompt", "message": "hello" }));
    agent.close_stdin();
    assert_eq!(agent.response("1")["success"], false);
    assert_eq!(agent.wait(), 0);
}

#[test]
fn local_model_needs_neither_list_nor_key() {
    let workspace = Workspace::empty();
    let mut agent =
        Launch::rpc(&workspace).model("ollama/qwen3:8b").environment("OLLAMA_HOST", "127.0.0.1:9").start();
    let model = agent.get("get_state")["model"].clone();
    assert_eq!((&model["provider"], &model["id"]), (&json!("ollama"), &json!("qwen3:8b")));
    assert_eq!(model["baseUrl"], "http://127.0.0.1:9/v1");
    agent.carry_out(json!({ "type": "set_auto_retry", "enabled": false }));
    let records = agent.run("hello");
    let error = records[records.len() - 1]["error"].as_str().unwrap_or_default();
    assert!(error.contains("127.0.0.1:9 refused the connection") && error.contains("is running"), "{error}");
    assert!(!agent.stderr().contains("not found"), "{}", agent.stderr());
}
