//! Stores that no overlay would leave behind, and moments at which bowline may be killed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use bowline_core::pending_changes::PendingObstacle;
use rustix::fs::{CWD, FileType, Mode, mkdirat, mknodat, openat};
use tempfile::TempDir;

use super::{Protection, Store};

struct Scene {
    _folder: TempDir,
    work: PathBuf,
    outside: PathBuf,
    store: Store,
}

impl Scene {
    fn new(files: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (work, outside) = (folder.path().join("work"), folder.path().join("outside"));
        fs::create_dir_all(&outside).unwrap();
        fs::create_dir_all(&work).unwrap();
        for name in files {
            fs::create_dir_all(work.join(name).parent().unwrap()).unwrap();
            fs::write(work.join(name), "base").unwrap();
        }
        let store = Store::open(&folder.path().join("own"), &work, Some("s"), "t").unwrap();
        store.prepare().unwrap();
        Self { work, outside, store, _folder: folder }
    }

    fn change(&self, name: &str, text: &str) {
        let path = self.store.upper().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn delete(&self, name: &str) {
        let path = self.store.upper().join(name);
        mknodat(CWD, path, FileType::CharacterDevice, Mode::empty(), 0).unwrap();
    }

    fn listed(&self) -> Vec<(String, Option<PendingObstacle>)> {
        let report = self.store.report(&Protection::default(), None, true).unwrap();
        report.changes.into_iter().map(|change| (change.path, change.obstacle)).collect()
    }
}

#[test]
fn whatever_is_in_the_store_is_listed_within_bounds() {
    let scene = Scene::new(&[]);
    let upper = scene.store.upper();
    let mut folder = rustix::fs::open(&upper, rustix::fs::OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..1_000 {
        mkdirat(&folder, "d", Mode::RWXU).unwrap();
        folder = openat(&folder, "d", rustix::fs::OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    mknodat(CWD, upper.join("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    fs::File::create(upper.join("sparse")).unwrap().set_len(1 << 40).unwrap();
    symlink("/etc", upper.join("link")).unwrap();
    for number in 0..2_100 {
        fs::write(upper.join(format!("file{number}")), "").unwrap();
    }
    let report = scene.store.report(&Protection::default(), None, true).unwrap();
    assert_eq!(report.changes.len(), 2_000);
    assert!(report.omitted > 100, "{}", report.omitted);
    let report = scene.store.accept(&Protection::default(), None).unwrap();
    let left: Vec<_> = report.not_applied.iter().map(|left| left.path.as_str()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(left[0].ends_with("/…") && left[1..] == ["pipe", "sparse"], "{left:?}");
    assert_eq!(fs::read_link(scene.work.join("link")).unwrap(), PathBuf::from("/etc"));
    assert_eq!((report.accepted.len(), report.pending), (2_000, 3));
    assert!(report.omitted > 100, "{}", report.omitted);
    assert!(!scene.store.upper().join("file1").exists());
    assert!(!scene.work.join("pipe").exists() && !scene.work.join("sparse").exists());
}

#[test]
fn link_in_the_real_workspace_is_not_followed() {
    let scene = Scene::new(&["d/x", "keep"]);
    scene.change("d/x", "mine");
    scene.change("d/new", "mine");
    fs::write(scene.outside.join("x"), "theirs").unwrap();
    fs::rename(scene.work.join("d"), scene.work.join("moved")).unwrap();
    symlink(&scene.outside, scene.work.join("d")).unwrap();
    let report = scene.store.accept(&Protection::default(), None).unwrap();
    assert_eq!(report.accepted, Vec::<String>::new());
    assert_eq!(fs::read_to_string(scene.outside.join("x")).unwrap(), "theirs");
    assert_eq!(fs::read_dir(&scene.outside).unwrap().count(), 1);
}

#[test]
fn what_was_applied_before_a_kill_is_pending_no_more() {
    let scene = Scene::new(&["a", "gone", "d/x"]);
    scene.change("a", "mine");
    scene.change("n", "new");
    scene.delete("gone");
    // The kill came after the files were written and before they were taken out of the store.
    fs::write(scene.work.join("a"), "mine").unwrap();
    fs::write(scene.work.join("n"), "new").unwrap();
    fs::remove_file(scene.work.join("gone")).unwrap();
    assert_eq!(scene.listed(), []);
    assert_eq!(scene.store.accept(&Protection::default(), None).unwrap().pending, 0);
    assert!(!scene.store.upper().exists());
}

#[test]
fn without_a_baseline_nothing_is_overwritten() {
    let scene = Scene::new(&["a"]);
    scene.change("a", "mine");
    scene.change("n", "new");
    fs::remove_file(scene.store.path().join("baseline.jsonl")).unwrap();
    assert_eq!(scene.listed(), [("a".to_owned(), Some(PendingObstacle::Conflict)), ("n".to_owned(), None)]);
}
