//! `bowline auth`, the renewal of logins, and that no key is ever shown.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use bowline_testkit::{Agent, Api, Finished, Launch, ModelServer, Reply, Workspace};
use serde_json::{Value, json};

const KEY: &str = "sk-live-0123456789-never-seen";

/// Runs bowline with a text on stdin. Nothing that it writes may contain the key.
#[track_caller]
fn run(workspace: &Workspace, arguments: &[&str], stdin: &str, variables: &[(&str, &str)]) -> Finished {
    let mut launch = Launch::bowline(workspace).arguments(arguments);
    for (name, value) in variables {
        launch = launch.environment(name, value);
    }
    let finished = launch.run_with_input(stdin);
    assert!(!finished.stdout.contains(KEY), "stdout: {}", finished.stdout);
    assert!(!finished.stderr.contains(KEY), "stderr: {}", finished.stderr);
    finished
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn milliseconds_from_now(milliseconds: i64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    i64::try_from(now).unwrap() + milliseconds
}

#[test]
fn key_is_stored_checked_and_removed() {
    let workspace = Workspace::empty();
    let file = workspace.configuration().join("auth.json");
    let missing = run(&workspace, &["auth", "check", "--provider", "groq", "--json"], "", &[]);
    let record = &missing.records()[0];
    assert_eq!((missing.code, &record["status"], &record["source"]), (1, &json!("missing"), &Value::Null));
    let set = run(&workspace, &["auth", "set", "--provider", "Groq"], &format!("  {KEY}\n"), &[]);
    assert_eq!((set.code, set.stdout.as_str()), (0, "The key of groq is in auth.json.\n"), "{}", set.stderr);
    let stored: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(stored, json!({ "groq": { "type": "api_key", "key": KEY } }));
    assert_eq!(mode(&file), 0o600);
    let ready = run(&workspace, &["auth", "check", "--provider", "groq", "--json"], "", &[]);
    let expected = json!({ "provider": "groq", "status": "ready", "source": "auth.json" });
    assert_eq!((ready.code, &ready.records()[0]), (0, &expected));
    let removed = run(&workspace, &["auth", "remove", "--provider", "groq"], "", &[("GROQ_API_KEY", KEY)]);
    assert_eq!(removed.code, 0);
    assert!(removed.stderr.contains("still a key"), "{}", removed.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap().trim(), "{}");
    assert_eq!(run(&workspace, &["auth", "remove", "--provider", "groq"], "", &[]).code, 1);
}

#[test]
fn keys_are_listed_with_their_sources() {
    let workspace = Workspace::empty()
        .models(json!({ "providers": { "home": { "baseUrl": "http://h", "api": "openai-completions",
            "apiKey": KEY, "models": [{ "id": "m" }] } } }))
        .home_file(".bowline/auth.json", &json!({ "xai": { "type": "api_key", "key": KEY } }).to_string());
    let variables = [("GROQ_API_KEY", KEY)];
    for verb in ["list", "check"] {
        let finished = run(&workspace, &["auth", verb, "--json"], "", &variables);
        let seen: Vec<_> = finished
            .records()
            .iter()
            .map(|record| {
                [&record["provider"], &record["status"], &record["source"]]
                    .map(|text| text.as_str().unwrap().to_owned())
            })
            .collect();
        assert_eq!(
            seen,
            [
                ["home", "ready", "models.json"],
                ["xai", "ready", "auth.json"],
                ["groq", "ready", "environment"]
            ]
        );
        assert_eq!(finished.code, 0);
    }
    let table = run(&workspace, &["auth", "list"], "", &variables).stdout;
    assert!(table.starts_with("provider") && table.contains("GROQ_API_KEY"), "{table}");
}

#[test]
fn expired_and_malformed_keys_are_distinguished() {
    let auth = json!({
        "xai": { "type": "oauth", "access": KEY, "expires": milliseconds_from_now(-1000) },
        "zai": { "type": "api_key", "key": "$NOT_SET" },
        "meta": { "type": "of tomorrow", "key": KEY },
        "anthropic": { "type": "oauth", "access": KEY, "refresh": KEY, "expires": milliseconds_from_now(-1000) },
    });
    let workspace = Workspace::empty().home_file(".bowline/auth.json", &auth.to_string());
    for (provider, status, code) in [
        ("xai", "expired", 1),
        ("zai", "invalid", 1),
        ("meta", "invalid", 1),
        ("anthropic", "expired", 1),
        ("ollama", "ready", 0),
    ] {
        let finished = run(&workspace, &["auth", "check", "--provider", provider, "--json"], "", &[]);
        assert_eq!(
            (finished.records()[0]["status"].as_str(), finished.code),
            (Some(status), code),
            "{provider}"
        );
    }
}

#[test]
fn auth_mistakes_change_nothing_and_give_instructions() {
    let workspace = Workspace::empty();
    for (arguments, stdin, expected) in [
        (&["auth", "set"][..], KEY, "which provider?"),
        (&["auth", "set", "--provider", "nowhere"], KEY, "Unknown provider"),
        (&["auth", "set", "--provider", "groq"], "\n", "no key was given"),
        (&["auth", "set", "groq", KEY], "", "read from stdin"),
    ] {
        let finished = run(&workspace, arguments, stdin, &[]);
        assert_eq!(finished.code, 1);
        assert!(finished.stderr.contains(expected), "{arguments:?}: {}", finished.stderr);
    }
    assert!(!workspace.configuration().join("auth.json").exists());
    assert_eq!(run(&workspace, &["auth"], "", &[]).code, 2);
}

#[test]
fn world_readable_key_file_causes_a_warning() {
    let workspace = Workspace::empty().home_file(".bowline/auth.json", "{}");
    let file = workspace.configuration().join("auth.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let mut agent = Launch::rpc(&workspace).start();
    agent.get("get_state");
    agent.wait_for_stderr("can be read by other users (mode 0644)");
    agent.finish();
    // A file that bowline writes becomes private again.
    run(&workspace, &["auth", "set", "--provider", "groq"], KEY, &[]);
    assert_eq!(mode(&file), 0o600);
    let finished = run(&workspace, &["auth", "list"], "", &[]);
    assert!(!finished.stderr.contains("other users"), "{}", finished.stderr);
}

#[test]
fn auth_check_contacts_the_provider_only_with_online() {
    for (reply, status, code) in [
        (Reply::text("hi"), "ready", 0),
        (Reply::status(401).body(&format!(r#"{{"error":{{"message":"bad key {KEY}"}}}}"#)), "invalid", 1),
        (Reply::status(503), "ready", 1),
    ] {
        let server = ModelServer::start();
        server.default_reply(reply);
        let workspace = Workspace::empty()
            .models(json!({ "providers": { "mock": { "baseUrl": server.base_url(),
            "api": "anthropic-messages", "apiKey": KEY, "models": [{ "id": "m1" }] } } }));
        let offline = run(&workspace, &["auth", "check", "--provider", "mock", "--json"], "", &[]);
        assert_eq!((offline.code, server.requests().len()), (0, 0));
        let online = run(&workspace, &["auth", "check", "--provider", "mock", "--json", "--online"], "", &[]);
        let record = &online.records()[0];
        assert_eq!((online.code, &record["status"]), (code, &json!(status)), "{record}");
        assert_eq!((&record["online"]["model"], &record["online"]["ok"]), (&json!("m1"), &json!(code == 0)));
        let [request] = &server.requests()[..] else { panic!("not one request") };
        assert_eq!(request.body["max_tokens"], 16);
    }
}

/// Returns a workspace with an Anthropic login that expires at a given time, and a token server of the user if there is
/// one.
fn login(server: &ModelServer, expires: i64, tokens: Option<&ModelServer>) -> Workspace {
    let auth = json!({
        "anthropic": { "type": "oauth", "access": "old-access-token", "refresh": "old-refresh-token",
            "expires": expires, "account": "kept" },
        "groq": { "type": "api_key", "key": "another key" },
    });
    let mut provider = json!({ "baseUrl": server.base_url() });
    if let Some(tokens) = tokens {
        let url = format!("{}/v1/messages", tokens.base_url());
        provider["oauth"] = json!({ "tokenUrl": url, "clientId": "my client", "scope": "models" });
    }
    Workspace::empty()
        .models(json!({ "providers": { "anthropic": provider } }))
        .settings(json!({ "retry": { "enabled": false } }))
        .home_file(".bowline/auth.json", &auth.to_string())
}

fn start(workspace: &Workspace) -> Agent {
    Launch::rpc(workspace).model("anthropic/claude-sonnet-5").start()
}

#[test]
fn expired_login_is_refused_without_a_token_server_of_the_user() {
    let server = ModelServer::start();
    let workspace = login(&server, milliseconds_from_now(-1000), None);
    let before = fs::read_to_string(workspace.configuration().join("auth.json")).unwrap();
    let mut agent = start(&workspace);
    let refusal = agent.ask(json!({ "type": "prompt", "message": "hello" }));
    let error = refusal["error"].as_str().unwrap();
    assert!(error.contains("Renew it with the program that made it, or use an API key"), "{error}");
    assert!(error.contains("ANTHROPIC_API_KEY") && !error.contains("token"), "{error}");
    assert!(server.requests().is_empty());
    assert_eq!(fs::read_to_string(workspace.configuration().join("auth.json")).unwrap(), before);
}

#[test]
fn expired_login_is_renewed_and_saved() {
    let (server, tokens) = (ModelServer::start(), ModelServer::start());
    let renewed = json!({ "access_token": "new-access-token", "refresh_token": "new-refresh-token", "expires_in": 3600 });
    tokens.reply(Reply::status(200).body(&renewed.to_string()));
    let workspace = login(&server, milliseconds_from_now(-1000), Some(&tokens));
    let mut agent = start(&workspace);
    agent.run("hello");
    agent.run("again");
    let sent: Vec<_> = server
        .requests()
        .iter()
        .map(|request| request.header("authorization").unwrap_or_default().to_owned())
        .collect();
    assert_eq!(sent, ["Bearer new-access-token"; 2]);
    let [asked] = &tokens.requests()[..] else { panic!("renewed more than once") };
    assert_eq!(
        asked.body,
        "grant_type=refresh_token&refresh_token=old-refresh-token&client_id=my%20client&scope=models"
    );
    let file = workspace.configuration().join("auth.json");
    let stored: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let login = &stored["anthropic"];
    assert_eq!(
        (&login["access"], &login["refresh"]),
        (&json!("new-access-token"), &json!("new-refresh-token"))
    );
    assert_eq!((&login["type"], &login["account"]), (&json!("oauth"), &json!("kept")));
    assert!(login["expires"].as_i64().unwrap() > milliseconds_from_now(3_000_000));
    assert_eq!(stored["groq"]["key"], "another key");
    assert_eq!(mode(&file), 0o600);
    let written = Value::from(agent.transcript().to_vec()).to_string() + &agent.stderr();
    assert!(!written.contains("access-token") && !written.contains("refresh-token"), "{written}");
}

#[test]
fn valid_login_is_used_unchanged() {
    let (server, tokens) = (ModelServer::start(), ModelServer::start());
    let workspace = login(&server, milliseconds_from_now(3_600_000), Some(&tokens));
    start(&workspace).run("hello");
    assert_eq!(server.requests()[0].header("authorization"), Some("Bearer old-access-token"));
    assert!(tokens.requests().is_empty());
}

#[test]
fn failed_login_renewal_ends_the_run_with_instructions() {
    for (reply, expected) in [
        (Reply::status(400).body("old-refresh-token is not valid"), "Log in again"),
        (Reply::status(500), "Try again later"),
        (Reply::status(200).body("{}"), "Log in again"),
    ] {
        let (server, tokens) = (ModelServer::start(), ModelServer::start());
        tokens.default_reply(reply);
        let workspace = login(&server, 1, Some(&tokens));
        let mut agent = start(&workspace);
        let records = agent.run("hello");
        let error = records[records.len() - 1]["error"].as_str().unwrap();
        assert!(error.contains(expected) && !error.contains("refresh-token"), "{error}");
        assert!(server.requests().is_empty());
    }
}

#[test]
fn two_processes_renew_a_login_once() {
    let (server, tokens) = (ModelServer::start(), ModelServer::start());
    let renewed = json!({ "access_token": "new-access-token", "refresh_token": "new-refresh-token", "expires_in": 3600 });
    tokens.reply(Reply::status(200).body(&renewed.to_string()));
    tokens.default_reply(Reply::status(400));
    let workspace = login(&server, 1, Some(&tokens));
    let mut agents = [start(&workspace), start(&workspace)];
    for agent in &mut agents {
        agent.carry_out(json!({ "type": "prompt", "message": "hello" }));
    }
    for agent in &mut agents {
        let records = agent.collect_until_settled();
        assert_eq!(records[records.len() - 1]["error"], Value::Null, "{records:?}");
    }
    assert_eq!(tokens.requests().len(), 1);
}

#[test]
fn recordings_contain_no_key() {
    for api in [Api::AnthropicMessages, Api::OpenaiCompletions] {
        let server = ModelServer::start();
        server.reply(Reply::status(401).body(&format!("your key {KEY} is odd")));
        server.reply(Reply::text(&format!("I know {KEY}")));
        let workspace = Workspace::empty().models(json!({ "providers": { "mock": { "baseUrl": server.base_url(),
            "api": api.name(), "apiKey": KEY, "headers": { "x-more": format!("Bearer {KEY}") }, "models": [{ "id": "m1" }] } } }));
        let file = workspace.home().join("r.jsonl");
        let mut agent =
            Launch::rpc(&workspace).model("mock/m1").arguments(&["--record", file.to_str().unwrap()]).start();
        agent.run("one");
        agent.run("two");
        agent.finish();
        let content = fs::read_to_string(&file).unwrap();
        assert!(!content.contains(KEY), "{content}");
        assert!(content.contains("****"), "{content}");
    }
}
