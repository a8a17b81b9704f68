//! Undos that were interrupted at any point: they are finished, nothing is lost, and redo is the inverse.

use std::fs;

use crate::scene::Scene;

/// Has an undo look as if it had ended before the last line of the journal was written.
fn forget_end(scene: &mut Scene) {
    let journal = scene.own().join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.last().unwrap().contains("\"undone\"") || lines.last().unwrap().contains("\"redone\""));
    fs::write(&journal, lines[..lines.len() - 1].join("\n") + "\n").unwrap();
    scene.restart();
}

fn prepared() -> Scene {
    let scene = Scene::new();
    for name in ["a", "b", "c", "folder/d"] {
        scene.write(name, "old");
    }
    scene.run(|| {
        ["a", "b", "new"].iter().for_each(|name| scene.write(name, "of the run"));
        fs::remove_file(scene.path("c")).unwrap();
        fs::remove_dir_all(scene.path("folder")).unwrap();
        scene.write("folder", "a file");
    });
    scene
}

#[test]
fn interrupted_undo_is_finished_and_redo_is_its_inverse() {
    let mut scene = prepared();
    let after = scene.tree();
    let report = scene.undo();
    let before = scene.tree();
    let away =
        |path: &str| report.quarantined.iter().find(|moved| moved.path == path).unwrap().moved_to.clone();
    // Some files are as they were, one is away and nothing in its place yet, and one was being written.
    scene.write("a", "of the run");
    fs::rename(away("new"), scene.path("new")).unwrap();
    fs::remove_file(scene.path("folder/d")).unwrap();
    fs::remove_dir(scene.path("folder")).unwrap();
    scene.write(".b.bowline-undo-1", "ol");
    forget_end(&mut scene);
    assert!(scene.runs()[0].undone);
    assert_eq!(scene.tree(), before);
    scene.redo();
    assert_eq!(scene.tree(), after);
}

#[test]
fn interrupted_redo_is_finished() {
    let mut scene = prepared();
    let after = scene.tree();
    scene.undo();
    let before = scene.tree();
    scene.redo();
    scene.write("b", "old");
    forget_end(&mut scene);
    assert!(!scene.runs()[0].undone);
    assert_eq!(scene.tree(), after);
    scene.undo();
    assert_eq!(scene.tree(), before);
}

#[test]
fn edit_of_the_user_after_an_interruption_stays() {
    let mut scene = prepared();
    scene.undo();
    scene.write("a", "of the user");
    forget_end(&mut scene);
    scene.runs();
    assert_eq!((scene.read("a"), scene.read("b")), ("of the user".to_owned(), "old".to_owned()));
}

#[test]
fn file_that_cannot_be_replaced_is_still_there() {
    let scene = Scene::with(|options| options.max_file_bytes = 10);
    scene.write("a", "old");
    scene.run(|| scene.write("a", "more than ten bytes"));
    // The former content is damaged, so that it cannot be brought back.
    for image in fs::read_dir(scene.own().join("images")).unwrap() {
        fs::write(image.unwrap().path(), "damaged").unwrap();
    }
    let report = scene.undo();
    assert_eq!((report.restored.len(), report.conflicts.len()), (0, 1), "{report:?}");
    assert_eq!(scene.tree().keys().collect::<Vec<_>>(), ["a"]);
    assert_eq!(scene.read("a"), "more than ten bytes");
}

#[test]
fn folder_that_cannot_become_a_file_again_keeps_what_is_in_it() {
    let scene = Scene::new();
    scene.write("a", "old");
    scene.run(|| {
        fs::remove_file(scene.path("a")).unwrap();
        scene.write("a/inner/b", "of the run");
    });
    let after = scene.tree();
    let old = fs::read_dir(scene.own().join("images")).unwrap().map(|image| image.unwrap().path());
    let old: Vec<_> = old.filter(|image| fs::read_to_string(image).unwrap() == "old").collect();
    fs::write(&old[0], "damaged").unwrap();
    let report = scene.undo();
    assert_eq!((report.restored.len(), report.quarantined.len()), (0, 0), "{report:?}");
    assert_eq!(scene.tree(), after);
}
