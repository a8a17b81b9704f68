//! Over a hundred ways out of the sandbox, by `bowline sandbox check`.

use std::collections::BTreeMap;

use bowline_sandbox::matrix::{Reach, all};
use bowline_testkit::{Finished, Launch, Workspace, sandbox_is_missing};
use serde_json::Value;

use super::levels::{has_namespaces, launch_without_namespaces};

/// A user without rights, for tests that root runs.
const ORDINARY_USER: u32 = 1000;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns the rows of a check by their numbers, and its last line.
#[track_caller]
fn rows(finished: &Finished) -> (BTreeMap<String, Value>, Value) {
    let mut lines: Vec<Value> =
        finished.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let end = lines.pop().unwrap_or_else(|| panic!("{finished:?}"));
    let rows = lines.into_iter().map(|row| (row["number"].as_str().unwrap().to_owned(), row));
    (rows.collect(), end)
}

/// Checks that a run has tried everything and that every promise holds.
#[track_caller]
fn assert_kept(finished: &Finished) {
    let (rows, end) = rows(finished);
    let broken: Vec<&Value> = rows.values().filter(|row| row["kept"] == false).collect();
    assert!(broken.is_empty(), "{broken:#?}");
    assert_eq!(end["attempts"], all().count());
    assert_eq!((finished.code, &end["kept"]), (0, &Value::Bool(true)), "{}", finished.stderr);
}

#[test]
fn attempts_are_real_because_they_get_through_when_nothing_confines() {
    let workspace = Workspace::empty();
    let finished =
        Launch::bowline(&workspace).arguments(&["sandbox", "check", "--level", "none", "--json"]).run();
    let (rows, _) = rows(&finished);
    for attempt in all() {
        let result = &rows[attempt.number]["result"];
        let must = match attempt.reach {
            Reach::Anyone => true,
            Reach::Root => is_root(),
            Reach::Nobody | Reach::Machine => false,
        };
        assert_ne!(result, "untried", "{}", rows[attempt.number]);
        assert!(!must || result == "through", "{}", rows[attempt.number]);
    }
}

#[test]
fn every_promise_of_the_level_full_holds() {
    let workspace = Workspace::empty();
    let check = || Launch::bowline(&workspace).arguments(&["sandbox", "check", "--level", "full", "--json"]);
    let finished = check().run();
    if !has_namespaces() {
        // levels.rs checks that nothing runs unconfined then.
        assert_eq!(finished.code, 2, "{finished:?}");
        sandbox_is_missing(&finished.stderr);
        return;
    }
    assert_kept(&finished);
    if is_root() {
        assert_kept(&check().user(ORDINARY_USER, &workspace).run());
    }
}

#[test]
fn every_promise_of_the_level_landlock_holds() {
    let workspace = Workspace::empty();
    let check =
        || Launch::bowline(&workspace).arguments(&["sandbox", "check", "--level", "landlock", "--json"]);
    let finished = check().run();
    if finished.code == 2 {
        sandbox_is_missing(&finished.stderr);
        return;
    }
    assert_kept(&finished);
    if is_root() {
        assert_kept(&check().user(ORDINARY_USER, &workspace).run());
    }
    // Not only where namespaces are unused, but where they are missing.
    let missing = launch_without_namespaces(&workspace);
    assert_kept(&missing.arguments(&["sandbox", "check", "--level", "landlock", "--json"]).run());
}

#[test]
fn check_leaves_nothing_behind() {
    let left = || {
        let folders = ["/var/tmp", "/tmp", "/dev/shm"].into_iter();
        let names = folders.flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
        names
            .map(|entry| entry.path())
            .filter(|path| path.to_string_lossy().contains("bowline-check-"))
            .collect()
    };
    let workspace = Workspace::empty();
    let finished = Launch::bowline(&workspace).arguments(&["sandbox", "check", "--level", "none"]).run();
    assert!(finished.stdout.contains("Nothing was confined"), "{finished:?}");
    // Another check may be running in a test at the same time, but not for long.
    bowline_testkit::eventually("no fixture is left", || {
        let left: Vec<std::path::PathBuf> = left();
        left.is_empty()
    });
}

#[test]
fn unknown_levels_and_words_are_refused() {
    let workspace = Workspace::empty();
    let run = |arguments: &[&str]| Launch::bowline(&workspace).arguments(arguments).run();
    let finished = run(&["sandbox", "check", "--level", "high"]);
    assert_eq!(finished.code, 2);
    assert!(finished.stderr.contains("\"high\" is not full, landlock or none"), "{}", finished.stderr);
    let finished = run(&["sandbox", "check", "now"]);
    assert_eq!(finished.code, 2);
    assert!(finished.stderr.contains("check takes no arguments"), "{}", finished.stderr);
}
