//! Measures what undo costs in a large workspace: `cargo run --release -p bowline-undo --example scan_speed [FILES]`.
//!
//! Prints the time of the first index, with git and without, of later ones, and of a turn with a command that changes three
//! files.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a program for measuring"
)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use bowline_undo::{Options, Recorder, TurnEnd};

fn main() {
    let files: usize = std::env::args().nth(1).map_or(50_000, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("work");
    for number in 0..files {
        let path = work.join(format!("folder{}/inner{}/file{number}.txt", number % 50, number % 1000 / 50));
        if number < 1000 {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
        }
        fs::write(path, format!("{number}\n").repeat(600)).unwrap();
    }
    measure("without git", &work, &folder.path().join("plain"), files);
    for arguments in [
        &["init", "-q"][..],
        &["add", "."],
        &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
    ] {
        assert!(Command::new("git").current_dir(&work).args(arguments).status().unwrap().success());
    }
    std::thread::sleep(Duration::from_millis(100));
    measure("all in git", &work, &folder.path().join("git"), files);
}

/// Prints how long the parts of some runs take.
fn measure(name: &str, work: &Path, own: &Path, files: usize) {
    let recorder = Recorder::new(Options {
        folder: own.to_owned(),
        workspace: work.to_owned(),
        home: None,
        excluded: Vec::new(),
        closed: Vec::new(),
        max_file_bytes: 10 << 20,
        max_bytes: 200 << 20,
        scans: true,
    });
    println!("{name}: {files} files");
    for run in 0..4 {
        recorder.begin_run(None, 0).unwrap();
        let index = timed(|| recorder.take_index().unwrap());
        let prepared = timed(|| assert!(recorder.prepare_command().unwrap()));
        for changed in 0..3 {
            fs::write(work.join(format!("folder{changed}/inner0/file{changed}.txt")), format!("{run}"))
                .unwrap();
        }
        let end = TurnEnd { had_commands: true, ..TurnEnd::default() };
        let turn = timed(|| assert!(recorder.end_turn(&end).unwrap() >= 3));
        recorder.end_run().unwrap();
        let per_file = turn.as_secs_f64() * 1e6 / files as f64;
        println!(
            "  run {run}: index {:.0} ms, before the first command {:.0} ms, after a turn {:.0} ms ({per_file:.1} µs a file)",
            milliseconds(index),
            milliseconds(prepared),
            milliseconds(turn)
        );
    }
    let undone =
        timed(|| drop(recorder.undo(&bowline_core::file_changes::UndoTarget::LastRun, &[], false).unwrap()));
    println!("  undo of three files {:.0} ms", milliseconds(undone));
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
