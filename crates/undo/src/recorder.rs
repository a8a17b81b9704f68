//! Recording what the runs of one session change.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bowline_core::file_changes::RunChanges;

use crate::capture::{Roots, journal_path};
use crate::error::Error;
use crate::git_index::Repository;
use crate::image::ImageId;
use crate::index::{Filter, Image, Index, MAX_PATHS, differences, is_unchanged};
use crate::journal::{History, Journal, Line};
use crate::state::{Change, Kind, State};
use crate::store::Store;

/// The most changes that are recorded of one turn.
const MAX_CHANGES: usize = 100_000;

/// The most that is read of an index that was written.
const MAX_INDEX_BYTES: u64 = 256 * 1024 * 1024;

/// Where a session works and what may be kept of it.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder with the undo data of this session. It need not exist.
    pub folder: PathBuf,
    /// The folder that the session works in.
    pub workspace: PathBuf,
    /// Where the user's own ignore rules are.
    pub home: Option<PathBuf>,
    /// Folders and files in the workspace that bowline itself writes to.
    pub excluded: Vec<PathBuf>,
    /// Folders and files that tools do not get at, so that nothing of them may be kept: bowline's own folder, with keys.
    pub closed: Vec<PathBuf>,
    /// The most bytes of a file whose content is kept.
    pub max_file_bytes: u64,
    /// The most bytes that are kept of a session.
    pub max_bytes: u64,
    /// Whether commands are watched, or only file tools.
    pub scans: bool,
}

/// The changes of one session.
#[derive(Debug)]
pub struct Recorder {
    pub(crate) options: Options,
    pub(crate) store: Store,
    pub(crate) journal: Journal,
    run: Mutex<LiveRun>,
    baseline: Mutex<Option<Baseline>>,
    /// The contents that were kept since the run began. An index that is being taken refers to them before anybody else.
    pinned: Mutex<HashSet<ImageId>>,
    /// Whether there was no room for a content in this run.
    is_full: AtomicBool,
    /// Whether the workspace has too many files to be watched.
    is_too_large: AtomicBool,
}

/// The run in progress.
#[derive(Debug, Default)]
struct LiveRun {
    /// Its number, once it is about to change something.
    number: Option<u64>,
    entry: Option<String>,
    started: u64,
    /// What file tools were about to change in this turn.
    announced: BTreeMap<String, Option<State>>,
    has_changes: bool,
}

/// The workspace before the commands of a turn.
#[derive(Debug)]
struct Baseline {
    index: Index,
    repository: Option<Repository>,
    /// Whether it is on disk, so that commands may run.
    is_written: bool,
}

/// Where a turn, or a call in it, ended.
#[derive(Debug, Clone, Default)]
pub struct TurnEnd {
    pub turn: u32,
    /// The entry that the session is at.
    pub entry: Option<String>,
    /// The call that has ended, if others may follow in this turn.
    pub call: Option<String>,
    /// Whether commands have run.
    pub had_commands: bool,
}

impl Recorder {
    /// Returns the recorder of a session. Nothing is read or written before it is needed.
    pub fn new(options: Options) -> Self {
        let store = Store::new(options.folder.join("images"));
        let journal = Journal::new(options.folder.join("journal.jsonl"));
        Self {
            options,
            store,
            journal,
            run: Mutex::default(),
            baseline: Mutex::default(),
            pinned: Mutex::default(),
            is_full: AtomicBool::new(false),
            is_too_large: AtomicBool::new(false),
        }
    }

    /// Returns why the changes of commands are not seen, if so.
    pub fn unseen_commands(&self) -> Option<String> {
        if !self.options.scans {
            return Some("undo.commands is off in settings.json".to_owned());
        }
        if self.is_too_large.load(Ordering::Relaxed) {
            return Some(format!(
                "the working directory has more than {MAX_PATHS} files that are not ignored"
            ));
        }
        let workspace = bowline_files::canonical(&self.options.workspace);
        let is_home = self
            .options
            .home
            .as_ref()
            .is_some_and(|home| bowline_files::canonical(home).starts_with(&workspace));
        if is_home || workspace.parent().is_none() {
            return Some(format!(
                "{} is too large to be watched: it is, or contains, the home folder",
                workspace.display()
            ));
        }
        None
    }

    /// Begins a run. What a run before it left open, because its process ended, is closed.
    pub fn begin_run(&self, entry: Option<String>, started: u64) -> Result<(), Error> {
        *self.live() = LiveRun { entry, started, ..LiveRun::default() };
        *self.baseline() = None;
        self.pinned().clear();
        self.is_full.store(false, Ordering::Relaxed);
        self.journal.shorten()?;
        self.recover()
    }

    /// Looks at the workspace, so that commands can run.
    pub fn take_index(&self) -> Result<(), Error> {
        if self.unseen_commands().is_some() {
            return Ok(());
        }
        let roots = Roots::open(&self.options.workspace)?;
        let Some(mut index) = Index::scan(roots.workspace(), &self.filter(), &HashSet::new())? else {
            self.is_too_large.store(true, Ordering::Relaxed);
            return Ok(());
        };
        let previous = self.written_index();
        let repository = Repository::around(&self.options.workspace);
        self.keep_contents(&roots, &mut index, previous.as_ref(), repository.as_ref());
        *self.baseline() = Some(Baseline { index, repository, is_written: false });
        Ok(())
    }

    /// Writes down what the workspace is like before the first command of a run, so that not even the end of the process
    /// hides what commands change. Returns whether they are watched.
    pub fn prepare_command(&self) -> Result<bool, Error> {
        let mut baseline = self.baseline();
        let Some(baseline) = baseline.as_mut() else { return Ok(false) };
        if !baseline.is_written {
            self.write_index(&baseline.index)?;
            let run = self.run_number()?;
            self.journal.append(&Line::Commands { run })?;
            baseline.is_written = true;
        }
        Ok(true)
    }

    /// Keeps what a file tool is about to change.
    pub fn prepare_file(&self, turn: u32, path: &Path) -> Result<(), Error> {
        let real = bowline_files::canonical(path);
        if self.options.closed.iter().any(|closed| real.starts_with(bowline_files::canonical(closed))) {
            return Ok(());
        }
        let Some(path) = journal_path(&self.options.workspace, path) else { return Ok(()) };
        let run = self.run_number()?;
        let roots = Roots::open(&self.options.workspace)?;
        let mut live = self.live();
        // The folders that the tool creates come first.
        let ends = path.char_indices().filter(|(place, letter)| *letter == '/' && *place > 0);
        let paths = ends.map(|(place, _)| &path[..place]).chain([path.as_str()]);
        for path in paths {
            if live.announced.contains_key(path) {
                continue;
            }
            let state = self.state_now(&roots, path)?;
            if state.as_ref().is_some_and(|state| state.kind == Kind::Folder) {
                continue;
            }
            self.journal.append(&Line::Before { run, turn, path: path.to_owned(), state: state.clone() })?;
            live.announced.insert(path.to_owned(), state);
        }
        Ok(())
    }

    /// Finds out what changed in a turn and writes it down. Returns how many paths did.
    pub fn end_turn(&self, end: &TurnEnd) -> Result<usize, Error> {
        let mut live = self.live();
        if live.number.is_none() {
            return Ok(0);
        }
        let roots = Roots::open(&self.options.workspace)?;
        let mut changes = self.announced_changes(&roots, &live.announced);
        live.announced = match end.call {
            Some(_) => changes.iter().map(|change| (change.path.clone(), change.after.clone())).collect(),
            None => BTreeMap::new(),
        };
        if end.had_commands {
            self.add_changes_of_commands(&roots, &mut changes)?;
        }
        changes.retain(Change::is_change);
        let Some(run) = live.number else { return Ok(0) };
        if changes.is_empty() {
            return Ok(0);
        }
        let count = changes.len();
        live.has_changes = true;
        let (turn, entry, call) = (end.turn, end.entry.clone(), end.call.clone());
        self.journal.append(&Line::Changes { run, turn, entry, call, changes, recovered: false })?;
        Ok(count)
    }

    /// Ends the run. Returns what it changed, with a diff; `None` if that is nothing.
    pub fn end_run(&self) -> Result<Option<RunChanges>, Error> {
        *self.baseline() = None;
        let live = std::mem::take(&mut *self.live());
        let Some(run) = live.number else { return Ok(None) };
        self.journal.append(&Line::End { run })?;
        if !live.has_changes {
            return Ok(None);
        }
        let history = self.journal.read()?;
        Ok(self.run_changes(&history, run, true))
    }

    /// Returns what became of the paths that file tools were about to change.
    fn announced_changes(&self, roots: &Roots, announced: &BTreeMap<String, Option<State>>) -> Vec<Change> {
        let change = |(path, before): (&String, &Option<State>)| {
            let after = self.state_now(roots, path).ok()?;
            Some(Change { path: path.clone(), before: before.clone(), after })
        };
        announced.iter().filter_map(change).collect()
    }

    /// Adds what differs from the index, which becomes that of now.
    fn add_changes_of_commands(&self, roots: &Roots, changes: &mut Vec<Change>) -> Result<(), Error> {
        let mut baseline = self.baseline();
        let Some(baseline) = baseline.as_mut() else { return Ok(()) };
        let filter = self.filter();
        let Some(mut now) = Index::scan(roots.workspace(), &filter, &baseline.index.left_out)? else {
            return Ok(());
        };
        let found = self.compare(roots, baseline, &mut now, changes);
        changes.extend(found);
        now.left_out.extend(std::mem::take(&mut baseline.index.left_out));
        baseline.index = now;
        Ok(())
    }

    /// Returns what changed between the index before and that of now, which learns where contents are available. Paths that are
    /// among `known` changes are left out.
    fn compare(&self, roots: &Roots, baseline: &Baseline, now: &mut Index, known: &[Change]) -> Vec<Change> {
        let known: HashSet<&str> = known.iter().map(|change| change.path.as_str()).collect();
        let mut found = Vec::new();
        let mut looked_at: BTreeMap<String, Option<State>> = BTreeMap::new();
        for (path, old, new) in differences(&baseline.index, now) {
            if found.len() == MAX_CHANGES {
                break;
            }
            // Rules that are new may leave out what is still there.
            if let Some(old) = old
                && new.is_none()
                && let Ok((folder, name)) = roots.parent_of(path)
                && let Ok(Some(stat)) = folder.stat(name)
                && is_unchanged(&baseline.index, &old.stat, &stat)
            {
                continue;
            }
            let Ok(after) = self.state_now(roots, path) else { continue };
            looked_at.insert(path.to_owned(), after.clone());
            if known.contains(path) {
                continue;
            }
            let before = old.map(|old| self.state_of(old, baseline.repository.as_ref()));
            let change = Change { path: path.to_owned(), before, after };
            if change.is_change() {
                found.push(change);
            }
        }
        let mut before = baseline.index.cursor();
        for entry in &mut now.entries {
            match looked_at.get(&*entry.path) {
                Some(Some(State { image: Some(image), missing: None, .. })) => {
                    entry.image = Image::Stored(*image);
                }
                Some(Some(State { missing: Some(missing), .. })) => entry.image = Image::Missing(*missing),
                Some(_) => {}
                None => {
                    if let Some(old) = before.find(&entry.path) {
                        entry.image = old.image.clone();
                    }
                }
            }
        }
        found
    }

    /// Closes runs that were in progress when their process ended: what has changed since then counts as theirs.
    pub(crate) fn recover(&self) -> Result<(), Error> {
        let live = self.live().number;
        let history = self.journal.read()?;
        let last = history.runs.last_key_value().map(|(number, _)| *number);
        for (number, run) in &history.runs {
            if run.is_over || Some(*number) == live {
                continue;
            }
            let roots = Roots::open(&self.options.workspace)?;
            let mut changes = self.announced_changes(&roots, &run.announced);
            if run.had_commands
                && last == Some(*number)
                && let Some(index) = self.written_index()
                && let Some(mut now) = Index::scan(roots.workspace(), &self.filter(), &index.left_out)?
            {
                let repository = Repository::around(&self.options.workspace);
                let baseline = Baseline { index, repository, is_written: true };
                let mut found = self.compare(&roots, &baseline, &mut now, &changes);
                // What its turns are known to have changed is theirs.
                let mut known: BTreeMap<&str, Option<&State>> = BTreeMap::new();
                for change in run.turns.iter().flat_map(|turn| &turn.changes) {
                    known.insert(&change.path, change.after.as_ref());
                }
                for change in &mut found {
                    if let Some(state) = known.get(change.path.as_str()) {
                        change.before = state.cloned();
                    }
                }
                changes.extend(found);
            }
            changes.retain(Change::is_change);
            if !changes.is_empty() {
                let turn = run.turns.last().map_or(run.announced_turn, |turn| turn.turn + 1);
                let line =
                    Line::Changes { run: *number, turn, entry: None, call: None, changes, recovered: true };
                self.journal.append(&line)?;
            }
            self.journal.append(&Line::End { run: *number })?;
        }
        Ok(())
    }

    /// Makes room for a content by dropping what nothing refers to, then what the oldest runs need. Returns whether there
    /// is room.
    pub(crate) fn make_room(&self, bytes: u64) -> bool {
        let fits = || self.store.bytes().saturating_add(bytes) <= self.options.max_bytes;
        if fits() {
            return true;
        }
        if self.is_full.load(Ordering::Relaxed) {
            return false;
        }
        let has_room = self.drop_until(fits).unwrap_or(false);
        self.is_full.store(!has_room, Ordering::Relaxed);
        has_room
    }

    fn drop_until(&self, fits: impl Fn() -> bool) -> Result<bool, Error> {
        let mut history = self.journal.read()?;
        self.drop_unused(&history);
        while !fits() {
            let oldest = history.runs.iter().find(|(_, run)| run.is_over && !run.is_dropped);
            let Some(run) = oldest.map(|(number, _)| *number) else { return Ok(false) };
            self.journal.append(&Line::Dropped { run })?;
            history = self.journal.read()?;
            self.drop_unused(&history);
        }
        Ok(true)
    }

    /// Drops the contents that neither a run nor an index of the workspace needs.
    fn drop_unused(&self, history: &History) {
        let mut wanted: HashSet<ImageId> = history.images().chain(self.pinned().iter().copied()).collect();
        for entry in self.written_index().iter().flat_map(|index| &index.entries) {
            if let Image::Stored(image) = entry.image {
                wanted.insert(image);
            }
        }
        self.store.retain(&wanted);
    }

    /// Keeps a content from being dropped as long as the run goes on.
    pub(crate) fn pin(&self, image: ImageId) {
        self.pinned().insert(image);
    }

    fn pinned(&self) -> MutexGuard<'_, HashSet<ImageId>> {
        self.pinned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of the run in progress, which it gets when it is about to change something.
    fn run_number(&self) -> Result<u64, Error> {
        let mut live = self.live();
        if let Some(number) = live.number {
            return Ok(number);
        }
        let history = self.journal.read()?;
        let number = history.runs.last_key_value().map_or(1, |(last, _)| last + 1);
        let (entry, started) = (live.entry.clone(), live.started);
        self.journal.append(&Line::Run { run: number, entry, started })?;
        live.number = Some(number);
        Ok(number)
    }

    pub(crate) fn filter(&self) -> Filter {
        let own = self.options.excluded.iter().chain([&self.options.folder]);
        let workspace = bowline_files::canonical(&self.options.workspace);
        let below = |path: PathBuf| path.strip_prefix(&workspace).ok()?.to_str().map(str::to_owned);
        let excluded = own.filter_map(|path| below(bowline_files::canonical(path))).collect();
        Filter { home: self.options.home.clone(), excluded }
    }

    fn index_path(&self) -> PathBuf {
        self.options.folder.join("index.jsonl")
    }

    fn written_index(&self) -> Option<Index> {
        Index::parse(&bowline_files::read_text(&self.index_path(), MAX_INDEX_BYTES).ok()?)
    }

    fn write_index(&self, index: &Index) -> Result<(), Error> {
        let failed = |error| Error::access(&self.options.folder, error);
        bowline_files::create_private_folder(&self.options.folder).map_err(failed)?;
        let temporary = self.options.folder.join("index.new");
        let _ = fs::remove_file(&temporary);
        let file = bowline_files::private_file().write(true).create_new(true).open(&temporary);
        let mut output = BufWriter::new(file.map_err(failed)?);
        index.write(&mut output).and_then(|()| output.flush()).map_err(failed)?;
        fs::rename(&temporary, self.index_path()).map_err(failed)
    }

    fn live(&self) -> MutexGuard<'_, LiveRun> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn baseline(&self) -> MutexGuard<'_, Option<Baseline>> {
        self.baseline.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the undo data of a session, whose id is the name of its folder.
pub fn remove(folder: &Path, session_id: &str) {
    let is_name = Path::new(session_id).file_name().is_some_and(|name| name == session_id);
    if is_name {
        let _ = fs::remove_dir_all(folder.join(session_id));
    }
}
