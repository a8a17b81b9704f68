//! `bowline doctor`.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::{Duration, Instant};

use bowline_testkit::{Finished, Launch, ModelServer, Workspace, bowline};
use serde_json::{Value, json};

#[track_caller]
fn doctor(workspace: &Workspace, words: &[&str]) -> Finished {
    Launch::bowline(workspace).arguments(&["doctor"]).arguments(words).run()
}

/// Returns the findings of a check, each as its state, what is so, and the commands.
fn of(finished: &Finished, check: &str) -> Vec<(String, String, Vec<String>)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let records = finished.records().into_iter().filter(|record| record["check"] == check);
    records
        .map(|record| {
            let commands = record["commands"].as_array().unwrap().iter().map(text).collect();
            (text(&record["state"]), text(&record["what"]), commands)
        })
        .collect()
}

#[track_caller]
fn has(finished: &Finished, check: &str, state: &str, what: &str, command: &str) {
    let findings = of(finished, check);
    let is_wanted = |(found_state, found, commands): &(String, String, Vec<String>)| {
        found_state == state
            && found.contains(what)
            && (command.is_empty() || commands.iter().any(|one| one.contains(command)))
    };
    assert!(findings.iter().any(is_wanted), "{check} {state} {what}: {findings:#?}");
}

#[test]
fn without_a_model_something_is_broken_and_with_one_nothing_is() {
    let empty = Workspace::empty();
    let finished = doctor(&empty, &["--json"]);
    assert_eq!((finished.code, finished.stderr.as_str()), (1, ""));
    has(&finished, "models", "broken", "no model can be used", "bowline auth set --provider anthropic");
    has(&finished, "credentials", "look", "there is no key of any provider", "");
    let (_server, workspace) = Workspace::with_server();
    let finished = doctor(&workspace, &["--json"]);
    assert_eq!(finished.code, 0, "{}", finished.stdout);
    has(&finished, "models", "fine", "a prompt would use mock/m1", "");
    let states = finished.records().iter().filter(|record| record["state"] == "broken").count();
    assert_eq!(states, 0);
    let text = doctor(&workspace, &[]).succeeded();
    assert!(text.contains("fine    models        a prompt would use mock/m1\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100 || line.contains("$ ")), "{text}");
}

#[test]
fn each_problem_is_found_with_what_to_do() {
    let workspace = Workspace::empty()
        .settings(json!({ "maxTurn": 5, "packages": ["npm:missing-package"], "defaultProvider": "mine", "defaultModel": "nope",
            "mcpServers": { "gone": { "command": "no-such-program" }, "odd": { "x": 1 } } }))
        .models(json!({ "providers": { "mine": { "baseUrl": "http://127.0.0.1:9", "api": "openai-completions",
            "models": [{ "id": "m" }] } } }))
        .home_file(".bowline/auth.json", r#"{"groq": {"type": "api_key", "key": "$NOWHERE"}}"#)
        .home_file(".bowline/sessions/x/1.jsonl", "not a session\n")
        .home_file(".bowline/extensions/broken/extension.json", r#"{"name": "broken", "command": ["no-such-program"]}"#)
        .file(".bowline/extensions/evil/extension.json", r#"{"name": "evil", "command": ["touch", "/tmp/evil"]}"#);
    let mode = |path: &str, mode| {
        fs::set_permissions(workspace.configuration().join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("auth.json", 0o644);
    mode("settings.json", 0o666);
    mode("sessions", 0o755);
    let finished = doctor(&workspace, &["--json"]);
    assert_eq!(finished.code, 1);
    for (check, state, what, command) in [
        ("settings", "look", "did you mean \"maxTurns\"?", "bowline help settings"),
        ("settings", "look", "settings.json can be changed by other users", "chmod go-w "),
        ("credentials", "look", "auth.json can be read by other users (mode 0644).", "chmod 600 "),
        ("credentials", "broken", "the variable NOWHERE is not set", "bowline auth set --provider groq"),
        (
            "models",
            "look",
            "the settings name mine/nope, but a prompt would use mine/m",
            "bowline --list-models nope",
        ),
        ("trust", "look", "is not trusted: .bowline/extensions", "bowline trust "),
        ("sessions", "look", "can be entered by other users", "chmod go= "),
        ("sessions", "look", "1 of 1 sessions damaged or unreadable", "bowline sessions fsck"),
        ("extensions", "broken", "broken: ", "bowline extension check "),
        ("extensions", "fine", "evil is not loaded: the project is not trusted", ""),
        (
            "packages",
            "broken",
            "npm:missing-package: it is not installed",
            "bowline install npm:missing-package",
        ),
        ("mcp", "broken", "gone: the program no-such-program is not there", "bowline mcp test gone"),
        ("mcp", "broken", "\"odd\": it needs a command or a url", "bowline mcp list"),
    ] {
        has(&finished, check, state, what, command);
    }
}

#[test]
fn settings_that_prevent_the_start_do_not_prevent_the_report() {
    for (settings, expected) in [
        ("{", "this is not JSON"),
        (r#"{"sandbox": {"network": "none"}}"#, "sandbox.network is \"none\", but"),
        (r#"{"approvals": {"rules": [{"tool": 1}]}}"#, "approvals.rules[0]"),
    ] {
        let workspace = Workspace::empty().home_file(".bowline/settings.json", settings);
        let finished = doctor(&workspace, &["--json"]);
        assert_eq!(finished.code, 1);
        has(&finished, "settings", "broken", expected, "");
        assert!(!of(&finished, "shell").is_empty());
    }
    let workspace = Workspace::empty().home_file(".bowline/models.json", "[]");
    has(&doctor(&workspace, &["--json"]), "models", "broken", "models.json", "");
}

#[test]
fn nothing_of_a_project_runs_and_what_hangs_costs_seconds() {
    let workspace = Workspace::empty()
        .home_file(
            ".bowline/extensions/silent/extension.json",
            r#"{"name": "silent", "command": ["sleep", "1000"]}"#,
        )
        .home_file(".bowline/extensions/gate.ts", "export default function (pi) {}\n")
        .home_file("bin/node", "#!/bin/sh\nexec sleep 1000\n")
        .file(".bowline/extensions/evil/extension.json", r#"{"name": "evil", "command": ["touch", "ran"]}"#)
        .file(".bowline/mcp.json", r#"{"mcpServers": {"evil": {"command": "touch", "args": ["ran"]}}}"#)
        .file("node", "#!/bin/sh\ntouch ran\n");
    for path in [workspace.home().join("bin/node"), workspace.work().join("node")] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let began = Instant::now();
    let path = format!(".:{}:/usr/bin:/bin", workspace.home().join("bin").display());
    let launch = Launch::bowline(&workspace).environment("PATH", &path).environment("NODE_OPTIONS", "");
    let finished = launch.arguments(&["doctor", "--online", "--json"]).run();
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
    assert_eq!(finished.code, 1);
    has(&finished, "extensions", "broken", "silent: has not registered within 5 s", "");
    has(&finished, "node", "broken", "it did not answer within 5 s", "bowline config set nodePath");
    assert!(!workspace.work().join("ran").exists());
}

#[test]
fn network_is_used_only_if_it_is_wanted() {
    let server = ModelServer::start();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let workspace = Workspace::empty()
        .settings(json!({ "mcpServers": { "web": { "url": format!("http://{address}/mcp") } } }))
        .models(json!({ "providers": { "mine": { "baseUrl": server.base_url(), "api": "anthropic-messages",
            "apiKey": "sk-mine", "models": [{ "id": "m" }] } } }));
    let finished = doctor(&workspace, &["--json"]);
    assert_eq!(finished.code, 0, "{}", finished.stdout);
    has(&finished, "mcp", "fine", "web is configured; --online connects to it", "");
    assert!(listener.accept().is_err() && server.requests().is_empty());
    drop(listener);
    let finished = doctor(&workspace, &["--json", "--online"]);
    assert_eq!(finished.code, 1);
    has(&finished, "mcp", "broken", "web: ", "bowline mcp test web");
    assert_eq!(server.requests().len(), 1);
    assert!(
        of(&finished, "credentials").iter().any(|(_, what, _)| what.starts_with("mine")),
        "{}",
        finished.stdout
    );
}

#[test]
fn secrets_are_never_shown() {
    let key = "sk-ant-hunter2hunter2hunter2";
    let workspace = Workspace::empty()
        .settings(json!({ "maxTurns": key }))
        .home_file(
            ".bowline/auth.json",
            &json!({ "anthropic": { "type": "api_key", "key": key } }).to_string(),
        )
        .models(
            json!({ "providers": { "mine": { "baseUrl": format!("http://me:{key}@127.0.0.1:9"), "apiKey": key,
            "api": "openai-completions", "models": [{ "id": "m" }] } } }),
        )
        .home_file(
            ".bowline/mcp.json",
            &json!({ "mcpServers": { "a": { "command": "no-such-program",
            "env": { "X": key } }, "b": { "url": format!("http://me:{key}@127.0.0.1:9/?token={key}") } } })
            .to_string(),
        );
    for words in [&["--json"][..], &[], &["--json", "--model", "mine/m"]] {
        let finished = doctor(&workspace, words);
        let shown = finished.stdout + &finished.stderr;
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn names_in_path_are_explained() {
    let workspace = Workspace::empty().home_file("bin/opi", "#!/bin/sh\n");
    let folder = workspace.home().join("bin");
    fs::set_permissions(folder.join("opi"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink(bowline(), folder.join("pi")).unwrap();
    let launch = |path: &str| {
        let path = format!("{path}:/usr/bin:/bin");
        Launch::bowline(&workspace).environment("PATH", &path).arguments(&["doctor", "--json"]).run()
    };
    let finished = launch(folder.to_str().unwrap());
    has(&finished, "program", "look", "bowline is not in PATH", "export PATH=");
    has(&finished, "program", "fine", "pi in PATH is bowline, in the dialect pi", "");
    has(&finished, "program", "fine", "opi in PATH is another program", "");
    symlink(folder.join("opi"), folder.join("bowline")).unwrap();
    has(&launch(folder.to_str().unwrap()), "program", "look", "bowline in PATH is another one", "");
    fs::remove_file(folder.join("bowline")).unwrap();
    symlink(bowline(), folder.join("bowline")).unwrap();
    assert!(of(&launch(folder.to_str().unwrap()), "program").iter().all(|(state, ..)| state == "fine"));
}
