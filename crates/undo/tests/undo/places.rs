//! Workspaces that are removed, moved, exchanged or partly closed, and bowline's own folders.

use std::fs;
use std::os::unix::fs::symlink;

use bowline_core::file_changes::{ChangesQuery, UndoTarget};
use bowline_undo::TurnEnd;

use crate::scene::{Scene, refused};

#[test]
fn removed_workspace_comes_back() {
    let scene = Scene::new();
    scene.write("a", "old");
    scene.write("folder/b", "old");
    let before = scene.tree();
    let changes = scene.run(|| fs::remove_dir_all(scene.work()).unwrap()).unwrap();
    assert_eq!(changes.files.len(), 3);
    scene.undo();
    assert_eq!(scene.tree(), before);
}

#[test]
fn changes_in_a_workspace_that_is_moved_are_seen() {
    let scene = Scene::new();
    scene.write("a", "old");
    let elsewhere = scene.root().join("elsewhere");
    scene.run(|| {
        scene.write("a", "new");
        fs::rename(scene.work(), &elsewhere).unwrap();
    });
    fs::rename(&elsewhere, scene.work()).unwrap();
    assert_eq!(scene.undo().restored, ["a"]);
    assert_eq!(scene.read("a"), "old");
}

#[test]
fn other_folder_in_the_place_of_the_workspace_is_left_alone() {
    let scene = Scene::new();
    scene.write("a", "old");
    scene.run(|| scene.write("a", "new"));
    let documents = scene.root().join("documents");
    fs::create_dir(&documents).unwrap();
    fs::write(documents.join("a"), "new").unwrap();
    fs::rename(scene.work(), scene.root().join("moved")).unwrap();
    symlink(&documents, scene.work()).unwrap();
    let text = refused(scene.recorder.undo(&UndoTarget::LastRun, &[], false));
    assert!(text.contains("is another folder now"), "{text}");
    assert_eq!(fs::read_to_string(documents.join("a")).unwrap(), "new");
}

#[test]
fn turn_of_a_file_tool_is_not_that_of_a_later_command() {
    let scene = Scene::new();
    scene.write("a", "0");
    scene.recorder.begin_run(None, 1).unwrap();
    scene.recorder.take_index().unwrap();
    for (turn, name) in [(0, "a"), (1, "new"), (1, "brief")] {
        scene.recorder.prepare_file(turn, &scene.path(name)).unwrap();
        scene.write(name, "of the tool");
        scene.recorder.end_turn(&TurnEnd { turn, ..TurnEnd::default() }).unwrap();
    }
    assert!(scene.recorder.prepare_command().unwrap());
    scene.write("other", "of the command");
    fs::remove_file(scene.path("brief")).unwrap();
    assert_eq!(scene.end_turn(2, "turn"), 2);
    let changes = scene.recorder.end_run().unwrap().unwrap();
    assert_eq!(changes.turns.iter().map(|turn| turn.files).collect::<Vec<_>>(), [1, 1, 1, 2]);
    scene.recorder.undo(&UndoTarget::Before { run: 1, turn: Some(2) }, &[], false).unwrap();
    assert_eq!((scene.read("a"), scene.read("new")), ("of the tool".into(), "of the tool".into()));
    assert!(!scene.path("other").exists() && scene.path("brief").exists());
    scene.undo();
    assert_eq!(scene.tree().keys().collect::<Vec<_>>(), ["a"]);
    assert_eq!(scene.read("a"), "0");
}

#[test]
fn files_that_a_new_rule_ignores_stay_covered() {
    let scene = Scene::new();
    scene.write("a.txt", "old");
    scene.write("dist/b", "old");
    scene.begin();
    scene.write(".gitignore", "*.txt\ndist\n");
    scene.end_turn(0, "one");
    scene.write("a.txt", "new");
    scene.write("dist/b", "new");
    scene.write("dist/cache", "new");
    scene.end_turn(1, "two");
    let files = scene.recorder.end_run().unwrap().unwrap().files;
    let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, [".gitignore", "a.txt", "dist/b"]);
    scene.undo();
    assert_eq!((scene.read("a.txt"), scene.read("dist/b")), ("old".to_owned(), "old".to_owned()));
}

#[test]
fn names_that_are_not_utf_8_are_counted() {
    use std::os::unix::ffi::OsStrExt as _;
    let scene = Scene::new();
    let name = std::ffi::OsStr::from_bytes(b"n\xff");
    fs::write(scene.work().join(name), "x").unwrap();
    scene.begin();
    scene.recorder.end_run().unwrap();
    let report = scene.recorder.changes(&ChangesQuery::default(), &[]).unwrap();
    assert!(report.not_covered.iter().any(|text| text.starts_with("1 files and folders whose names")));
}

#[test]
fn link_that_a_large_file_replaces_is_kept_and_so_is_the_file() {
    let scene = Scene::with(|options| options.max_file_bytes = 10);
    scene.link("target", "a");
    scene.run(|| {
        fs::remove_file(scene.path("a")).unwrap();
        scene.write("a", "more than ten bytes");
    });
    let report = scene.undo();
    assert_eq!(fs::read_to_string(&report.quarantined[0].moved_to).unwrap(), "more than ten bytes");
    assert!(scene.path("a").is_symlink());
    scene.redo();
    assert_eq!(scene.read("a"), "more than ten bytes");
}

#[test]
fn links_in_the_place_of_bowlines_own_files_are_refused() {
    for name in ["", "images", "journal.jsonl"] {
        let mut scene = Scene::new();
        scene.write("a", "old");
        scene.run(|| scene.write("a", "new"));
        let victim = scene.root().join("victim");
        let own = if name.is_empty() { scene.own() } else { scene.own().join(name) };
        fs::rename(&own, scene.root().join("away")).unwrap();
        if name == "journal.jsonl" {
            fs::write(&victim, "precious\n").unwrap();
        } else {
            fs::create_dir(&victim).unwrap();
            fs::write(victim.join("thesis"), "precious\n").unwrap();
        }
        symlink(&victim, &own).unwrap();
        scene.restart();
        let _ = scene.recorder.undo(&UndoTarget::LastRun, &[], false);
        let _ = scene.recorder.begin_run(None, 1);
        let _ = scene.recorder.take_index();
        let _ = scene.recorder.prepare_command();
        match name {
            "journal.jsonl" => assert_eq!(fs::read_to_string(&victim).unwrap(), "precious\n"),
            _ => assert_eq!(fs::read_dir(&victim).unwrap().count(), 1, "{name:?}"),
        }
    }
}

#[test]
fn own_folder_as_the_workspace_is_not_copied() {
    let scene = Scene::with(|options| options.closed.push(options.workspace.clone()));
    scene.write("auth.json", "secret");
    scene.recorder.begin_run(None, 1).unwrap();
    scene.recorder.take_index().unwrap();
    assert!(!scene.recorder.prepare_command().unwrap());
    assert!(scene.recorder.unseen_commands().unwrap().contains("bowline's own folder"));
    assert!(!scene.own().join("images").exists());
}

#[test]
fn recorder_that_only_reads_writes_nothing() {
    let scene = Scene::new();
    scene.write("a", "old");
    scene.begin();
    scene.write("a", "new");
    let journal = scene.own().join("journal.jsonl");
    let before = fs::read(&journal).unwrap();
    fs::write(scene.own().join("images/new-1-1"), "being written").unwrap();
    let reader = scene.reader();
    assert!(refused(reader.undo(&UndoTarget::LastRun, &[], true)).contains("no changes"));
    assert_eq!(fs::read(&journal).unwrap(), before);
    assert!(scene.own().join("images/new-1-1").exists());
}

#[test]
fn failure_to_write_down_is_noted_and_changes_are_found_all_the_same() {
    let scene = Scene::new();
    scene.write("a", "old");
    scene.recorder.begin_run(None, 1).unwrap();
    scene.recorder.take_index().unwrap();
    fs::rename(scene.own(), scene.root().join("away")).unwrap();
    fs::write(scene.own(), "in the way").unwrap();
    let error = scene.recorder.prepare_command().unwrap_err();
    scene.recorder.note_failure(&error);
    scene.write("a", "new");
    fs::remove_file(scene.own()).unwrap();
    fs::rename(scene.root().join("away"), scene.own()).unwrap();
    assert_eq!(scene.end_turn(0, "turn"), 1);
    scene.recorder.end_run().unwrap();
    let report = scene.recorder.changes(&ChangesQuery::default(), &[]).unwrap();
    assert!(
        report.reason.unwrap().starts_with("What this run changes cannot be undone completely: cannot use")
    );
    scene.undo();
    assert_eq!(scene.read("a"), "old");
}
