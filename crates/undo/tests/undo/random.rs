//! Random changes of files: undo brings back the tree before, redo the tree after.

use std::fs;

use proptest::prelude::*;

use crate::scene::Scene;

/// One change by a command. Names are few, so that changes meet.
#[derive(Debug, Clone)]
enum Operation {
    Write(String, u8),
    Remove(String),
    Folder(String),
    Rename(String, String),
    Link(String, String),
    Mode(String, bool),
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "d", "d/a", "d/e", "d/e/f", "x", "x/y"]).prop_map(str::to_owned)
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        4 => (name(), 0..4_u8).prop_map(|(name, content)| Operation::Write(name, content)),
        2 => name().prop_map(Operation::Remove),
        1 => name().prop_map(Operation::Folder),
        2 => (name(), name()).prop_map(|(from, to)| Operation::Rename(from, to)),
        1 => (name(), name()).prop_map(|(target, name)| Operation::Link(target, name)),
        1 => (name(), any::<bool>()).prop_map(|(name, open)| Operation::Mode(name, open)),
    ]
}

/// Changes something, or nothing if it is not possible.
fn carry_out(scene: &Scene, operation: &Operation) {
    match operation {
        Operation::Write(name, content) => {
            let path = scene.path(name);
            // What a link leads to is another file.
            if path.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
                let _ = fs::remove_file(&path);
            }
            let _ = fs::write(path, format!("content {content}"));
        }
        Operation::Remove(name) => {
            let path = scene.path(name);
            if fs::remove_file(&path).is_err() {
                let _ = fs::remove_dir_all(&path);
            }
        }
        Operation::Folder(name) => drop(fs::create_dir(scene.path(name))),
        Operation::Rename(from, to) => drop(fs::rename(scene.path(from), scene.path(to))),
        Operation::Link(target, name) => drop(std::os::unix::fs::symlink(target, scene.path(name))),
        Operation::Mode(name, open) => {
            let path = scene.path(name);
            if path.symlink_metadata().is_ok_and(|found| !found.is_symlink()) {
                scene.mode(name, if *open { 0o755 } else { 0o700 });
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn undo_and_redo_bring_back_the_trees_between_runs(
        runs in prop::collection::vec(prop::collection::vec(prop::collection::vec(operation(), 1..6), 1..4), 1..4),
        start in prop::collection::vec(operation(), 0..8),
    ) {
        let scene = Scene::new();
        start.iter().for_each(|operation| carry_out(&scene, operation));
        let mut trees = vec![scene.tree()];
        for turns in &runs {
            scene.begin();
            for (turn, operations) in turns.iter().enumerate() {
                operations.iter().for_each(|operation| carry_out(&scene, operation));
                scene.end_turn(u32::try_from(turn).unwrap(), "turn");
            }
            scene.recorder.end_run().unwrap();
            if trees.last() != Some(&scene.tree()) {
                trees.push(scene.tree());
            }
        }
        // Runs whose turns cancel each other out are runs with changes too.
        let mut undos = 0;
        while let Ok(report) = scene.recorder.undo(&Default::default(), &[], false) {
            prop_assert!(report.conflicts.is_empty() && report.not_covered.is_empty(), "{report:?}");
            undos += 1;
            prop_assert!(trees.contains(&scene.tree()));
        }
        prop_assert_eq!(&scene.tree(), &trees[0]);
        for _ in 0..undos {
            let report = scene.redo();
            prop_assert!(report.conflicts.is_empty() && report.not_covered.is_empty(), "{report:?}");
            prop_assert!(trees.contains(&scene.tree()));
        }
        prop_assert_eq!(Some(&scene.tree()), trees.last());
    }
}
