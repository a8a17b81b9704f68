//! Flags and settings that choose a sandbox.

use std::thread;
use std::time::{Duration, Instant};

use bowline_testkit::{Launch, Workspace};
use serde_json::{Value, json};

use crate::workspace;

/// How long a sandbox may take to be made.
const LIMIT: Duration = Duration::from_secs(10);

/// Starts with these settings and arguments, which must fail, and returns the error on stdout.
#[track_caller]
fn refused(settings: Value, arguments: &[&str]) -> String {
    let workspace = Workspace::empty().settings(settings);
    let finished = Launch::rpc(&workspace).arguments(arguments).run();
    assert_ne!(finished.code, 0, "{}", finished.stdout);
    let record: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!((&record["type"], &record["fatal"]), (&json!("error"), &json!(true)));
    let error = record["error"].as_str().unwrap().to_owned();
    assert!(finished.stderr.contains(&error), "{}", finished.stderr);
    error
}

#[test]
fn mistakes_prevent_the_start_and_say_what_is_possible() {
    let sandbox = |settings: Value| json!({ "sandbox": settings });
    for (settings, arguments, expected) in [
        (json!({}), &["--sandbox", "on"][..], "there are read-only, workspace-write, external, full-access"),
        (json!({}), &["--sandbox="], "is not a sandbox mode"),
        (json!({}), &["--network", "none"], "--network none needs --sandbox read-only or workspace-write"),
        (json!({}), &["--writable", "/data"], "--writable needs --sandbox workspace-write"),
        (sandbox(json!({ "network": "none" })), &[], "settings.json: sandbox.network is \"none\", but"),
        (json!({}), &["--sandbox", "read-only", "--network", "lan"], "there are none, allow-list, full"),
        (sandbox(json!({ "mode": "strict" })), &[], "sandbox.mode must be \"read-only\""),
        (sandbox(json!({ "netwrok": "none" })), &[], "did you mean \"sandbox.network\"?"),
        (sandbox(json!({ "environment": { "kep": [] } })), &[], "did you mean \"sandbox.environment.keep\"?"),
        (json!({ "sandbox": "read-only" }), &[], "sandbox must be an object"),
        (sandbox(json!({ "writable": ["cache"] })), &[], "must be an absolute path"),
        (
            json!({}),
            &["--sandbox", "workspace-write", "--writable", "/"],
            "cannot be a folder that tools may write",
        ),
        (json!({}), &["--sandbox", "workspace-write", "--writable", "nowhere"], "it does not exist"),
    ] {
        let error = refused(settings, arguments);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn settings_of_a_project_do_not_choose_a_sandbox() {
    let loose =
        json!({ "sandbox": { "mode": "full-access", "clientMayWiden": true, "unheard": 1 } }).to_string();
    let (_server, workspace) = workspace(&json!({ "mode": "read-only" }));
    let workspace = workspace.file(".bowline/settings.json", &loose).file(".pi/settings.json", &loose);
    let mut agent = Launch::rpc(&workspace).arguments(&["--approve"]).start();
    assert_eq!(agent.get("get_state")["sandbox"]["mode"], "read-only");
}

#[test]
fn flags_take_precedence_over_settings() {
    let (_server, workspace) = workspace(&json!({ "mode": "workspace-write", "network": "full" }));
    let mode = |arguments: &[&str]| {
        let mut agent = Launch::rpc(&workspace).arguments(arguments).start();
        let mut sandbox = agent.get("get_state")["sandbox"].take();
        (sandbox["mode"].take(), sandbox["network"].take())
    };
    assert_eq!(mode(&[]), (json!("workspace-write"), json!("full")));
    assert_eq!(mode(&["--sandbox", "read-only", "--network", "none"]), (json!("read-only"), json!("none")));
    // What clients of other agents pass to have none.
    assert_eq!(mode(&["--sandbox", "off"]), (json!("full-access"), json!("full")));
}

#[test]
fn folders_of_flags_and_settings_can_be_written() {
    let other = tempfile::tempdir_in("/var/tmp").unwrap();
    let (_server, workspace) = workspace(&json!({ "mode": "workspace-write", "writable": [other.path()] }));
    std::fs::create_dir(workspace.home().join("third")).unwrap();
    let mut agent = Launch::rpc(&workspace).arguments(&["--writable", "~/third"]).start();
    let report = agent.get("get_sandbox");
    let writable = report["writable"].as_array().unwrap();
    for folder in [other.path().to_owned(), workspace.home().join("third")] {
        assert!(writable.contains(&json!(folder.canonicalize().unwrap())), "{report}");
    }
    let command = format!("echo x > {}/y && echo ok", other.path().display());
    assert_eq!(agent.carry_out(json!({ "type": "bash", "command": command }))["output"], "ok\n");
}

#[test]
fn sandbox_is_made_with_the_first_call_or_at_once() {
    let (_server, workspace) = workspace(&json!({ "mode": "workspace-write" }));
    let mut agent = Launch::rpc(&workspace).start();
    agent.get("get_state");
    assert_eq!(agent.children(), [0; 0]);
    agent.finish();
    let agent = Launch::rpc(&workspace).arguments(&["--sandbox-eager"]).start();
    let deadline = Instant::now() + LIMIT;
    while agent.children().is_empty() {
        assert!(Instant::now() < deadline, "no process was started: {}", agent.stderr());
        thread::sleep(Duration::from_millis(10));
    }
}
