//! `bowline sessions undo`: restores files that the runs of a stored session changed.

use std::fmt::Write as _;
use std::path::Path;

use bowline_core::file_changes::{ChangesQuery, LeftAlone, RestoreReport, RunChanges, UndoTarget};
use bowline_engine::{UNDO_FOLDER, UndoSettings, restored_note};
use bowline_session::Session;
use bowline_undo::{Options, Recorder};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::{plain_line, say};

/// What to restore.
pub(crate) struct Wishes {
    /// The run; the last one that is not undone if absent.
    pub run: Option<u64>,
    /// Whether to show what would be done only.
    pub dry_run: bool,
    pub as_json: bool,
}

/// Restores files and prints which. The session must not be in use, because its model is told.
pub(crate) fn undo(
    path: &Path,
    environment: &Environment,
    settings: UndoSettings,
    wishes: &Wishes,
) -> Result<(), Failure> {
    let here = &environment.working_directory;
    // What a session that is in use has written down may be looked at, but not finished.
    let (mut session, is_ours) = match Session::open(path, here) {
        Ok(session) => (session, true),
        Err(_) if wishes.dry_run => (Session::read(path, here)?, false),
        Err(error) => return Err(error.into()),
    };
    let options = options(&session, path, environment, settings);
    let recorder = if is_ours { Recorder::new(options) } else { Recorder::read_only(options) };
    let target = wishes.run.map_or(UndoTarget::LastRun, UndoTarget::Run);
    let report = recorder.undo(&target, &[], wishes.dry_run).map_err(|error| match error {
        bowline_undo::Error::UnknownRun(run) => Failure::Usage(format!(
            "there is no run {run} with changes; bowline sessions show {} lists them",
            session.id()
        )),
        error => error.into(),
    })?;
    if !wishes.dry_run && !report.restored.is_empty() {
        session.append(restored_note(false, &report))?;
    }
    if wishes.as_json {
        return say(&format!("{}\n", serde_json::json!(report)));
    }
    say(&listed(&report))
}

/// Returns a line for each run of a session that changed files.
pub(crate) fn runs(
    session: &Session,
    path: &Path,
    environment: &Environment,
    settings: UndoSettings,
) -> Vec<String> {
    let recorder = recorder(session, path, environment, settings);
    let report = recorder.recorded(&ChangesQuery::default()).unwrap_or_default();
    report.iter().map(run_line).collect()
}

/// Returns what the runs of a session changed, with diffs; nothing if that is not known.
pub(crate) fn changes(path: &Path, environment: &Environment, settings: UndoSettings) -> Vec<RunChanges> {
    let Ok(session) = Session::read(path, &environment.working_directory) else { return Vec::new() };
    let query = ChangesQuery { with_diff: true, ..ChangesQuery::default() };
    recorder(&session, path, environment, settings).recorded(&query).unwrap_or_default()
}

fn run_line(run: &RunChanges) -> String {
    let files = run.files.len() as u64 + run.omitted_files;
    let undone = if run.undone { ", undone" } else { "" };
    let noun = if files == 1 { "file" } else { "files" };
    format!("run {} changed {files} {noun} (+{} -{}){undone}", run.run, run.added, run.removed)
}

/// Returns a recorder that only reads.
fn recorder(session: &Session, path: &Path, environment: &Environment, settings: UndoSettings) -> Recorder {
    Recorder::read_only(options(session, path, environment, settings))
}

fn options(session: &Session, path: &Path, environment: &Environment, settings: UndoSettings) -> Options {
    let temporary: &Path = &environment.temporary_directory;
    let excluded = [Some(environment.home.as_path()), path.parent(), Some(path), Some(temporary)];
    Options {
        folder: environment.home.join(UNDO_FOLDER).join(session.id()),
        workspace: session.working_directory().to_owned(),
        home: environment.user_home.clone(),
        excluded: excluded.into_iter().flatten().map(Path::to_owned).collect(),
        closed: bowline_tools::own_paths(&environment.home),
        max_file_bytes: settings.max_file_bytes,
        max_bytes: settings.max_bytes,
        scans: settings.commands,
    }
}

/// Returns what was done, one line for each path.
fn listed(report: &RestoreReport) -> String {
    let mut text = String::new();
    let done = if report.dry_run { "would restore" } else { "restored" };
    let width = done.len().max("not covered".len());
    for path in &report.restored {
        let moved = report.quarantined.iter().find(|moved| moved.path == *path);
        let moved = moved.map(|moved| format!(" (moved to {})", moved.moved_to)).unwrap_or_default();
        let _ = writeln!(text, "{done:<width$}  {}", plain_line(&format!("{path}{moved}")));
    }
    let mut left = |kind: &str, paths: &[LeftAlone]| {
        for LeftAlone { path, reason } in paths {
            let _ = writeln!(text, "{kind:<width$}  {}", plain_line(&format!("{path}: {reason}")));
        }
    };
    left("conflict", &report.conflicts);
    left("not covered", &report.not_covered);
    let runs: Vec<_> = report.runs.iter().map(u64::to_string).collect();
    let _ = write!(text, "run {}: {done} {}", runs.join(", "), report.restored.len());
    match report.conflicts.len() {
        0 => {}
        1 => text.push_str(", 1 conflict"),
        several => drop(write!(text, ", {several} conflicts")),
    }
    if !report.not_covered.is_empty() {
        let _ = write!(text, ", {} not covered", report.not_covered.len());
    }
    text.push('\n');
    text
}
