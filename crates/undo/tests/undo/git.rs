//! Contents that git has: nothing is copied, and they come back from git.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::scene::Scene;

fn git(folder: &Path, arguments: &[&str]) {
    let status = Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(status.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&status.stderr));
}

/// Returns a workspace with some committed files, which git's index and a scan hold for unchanged.
fn repository(index_version: &str) -> Scene {
    let scene = Scene::new();
    for number in 0..50 {
        let text: String = (0..200).map(|line| format!("line {line} of {}\n", number % 7)).collect();
        scene.write(&format!("src/file{number}.txt"), &format!("{number}\n{text}"));
    }
    git(&scene.work(), &["init", "-q"]);
    std::thread::sleep(Duration::from_millis(80));
    git(&scene.work(), &["add", "."]);
    git(&scene.work(), &["commit", "-qm", "first"]);
    git(&scene.work(), &["update-index", "--index-version", index_version]);
    scene
}

fn copied(scene: &Scene) -> usize {
    fs::read_dir(scene.own().join("images")).map_or(0, Iterator::count)
}

#[test]
fn clean_files_are_not_copied_and_come_back_from_loose_objects_and_packs() {
    for (index_version, packs) in [("2", false), ("4", true)] {
        let scene = repository(index_version);
        if packs {
            git(&scene.work(), &["gc", "-q"]);
        }
        scene.write("src/file3.txt", "modified by the user\n");
        scene.write("untracked", "text\n");
        let before = scene.tree();
        scene.begin();
        assert_eq!(copied(&scene), 2, "index version {index_version}");
        fs::remove_dir_all(scene.path("src")).unwrap();
        fs::remove_file(scene.path("untracked")).unwrap();
        if packs {
            // What was open stays readable.
            fs::remove_dir_all(scene.path(".git")).unwrap();
        }
        scene.end_turn(0, "turn");
        let changes = scene.recorder.end_run().unwrap().unwrap();
        assert_eq!(changes.files.len(), 52);
        assert!(changes.files.iter().all(|file| file.covered), "{:?}", changes.files);
        let report = scene.undo();
        assert_eq!(report.restored.len(), 52, "{report:?}");
        let mut after = scene.tree();
        let mut expected = before;
        after.retain(|path, _| !path.starts_with(".git"));
        expected.retain(|path, _| !path.starts_with(".git"));
        assert_eq!(after, expected);
    }
}

#[test]
fn checkout_of_another_branch_is_taken_back() {
    let scene = repository("2");
    git(&scene.work(), &["checkout", "-qb", "other"]);
    scene.write("src/file1.txt", "other\n");
    scene.write("src/added.txt", "added\n");
    git(&scene.work(), &["add", "."]);
    git(&scene.work(), &["commit", "-qm", "second"]);
    git(&scene.work(), &["checkout", "-q", "main"]);
    let before = scene.read("src/file1.txt");
    let changes = scene.run(|| git(&scene.work(), &["checkout", "-q", "other"])).unwrap();
    let paths: Vec<_> = changes.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["src/added.txt", "src/file1.txt"]);
    scene.undo();
    assert_eq!((scene.read("src/file1.txt"), scene.path("src/added.txt").exists()), (before, false));
}

#[test]
fn files_that_git_converts_are_copied() {
    let scene = repository("2");
    scene.write(".gitattributes", "*.txt filter=secret\n");
    git(&scene.work(), &["add", "."]);
    scene.begin();
    assert_eq!(copied(&scene), 51);
}

#[test]
fn objects_that_are_not_what_their_name_says_are_not_used() {
    let scene = repository("2");
    scene.begin();
    let objects = scene.path(".git/objects");
    for folder in fs::read_dir(&objects).unwrap().flatten().filter(|folder| folder.file_name().len() == 2) {
        for object in fs::read_dir(folder.path()).unwrap().flatten() {
            fs::remove_file(object.path()).unwrap();
            fs::write(object.path(), "x").unwrap();
        }
    }
    scene.write("src/file1.txt", "of the run\n");
    scene.end_turn(0, "turn");
    let changes = scene.recorder.end_run().unwrap().unwrap();
    assert!(!changes.files[0].covered);
    let report = scene.undo();
    assert_eq!((report.not_covered.len(), scene.read("src/file1.txt")), (1, "of the run\n".to_owned()));
}

#[test]
fn attributes_that_git_does_not_track_count_too() {
    let scene = repository("2");
    scene.write("src/.gitattributes", "*.txt filter=secret\n");
    scene.begin();
    assert_eq!(copied(&scene), 51);
}

#[test]
fn files_with_other_ends_of_lines_than_their_objects_are_copied() {
    let scene = Scene::new();
    scene.write(".gitattributes", "* text=auto\n");
    scene.write("unix", "one\ntwo\n");
    scene.write("windows", "one\r\ntwo\r\n");
    git(&scene.work(), &["init", "-q"]);
    std::thread::sleep(Duration::from_millis(80));
    git(&scene.work(), &["add", "."]);
    git(&scene.work(), &["commit", "-qm", "first"]);
    scene.begin();
    assert_eq!(copied(&scene), 1);
    scene.write("unix", "changed\n");
    scene.write("windows", "changed\n");
    scene.end_turn(0, "turn");
    scene.recorder.end_run().unwrap();
    assert_eq!(scene.undo().restored, ["unix", "windows"]);
    assert_eq!(
        (scene.read("unix").as_str(), scene.read("windows").as_str()),
        ("one\ntwo\n", "one\r\ntwo\r\n")
    );
}

#[test]
fn objects_that_a_command_packs_anew_are_found() {
    let scene = repository("2");
    let before = scene.read("src/file1.txt");
    scene.begin();
    git(&scene.work(), &["gc", "-q", "--prune=now"]);
    scene.write("src/file1.txt", "of the run\n");
    scene.end_turn(0, "turn");
    scene.recorder.end_run().unwrap();
    assert_eq!(scene.undo().restored, ["src/file1.txt"]);
    assert_eq!(scene.read("src/file1.txt"), before);
}

#[test]
fn tracked_files_are_covered_although_they_are_ignored() {
    let scene = Scene::new();
    scene.write(".gitignore", "dist/\n");
    scene.write("dist/app.js", "one\n");
    scene.write("dist/cache", "one\n");
    git(&scene.work(), &["init", "-q"]);
    git(&scene.work(), &["add", "-f", ".gitignore", "dist/app.js"]);
    let changes = scene.run(|| {
        scene.write("dist/app.js", "two\n");
        scene.write("dist/cache", "two\n");
    });
    let paths: Vec<_> = changes.unwrap().files.into_iter().map(|file| file.path).collect();
    assert_eq!(paths, ["dist/app.js"]);
    scene.undo();
    assert_eq!(scene.read("dist/app.js"), "one\n");
}
