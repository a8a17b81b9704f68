//! `bowline sandbox run` and `bowline sandbox explain`.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use bowline_testkit::{Finished, Launch, Workspace, bowline};
use serde_json::{Value, json};

use crate::workspace;

#[track_caller]
fn sandbox(workspace: &Workspace, arguments: &[&str]) -> Finished {
    Launch::bowline(workspace).arguments(&["sandbox"]).arguments(arguments).run()
}

#[test]
fn command_is_confined_and_its_exit_code_is_passed_on() {
    let (_server, workspace) = workspace(&json!({}));
    let script = "echo out; echo errors >&2; echo x > inside; echo y > \"$HOME/outside\"; exit 7";
    let finished = sandbox(&workspace, &["run", "--", "sh", "-c", script]);
    assert_eq!(finished.code, 7, "{}", finished.stderr);
    assert!(finished.stdout.starts_with("out\nerrors\n"), "{}", finished.stdout);
    assert!(workspace.work().join("inside").exists());
    assert!(!workspace.home().join("outside").exists());
}

#[test]
fn arguments_reach_the_command_unchanged() {
    let (_server, workspace) = workspace(&json!({}));
    let finished =
        sandbox(&workspace, &["run", "--", "printf", "<%s>", "a b", "it's", "$HOME", "--json", "--"]);
    assert_eq!(
        (finished.code, &*finished.stdout),
        (0, "<a b><it's><$HOME><--json><-->"),
        "{}",
        finished.stderr
    );
}

#[test]
fn environment_is_the_one_that_the_settings_choose() {
    for inherit in ["scrubbed", "core", "all"] {
        let (_server, workspace) = workspace(&json!({ "environment": { "inherit": inherit } }));
        let script = "test -n \"$PATH\" && test -n \"$HOME\" && echo \"found ${SOME_TOKEN-nothing}\"";
        let launch = Launch::bowline(&workspace).environment("SOME_TOKEN", "secret");
        let finished = launch.arguments(&["sandbox", "run", "--", "sh", "-c", script]).run();
        let expected = if inherit == "all" { "found secret\n" } else { "found nothing\n" };
        assert_eq!((finished.code, &*finished.stdout), (0, expected), "{inherit}: {}", finished.stderr);
    }
}

#[test]
fn flags_and_settings_apply() {
    let (_server, workspace) = workspace(&json!({ "mode": "read-only" }));
    assert_ne!(sandbox(&workspace, &["run", "--", "touch", "a"]).code, 0);
    assert_eq!(sandbox(&workspace, &["run", "--sandbox", "workspace-write", "--", "touch", "a"]).code, 0);
    assert!(workspace.work().join("a").exists());
}

#[test]
fn what_bowline_itself_fails_at_is_told_apart_by_the_exit_code() {
    let (_server, workspace) = workspace(&json!({}));
    for (arguments, expected) in [
        (&["run"][..], "which command?"),
        (&["run", "--"], "which command?"),
        (&["run", "ls"], "write -- before the command: bowline sandbox run -- ls"),
        (&["run", "--sandbox", "full-access", "--", "ls"], "full-access does not confine anything"),
        (&["run", "--sandbox", "nope", "--", "ls"], "\"nope\" is not a sandbox mode"),
        (&["run", "--json", "--", "ls"], "--json is not an option of bowline sandbox run"),
        (&["run", "--frobnicate", "--", "ls"], "Unknown option: --frobnicate"),
        (&["run", "--writable", "/nowhere", "--", "ls"], "it does not exist"),
    ] {
        let finished = sandbox(&workspace, arguments);
        assert_eq!((finished.code, &*finished.stdout), (125, ""), "{arguments:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(expected), "{arguments:?}: {}", finished.stderr);
    }
    let broken = Workspace::empty().settings(json!({ "sandbox": { "mood": "read-only" } }));
    assert_eq!(sandbox(&broken, &["run", "--", "true"]).code, 125);
}

#[test]
fn signal_ends_the_command_with_all_it_started() {
    let (_server, workspace) = workspace(&json!({}));
    let script = "sleep 417 & echo started; wait";
    let mut child = Command::new(bowline())
        .args(["sandbox", "run", "--", "sh", "-c", script])
        .current_dir(workspace.work())
        .env("HOME", workspace.home())
        .env("BOWLINE_HOME", workspace.configuration())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "started\n");
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let left = fs::read_dir("/proc").unwrap().flatten().filter(|process| {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        line == b"sleep\x00417\x00"
    });
    assert_eq!(left.count(), 0);
}

#[test]
fn explanation_fits_a_terminal_and_says_what_was_tried() {
    let (_server, workspace) = workspace(&json!({ "mode": "workspace-write" }));
    let workspace = workspace.home_file(".ssh/id_ed25519", "x");
    let text = sandbox(&workspace, &["explain"]).succeeded();
    let work = workspace.work().canonicalize().unwrap();
    assert!(text.contains(&format!("\nMay write\n  {}\n", work.display())), "{text}");
    for part in ["mode     workspace-write", ".ssh", "Proved: ", "file.write", "Not enforced", "To change it"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let has_long_word = |line: &str| line.split_whitespace().any(|word| word.len() > 60);
    for line in text.lines().filter(|line| !has_long_word(line)) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let report: Value =
        serde_json::from_str(&sandbox(&workspace, &["explain", "--json"]).succeeded()).unwrap();
    assert_eq!((&report["mode"], &report["tools"]), (&json!("workspace-write"), &json!("confined")));
}

#[test]
fn explanation_without_a_sandbox_says_how_to_get_one() {
    let text = sandbox(&Workspace::empty(), &["explain"]).succeeded();
    assert!(text.contains("are not confined by bowline (full-access)"), "{text}");
    assert!(text.contains("--sandbox workspace-write"), "{text}");
}

#[test]
fn words_that_are_not_known_are_named() {
    let workspace = Workspace::empty();
    let finished = sandbox(&workspace, &["explian"]);
    assert_eq!(finished.code, 2);
    assert!(finished.stderr.contains("did you mean explain?"), "{}", finished.stderr);
    assert_eq!(sandbox(&workspace, &[]).code, 2);
    let help = Launch::bowline(&workspace).arguments(&["help", "sandbox"]).run().succeeded();
    assert!(help.contains("bowline sandbox run") && help.contains("--network MODE"), "{help}");
    for line in help.lines() {
        assert!(line.chars().count() <= 79, "{line}");
    }
}

/// A rule that closes files to every tool.
fn closed() -> Value {
    json!({ "rules": [{ "tool": "*", "path": "**/.env*", "access": "read", "then": "deny" }] })
}

#[test]
fn command_is_confined_as_in_a_session_with_its_rules_and_its_folder_of_sessions() {
    let workspace = Workspace::empty();
    let sessions = workspace.work().join("kept");
    let workspace = workspace.file(".env", "TOP=secret").file("kept/a.jsonl", "secret").settings(json!({
        "sandbox": { "mode": "workspace-write", "minimum": "landlock" }, "approvals": closed(), "sessionDir": sessions,
    }));
    let finished = sandbox(&workspace, &["run", "--", "sh", "-c", "cat .env kept/a.jsonl; echo end"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert!(!finished.stdout.contains("secret") && finished.stdout.ends_with("end\n"), "{}", finished.stdout);
    let explained = sandbox(&workspace, &["explain", "--json"]).succeeded();
    let explained: Value = serde_json::from_str(&explained).unwrap();
    let mut agent = Launch::rpc(&workspace).arguments(&["--model", "scripted/demo"]).start();
    let report = crate::ask(&mut agent, json!({ "type": "get_sandbox" }));
    assert_eq!(explained["masked"], report["data"]["masked"], "{report}");
    let masked = explained["masked"].to_string();
    assert!(masked.contains(".env") && masked.contains("kept"), "{masked}");
}

#[test]
fn explanation_says_when_the_user_is_asked() {
    let workspace = Workspace::empty().settings(json!({ "approvals": { "ask": "on-request" } }));
    let explained = sandbox(&workspace, &["explain", "--json"]).succeeded();
    assert_eq!(serde_json::from_str::<Value>(&explained).unwrap()["ask"], "on-request");
}

#[test]
fn wrong_rule_stops_run_and_explain_as_it_stops_a_session() {
    let rules = json!({ "rules": [{ "path": "x", "then": "alow" }] });
    let workspace = Workspace::empty().settings(json!({ "approvals": rules }));
    for (arguments, code) in [(&["run", "--", "true"][..], 125), (&["explain"], 1)] {
        let finished = sandbox(&workspace, arguments);
        assert_eq!(finished.code, code, "{}", finished.stderr);
        let expected =
            "settings.json: approvals.rules[0].then must be \"allow\", \"ask\" or \"deny\", not \"alow\"";
        assert!(finished.stderr.contains(expected), "{}", finished.stderr);
    }
}

#[test]
fn rule_that_cannot_be_applied_file_by_file_lets_no_tool_run() {
    let deep = ["d"; 40].join("/");
    let workspace = Workspace::empty()
        .file(&format!("{deep}/.env"), "TOP=secret")
        .settings(json!({ "sandbox": { "minimum": "landlock" }, "approvals": closed() }));
    let finished = sandbox(&workspace, &["run", "--", "cat", &format!("{deep}/.env")]);
    assert!(!finished.stdout.contains("secret"), "{finished:?}");
    assert_eq!(finished.code, 125, "{finished:?}");
    let expected = "the rule for \"**/.env*\" cannot be enforced";
    assert!(finished.stderr.contains(expected), "{}", finished.stderr);
}

#[test]
fn what_was_restored_after_the_command_is_told() {
    let (_server, workspace) = workspace(&json!({}));
    let script = "mkdir .vscode && echo '{}' > .vscode/tasks.json";
    let finished = sandbox(&workspace, &["run", "--", "sh", "-c", script]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert!(!workspace.work().join(".vscode").exists());
    let (_, quarantine) = finished
        .stderr
        .split_once("bowline: .vscode is protected; what the command left is in ")
        .unwrap_or_else(|| panic!("{}", finished.stderr));
    assert!(fs::metadata(quarantine.lines().next().unwrap()).is_ok(), "{quarantine}");
}
