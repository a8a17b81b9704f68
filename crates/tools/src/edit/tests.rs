//! The tool as a model calls it, on real files.

use serde_json::{Value, json};

use crate::testing::{Workshop, text};

fn arguments(edits: &[(&str, &str)]) -> Value {
    let edits: Vec<_> = edits.iter().map(|(old, new)| json!({"oldText": old, "newText": new})).collect();
    json!({"path": "file", "edits": edits})
}

#[track_caller]
fn check_edits(before: &str, edits: &[(&str, &str)], after: &str) {
    let workshop = Workshop::with(&[("file", before)]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(workshop.succeed("edit", arguments(edits)));
    assert_eq!(workshop.file("file"), after);
}

#[track_caller]
fn check_refuses(before: &str, edits: &[(&str, &str)], expected: &str) {
    let workshop = Workshop::with(&[("file", before)]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(workshop.fail("edit", arguments(edits)));
    assert!(error.contains(expected), "{error}");
    assert_eq!(workshop.file("file"), before);
}

#[test]
fn all_edits_are_matched_against_the_file_as_it_was() {
    check_edits("a b c\n", &[("c", "a"), ("a", "b"), (" b", " c")], "b c a\n");
    check_edits("a\nb\n", &[("a\n", "")], "b\n");
}

#[test]
fn line_endings_and_byte_order_mark_are_kept() {
    check_edits("\u{feff}a\r\nb\r\nc\r\n", &[("a\nb", "x\ny\nz")], "\u{feff}x\r\ny\r\nz\r\nc\r\n");
    check_edits("a\r\nb\nc\n", &[("b\nc", "d\ne")], "a\r\nd\ne\n");
}

#[test]
fn loose_match_leaves_everything_else_unchanged() {
    check_edits(
        "keep “this”  \r\nsay “hi”\t\r\nand — that…  \n",
        &[("say \"hi\"\nand - that", "say bye\nand this")],
        "keep “this”  \r\nsay bye\r\nand this…  \n",
    );
}

#[test]
fn unmatched_edit_changes_nothing() {
    check_refuses("a\n", &[("b", "c")], "oldText is not in file");
    check_refuses("a\nb\na\n", &[("a", "c")], "oldText occurs 2 times in file (at lines 1, 3)");
    check_refuses("abc\n", &[("ab", "x"), ("bc", "y")], "edits[0] and edits[1] overlap");
    check_refuses("a\n", &[("a", "b"), ("", "c")], "oldText of edits[1] in file is empty");
    check_refuses("a\n", &[("a", "a")], "would not change");
    check_refuses("a\n", &[], "edits is empty");
}

#[tokio::test]
async fn known_spellings_of_edits_are_accepted() {
    let edit = json!({"oldText": "a", "newText": "b"});
    for arguments in [
        json!({"path": "file", "edits": json!([edit]).to_string()}),
        json!({"path": "file", "edits": edit}),
        json!({"path": "file", "edits": edit.to_string()}),
        json!({"path": "file", "oldText": "a", "newText": "b"}),
        json!({"path": "file", "edits": null, "oldText": "a", "newText": "b"}),
        json!({"file_path": "file", "old_string": "a", "new_string": "b"}),
        json!({"file_path": "file", "edits": [{"old_string": "a", "new_string": "b"}]}),
    ] {
        let workshop = Workshop::with(&[("file", "a\n")]);
        workshop.succeed("edit", arguments).await;
        assert_eq!(workshop.file("file"), "b\n");
    }
    let workshop = Workshop::with(&[("file", "a\n")]);
    let error = workshop.fail("edit", json!({"path": "file", "edits": "no json"})).await;
    assert!(error.contains("- edits: must be a list of objects, but is \"no json\""), "{error}");
}

#[tokio::test]
async fn details_describe_the_change() {
    let workshop = Workshop::with(&[("file", "1\n2\n3\n")]);
    let outcome = workshop.call("edit", arguments(&[("2", "two")])).await;
    assert_eq!(text(&outcome), "Replaced 1 piece in file.");
    let expected = json!({
        "diff": " 1 1\n-2 2\n+2 two\n 3 3",
        "patch": "--- file\n+++ file\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n",
        "firstChangedLine": 2,
    });
    assert_eq!(outcome.details, Some(expected));
}

#[tokio::test]
async fn uneditable_file_is_refused_with_the_reason() {
    let workshop = Workshop::with(&[("main.rs", "a")]);
    std::fs::write(workshop.path().join("latin"), b"gr\xfc\xdfe").unwrap();
    let call = |path: &str| workshop.fail("edit", json!({"path": path, "oldText": "a", "newText": "b"}));
    assert!(call("mian.rs").await.contains("main.rs?"));
    assert!(call(".").await.contains("is a directory"));
    assert!(call("latin").await.contains("not UTF-8"));
}

#[tokio::test]
async fn concurrent_calls_on_one_file_all_take_effect() {
    let before: String = (0..20).map(|line| format!("<{line}>\n")).collect();
    let workshop = Workshop::with(&[("file", &before)]);
    std::os::unix::fs::symlink("file", workshop.path().join("link")).unwrap();
    let calls: Vec<_> = (0..20)
        .map(|line| {
            let path = if line % 2 == 0 { "file" } else { "link" };
            let arguments =
                json!({"path": path, "oldText": format!("<{line}>"), "newText": format!("({line})")});
            tokio::spawn(workshop.call("edit", arguments))
        })
        .collect();
    for call in calls {
        let outcome = call.await.unwrap();
        assert!(!outcome.is_error, "{}", text(&outcome));
    }
    let after: String = (0..20).map(|line| format!("({line})\n")).collect();
    assert_eq!(workshop.file("file"), after);
    assert!(workshop.path().join("link").is_symlink());
}

#[tokio::test]
async fn path_is_also_accepted_as_other_agents_call_it() {
    let workshop = Workshop::new();
    workshop.succeed("write", json!({"file_path": "file", "content": "x"})).await;
    assert_eq!(workshop.succeed("read", json!({"file_path": "file"})).await, "x");
    // The declared name counts if both are given.
    workshop.succeed("write", json!({"path": "file", "file_path": "other", "content": "y"})).await;
    assert_eq!(workshop.file("file"), "y");
}
