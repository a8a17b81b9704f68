//! Keys appear only in the headers of requests: not in events, not in files, not on stderr.

use std::fs;
use std::path::Path;

use bowline_testkit::{Agent, Api, Launch, ModelServer, Reply, Workspace, of_type};
use serde_json::{Value, json};

const KEY: &str = "sk-live-0123456789-never-seen";

/// Where a key comes from.
#[derive(Debug, Clone, Copy)]
enum Place {
    ModelsFile,
    Variable,
    NamedVariable,
    Command,
    AuthFile,
    Flag,
    Header,
}

const PLACES: [Place; 7] = [
    Place::ModelsFile,
    Place::Variable,
    Place::NamedVariable,
    Place::Command,
    Place::AuthFile,
    Place::Flag,
    Place::Header,
];

/// Returns a workspace, and an agent about to be started, whose key comes from one source.
fn prepare(server: &ModelServer, api: Api, place: Place) -> (Workspace, Launch) {
    let mut provider = json!({ "baseUrl": server.base_url(), "api": api.name(), "models": [{ "id": "m1" }] });
    match place {
        Place::ModelsFile => provider["apiKey"] = json!(KEY),
        Place::NamedVariable => provider["apiKey"] = json!("$NAMED_SECRET"),
        Place::Command => provider["apiKey"] = json!("!cat ~/the-key"),
        Place::Header => {
            provider["headers"] = json!({ "x-api-key": KEY, "authorization": format!("Bearer {KEY}") });
        }
        Place::Variable | Place::AuthFile | Place::Flag => {}
    }
    let mut workspace = Workspace::empty()
        .models(json!({ "providers": { "mock": provider } }))
        .settings(json!({ "retry": { "baseDelayMs": 1, "maxRetries": 1 } }))
        .home_file("the-key", KEY);
    if let Place::AuthFile = place {
        let auth = json!({ "mock": { "type": "api_key", "key": KEY } });
        workspace = workspace.home_file(".bowline/auth.json", &auth.to_string());
    }
    let mut launch = Launch::rpc(&workspace).model("mock/m1");
    match place {
        Place::Variable => launch = launch.environment("MOCK_API_KEY", KEY),
        Place::NamedVariable => launch = launch.environment("NAMED_SECRET", KEY),
        Place::Flag => launch = launch.arguments(&["--api-key", KEY]),
        _ => {}
    }
    (workspace, launch)
}

/// Checks that the agent wrote the key nowhere.
#[track_caller]
fn check_nothing_leaked(agent: &Agent, workspace: &Workspace) {
    check_hidden(&[KEY], agent, workspace);
}

/// Checks that the agent wrote none of these secrets anywhere.
#[track_caller]
fn check_hidden(secrets: &[&str], agent: &Agent, workspace: &Workspace) {
    let check = |place: &str, text: &str| {
        let found = secrets.iter().find(|secret| text.contains(**secret));
        assert_eq!(found, None, "in {place}: {text}");
    };
    check("stdout", &Value::from(agent.transcript().to_vec()).to_string());
    check("stderr", &agent.stderr());
    let own = ["models.json", "auth.json", "the-key"];
    for file in files(workspace.home()) {
        if !own.contains(&file.file_name().unwrap().to_str().unwrap()) {
            check(&file.display().to_string(), &String::from_utf8_lossy(&fs::read(&file).unwrap()));
        }
    }
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn key_is_never_written_whatever_its_source_or_the_server_response() {
    for api in [Api::AnthropicMessages, Api::OpenaiCompletions] {
        for place in PLACES {
            let server = ModelServer::start();
            let (workspace, launch) = prepare(&server, api, place);
            let mut agent = launch.start();
            for command in ["get_state", "get_available_models", "get_commands", "get_session_stats"] {
                agent.get(command);
            }
            agent.carry_out(json!({ "type": "set_model", "provider": "mock", "modelId": "m1" }));
            let echo = format!(r#"{{"error":{{"type":"x","message":"your key {KEY} is not valid"}}}}"#);
            for reply in [
                Reply::status(401).body(&echo),
                Reply::status(400).body(&format!("Bearer {KEY}")),
                Reply::status(302).header("location", &format!("http://elsewhere/?key={KEY}")),
                Reply::text("so far ").stream_error(&format!("invalid_request_error for {KEY}")),
                Reply::text("all is well"),
            ] {
                server.reply(reply);
                agent.run("hello");
            }
            // The body of an error that is retried appears in the events of the retry.
            server.reply(Reply::status(503).body(&echo));
            server.reply(Reply::status(503).body(&echo));
            agent.run("again");
            agent.get("get_messages");
            agent.get("get_session_stats");

            let used = server.requests();
            assert_eq!(used.len(), 7, "{place:?}");
            let sent = |request: &bowline_testkit::Request| {
                request.headers.iter().any(|(_, value)| value.contains(KEY))
            };
            assert!(used.iter().all(sent), "{place:?}: the key was not sent, so this test shows nothing");
            assert!(used.iter().all(|request| !request.body.to_string().contains(KEY)), "{place:?}");
            agent.close_stdin();
            agent.rest();
            agent.wait();
            check_nothing_leaked(&agent, &workspace);
        }
    }
}

#[test]
fn key_in_a_broken_file_is_not_repeated_in_the_error() {
    for (file, content) in [
        ("models.json", format!(r#"{{"providers":{{"mock":"{KEY}"}}}}"#)),
        ("models.json", format!(r#"{{"providers":{{"mock":{{"apiKey":["{KEY}"]}}}}}}"#)),
        ("models.json", format!(r#"{{"providers":{{"mock":{{"models":"{KEY}"}}}}}}"#)),
        ("models.json", format!("\"{KEY}\"")),
        ("auth.json", format!(r#"{{"anthropic":"{KEY}"}}"#)),
        ("auth.json", format!(r#"{{"anthropic":{{"type":"api_key","kee":"{KEY}"}}}}"#)),
        ("auth.json", format!(r#"{{"{KEY}"#)),
    ] {
        let workspace = Workspace::empty().home_file(&format!(".bowline/{file}"), &content);
        let mut agent = Launch::rpc(&workspace).start();
        let error = agent.fatal_error();
        assert!(error.contains(file), "{content}: {error}");
        assert!(!error.contains(KEY) && !agent.stderr().contains(KEY), "{file} {content}: {error}");
    }
}

#[test]
fn key_after_a_mistyped_flag_is_not_repeated() {
    let workspace = Workspace::empty();
    for arguments in [&["--api-kye", KEY][..], &[&format!("--api-kye={KEY}")], &["--apikey", KEY]] {
        let mut agent = Launch::rpc(&workspace).arguments(arguments).start();
        agent.get("get_state");
        agent.wait_for_stderr("unknown option");
        check_nothing_leaked(&agent, &workspace);
    }
    let mut agent = Launch::rpc(&workspace).arguments(&["--api-key", KEY]).start();
    assert!(agent.fatal_error().contains("--api-key needs --model"));
    check_nothing_leaked(&agent, &workspace);
}

#[test]
fn unresolvable_key_is_reported_without_its_setting() {
    let server = ModelServer::start();
    let command = format!("!echo {KEY} >&2; echo {KEY}; exit 1");
    let workspace = Workspace::empty().models(json!({ "providers": { "mock": { "baseUrl": server.base_url(),
        "api": "anthropic-messages", "apiKey": command, "models": [{ "id": "m1" }] } } }));
    let mut agent = workspace.start();
    let records = agent.run("hello");
    let error = records.last().unwrap()["error"].as_str().unwrap().to_owned();
    assert!(error.contains("models.json") && error.contains("command"), "{error}");
    check_nothing_leaked(&agent, &workspace);
    assert!(server.requests().is_empty());
}

const PASSWORD: &str = "p%40ss-never-seen";
const PARAMETER: &str = "query-never-seen";
/// `me:p@ss-never-seen` in the form of a header.
const BASIC: &str = "bWU6cEBzcy1uZXZlci1zZWVu";
const IN_ADDRESS: [&str; 4] = [PASSWORD, "p@ss-never-seen", PARAMETER, BASIC];

/// Returns an address with secrets, with the host and port of a plain one.
fn with_secrets(base_url: &str) -> String {
    let place = base_url.strip_prefix("http://").unwrap();
    format!("http://me:{PASSWORD}@{place}/below?api_key={PARAMETER}&api-version=v1")
}

/// Returns a workspace whose provider has no key but secrets in its address.
fn at_secret_address(base_url: &str, api: Api) -> Workspace {
    let provider =
        json!({ "baseUrl": with_secrets(base_url), "api": api.name(), "models": [{ "id": "m1" }] });
    Workspace::empty()
        .models(json!({ "providers": { "mock": provider } }))
        .settings(json!({ "retry": { "baseDelayMs": 1, "maxRetries": 1 } }))
}

#[test]
fn secrets_in_an_address_are_used_and_never_written() {
    for api in [Api::AnthropicMessages, Api::OpenaiCompletions] {
        let server = ModelServer::start();
        let workspace = at_secret_address(&server.base_url(), api);
        let recording = workspace.home().join("recording.jsonl");
        let mut agent = Launch::rpc(&workspace)
            .model("mock/unlisted")
            .arguments(&["--record", recording.to_str().unwrap()])
            .start();
        let shown = server.base_url().replace("://", "://***@") + "/below?api_key=***&api-version=v1";
        assert_eq!(agent.get("get_state")["model"]["baseUrl"], shown);
        assert_eq!(agent.get("get_available_models")["models"][0]["baseUrl"], shown);
        agent.run("a model of the same provider that is not in the file");
        agent.carry_out(json!({ "type": "set_model", "provider": "mock", "modelId": "m1" }));
        for reply in [
            Reply::status(401).body(&format!("Basic {BASIC} is not known")),
            Reply::status(400).body(&format!("{} is not here", with_secrets(&server.base_url()))),
            Reply::status(302).header("location", &with_secrets("http://elsewhere")),
            Reply::text("so far ").stream_error(&format!("invalid_request_error for {PARAMETER}")),
            Reply::text("all is well"),
        ] {
            server.reply(reply);
            agent.run("hello");
        }
        let refused = of_type(agent.transcript(), "agent_settled")[1]["error"].as_str().unwrap().to_owned();
        assert!(
            refused.contains("Basic [redacted] is not known (the key came from the base URL)"),
            "{refused}"
        );
        agent.get("get_messages");
        agent.carry_out(json!({ "type": "export_html" }));
        agent.close_stdin();
        agent.rest();
        agent.wait();

        let used = server.requests();
        assert_eq!(used.len(), 6);
        for request in used {
            let path = request.path.split_once("/below/").unwrap().1;
            assert!(path.ends_with(&format!("?api_key={PARAMETER}&api-version=v1")), "{path}");
            assert_eq!(request.header("authorization"), Some(&*format!("Basic {BASIC}")));
        }
        assert!(recording.exists());
        let pages = files(workspace.home());
        assert!(pages.into_iter().any(|file| file.extension().is_some_and(|end| end == "html")));
        check_hidden(&IN_ADDRESS, &agent, &workspace);
    }
}

#[test]
fn unusable_address_is_reported_without_its_secrets() {
    for base_url in [
        format!("ftp://me:{PASSWORD}@127.0.0.1/v1?key={PARAMETER}"),
        format!("http://me:{PASSWORD}/{PARAMETER}@127.0.0.1/v1"),
        format!("me:{PASSWORD}@127.0.0.1/v1"),
        format!("http://me:{PASSWORD}@nonexistent.invalid/v1?key={PARAMETER}"),
        format!("http://me:{PASSWORD}@127.0.0.1:9/v1?key={PARAMETER}"),
    ] {
        let workspace = Workspace::empty()
            .models(json!({ "providers": { "mock": { "baseUrl": base_url, "api": "anthropic-messages",
                "models": [{ "id": "m1" }] } } }))
            .settings(json!({ "retry": { "enabled": false } }));
        let mut agent = workspace.start();
        agent.get("get_state");
        let records = agent.run("hello");
        assert!(records.last().unwrap()["error"].is_string(), "{base_url}");
        check_hidden(&IN_ADDRESS, &agent, &workspace);
    }
}

#[test]
fn key_takes_precedence_over_the_password_in_an_address() {
    let server = ModelServer::start();
    let workspace = at_secret_address(&server.base_url(), Api::OpenaiCompletions);
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--api-key", KEY]).start();
    agent.run("hello");
    assert_eq!(server.requests()[0].header("authorization"), Some(&*format!("Bearer {KEY}")));
}

#[test]
fn model_lists_hide_secrets_in_addresses() {
    let server = ModelServer::start();
    let workspace = at_secret_address(&server.base_url(), Api::OpenaiCompletions);
    let address = with_secrets(&server.base_url());
    for arguments in
        [&["--list-models"][..], &["--list-models", "--json"], &["--list-models", "--local", "--json"]]
    {
        let output = Launch::bowline(&workspace)
            .arguments(arguments)
            .environment("OLLAMA_HOST", &address)
            .environment("AZURE_OPENAI_BASE_URL", &address)
            .environment("LMSTUDIO_BASE_URL", &with_secrets("http://127.0.0.1:9"))
            .run();
        let text = format!("{output:?}");
        assert!(text.contains(if arguments.contains(&"--json") { "***" } else { "mock" }), "{text}");
        assert!(IN_ADDRESS.iter().all(|secret| !text.contains(secret)), "{text}");
    }
    assert_eq!(server.requests()[0].header("authorization"), Some(&*format!("Basic {BASIC}")));
}

#[test]
fn command_that_appears_in_the_key_file_later_is_not_run() {
    let server = ModelServer::start();
    let marker = |workspace: &Workspace| workspace.home().join("marker");
    let entry = |key: &str| json!({ "mock": { "type": "api_key", "key": key } }).to_string();
    let workspace = Workspace::new(&server, Api::AnthropicMessages)
        .home_file(".bowline/auth.json", &entry("plain-key-at-start"))
        .file("other.json", &entry("!touch ~/marker; echo stolen-key"));
    server.reply(Reply::new().tool("bash", json!({ "command": "cp other.json ~/.bowline/auth.json" })));
    let mut agent = workspace.start();
    let records = agent.run("change the key in the middle of a run");
    let error = records.last().unwrap()["error"].as_str().unwrap().to_owned();
    assert!(error.contains("auth.json") && error.contains("restart bowline"), "{error}");
    let refused = agent.refuse(json!({ "type": "prompt", "message": "again" }));
    assert!(refused.contains("restart bowline"), "{refused}");
    assert_eq!(server.requests().len(), 1);
    assert!(!marker(&workspace).exists());

    // A plain key takes effect at once.
    fs::write(workspace.configuration().join("auth.json"), entry("plain-key-of-later")).unwrap();
    agent.run("hello");
    assert_eq!(server.requests()[1].header("x-api-key"), Some("plain-key-of-later"));

    // A command that is there at the start runs.
    fs::write(workspace.configuration().join("auth.json"), entry("!touch ~/marker; echo right-key")).unwrap();
    workspace.start().run("hello");
    assert_eq!(server.requests()[2].header("x-api-key"), Some("right-key"));
    assert!(marker(&workspace).exists());
}

#[test]
fn errors_in_configuration_files_name_the_place_and_an_example() {
    for (file, content, expected) in [
        ("models.json", r#"{"provider": {}}"#, r#"the key "provider" must be written "providers""#),
        (
            "models.json",
            r#"{"providers": {"home": {"api": "openai"}}}"#,
            "providers.home.api: this must be the name of an API (anthropic-messages, openai-completions, openai-responses, ",
        ),
        (
            "models.json",
            r#"{"providers": {"home": {"models": [{"id": "m", "maxTokens": "8k"}]}}}"#,
            r#"providers.home.models[0].maxTokens: this must be a whole number, for example "maxTokens": 8192"#,
        ),
        (
            "auth.json",
            r#"{"groq": {"type": "api_key"}}"#,
            r#"groq: this must be an object with a text as "key", for example "groq": {"type":"api_key","key":"#,
        ),
        ("auth.json", "{\"groq\": {},\n", "this is not JSON at line 2, column 0: "),
    ] {
        let workspace = Workspace::empty().home_file(&format!(".bowline/{file}"), content);
        let error = Launch::rpc(&workspace).start().fatal_error();
        assert!(error.contains(&format!("{file} is not valid: ")) && error.contains(expected), "{error}");
        assert!(!error.contains("struct") && !error.contains("serde"), "{error}");
    }
}

/// Returns a streamed answer over `openai-completions` whose ids, names and reasons hold a text.
fn answer_with(text: &str) -> Reply {
    let chunk = |delta: Value, reason: Value| {
        let choices = json!([{ "index": 0, "delta": delta, "finish_reason": reason }]);
        format!("data: {}\n\n", json!({ "id": format!("resp-{text}"), "model": text, "choices": choices }))
    };
    let call = json!({ "index": 0, "id": format!("call-{text}"),
        "function": { "name": format!("tool-{text}"), "arguments": "{}" } });
    let body = chunk(json!({ "role": "assistant", "tool_calls": [call] }), Value::Null)
        + &chunk(json!({}), json!(format!("tool_calls {text}")))
        + "data: [DONE]\n\n";
    Reply::status(200).header("content-type", "text/event-stream").body(&body)
}

#[test]
fn key_is_masked_in_ids_names_and_reasons_and_in_other_forms() {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD as BASE64;
    const ODD_KEY: &str = "sk-live/01234+56789=never&seen";
    let encoded = "sk-live%2F01234%2B56789%3Dnever%26seen";
    let in_base64 = BASE64.encode(format!("{ODD_KEY}!"));
    let shifted = BASE64.encode(format!("me:{ODD_KEY}"));
    let hidden = [ODD_KEY, encoded, &in_base64[..in_base64.len() - 4], &shifted[4..shifted.len() - 4]];
    let server = ModelServer::start();
    let workspace = Workspace::empty()
        .models(json!({ "providers": { "mock": { "baseUrl": server.base_url(), "api": "openai-completions",
            "apiKey": ODD_KEY, "models": [{ "id": "m1" }] } } }))
        .settings(json!({ "retry": { "enabled": false } }));
    let recording = workspace.home().join("recording.jsonl");
    let mut agent = Launch::rpc(&workspace)
        .model("mock/m1")
        .arguments(&["--record", recording.to_str().unwrap()])
        .start();
    for form in [ODD_KEY, encoded, &in_base64, &shifted] {
        server.reply(answer_with(form));
        server.reply(Reply::text("done"));
        agent.run("hello");
        for reply in [
            Reply::status(400).body(&json!({ "error": { "type": form, "message": form } }).to_string()),
            Reply::status(400).body(&format!("not JSON: {form}")),
            Reply::text("so far ").stream_error(form),
        ] {
            server.reply(reply);
            agent.run("again");
        }
    }
    agent.get("get_messages");
    agent.carry_out(json!({ "type": "export_html" }));
    agent.close_stdin();
    agent.rest();
    agent.wait();
    let called = of_type(agent.transcript(), "tool_execution_start");
    assert!(called.len() == 4 && called[0]["toolName"] == "tool-[redacted]", "{called:?}");
    check_hidden(&hidden, &agent, &workspace);
}

#[test]
fn key_is_masked_before_an_error_is_shortened() {
    for api in [Api::AnthropicMessages, Api::OpenaiCompletions] {
        let server = ModelServer::start();
        let (workspace, launch) = prepare(&server, api, Place::ModelsFile);
        let mut agent = launch.start();
        // Wherever an error is cut, a key lies across that place.
        for shift in 0..KEY.len() {
            let long = format!("{}{KEY}", "x".repeat(2000 - shift));
            let long = format!("{long}{}{KEY}{}", "x".repeat(4000 - shift - long.len()), "x".repeat(2000));
            for reply in [
                Reply::status(400).body(&json!({ "error": { "message": long } }).to_string()),
                Reply::status(400).body(&long),
                Reply::text("so far ").stream_error(&long),
            ] {
                server.default_reply(reply);
                agent.run("hello");
            }
        }
        agent.close_stdin();
        agent.rest();
        agent.wait();
        check_hidden(&[&KEY[..4]], &agent, &workspace);
    }
}
