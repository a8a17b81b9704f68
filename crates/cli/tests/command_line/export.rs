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

#[test]
fn export_replaces_only_pages_of_its_own() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("s.jsonl"), "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n").unwrap();
    let export = |out: &str| {
        let mut command = Command::new(bowline());
        command.current_dir(folder.path()).args(["export", "s.jsonl", "--out", out]).output().unwrap()
    };
    fs::write(path("notes.html"), "<html>mine</html>").unwrap();
    symlink("notes.html", path("link.html")).unwrap();
    symlink("nowhere.html", path("dangling.html")).unwrap();
    assert!(Command::new("mkfifo").arg(path("pipe.html")).status().unwrap().success());
    for name in ["notes.html", "link.html", "dangling.html", "pipe.html", "/dev/null"] {
        let output = export(name);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && error.contains("not a page that bowline exported"),
            "{name}: {error}"
        );
    }
    assert_eq!(fs::read_to_string(path("notes.html")).unwrap(), "<html>mine</html>");
    assert!(path("link.html").is_symlink() && !path("nowhere.html").exists());

    // An earlier page is replaced, and private again.
    for _ in 0..2 {
        assert!(export("page.html").status.success());
        assert_eq!(fs::metadata(path("page.html")).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(path("page.html"), fs::Permissions::from_mode(0o644)).unwrap();
    }
    let left: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".tmp"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
