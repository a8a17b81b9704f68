//! What is saved, and reading it again.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::Value;

use super::inspected::{Inspected, command, run};

const ATTACK: &str = r#"{"type":"prompt","message":"</script><script>alert(1)</script><!--"}"#;

/// The rows that a saved page has.
fn rows_of(page: &str) -> Vec<Value> {
    let (_, rest) = page.split_once("class=\"rows\">\n").unwrap();
    let (rows, _) = rest.split_once("</script>").unwrap();
    rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect()
}

#[test]
fn exchange_is_saved_as_a_page_and_as_a_recording() {
    let home = tempfile::tempdir().unwrap();
    let command = command(home.path(), &["--save", "x.html", "--save", "x.jsonl", "--", "cat"]);
    let mut inspected = Inspected::start_as(command, home);
    inspected.send(format!("{ATTACK}\nhalf").as_bytes());
    let (received, code, home) = inspected.finish();
    assert_eq!((received, code), (format!("{ATTACK}\nhalf").into_bytes(), Some(0)));

    let path = |name: &str| home.path().join(name);
    let page = fs::read_to_string(path("x.html")).unwrap();
    // The elements are ours: one style, one script, two with data.
    assert_eq!((page.matches("<script").count(), page.matches("</script>").count()), (3, 3));
    assert!(page.contains("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"));
    assert!(!page.contains("connect-src"));
    let rows = rows_of(&page);
    assert_eq!(rows[0]["line"], ATTACK);
    let half = rows.iter().find(|row| row["line"] == "half" && row["from"] == "client").unwrap();
    assert_eq!(half["unfinished"], true);
    assert_eq!(rows.last().unwrap()["event"]["code"], 0);

    let recording = fs::read_to_string(path("x.jsonl")).unwrap();
    let header: Value = serde_json::from_str(recording.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&header["type"], &header["version"], &header["command"][0]),
        (&"exchange".into(), &1.into(), &"cat".into())
    );
    for name in ["x.html", "x.jsonl"] {
        assert_eq!(path(name).metadata().unwrap().permissions().mode() & 0o777, 0o600, "{name}");
    }

    // A recording is read as what it was.
    assert!(run(home.path(), &["x.jsonl", "--save", "again.html"]).status.success());
    assert_eq!(rows_of(&fs::read_to_string(path("again.html")).unwrap()), rows);
}

#[test]
fn credentials_are_masked_in_everything_that_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let mut command = command(home.path(), &["--save", "x.html", "--save", "x.jsonl", "--", "cat"]);
    command.env("MY_API_KEY", "plain-words-only");
    let mut inspected = Inspected::start_as(command, home);
    let line = r#"{"type":"x","apiKey":"abcd1234","text":"plain-words-only sk-ant-0123456789abcdefghij Bearer abcdefghijklmnop0123"}"#;
    inspected.send(format!("{line}\n").as_bytes());
    let rows = inspected.rows_until(|row| row["from"] == "agent");
    let (received, _, home) = inspected.finish();
    assert_eq!(received, format!("{line}\n").as_bytes());
    let kept = [
        serde_json::to_string(&rows).unwrap(),
        fs::read_to_string(home.path().join("x.html")).unwrap(),
        fs::read_to_string(home.path().join("x.jsonl")).unwrap(),
    ];
    for text in kept {
        for secret in ["abcd1234", "plain-words-only", "0123456789abcdefghij", "abcdefghijklmnop0123"] {
            assert!(!text.contains(secret), "{secret}");
        }
        assert!(text.contains("[redacted]"));
    }
}

#[test]
fn nothing_is_overwritten_but_pages_of_bowline() {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name);
    fs::write(path("mine.html"), "mine").unwrap();
    fs::write(path("mine.jsonl"), "mine").unwrap();
    let output = run(home.path(), &["--save", "mine.jsonl", "--", "cat"]);
    assert!(
        !output.status.success() && String::from_utf8_lossy(&output.stderr).contains("exists"),
        "{output:?}"
    );
    // The exchange is over by then; only the page is missing.
    let output = run(home.path(), &["--save", "mine.html", "--", "sh", "-c", "exit 4"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("not a page that bowline exported"),
        "{output:?}"
    );
    for name in ["mine.html", "mine.jsonl"] {
        assert_eq!(fs::read_to_string(path(name)).unwrap(), "mine");
    }
}

#[test]
fn other_files_are_read_too() {
    let home = tempfile::tempdir().unwrap();
    let read = |content: &str| {
        fs::write(home.path().join("f.jsonl"), content).unwrap();
        let output = run(home.path(), &["f.jsonl", "--save", "f.html"]);
        assert!(output.status.success(), "{output:?}");
        let rows = rows_of(&fs::read_to_string(home.path().join("f.html")).unwrap());
        rows.iter().map(|row| row["from"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        read("{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n{\"type\":\"message\",\"id\":\"a\"}\n"),
        ["session"; 2]
    );
    assert_eq!(
        read("{\"in\":{\"type\":\"prompt\"}}\n{\"out\":{\"type\":\"agent_start\"}}\n"),
        ["client", "agent"]
    );
    assert_eq!(read("{\"type\":\"agent_start\"}\n\nnot JSON\n"), ["agent"; 2]);
    assert_eq!(
        read("{\"type\":\"exchange\",\"version\":1}\n{\"at\":1.5,\"from\":\"page\",\"line\":\"{}\"}\n"),
        ["page"]
    );
}

#[test]
fn what_is_no_exchange_is_refused() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("empty.jsonl"), "").unwrap();
    fs::write(home.path().join("text.jsonl"), "hello\n").unwrap();
    assert!(Command::new("mkfifo").arg(home.path().join("pipe.jsonl")).status().unwrap().success());
    for (name, error) in [
        ("empty.jsonl", "has no records"),
        ("text.jsonl", "has no records"),
        ("pipe.jsonl", "pipe"),
        ("nowhere.jsonl", "nowhere.jsonl"),
    ] {
        let output = run(home.path(), &[name, "--save", "x.html"]);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && stderr.contains(error), "{name}: {stderr}");
        assert!(!home.path().join("x.html").exists());
    }
}
