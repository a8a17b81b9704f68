//! Rules: what is refused and asked about, and what keeps bowline from starting.

use bowline_testkit::{Launch, Reply, Workspace, of_type};
use serde_json::{Value, json};

use crate::{asking, dialog, prompt, results};

#[expect(clippy::needless_pass_by_value, reason = "a test reads better without the reference")]
fn rules(rules: Value) -> Value {
    json!({ "approvals": { "rules": rules } })
}

#[test]
fn what_would_be_asked_about_is_refused_if_the_user_is_never_asked() {
    let settings = rules(json!([
        { "prefix": ["touch", "asked"], "then": "ask", "why": "It is big." },
        { "prefix": ["touch", "denied"], "then": "deny", "why": "It is bad." },
    ]));
    let (server, workspace, mut agent) =
        asking("never", settings, &["touch asked", "touch denied", "touch free"]);
    prompt(&mut agent);
    let records = agent.collect_until_settled();
    assert!(of_type(&records, "extension_ui_request").is_empty());
    let results = results(&records);
    assert!(results[0].contains("the user is never asked: It is big."), "{results:?}");
    assert!(results[1].contains("A rule of the user forbids this call: It is bad."), "{results:?}");
    let told = server.requests()[1].body.to_string();
    assert!(told.contains("It is big.") && told.contains("It is bad."));
    let exists = |name: &str| workspace.work().join(name).exists();
    assert_eq!([exists("asked"), exists("denied"), exists("free")], [false, false, true]);
}

#[test]
fn sixty_parts_wrappers_and_text_that_is_not_plain_are_asked_about() {
    let parts = format!("{} && touch ran", vec!["true"; 60].join(" && "));
    for command in [
        parts.as_str(),
        "sudo -n env A=b nice timeout 5 sh -c 'touch ran'",
        "x=$(touch ran)",
        "for i in 1; do touch ran; done",
        "eval \"touch ran\"",
    ] {
        let settings = rules(json!([{ "prefix": ["touch"], "then": "ask" }]));
        let (_server, workspace, mut agent) = asking("on-request", settings, &[command]);
        prompt(&mut agent);
        let question = dialog(&mut agent);
        assert!(question["message"].as_str().unwrap().contains("touch ran"), "{command}");
        crate::confirm(&mut agent, &question, false);
        agent.collect_until_settled();
        assert!(!workspace.work().join("ran").exists(), "{command}");
    }
}

#[test]
fn path_rules_hold_for_the_file_tools() {
    let (server, workspace) = Workspace::with_server();
    let settings = rules(
        json!([{ "tool": "*", "path": "**/.env*", "then": "deny", "match": ["a/.env", ".env.local"] }]),
    );
    let workspace = workspace.settings(settings).file(".env", "SECRET").file("link/x", "");
    std::os::unix::fs::symlink(workspace.work().join(".env"), workspace.work().join("harmless")).unwrap();
    server.reply(
        Reply::new().tool("read", json!({ "path": ".env" })).tool("read", json!({ "path": "harmless" })),
    );
    server.reply(Reply::text("done"));
    let records = workspace.start().run("go");
    let results = results(&records);
    assert!(results.iter().all(|result| result.contains("A rule of the user forbids")), "{results:?}");
}

/// Starts bowline with a wrong configuration and returns what it says on stderr.
#[track_caller]
fn refused(workspace: &Workspace) -> String {
    let finished = Launch::rpc(workspace).model("mock/m1").run_with_input("");
    assert_ne!(finished.code, 0, "{finished:?}");
    finished.stderr
}

#[test]
fn wrong_rules_and_unknown_keys_keep_it_from_starting() {
    for (settings, expected) in [
        (
            rules(json!([{ "prefix": ["git"], "then": "allow", "notMatch": ["git push"] }])),
            "in \"notMatch\" fails: the rule matches it",
        ),
        (
            rules(json!([{ "prefix": ["git"], "then": "allow", "math": [] }])),
            "approvals.rules[0].math is not known",
        ),
        (rules(json!(["git"])), "approvals.rules must be a list of objects"),
        (
            json!({ "approvals": { "rule": [] } }),
            "\"approvals.rule\" is not a setting; did you mean \"approvals.rules\"?",
        ),
        (json!({ "approvals": { "ask": "always" } }), "approvals.ask must be"),
    ] {
        let (_server, workspace) = Workspace::with_server();
        let stderr = refused(&workspace.settings(settings.clone()));
        assert!(stderr.contains(expected), "{settings}: {stderr}");
    }
}

#[test]
fn broken_file_of_approvals_keeps_it_from_starting_and_stays_as_it_is() {
    for broken in ["{", "[]", r#"{"version":1,"projects":{"/p":{"rules":[{"then":"allow"}]}}}"#] {
        let (_server, workspace) = Workspace::with_server();
        let file = workspace.configuration().join("approvals.json");
        std::fs::create_dir_all(workspace.configuration()).unwrap();
        std::fs::write(&file, broken).unwrap();
        let stderr = refused(&workspace);
        assert!(stderr.contains("approvals.json") && stderr.contains("Mend or remove the file"), "{stderr}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), broken);
    }
}

#[test]
fn unknown_mode_is_refused() {
    let (_server, workspace) = Workspace::with_server();
    let finished = Launch::rpc(&workspace).arguments(&["--ask", "sometimes"]).run_with_input("");
    assert!(
        finished.stderr.contains("--ask: it must be never, on-request or untrusted, not \"sometimes\""),
        "{}",
        finished.stderr
    );
    let finished = Launch::rpc(&workspace).arguments(&["--ask", ""]).run_with_input("");
    assert!(finished.stderr.contains("--ask: it must be never"), "{}", finished.stderr);
    assert_ne!(finished.code, 0);
}

#[test]
fn way_out_of_the_sandbox_does_not_exist_without_one() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::new().tool("bash", json!({ "command": "touch ran", "unsandboxed": "because" })));
    server.reply(Reply::text("done"));
    let mut agent = crate::start(&workspace, "on-request");
    let records = agent.run("go");
    assert!(results(&records)[0].contains("there is no sandbox"), "{:?}", results(&records));
    assert!(!workspace.work().join("ran").exists());
    assert!(!server.requests()[0].body.to_string().contains("unsandboxed"));
}

#[test]
fn path_rules_hold_for_what_is_named_through_a_link() {
    let (server, workspace) = Workspace::with_server();
    let settings = rules(json!([
        { "tool": "*", "path": "~/keys/**", "then": "deny" },
        { "tool": "*", "path": "slink/**", "then": "deny" },
    ]));
    let workspace = workspace.settings(settings).file("secret/a", "SECRET");
    std::fs::create_dir_all(workspace.home().join("keys")).unwrap();
    std::fs::write(workspace.home().join("keys/id"), "SECRET").unwrap();
    std::os::unix::fs::symlink("secret", workspace.work().join("slink")).unwrap();
    let home = workspace.home().join("another-name");
    std::os::unix::fs::symlink(workspace.home(), &home).unwrap();
    let real = workspace.home().canonicalize().unwrap().join("keys/id");
    server.reply(
        ["secret/a".to_owned(), "slink/a".to_owned(), "~/keys/id".to_owned(), real.display().to_string()]
            .into_iter()
            .fold(Reply::new(), |reply, path| reply.tool("read", json!({ "path": path }))),
    );
    server.reply(Reply::text("done"));
    let mut agent =
        Launch::rpc(&workspace).model("mock/m1").environment("HOME", &home.display().to_string()).start();
    let results = results(&agent.run("go"));
    assert_eq!(results.len(), 4);
    assert!(results.iter().all(|result| result.contains("A rule of the user forbids")), "{results:?}");
}

#[test]
fn searches_leave_out_files_that_a_rule_forbids_to_read() {
    let (server, workspace) = Workspace::with_server();
    let settings = rules(json!([
        { "tool": "*", "path": "**/.env*", "access": "read", "then": "deny" },
        { "tool": "*", "path": "keys/", "then": "deny" },
    ]));
    let workspace = workspace.settings(settings);
    let workspace = workspace.file("sub/.env", "TOKEN=1").file("keys/a", "TOKEN=2").file("b", "TOKEN=3");
    server.reply(
        Reply::new()
            .tool("grep", json!({ "pattern": "TOKEN" }))
            .tool("find", json!({ "pattern": "*" }))
            .tool("ls", json!({ "path": "sub" })),
    );
    server.reply(Reply::text("done"));
    let launch = Launch::rpc(&workspace).model("mock/m1").arguments(&["--tools", "grep,find,ls"]);
    let records = launch.start().run("go");
    let found = results(&records);
    assert_eq!(found.len(), 3);
    for text in &found {
        assert!(!["TOKEN=1", "TOKEN=2", ".env", "keys"].iter().any(|closed| text.contains(closed)), "{text}");
        assert!(text.contains("left out"), "{text}");
    }
    assert!(found.iter().any(|text| text.contains("b:1: TOKEN=3")), "{found:?}");
}

#[test]
fn tool_that_looks_like_another_is_warned_of() {
    let (_server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(rules(json!([
        { "tool": ["bsh", "deploy"], "then": "deny" },
        { "tool": "wirte", "path": "a", "then": "deny" },
    ])));
    let finished = Launch::rpc(&workspace).model("mock/m1").run_with_input("");
    assert_eq!(finished.code, 0, "an extension may have such a tool: {finished:?}");
    let expected = "approvals.rules[0]: no tool named bsh is built in; did you mean bash?";
    assert!(finished.stderr.contains(expected), "{}", finished.stderr);
    assert!(finished.stderr.contains("did you mean write?") && !finished.stderr.contains("deploy"));
}
