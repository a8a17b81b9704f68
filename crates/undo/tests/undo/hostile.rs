//! Links that were planted to have undo write elsewhere.

use std::fs;
use std::os::unix::fs::symlink;

use crate::scene::{Scene, conflicts};

#[test]
fn folder_that_became_a_link_leads_nowhere() {
    let scene = Scene::new();
    scene.write("folder/a", "old");
    let outside = scene.root().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("a"), "new").unwrap();
    scene.run(|| scene.write("folder/a", "new"));
    // The content beyond the link is the one that the run left, but it is another file.
    fs::remove_dir_all(scene.path("folder")).unwrap();
    symlink(&outside, scene.path("folder")).unwrap();
    let report = scene.undo();
    assert_eq!(conflicts(&report), ["folder/a"]);
    assert_eq!(fs::read_to_string(outside.join("a")).unwrap(), "new");
}

#[test]
fn removed_file_does_not_come_back_through_a_link() {
    let scene = Scene::new();
    scene.write("folder/a", "old");
    let outside = scene.root().join("outside");
    fs::create_dir(&outside).unwrap();
    scene.run(|| {
        fs::remove_dir_all(scene.path("folder")).unwrap();
    });
    symlink(&outside, scene.path("folder")).unwrap();
    let report = scene.undo();
    assert_eq!(conflicts(&report).len(), 2, "{report:?}");
    assert!(!outside.join("a").exists());
}

#[test]
fn link_in_the_place_of_a_file_is_not_followed() {
    let scene = Scene::new();
    scene.write("a", "old");
    let secret = scene.root().join("secret");
    fs::write(&secret, "secret").unwrap();
    scene.run(|| {
        fs::remove_file(scene.path("a")).unwrap();
        symlink(&secret, scene.path("a")).unwrap();
    });
    // What a link leads to is not read.
    let images = fs::read_dir(scene.own().join("images")).unwrap();
    for image in images {
        assert_ne!(fs::read_to_string(image.unwrap().path()).unwrap(), "secret");
    }
    scene.undo();
    assert_eq!(
        (scene.read("a"), fs::read_to_string(&secret).unwrap()),
        ("old".to_owned(), "secret".to_owned())
    );
    assert!(scene.path("a").symlink_metadata().unwrap().is_file());
}

#[test]
fn paths_in_a_damaged_journal_do_not_lead_out() {
    let scene = Scene::new();
    scene.write("a", "old");
    scene.run(|| scene.write("a", "new"));
    let journal = scene.own().join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap().replace("\"path\":\"a\"", "\"path\":\"../victim\"");
    fs::write(&journal, text).unwrap();
    fs::write(scene.root().join("victim"), "new").unwrap();
    let result = scene.recorder.undo(&bowline_core::file_changes::UndoTarget::LastRun, &[], false);
    assert!(result.is_err(), "{result:?}");
    assert_eq!(fs::read_to_string(scene.root().join("victim")).unwrap(), "new");
}

#[test]
fn special_files_neither_hang_nor_count() {
    let scene = Scene::new();
    let status = std::process::Command::new("mkfifo").arg(scene.path("fifo")).status().unwrap();
    assert!(status.success());
    scene.write("a", "old");
    let changes = scene.run(|| scene.write("a", "new")).unwrap();
    assert_eq!(changes.files.len(), 1);
}
