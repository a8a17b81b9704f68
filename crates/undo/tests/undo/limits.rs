//! What is kept is bounded, and what is not kept is named.

use std::fs;

use bowline_core::file_changes::{ChangesQuery, UndoTarget};

use crate::scene::{Scene, refused};

#[test]
fn file_over_the_limit_is_named_and_left_alone() {
    let scene = Scene::with(|options| options.max_file_bytes = 10);
    scene.write("large", "more than ten bytes");
    scene.write("small", "small");
    let changes = scene.run(|| {
        scene.write("large", "also more than ten");
        scene.write("small", "new");
        scene.write("created", "it is new and large");
    });
    let files = changes.unwrap().files;
    let covered: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.covered)).collect();
    assert_eq!(covered, [("created", true), ("large", false), ("small", true)]);
    assert_eq!(files[1].reason.as_deref(), Some("it was larger than undo.maxFileBytes"));
    let report = scene.undo();
    assert_eq!((report.restored.len(), report.not_covered.len(), report.quarantined.len()), (2, 1, 1));
    assert_eq!(scene.read("large"), "also more than ten");
    assert!(!scene.path("created").exists());
    // A large file comes back from where it was moved to.
    scene.redo();
    assert_eq!(scene.read("created"), "it is new and large");
}

#[test]
fn oldest_runs_are_dropped_first() {
    let scene = Scene::with(|options| options.max_bytes = 10_000);
    let text = |run: usize| format!("{run}").repeat(1000);
    scene.write("a", &text(0));
    for run in 1..20 {
        assert!(scene.run(|| scene.write("a", &text(run))).is_some());
        let report = scene.recorder.changes(&ChangesQuery::default(), &[]).unwrap();
        assert!(report.stored_bytes <= 10_000, "{}", report.stored_bytes);
    }
    let kept: Vec<_> = scene.runs().iter().map(|run| run.run).collect();
    assert!(kept.len() < 15 && kept.ends_with(&[18, 19]), "{kept:?}");
    assert!(refused(scene.recorder.undo(&UndoTarget::Run(1), &[], false)).contains("dropped"));
    for _ in &kept {
        scene.undo();
    }
    assert_eq!(scene.read("a"), text(usize::try_from(kept[0]).unwrap() - 1));
}

#[test]
fn files_with_several_names_are_not_covered() {
    let scene = Scene::new();
    scene.write("a", "old");
    fs::hard_link(scene.path("a"), scene.path("b")).unwrap();
    let changes = scene.run(|| scene.write("a", "new!")).unwrap();
    assert_eq!(changes.files.len(), 2);
    assert!(
        changes
            .files
            .iter()
            .all(|file| !file.covered && file.reason.as_ref().unwrap().contains("hard links"))
    );
}

#[test]
fn home_folder_is_not_watched() {
    let scene = Scene::with(|options| options.home = Some(options.workspace.clone()));
    scene.recorder.begin_run(None, 1).unwrap();
    scene.recorder.take_index().unwrap();
    assert!(!scene.recorder.prepare_command().unwrap());
    let report = scene.recorder.changes(&ChangesQuery::default(), &[]).unwrap();
    assert!(!report.commands && report.reason.unwrap().contains("home folder"));
}

#[test]
fn data_is_private_and_removed_with_the_session() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = Scene::new();
    scene.write("a", "old");
    scene.run(|| scene.write("a", "new"));
    let mode = |path: &str| fs::metadata(scene.own().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode(""), mode("images"), mode("journal.jsonl"), mode("index.jsonl")),
        (0o700, 0o700, 0o600, 0o600)
    );
    for image in fs::read_dir(scene.own().join("images")).unwrap() {
        assert_eq!(image.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    let folder = scene.own().parent().unwrap().to_owned();
    bowline_undo::remove(&folder, "../undo");
    assert!(scene.own().exists());
    bowline_undo::remove(&folder, "session");
    assert!(!scene.own().exists() && folder.exists());
}

#[test]
fn copies_of_what_nobody_changed_drop_no_run() {
    let scene = Scene::with(|options| options.max_bytes = 4000);
    scene.write("a", "0");
    scene.run(|| scene.write("a", "1"));
    for number in 0..6 {
        scene.write(&format!("z{number}"), &format!("{number}").repeat(1000));
    }
    scene.begin();
    scene.recorder.end_run().unwrap();
    assert_eq!(scene.runs().len(), 1);
    scene.undo();
    assert_eq!(scene.read("a"), "0");
}

#[test]
fn files_without_room_that_are_unchanged_are_no_changes() {
    let scene = Scene::with(|options| options.max_bytes = 10);
    scene.write("large", "more than ten bytes");
    scene.write("a", "0");
    let changes = scene.run(|| scene.write("a", "1")).unwrap();
    assert_eq!(changes.files.len(), 1, "{changes:?}");
}

#[test]
fn undo_and_redo_over_and_over_take_no_more_room() {
    let scene = Scene::new();
    scene.run(|| scene.write("a", &"x".repeat(10_000)));
    let stored = || scene.recorder.changes(&ChangesQuery::default(), &[]).unwrap().stored_bytes;
    scene.undo();
    let once = stored();
    assert_eq!(once, 20_000, "the content that is kept, and the file that was moved");
    for _ in 0..5 {
        scene.redo();
        scene.undo();
    }
    assert_eq!(stored(), once);
}

#[test]
fn edit_of_a_large_file_shows_although_its_time_is_set_back() {
    let scene = Scene::with(|options| options.max_file_bytes = 10);
    scene.write("large", "more than ten bytes");
    let modified = fs::metadata(scene.path("large")).unwrap().modified().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(80));
    let changes = scene.run(|| {
        scene.write("large", "MORE than ten bytes");
        fs::File::options().write(true).open(scene.path("large")).unwrap().set_modified(modified).unwrap();
    });
    assert_eq!(changes.unwrap().files.len(), 1);
}
