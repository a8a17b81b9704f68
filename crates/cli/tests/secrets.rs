//! No key leaves by another way than the header of a request: not in events, not in files, not on stderr.

#![expect(clippy::unwrap_used, reason = "what helps a test fails it by panicking")]

use std::fs;
use std::path::Path;

use bowline_testkit::{Agent, Api, Launch, ModelServer, Reply, Workspace};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_bowline");
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

/// Returns a workspace and an agent about to be started whose key is in a place.
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
    let mut launch = Launch::new(BINARY, &workspace).arguments(&["--mode", "rpc", "--model", "mock/m1"]);
    match place {
        Place::Variable => launch = launch.environment("MOCK_API_KEY", KEY),
        Place::NamedVariable => launch = launch.environment("NAMED_SECRET", KEY),
        Place::Flag => launch = launch.arguments(&["--api-key", KEY]),
        _ => {}
    }
    (workspace, launch)
}

/// Checks that the key is in nothing that an agent wrote.
#[track_caller]
fn check_nothing_leaked(agent: &Agent, workspace: &Workspace) {
    let said = Value::from(agent.transcript().to_vec()).to_string();
    assert!(!said.contains(KEY), "stdout: {said}");
    assert!(!agent.stderr().contains(KEY), "stderr: {}", agent.stderr());
    let own = ["models.json", "auth.json", "the-key"];
    for file in files(workspace.home()) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let content = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        assert!(own.contains(&name) || !content.contains(KEY), "{}: {content}", file.display());
    }
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_key_is_never_written_wherever_it_comes_from_and_whatever_the_server_says() {
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
            // Even overloaded servers may say too much, and then the text is in the events of the retry.
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
fn a_key_in_a_broken_file_is_not_repeated_in_the_error() {
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
        let mut agent = Agent::start(BINARY, &workspace, &["--mode", "rpc"]);
        let error = agent.fatal_error();
        assert!(error.contains(file), "{content}: {error}");
        assert!(!error.contains(KEY) && !agent.stderr().contains(KEY), "{file} {content}: {error}");
    }
}

#[test]
fn a_key_after_a_mistyped_flag_is_not_repeated() {
    let workspace = Workspace::empty();
    for arguments in [&["--api-kye", KEY][..], &[&format!("--api-kye={KEY}")], &["--apikey", KEY]] {
        let mut agent = Agent::start(BINARY, &workspace, &[&["--mode", "rpc"], arguments].concat());
        agent.get("get_state");
        agent.wait_for_stderr("unknown option");
        check_nothing_leaked(&agent, &workspace);
    }
    let mut agent = Agent::start(BINARY, &workspace, &["--mode", "rpc", "--api-key", KEY]);
    assert!(agent.fatal_error().contains("--api-key needs --model"));
    check_nothing_leaked(&agent, &workspace);
}

#[test]
fn a_key_that_cannot_be_had_is_told_without_its_setting() {
    let server = ModelServer::start();
    let command = format!("!echo {KEY} >&2; echo {KEY}; exit 1");
    let workspace = Workspace::empty().models(json!({ "providers": { "mock": { "baseUrl": server.base_url(),
        "api": "anthropic-messages", "apiKey": command, "models": [{ "id": "m1" }] } } }));
    let mut agent = Agent::start(BINARY, &workspace, &["--mode", "rpc", "--model", "mock/m1"]);
    let records = agent.run("hello");
    let error = records.last().unwrap()["error"].as_str().unwrap().to_owned();
    assert!(error.contains("models.json") && error.contains("command"), "{error}");
    check_nothing_leaked(&agent, &workspace);
    assert!(server.requests().is_empty());
}
