//! Extensions in one-shot runs: nobody can be asked, and nothing but the answer is on stdout.

use std::fs;

use bowline_testkit::{Reply, Workspace, types};
use serde_json::{Value, json};

use crate::actor::{Actor, hooks};
use crate::{launch, once, parts};

fn request(id: &str, method: &str, params: Value) -> Value {
    json!({ "send": { "type": "request", "id": id, "method": method, "params": params } })
}

/// An extension that asks, shows and says something before the model is called.
fn talkative(workspace: &Workspace) -> Actor {
    let on = json!({
        "hook:input": [
            { "send": { "type": "notify", "method": "ui.notify", "params": { "message": "LOUD" } } },
            request("q", "ui.confirm", json!({ "title": "Sure?" })),
            { "stderr": "noise on stderr\n" },
        ],
        "response:q": [{ "send": { "type": "result", "id": "$id of hook:input" } }],
    });
    Actor::new(workspace, "a", hooks(&["input"]), on)
}

#[test]
fn dialogs_have_their_defaults_and_show_nothing() {
    for (arguments, mode) in [(&["-p", "hi"][..], "print"), (&["--mode", "json", "hi"], "json")] {
        let (server, workspace) = Workspace::with_server();
        let actor = talkative(&workspace);
        server.reply(Reply::text("done"));
        let finished = once(&workspace, arguments);
        assert_eq!((finished.code, finished.stderr.as_str()), (0, ""));
        if mode == "print" {
            assert_eq!(finished.stdout, "done\n");
        } else {
            let records = finished.records();
            assert!(!types(&records).contains(&"extension_ui_request"), "{}", finished.stdout);
        }
        assert!(!finished.stdout.contains("LOUD"));
        let init = actor.wait_for(|record| record["type"] == "init");
        assert_eq!((&init["mode"], &init["hasUI"]), (&json!(mode), &json!(false)));
        let answer = actor.wait_for(|record| record["type"] == "response");
        assert_eq!(answer["result"], false);
    }
}

#[test]
fn commands_of_extensions_run_without_the_model() {
    let (server, workspace) = Workspace::with_server();
    let actor = Actor::new(&workspace, "a", json!({ "commands": [{ "name": "hello" }] }), json!({}));
    let finished = once(&workspace, &["-p", "/hello you"]);
    assert_eq!(parts(&finished), (0, "", ""));
    let command = actor.wait_for(|record| record["type"] == "command");
    assert_eq!((&command["name"], &command["args"]), (&json!("hello"), &json!("you")));
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn runs_that_extensions_start_are_waited_for() {
    let (server, workspace) = Workspace::with_server();
    let on = json!({ "command:go": [
        { "send": { "type": "notify", "method": "session.sendUserMessage", "params": { "content": "work" } } },
        { "send": { "type": "result", "id": "$id" } },
    ] });
    Actor::new(&workspace, "a", json!({ "commands": [{ "name": "go" }] }), on);
    server.reply(Reply::text("worked"));
    let finished = once(&workspace, &["-p", "/go"]);
    assert_eq!(parts(&finished), (0, "worked\n", ""));
}

#[test]
fn flags_of_extensions_are_known_and_others_are_not() {
    let (server, workspace) = Workspace::with_server();
    let registration = json!({ "flags": [{ "name": "depth", "type": "string" }] });
    let actor = Actor::new(&workspace, "a", registration, json!({}));
    server.default_reply(Reply::text("done"));
    let finished = once(&workspace, &["-p", "--depth", "3", "hi"]);
    assert_eq!(parts(&finished), (0, "done\n", ""));
    let state = actor.wait_for(|record| record["patch"]["flags"].is_object());
    assert_eq!(state["patch"]["flags"], json!({ "depth": "3" }));
    for words in [
        &["--planet", "x", "-p", "hi"][..],
        &["--planet=x", "--mode", "json", "hi"],
        &["--planet", "x", "-p"],
        &["--plan", "-p", "hi"],
    ] {
        let finished = launch(&workspace, words).program_name("pi").run();
        assert_eq!(finished.code, 1, "{words:?}");
        let flag = words[0].trim_end_matches("=x");
        let error = format!("Error: Unknown option: {flag}\n");
        assert!(finished.stderr.ends_with(&error), "{}", finished.stderr);
    }
    let finished = once(&workspace, &["--no-themes", "-p", "hi"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (0, "done\n"), "a flag of pi needs no extension");
    assert_eq!(server.requests().len(), 2, "the model is called only for flags that are known");
}

#[test]
fn broken_extension_is_reported_and_the_run_goes_on() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.home_file(".bowline/extensions/broken.py", "raise SystemExit(3)\n");
    server.reply(Reply::text("done"));
    let finished = once(&workspace, &["-p", "hi"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (0, "done\n"));
    assert!(
        finished.stderr.contains("Extension error (") && finished.stderr.contains("broken.py"),
        "{}",
        finished.stderr
    );
}

#[test]
fn calls_that_need_consent_are_refused() {
    let (server, workspace) = Workspace::with_server();
    server.reply(Reply::new().tool("bash", json!({ "command": "touch made" })));
    server.reply(Reply::text("as you like"));
    let finished = once(&workspace, &["-p", "hi", "--ask", "untrusted"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (0, "as you like\n"), "{}", finished.stderr);
    assert!(!workspace.work().join("made").exists());
    assert!(fs::read_dir(workspace.work()).unwrap().next().is_none());
}
