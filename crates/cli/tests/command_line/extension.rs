//! `bowline extension`.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use bowline_testkit::bowline;
use serde_json::Value;

fn extension(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(bowline());
    command.env("BOWLINE_HOME", folder.join("home")).current_dir(folder);
    command.arg("extension").args(words).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs the program that a manifest names with some records, and returns what it sends.
fn talk(folder: &Path, records: &[&str]) -> Vec<Value> {
    let manifest: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("extension.json")).unwrap()).unwrap();
    let command: Vec<String> = manifest["command"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap().replace("{dir}", &folder.to_string_lossy()))
        .collect();
    let mut child = Command::new(&command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for record in records {
        writeln!(input, "{record}").unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn new_extension_works_in_every_language() {
    for language in ["python", "typescript", "sh"] {
        let folder = tempfile::tempdir().unwrap();
        let created = extension(folder.path(), &["new", "first-one", "--lang", language, "--json"]);
        assert!(created.status.success(), "{created:?}");
        let shown: Value = serde_json::from_slice(&created.stdout).unwrap();
        let made = folder.path().join("first-one");
        assert_eq!(Path::new(shown["folder"].as_str().unwrap()), made.canonicalize().unwrap());
        for file in shown["files"].as_array().unwrap() {
            assert!(!fs::read_to_string(file.as_str().unwrap()).unwrap().contains("my-extension"), "{file}");
        }
        let records = talk(
            &made,
            &[
                r#"{"type":"init","protocol":1,"session":{"cwd":"/"},"extensions":[{}]}"#,
                r#"{"type":"hook","id":"1","event":{"type":"tool_call","toolName":"bash","toolCallId":"c","input":{"command":"ls"}},"deadlineMs":1000}"#,
            ],
        );
        assert_eq!(records[0]["type"], "registered", "{records:?}");
        assert_eq!(records[0]["name"], "first-one");
        let hooks = records[0]["extensions"][0]["hooks"].as_array().unwrap();
        assert_eq!(hooks[0]["event"], "tool_call");
        assert_eq!(records[1], serde_json::json!({ "type": "result", "id": "1" }));
    }
}

#[test]
fn new_extension_never_replaces_anything() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("mine")).unwrap();
    fs::write(folder.path().join("mine/main.py"), "precious").unwrap();
    let refused = extension(folder.path(), &["new", "mine"]);
    assert!(!refused.status.success());
    assert!(text(&refused.stderr).contains("cannot be created"), "{refused:?}");
    assert_eq!(fs::read_to_string(folder.path().join("mine/main.py")).unwrap(), "precious");
    assert_eq!(fs::read_dir(folder.path().join("mine")).unwrap().count(), 1);

    let elsewhere = extension(folder.path(), &["new", "mine", "--out", "deep/er", "--lang", "sh"]);
    assert!(elsewhere.status.success(), "{elsewhere:?}");
    assert!(folder.path().join("deep/er/mine/extension.json").exists());
    assert!(text(&elsewhere.stdout).contains("bowline extension check"), "{elsewhere:?}");
}

#[test]
fn mistakes_say_what_to_write_instead() {
    let folder = tempfile::tempdir().unwrap();
    for (words, expected) in [
        (&["new"][..], "bowline extension new NAME"),
        (&["new", "../up"], "cannot be the name of an extension"),
        (&["new", ""], "cannot be the name of an extension"),
        (&["new", "a b"], "cannot be the name of an extension"),
        (&["new", "a", "--lang", "pyton"], "did you mean python?"),
        (&["nwe", "a"], "did you mean new?"),
    ] {
        let output = extension(folder.path(), words);
        assert!(!output.status.success(), "{words:?}");
        assert!(text(&output.stderr).contains(expected), "{words:?}: {}", text(&output.stderr));
    }
    assert_eq!(extension(folder.path(), &[]).status.code(), Some(2));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was created");
}
