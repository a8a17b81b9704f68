//! `bowline extension`.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use bowline_testkit::bowline;
use serde_json::{Value, json};

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
        (&["chekc", "a"], "did you mean check?"),
        (&["check"], "bowline extension check PATH"),
        (&["list", "a"], "list takes no arguments"),
    ] {
        let output = extension(folder.path(), words);
        assert!(!output.status.success(), "{words:?}");
        assert!(text(&output.stderr).contains(expected), "{words:?}: {}", text(&output.stderr));
    }
    assert_eq!(extension(folder.path(), &[]).status.code(), Some(2));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was created");
}

/// Writes an extension in Python that answers each record with some lines: `on` maps the type of a record, or of its
/// event, to them.
#[expect(clippy::needless_pass_by_value, reason = "callers pass `json!` values")]
fn answering(folder: &Path, on: Value) {
    let program = r#"
import json, sys
on = json.loads(sys.argv[1])
asked = None
for line in sys.stdin:
    record = json.loads(line)
    key = record.get("event", {}).get("type") or record["type"]
    # What a response is about: the call that is waiting for it.
    asked = record.get("id") if key != "response" else asked
    for answer in on.get(key, []):
        answer = answer if isinstance(answer, str) else json.dumps(answer)
        print(answer.replace("$id", str(record.get("id"))).replace("$asked", str(asked)), flush=True)
"#;
    fs::write(folder.join("main.py"), program).unwrap();
    let manifest = json!({ "name": "tested", "command": ["python3", "{dir}/main.py", on.to_string()] });
    fs::write(folder.join("extension.json"), manifest.to_string()).unwrap();
}

#[expect(clippy::needless_pass_by_value, reason = "callers pass `json!` values")]
fn registered(parts: Value) -> Value {
    json!([{ "type": "registered", "protocol": 1, "name": "tested", "extensions": [parts] }])
}

#[test]
fn check_shows_what_comes_back_from_hooks_tools_and_commands() {
    let folder = tempfile::tempdir().unwrap();
    let result = |result: Value| json!({ "type": "result", "id": "$id", "result": result });
    let ask = json!({ "type": "request", "id": "q", "method": "ui.confirm", "params": { "title": "Sure?" } });
    answering(
        folder.path(),
        json!({
            "init": registered(json!({
                "hooks": [
                    { "event": "input" },
                    { "event": "tool_call", "filter": { "toolName": ["write"] } },
                    { "event": "agent_end", "await": false },
                ],
                "tools": [{
                    "name": "count", "description": "d",
                    "parameters": {
                        "type": "object", "required": ["path"], "properties": { "path": { "type": "string" } },
                    },
                }],
                "commands": [{ "name": "hi" }],
            })),
            "input": [result(json!({ "action": "handled" }))],
            "tool_call": [ask],
            "response": [{ "type": "result", "id": "$asked" }],
            "tool": [
                { "type": "update", "id": "$id", "partial": { "content": [{ "type": "text", "text": "half" }] } },
                result(json!({ "content": "3 words" })),
            ],
            "command": [
                { "type": "notify", "method": "ui.notify", "params": { "message": "hello" } },
                { "type": "result", "id": "$id" },
            ],
        }),
    );
    let output = extension(folder.path(), &["check", "."]);
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{shown}{}", text(&output.stderr));
    for expected in [
        "hooks: input, tool_call, agent_end\ntools: count\ncommands: hi\n",
        "{\"action\":\"handled\"}",
        "tool_call write {\"path\":\".env\"}",
        "asked ui.confirm {\"title\":\"Sure?\"} → true",
        "asked ui.confirm {\"title\":\"Sure?\"} → false",
        "told\n",
        "count {\"path\":\"sample.txt\"}",
        "{\"content\":\"3 words\"}",
        "progress {\"content\":[{\"type\":\"text\",\"text\":\"half\"}]}",
        "/hi \"sample\"",
        "ui.notify {\"message\":\"hello\"}",
        "Nothing is wrong.",
    ] {
        assert!(shown.contains(expected), "{expected} is not in\n{shown}");
    }
    assert!(!shown.contains("tool_call bash"), "{shown}");

    let output = extension(folder.path(), &["check", ".", "--json"]);
    let lines: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["type"], "extension");
    assert_eq!(lines.last().unwrap(), &json!({ "type": "end", "fine": true, "wrong": 0, "problems": [] }));
    let input = lines.iter().find(|line| line["name"] == "input").unwrap();
    assert_eq!(input["result"], json!({ "action": "handled" }));
    assert_eq!(input["sample"]["text"], "What is in this folder?");

    let output = extension(folder.path(), &["check", ".", "--verbose"]);
    assert!(text(&output.stdout).contains("<- {\"type\":\"command\""), "{}", text(&output.stdout));
}

#[test]
fn check_names_what_is_wrong_and_fails() {
    let hook = |name: &str| registered(json!({ "hooks": [{ "event": name }] }));
    for (on, expected) in [
        (json!({ "init": ["hello, world"] }), "this line is none"),
        (json!({ "init": [{ "type": "registered", "protocol": 9 }] }), "version 9"),
        (
            json!({ "init": hook("input"), "input": [{ "type": "result", "id": "$id", "error": { "message": "broke" } }] }),
            "input: broke",
        ),
        (
            json!({ "init": hook("input"), "input": [{ "type": "result", "id": "$id", "result": { "action": "explode" } }] }),
            "invalid result of input",
        ),
        (
            json!({ "init": hook("agent_start"), "agent_start": [{ "type": "result", "id": "$id", "result": { "x": 1 } }] }),
            "agent_start takes no result",
        ),
        (
            json!({ "init": registered(json!({ "tools": [{ "name": "a b", "description": "d", "parameters": {} }] })) }),
            "register: ",
        ),
        (
            json!({
                "init": hook("input"),
                "input": [
                    { "type": "notify", "method": "ui.shout", "params": {} }, { "type": "result", "id": "$id" },
                ],
            }),
            "ui.shout",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut on = on;
        if on["init"] == json!(["hello, world"]) {
            // It registers after the line that is none.
            let proper = registered(json!({}));
            on["init"].as_array_mut().unwrap().extend(proper.as_array().unwrap().clone());
        }
        answering(folder.path(), on);
        let output = extension(folder.path(), &["check", "."]);
        let shown = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{expected}: {shown}{}", text(&output.stderr));
        let (_, wrong) = shown.split_once("What is wrong:").unwrap_or_else(|| panic!("{shown}"));
        assert!(wrong.contains(expected), "{expected} is not in\n{shown}");
    }
}

#[test]
fn check_of_what_is_no_extension_says_why() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.md"), "").unwrap();
    fs::write(folder.path().join("broken.py"), "raise SystemExit('no such luck')").unwrap();
    for (name, expected) in [
        ("gone", "does not exist"),
        ("notes.md", "is not an extension"),
        (".", "1: no such luck"),
        ("broken.py", "exited with code 1: no such luck"),
    ] {
        let output = extension(folder.path(), &["check", name]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(text(&output.stdout).contains(expected), "{name}: {}", text(&output.stdout));
    }
}

#[test]
fn check_works_in_a_folder_of_its_own_and_removes_it() {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let program = "#!/bin/sh\npwd >&2; ls >&2; rm -f *; exit 3\n";
    fs::write(folder.path().join("main.sh"), program).unwrap();
    let run = |words: &[&str]| {
        let mut command = Command::new(bowline());
        command.env("BOWLINE_HOME", folder.path().join("home")).env("TMPDIR", &temporary);
        command.current_dir(folder.path()).args(["extension", "check"]).args(words).output().unwrap()
    };
    let output = run(&["main.sh", "--verbose"]);
    assert!(text(&output.stderr).contains("tmp/bowline-check-"), "{output:?}");
    assert!(text(&output.stderr).contains("sample.txt"), "{output:?}");
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "the folder is removed");
    assert!(folder.path().join("main.sh").exists());

    let chosen = folder.path().join("chosen");
    fs::create_dir(&chosen).unwrap();
    fs::write(chosen.join("x"), "").unwrap();
    let output = run(&["../main.sh", "--cwd", "chosen"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!chosen.join("x").exists(), "{output:?}");
}

#[test]
fn list_shows_where_extensions_are_and_what_they_offer() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home/extensions");
    let project = folder.path().join(".bowline/extensions");
    let empty = extension(folder.path(), &["list"]);
    assert!(empty.status.success() && text(&empty.stderr).contains("bowline extension new"), "{empty:?}");
    for (place, name) in [(&home, "mine"), (&project, "theirs")] {
        let created =
            extension(folder.path(), &["new", name, "--lang", "sh", "--out", place.to_str().unwrap()]);
        assert!(created.status.success(), "{created:?}");
    }
    let rows = |words: &[&str]| {
        let output = extension(folder.path(), words);
        let rows: Vec<Value> =
            text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (output.status.code(), rows)
    };
    let (code, listed) = rows(&["list", "--json"]);
    assert_eq!((code, listed.len()), (Some(0), 2), "{listed:?}");
    assert_eq!((&listed[0]["name"], &listed[0]["state"]), (&json!("theirs"), &json!("not loaded")));
    assert!(listed[0]["problem"].as_str().unwrap().contains("not trusted"), "{listed:?}");
    assert_eq!((&listed[1]["name"], &listed[1]["state"]), (&json!("mine"), &json!("loaded")));
    assert_eq!((&listed[1]["hooks"], &listed[1]["commands"]), (&json!(["tool_call"]), &json!(["hello"])));

    fs::write(home.join("broken.py"), "raise SystemExit('boom')").unwrap();
    let (code, listed) = rows(&["list", "--json", "--approve"]);
    assert_eq!(code, Some(1));
    let states: Vec<_> = listed.iter().map(|row| (row["name"].as_str().unwrap(), &row["state"])).collect();
    let expected = [("theirs", json!("loaded")), ("broken", json!("failed")), ("mine", json!("loaded"))];
    assert_eq!(states, expected.each_ref().map(|(name, state)| (*name, state)));
    let table = text(&extension(folder.path(), &["list"]).stdout);
    assert!(table.starts_with("extension") && table.contains("failed: exited with code 1: boom"), "{table}");
}
