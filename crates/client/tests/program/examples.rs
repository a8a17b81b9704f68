//! The examples run.

use std::io::Write as _;
use std::process::{Command, Stdio};

use bowline_testkit::bowline;
use serde_json::json;

use crate::trial::{Trial, bash};

#[test]
fn chat_answers_each_line_of_its_input() {
    let trial = Trial::new();
    let _ = trial.client(&[bash("echo hi"), json!({ "text": "Hello." })]);
    // Cargo puts examples beside the tests.
    let program = bowline().with_file_name("examples").join("chat");
    let mut chat = Command::new(&program)
        .args(["scripted/script.json"])
        .env("BOWLINE", bowline())
        .env("HOME", trial.workspace.home())
        .env_remove("BOWLINE_HOME")
        .env_remove("PI_CODING_AGENT_DIR")
        .current_dir(trial.workspace.work())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{} cannot be started: {error}", program.display()));
    chat.stdin.take().unwrap().write_all("one\ntwo\n".as_bytes()).unwrap();
    let output = chat.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.matches("[bash]").count(), 2, "{text}");
    assert_eq!(text.matches("Hello.").count(), 2, "{text}");
}

#[test]
fn chat_has_at_most_40_lines() {
    let source = include_str!("../../examples/chat.rs");
    assert!(source.lines().count() <= 40);
}
