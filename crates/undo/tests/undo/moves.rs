//! Files that are older than the run and only got another name: they are the user's.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use crate::scene::{Scene, conflicts};

/// Moves files whose content is not kept, and takes that back and does it again.
#[track_caller]
fn check(scene: &Scene, command: impl FnOnce()) {
    let before = scene.tree();
    scene.run(command).unwrap();
    let after = scene.tree();
    for _ in 0..2 {
        let report = scene.undo();
        assert_eq!(
            (conflicts(&report), &report.not_covered, &report.quarantined),
            (vec![], &vec![], &vec![])
        );
        assert_eq!(scene.tree(), before);
        let report = scene.redo();
        assert_eq!((conflicts(&report), &report.not_covered), (vec![], &vec![]));
        assert_eq!(scene.tree(), after);
    }
}

fn rename(scene: &Scene, from: &str, to: &str) {
    fs::rename(scene.path(from), scene.path(to)).unwrap();
}

fn small() -> Scene {
    Scene::with(|options| options.max_file_bytes = 10)
}

#[test]
fn large_file_gets_its_name_back() {
    let scene = small();
    scene.write("large", "more than ten bytes");
    check(&scene, || rename(&scene, "large", "other"));
    // With folders that the run made and removed.
    let scene = small();
    scene.write("folder/large", "more than ten bytes");
    check(&scene, || {
        fs::create_dir(scene.path("new")).unwrap();
        rename(&scene, "folder/large", "new/large");
        fs::remove_dir(scene.path("folder")).unwrap();
    });
    // In the place of what it was in.
    let scene = small();
    scene.write("large", "more than ten bytes");
    check(&scene, || {
        rename(&scene, "large", "between");
        fs::create_dir(scene.path("large")).unwrap();
        rename(&scene, "between", "large/inner");
    });
}

#[test]
fn file_that_is_moved_twice_gets_its_first_name_back() {
    let scene = small();
    scene.write("large", "more than ten bytes");
    let before = scene.tree();
    scene.begin();
    rename(&scene, "large", "second");
    scene.end_turn(0, "one");
    rename(&scene, "second", "third");
    scene.end_turn(1, "two");
    scene.recorder.end_run().unwrap();
    let report = scene.undo();
    assert_eq!(report.not_covered, []);
    assert_eq!(scene.tree(), before);
}

#[test]
fn ignored_file_gets_its_name_back() {
    let scene = Scene::new();
    scene.write(".gitignore", ".env\n");
    scene.write(".env", "SECRET=1");
    check(&scene, || rename(&scene, ".env", "env.bak"));
}

#[test]
fn files_with_several_names_get_them_back() {
    let scene = Scene::new();
    scene.write("a", "text");
    fs::hard_link(scene.path("a"), scene.path("b")).unwrap();
    check(&scene, || {
        fs::create_dir(scene.path("d")).unwrap();
        rename(&scene, "a", "d/a");
        rename(&scene, "b", "d/b");
    });
    scene.undo();
    assert_eq!(fs::metadata(scene.path("a")).unwrap().ino(), fs::metadata(scene.path("b")).unwrap().ino());
}

#[test]
fn file_whose_name_is_taken_stays_where_it_is() {
    let scene = small();
    scene.write("large", "more than ten bytes");
    scene.run(|| rename(&scene, "large", "other"));
    scene.write("large", "of the user");
    let report = scene.undo();
    assert_eq!((report.restored.len(), report.quarantined.len()), (0, 0), "{report:?}");
    assert_eq!(
        (scene.read("other"), scene.read("large")),
        ("more than ten bytes".into(), "of the user".into())
    );
}

#[test]
fn file_from_elsewhere_stays_where_it_is() {
    let scene = Scene::new();
    let outside = scene.root().join("download");
    fs::write(&outside, "of the user").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(80));
    let changes = scene.run(|| fs::rename(&outside, scene.path("download")).unwrap()).unwrap();
    if !changes.files[0].covered {
        let report = scene.undo();
        assert_eq!((report.restored.len(), report.not_covered.len()), (0, 1), "{report:?}");
        assert_eq!(scene.read("download"), "of the user");
    }
}

#[test]
fn new_file_with_the_inode_of_a_removed_one_is_new() {
    let scene = small();
    scene.write("large", "more than ten bytes");
    std::thread::sleep(std::time::Duration::from_millis(80));
    scene.run(|| {
        fs::remove_file(scene.path("large")).unwrap();
        scene.write("new", "also more than ten");
    });
    let report = scene.undo();
    assert_eq!((report.restored.as_slice(), report.not_covered.len()), (["new".to_owned()].as_slice(), 1));
    assert!(!scene.path("large").exists());
}

#[test]
fn file_whose_name_the_run_gave_to_another_one_gets_it_back() {
    let scene = small();
    scene.write("large", "more than ten bytes");
    check_with_new(&scene, || {
        rename(&scene, "large", "other");
        scene.write("large", "new");
    });
    let scene = small();
    scene.write("large", "more than ten bytes");
    check_with_new(&scene, || {
        rename(&scene, "large", "other");
        scene.write("large", "new, and more than ten bytes");
    });
}

/// The same for runs that also write new files.
#[track_caller]
fn check_with_new(scene: &Scene, command: impl FnOnce()) {
    let before = scene.tree();
    scene.run(command).unwrap();
    let after = scene.tree();
    for _ in 0..2 {
        let report = scene.undo();
        assert_eq!((conflicts(&report), &report.not_covered), (vec![], &vec![]));
        assert_eq!(scene.tree(), before);
        let report = scene.redo();
        assert_eq!((conflicts(&report), &report.not_covered), (vec![], &vec![]));
        assert_eq!(scene.tree(), after);
    }
}

#[test]
fn file_without_room_gets_its_name_back() {
    let scene = Scene::with(|options| options.max_bytes = 10);
    scene.write("large", "more than ten bytes");
    check(&scene, || rename(&scene, "large", "other"));
}
