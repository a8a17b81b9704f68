//! `bowline export`.

use std::fs;
use std::process::Command;

use bowline_testkit::bowline;

#[test]
fn export_writes_a_page_into_the_current_folder_and_prints_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let session = folder.path().join("s.jsonl");
    let message = r#"{"type":"message","id":"a","parentId":null,"timestamp":"T","message":{"role":"user","content":"hello there","timestamp":1}}"#;
    fs::write(&session, format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{message}\n")).unwrap();
    let export = |words: &[&str]| {
        let mut command = Command::new(bowline());
        command.current_dir(folder.path()).arg("export").args(words).output().unwrap()
    };
    let output = export(&["s.jsonl"]);
    assert!(output.status.success(), "{output:?}");
    let path = String::from_utf8(output.stdout).unwrap();
    assert!(path.ends_with("/bowline-session-s.html\n") && path.starts_with('/'), "{path}");
    assert!(fs::read_to_string(path.trim_end()).unwrap().contains("hello there"));

    assert!(export(&["s.jsonl", "--out", "other.html"]).status.success());
    assert!(folder.path().join("other.html").exists());
    let refused = export(&["s.jsonl", "--out", "no/folder.html"]);
    assert!(!refused.status.success());
    assert!(String::from_utf8(refused.stderr).unwrap().contains("the folder does not exist"));
    assert!(!export(&[]).status.success());
}
