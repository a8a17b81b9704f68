//! A workspace, its recorder, and runs that change it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use bowline_core::file_changes::{ChangesQuery, RestoreReport, RunChanges, UndoTarget};
use bowline_undo::{Error, Options, Recorder, TurnEnd};
use tempfile::TempDir;

/// A workspace with a recorder.
pub struct Scene {
    folder: TempDir,
    pub recorder: Recorder,
}

impl Scene {
    pub fn new() -> Self {
        Self::with(|_| ())
    }

    /// Returns a scene whose recorder has other options.
    pub fn with(change: impl FnOnce(&mut Options)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        let mut options = Options {
            folder: folder.path().join("own/undo/session"),
            workspace: folder.path().join("work"),
            home: Some(folder.path().join("home")),
            excluded: Vec::new(),
            closed: Vec::new(),
            max_file_bytes: 10 << 20,
            max_bytes: 200 << 20,
            scans: true,
        };
        change(&mut options);
        Self { folder, recorder: Recorder::new(options) }
    }

    /// Forgets everything that is not on disk, as after the end of the process.
    pub fn restart(&mut self) {
        self.recorder = Recorder::new(self.options());
    }

    /// Returns a recorder for a session that another process has.
    pub fn reader(&self) -> Recorder {
        Recorder::read_only(self.options())
    }

    fn options(&self) -> Options {
        Options {
            folder: self.own(),
            workspace: self.work(),
            home: None,
            excluded: Vec::new(),
            closed: Vec::new(),
            max_file_bytes: 10 << 20,
            max_bytes: 200 << 20,
            scans: true,
        }
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    pub fn own(&self) -> PathBuf {
        self.folder.path().join("own/undo/session")
    }

    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.work().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    pub fn link(&self, target: &str, name: &str) {
        symlink(target, self.path(name)).unwrap();
    }

    /// Begins a run with a command.
    pub fn begin(&self) {
        self.recorder.begin_run(Some("prompt".to_owned()), 1).unwrap();
        self.recorder.take_index().unwrap();
        assert!(self.recorder.prepare_command().unwrap());
    }

    /// Ends a turn in which commands ran.
    pub fn end_turn(&self, turn: u32, entry: &str) -> usize {
        let end = TurnEnd { turn, entry: Some(entry.to_owned()), call: None, had_commands: true };
        self.recorder.end_turn(&end).unwrap()
    }

    /// Has a command of a run do something.
    pub fn run(&self, command: impl FnOnce()) -> Option<RunChanges> {
        self.begin();
        command();
        self.end_turn(0, "turn");
        self.recorder.end_run().unwrap()
    }

    /// Has a file tool of a run change a file.
    pub fn run_tool(&self, path: &Path, change: impl FnOnce()) -> Option<RunChanges> {
        self.recorder.begin_run(None, 1).unwrap();
        self.recorder.prepare_file(0, path).unwrap();
        change();
        self.recorder.end_turn(&TurnEnd::default()).unwrap();
        self.recorder.end_run().unwrap()
    }

    pub fn undo(&self) -> RestoreReport {
        self.recorder.undo(&UndoTarget::LastRun, &[], false).unwrap()
    }

    pub fn redo(&self) -> RestoreReport {
        self.recorder.redo(false).unwrap()
    }

    /// Returns the runs that changed files.
    pub fn runs(&self) -> Vec<RunChanges> {
        self.recorder.changes(&ChangesQuery { with_diff: true, ..ChangesQuery::default() }, &[]).unwrap().runs
    }

    /// Returns everything below the workspace: kind, permissions, and content or target.
    pub fn tree(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        read_tree(&self.work(), &self.work(), &mut found);
        found
    }
}

fn read_tree(top: &Path, folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(top).unwrap().to_str().unwrap().to_owned();
        let metadata = path.symlink_metadata().unwrap();
        let mode = metadata.mode() & 0o7777;
        if metadata.is_symlink() {
            found.insert(name, format!("link {}", fs::read_link(&path).unwrap().display()));
        } else if metadata.is_dir() {
            found.insert(name, format!("folder {mode:o}"));
            read_tree(top, &path, found);
        } else {
            found.insert(
                name,
                format!("file {mode:o} {}", String::from_utf8_lossy(&fs::read(&path).unwrap())),
            );
        }
    }
}

/// Returns the paths of what was left alone.
pub fn conflicts(report: &RestoreReport) -> Vec<&str> {
    report.conflicts.iter().map(|left| left.path.as_str()).collect()
}

/// Returns what an undo that must fail says.
pub fn refused(result: Result<RestoreReport, Error>) -> String {
    result.unwrap_err().to_string()
}
