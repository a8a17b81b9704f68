//! Every kind of change.

use std::fs;

use bowline_core::file_changes::{FileChangeKind, UndoTarget};
use bowline_undo::{Error, TurnEnd};

use crate::scene::{Scene, conflicts, refused};

/// Has a run change a workspace, takes that back and does it again.
#[track_caller]
fn check(change: impl Fn(&Scene), expected: &[(&str, FileChangeKind)]) {
    let scene = Scene::new();
    scene.write("a", "one\n");
    scene.write("folder/b", "two\n");
    scene.write("folder/inner/c", "three\n");
    scene.mode("folder/b", 0o750);
    scene.link("a", "link");
    let before = scene.tree();
    let changes = scene.run(|| change(&scene)).unwrap();
    let after = scene.tree();
    let found: Vec<_> = changes.files.iter().map(|file| (file.path.as_str(), file.change)).collect();
    assert_eq!(found, expected);
    assert!(changes.files.iter().all(|file| file.covered), "{changes:?}");
    for _ in 0..2 {
        let report = scene.undo();
        assert_eq!((conflicts(&report), report.not_covered.len()), (vec![], 0), "{report:?}");
        assert_eq!(scene.tree(), before);
        assert!(scene.runs()[0].undone);
        let report = scene.redo();
        assert_eq!(conflicts(&report), [""; 0], "{report:?}");
        assert_eq!(scene.tree(), after);
        assert!(!scene.runs()[0].undone);
    }
}

#[test]
fn every_kind_of_change_is_taken_back_and_done_again() {
    use FileChangeKind::{Created, Deleted, Mode, Modified};
    check(|scene| scene.write("a", "changed\n"), &[("a", Modified)]);
    check(
        |scene| scene.write("new/x/y", "new"),
        &[("new", Created), ("new/x", Created), ("new/x/y", Created)],
    );
    check(|scene| fs::remove_file(scene.path("a")).unwrap(), &[("a", Deleted)]);
    check(
        |scene| fs::remove_dir_all(scene.path("folder")).unwrap(),
        &[("folder", Deleted), ("folder/b", Deleted), ("folder/inner", Deleted), ("folder/inner/c", Deleted)],
    );
    check(|scene| scene.mode("a", 0o755), &[("a", Mode)]);
    check(|scene| scene.mode("folder", 0o700), &[("folder", Mode)]);
    check(|scene| fs::rename(scene.path("a"), scene.path("z")).unwrap(), &[("a", Deleted), ("z", Created)]);
    check(
        |scene| {
            fs::remove_file(scene.path("link")).unwrap();
            scene.link("folder/b", "link");
            scene.link("/etc/hostname", "outside");
        },
        &[("link", Modified), ("outside", Created)],
    );
    check(
        |scene| {
            fs::remove_file(scene.path("a")).unwrap();
            fs::create_dir(scene.path("a")).unwrap();
            scene.write("a/inside", "x");
        },
        &[("a", Modified), ("a/inside", Created)],
    );
    check(
        |scene| {
            fs::remove_dir_all(scene.path("folder")).unwrap();
            scene.link("a", "folder");
        },
        &[
            ("folder", Modified),
            ("folder/b", Deleted),
            ("folder/inner", Deleted),
            ("folder/inner/c", Deleted),
        ],
    );
}

#[test]
fn file_tool_is_covered_outside_of_the_workspace_and_in_ignored_folders() {
    let scene = Scene::new();
    scene.write(".gitignore", "ignored\n");
    let outside = scene.root().join("elsewhere/deep/file");
    let changes = scene.run_tool(&outside, || {
        fs::create_dir_all(outside.parent().unwrap()).unwrap();
        fs::write(&outside, "x").unwrap();
    });
    assert_eq!(changes.unwrap().files.len(), 3);
    let report = scene.undo();
    assert!(!scene.root().join("elsewhere").exists(), "{report:?}");
    scene.redo();
    assert_eq!(fs::read_to_string(&outside).unwrap(), "x");

    scene.write("ignored/file", "old");
    let path = scene.path("ignored/file");
    scene.run_tool(&path, || scene.write("ignored/file", "new")).unwrap();
    assert_eq!(scene.undo().restored, ["ignored/file"]);
    assert_eq!(scene.read("ignored/file"), "old");
}

#[test]
fn ignored_files_stay_out_of_it_although_rules_change() {
    let scene = Scene::new();
    scene.write(".gitignore", "target\n");
    scene.write("target/big", "old");
    scene.write("dist/x", "old");
    let changes = scene.run(|| {
        scene.write(".gitignore", "dist\n");
        scene.write("target/big", "new");
    });
    let paths: Vec<_> = changes.unwrap().files.into_iter().map(|file| file.path).collect();
    assert_eq!(paths, [".gitignore"]);
}

#[test]
fn edit_of_the_user_is_a_conflict_that_is_left_alone() {
    let scene = Scene::new();
    for name in ["a", "b", "gone"] {
        scene.write(name, "old");
    }
    scene.run(|| {
        ["a", "b", "new", "gone"].iter().for_each(|name| scene.write(name, "of the run"));
        fs::remove_file(scene.path("gone")).unwrap();
        fs::create_dir(scene.path("folder")).unwrap();
    });
    scene.write("b", "of the user");
    scene.write("gone", "made by the user");
    scene.write("new", "edited by the user");
    scene.write("folder/file", "of the user");
    let report = scene.undo();
    assert_eq!(report.restored, ["a"]);
    assert_eq!(conflicts(&report), ["b", "gone", "new", "folder"]);
    assert_eq!((scene.read("a"), scene.read("b")), ("old".to_owned(), "of the user".to_owned()));
    assert_eq!(
        (scene.read("gone"), scene.read("folder/file")),
        ("made by the user".into(), "of the user".into())
    );
    // What the user made of the permissions stays.
    let scene = Scene::new();
    scene.write("a", "old");
    scene.run(|| scene.write("a", "new"));
    scene.mode("a", 0o700);
    scene.undo();
    assert_eq!(scene.tree()["a"], "file 700 old");
}

#[test]
fn older_run_is_taken_back_beneath_a_newer_one() {
    let scene = Scene::new();
    scene.write("a", "0");
    scene.write("b", "0");
    scene.run(|| {
        scene.write("a", "1");
        scene.write("b", "1");
    });
    scene.run(|| scene.write("b", "2"));
    let report = scene.recorder.undo(&UndoTarget::Run(1), &[], false).unwrap();
    assert_eq!((report.restored.as_slice(), conflicts(&report)), (["a".to_owned()].as_slice(), vec!["b"]));
    assert_eq!((scene.read("a"), scene.read("b")), ("0".to_owned(), "2".to_owned()));
    // With the newer one taken back first, the rest of it goes as well.
    assert_eq!(scene.undo().runs, [2]);
    assert_eq!(scene.undo().restored, ["b"]);
    assert_eq!(scene.read("b"), "0");
    assert_eq!(
        refused(scene.recorder.undo(&UndoTarget::LastRun, &[], false)),
        "there are no changes to restore"
    );
    assert!(refused(scene.recorder.undo(&UndoTarget::Run(7), &[], false)).contains("no run 7"));
    for expected in [("0", "1"), ("0", "2"), ("1", "2")] {
        scene.redo();
        assert_eq!((scene.read("a").as_str(), scene.read("b").as_str()), expected);
    }
    assert!(refused(scene.recorder.redo(false)).contains("nothing to redo"));
}

#[test]
fn turns_and_entries_say_how_far_back() {
    let scene = Scene::new();
    scene.write("a", "0");
    scene.begin();
    for turn in 0..3 {
        scene.write("a", &format!("{}", turn + 1));
        assert_eq!(scene.end_turn(turn, &format!("entry{turn}")), 1);
    }
    scene.recorder.end_run().unwrap();
    scene.run(|| scene.write("b", "new"));
    let entries = ["prompt", "entry0", "entry1", "entry2", "turn"].map(str::to_owned);
    let after = |entry: &str| UndoTarget::AfterEntry(entry.to_owned());
    let dry = scene.recorder.undo(&after("entry2"), &entries, true).unwrap();
    assert_eq!(
        (dry.restored.as_slice(), dry.dry_run, scene.read("b")),
        (["b".to_owned()].as_slice(), true, "new".to_owned())
    );
    scene.recorder.undo(&after("entry1"), &entries, false).unwrap();
    assert_eq!((scene.read("a"), scene.path("b").exists()), ("2".to_owned(), false));
    scene.recorder.undo(&UndoTarget::Before { run: 1, turn: Some(1) }, &[], false).unwrap();
    assert_eq!(scene.read("a"), "1");
    scene.recorder.undo(&UndoTarget::Before { run: 1, turn: None }, &[], false).unwrap();
    assert_eq!(scene.read("a"), "0");
    assert!(refused(scene.recorder.undo(&after("none"), &entries, false)).contains("no entry none"));
}

#[test]
fn new_files_are_moved_away_and_not_deleted() {
    let scene = Scene::new();
    scene.run(|| scene.write("folder/new", "precious"));
    let report = scene.undo();
    assert_eq!(report.quarantined.len(), 1);
    assert_eq!(fs::read_to_string(&report.quarantined[0].moved_to).unwrap(), "precious");
    assert!(!scene.path("folder").exists());
}

#[test]
fn killed_process_loses_no_changes() {
    let mut scene = Scene::new();
    scene.write("a", "old");
    scene.write("b", "old");
    scene.begin();
    scene.write("a", "first turn");
    scene.end_turn(0, "turn");
    scene.write("a", "second turn");
    fs::remove_file(scene.path("b")).unwrap();
    scene.restart();
    // A line that was being written is incomplete.
    let journal = scene.own().join("journal.jsonl");
    let mut text = fs::read_to_string(&journal).unwrap();
    text.push_str("{\"type\":\"changes\",\"ru");
    fs::write(&journal, text).unwrap();
    let runs = scene.runs();
    assert!(runs[0].recovered && runs[0].files.len() == 2, "{runs:?}");
    scene.undo();
    assert_eq!((scene.read("a"), scene.read("b")), ("old".to_owned(), "old".to_owned()));

    // The same for a file tool whose process ended after it was announced.
    let path = scene.path("a");
    scene.recorder.begin_run(None, 1).unwrap();
    scene.recorder.prepare_file(0, &path).unwrap();
    scene.write("a", "of the tool");
    scene.restart();
    assert_eq!(scene.undo().restored, ["a"]);
    assert_eq!(scene.read("a"), "old");
}

#[test]
fn undo_that_was_interrupted_is_finished_by_the_next_one() {
    let scene = Scene::new();
    scene.write("a", "old");
    scene.write("b", "old");
    scene.run(|| ["a", "b"].iter().for_each(|name| scene.write(name, "new")));
    scene.write("a", "old");
    let report = scene.undo();
    assert_eq!((report.restored.len(), report.conflicts.len()), (2, 0));
    assert_eq!((scene.read("a"), scene.read("b")), ("old".to_owned(), "old".to_owned()));
}

#[test]
fn run_in_conflict_is_told_once_and_does_not_hide_older_ones() {
    let scene = Scene::new();
    scene.write("a", "old");
    scene.write("b", "old");
    scene.run(|| scene.write("a", "by run 1"));
    scene.run(|| scene.write("b", "by run 2"));
    scene.write("b", "by the user");
    // A dry run is no telling.
    let last = |dry_run| scene.recorder.undo(&UndoTarget::LastRun, &[], dry_run).unwrap();
    assert_eq!((last(true).runs, last(true).conflicts.len()), (vec![2], 1));
    let report = last(false);
    assert_eq!((report.runs, report.conflicts.len(), report.restored.len()), (vec![2], 1, 0));
    let report = last(false);
    assert_eq!((report.runs, report.restored), (vec![1], vec!["a".to_owned()]));
    assert_eq!((scene.read("a"), scene.read("b")), ("old".to_owned(), "by the user".to_owned()));
    // Nothing else is left, so it is told again.
    assert_eq!(last(false).runs, [2]);
    // What can be restored again comes first.
    scene.write("b", "by run 2");
    assert_eq!(last(false).restored, ["b"]);
    assert!(matches!(scene.recorder.undo(&UndoTarget::LastRun, &[], false), Err(Error::NothingToUndo)));
}

#[test]
fn diff_shows_text_and_names_binary_files() {
    let scene = Scene::new();
    scene.write("a", "one\ntwo\n");
    scene.write("binary", "\0\u{1}");
    let changes = scene.run(|| {
        scene.write("a", "one\n2\nthree\n");
        scene.write("binary", "\0\u{2}");
    });
    let changes = changes.unwrap();
    assert_eq!((changes.added, changes.removed, changes.diff_truncated), (2, 1, false));
    let diff = changes.diff.unwrap();
    assert!(diff.contains("--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+three\n"), "{diff}");
    assert!(diff.contains("Binary file binary differs"), "{diff}");
}

#[test]
fn run_that_changes_nothing_leaves_nothing() {
    let scene = Scene::new();
    scene.write("a", "x");
    // Touched and written with the same content.
    assert_eq!(scene.run(|| scene.write("a", "x")), None);
    assert_eq!(scene.runs(), []);
    scene.recorder.begin_run(None, 1).unwrap();
    assert_eq!(scene.recorder.end_turn(&TurnEnd::default()).unwrap(), 0);
    assert_eq!(scene.recorder.end_run().unwrap(), None);
}
