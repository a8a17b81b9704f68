//! Recording what the runs of one session change.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bowline_core::file_changes::RunChanges;

use crate::beneath::Folder;
use crate::capture::{Roots, journal_path};
use crate::compare::Left;
use crate::error::{Error, refuse_link};
use crate::git_index::{Repository, is_attributes};
use crate::image::ImageId;
use crate::index::{Filter, Index, MAX_PATHS};
use crate::journal::{Journal, Line};
use crate::state::{Change, Kind, State};
use crate::store::Store;

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
    pub(crate) is_full: AtomicBool,
    /// Whether there was no room for a copy of what nobody has changed.
    pub(crate) has_no_free_room: AtomicBool,
    /// Whether the workspace has too many files to be watched.
    is_too_large: AtomicBool,
    /// How many names in the workspace are not UTF-8.
    pub(crate) unnamed: AtomicU64,
    /// What went wrong last in this run.
    failure: Mutex<Option<String>>,
    /// Whether another process may have the session, so that nothing is to be written.
    is_read_only: bool,
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
    /// What file tools left in turns before, which the index does not show.
    left: Left,
    has_changes: bool,
    /// Whether changes of a turn could not be found out or written down.
    has_failed: bool,
}

/// The workspace before the commands of a turn.
#[derive(Debug)]
pub(crate) struct Baseline {
    pub index: Index,
    pub repository: Option<Repository>,
    /// Whether it is on disk, so that commands may run.
    pub is_written: bool,
    /// The workspace, which stays open although a command moves it.
    pub folder: Option<Folder>,
    /// When the first index of the run was taken, in nanoseconds since 1970.
    pub started: i64,
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
            has_no_free_room: AtomicBool::new(false),
            is_too_large: AtomicBool::new(false),
            unnamed: AtomicU64::new(0),
            failure: Mutex::default(),
            is_read_only: false,
        }
    }

    /// Returns a recorder that writes nothing, for a session that another process may have.
    pub fn read_only(options: Options) -> Self {
        Self { is_read_only: true, ..Self::new(options) }
    }

    /// Notes that something of this run could not be recorded.
    pub fn note_failure(&self, error: &Error) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
    }

    /// Returns why what the last run changed cannot be put back completely, if so.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns why the changes of commands are not seen, if so.
    pub fn unseen_commands(&self) -> Option<String> {
        if !self.options.scans {
            return Some("undo.commands is off in settings.json".to_owned());
        }
        if self.is_too_large.load(Ordering::Relaxed) {
            return Some(Error::TooManyFiles(MAX_PATHS).to_string());
        }
        let workspace = bowline_files::canonical(&self.options.workspace);
        if self.options.closed.iter().any(|closed| workspace.starts_with(bowline_files::canonical(closed))) {
            return Some(
                "the working directory is bowline's own folder, of which nothing is copied".to_owned(),
            );
        }
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
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.pinned().clear();
        self.is_full.store(false, Ordering::Relaxed);
        self.has_no_free_room.store(false, Ordering::Relaxed);
        self.store.tidy();
        self.journal.shorten()?;
        self.recover()
    }

    /// Looks at the workspace, so that commands can run.
    pub fn take_index(&self) -> Result<(), Error> {
        if self.unseen_commands().is_some() {
            return Ok(());
        }
        let workspace = &self.options.workspace;
        let roots = Roots::open(workspace)?;
        let Some(folder) = roots.workspace() else {
            return Err(Error::access(workspace, std::io::ErrorKind::NotFound));
        };
        let mut repository = Repository::around(workspace, self.options.home.as_deref());
        let Some(mut index) = Index::scan(folder, &self.filter(), None, repository.as_ref())? else {
            self.is_too_large.store(true, Ordering::Relaxed);
            return Ok(());
        };
        if let Some(repository) = &mut repository {
            let paths = index.entries.iter().map(|entry| &*entry.path);
            let paths = paths.chain(index.left_out.keys().map(String::as_str));
            paths.filter(|path| is_attributes(path)).for_each(|path| {
                repository.add_attributes(&folder.path().join(path));
            });
        }
        self.unnamed.store(index.unnamed, Ordering::Relaxed);
        let previous = self.written_index();
        self.keep_contents(&roots, &mut index, previous.as_ref(), repository.as_ref());
        let (folder, started) = (Some(folder.again()?), index.started);
        *self.baseline() = Some(Baseline { index, repository, is_written: false, folder, started });
        Ok(())
    }

    /// Writes down what the workspace is like before the first command of a run, so that not even the end of the process
    /// hides what commands change. Returns whether they are watched.
    pub fn prepare_command(&self) -> Result<bool, Error> {
        let (mut live, mut baseline) = (self.live(), self.baseline());
        let Some(baseline) = baseline.as_mut() else { return Ok(false) };
        if !baseline.is_written {
            self.write_index(&baseline.index)?;
            let run = self.run_number(&mut live)?;
            let workspace = baseline.folder.as_ref().and_then(|folder| Some(folder.own_stat().ok()?.inode));
            self.journal.append(&Line::Commands { run, workspace })?;
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
        let mut live = self.live();
        let run = self.run_number(&mut live);
        let roots = self.roots()?;
        let mut written = Ok(());
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
            // What cannot be written down is known at least as long as the process runs.
            live.announced.insert(path.to_owned(), state.clone());
            if let Ok(run) = run {
                let line = Line::Before { run, turn, path: path.to_owned(), state };
                written = written.and(self.journal.append(&line));
            }
        }
        run.and(written)
    }

    /// Finds out what changed in a turn and writes it down. Returns how many paths did.
    pub fn end_turn(&self, end: &TurnEnd) -> Result<usize, Error> {
        let mut live = self.live();
        let result = self.end_turn_of(&mut live, end);
        live.has_failed |= result.is_err();
        result
    }

    fn end_turn_of(&self, live: &mut LiveRun, end: &TurnEnd) -> Result<usize, Error> {
        if live.announced.is_empty() && !end.had_commands {
            return Ok(0);
        }
        let roots = self.roots()?;
        let mut changes = self.announced_changes(&roots, &live.announced);
        let after = |change: &Change| (change.path.clone(), change.after.clone());
        let announced: BTreeMap<_, _> = changes.iter().map(after).collect();
        if end.had_commands {
            self.add_changes_of_commands(&roots, &mut changes, &mut live.left)?;
        }
        live.left.extend(announced.clone());
        changes.retain(Change::is_change);
        let count = changes.len();
        if count > 0 {
            let run = self.run_number(live)?;
            live.has_changes = true;
            let (turn, entry, call, workspace) =
                (end.turn, end.entry.clone(), end.call.clone(), roots.inode());
            let line = Line::Changes { run, turn, entry, call, changes, recovered: false, workspace };
            self.journal.append(&line)?;
        }
        live.announced = if end.call.is_some() { announced } else { BTreeMap::new() };
        Ok(count)
    }

    /// Ends the run. Returns what it changed, with a diff; `None` if that is nothing.
    pub fn end_run(&self) -> Result<Option<RunChanges>, Error> {
        *self.baseline() = None;
        let live = std::mem::take(&mut *self.live());
        let Some(run) = live.number else { return Ok(None) };
        // A run that is not over is looked at again.
        if !live.has_failed {
            self.journal.append(&Line::End { run })?;
        }
        if !live.has_changes {
            return Ok(None);
        }
        let history = self.journal.read()?;
        Ok(self.run_changes(&history, run, true))
    }

    /// Returns what became of the paths that file tools were about to change.
    pub(crate) fn announced_changes(
        &self,
        roots: &Roots,
        announced: &BTreeMap<String, Option<State>>,
    ) -> Vec<Change> {
        let change = |(path, before): (&String, &Option<State>)| {
            let after = self.state_now(roots, path).ok()?;
            Some(Change { path: path.clone(), before: before.clone(), after, origin: None })
        };
        announced.iter().filter_map(change).collect()
    }

    /// Adds what differs from the index, which becomes that of now.
    fn add_changes_of_commands(
        &self,
        roots: &Roots,
        changes: &mut Vec<Change>,
        left: &mut Left,
    ) -> Result<(), Error> {
        let mut baseline = self.baseline();
        let Some(baseline) = baseline.as_mut() else { return Ok(()) };
        let mut now = self.scan_again(roots, &baseline.index, baseline.repository.as_ref())?;
        let found = self.compare(roots, baseline, &mut now, changes, left);
        changes.extend(found);
        let after = changes.iter().map(|change| (change.path.as_str(), &change.after));
        let after: HashMap<&str, &Option<State>> = after.collect();
        // The index shows the others.
        left.retain(|path, _| now.find(path).is_none());
        for (path, state) in left.iter_mut() {
            if let Some(after) = after.get(path.as_str()) {
                *state = (*after).clone();
            }
        }
        now.left_out.extend(std::mem::take(&mut baseline.index.left_out));
        baseline.index = now;
        Ok(())
    }

    /// Reads the workspace again after an index. If it has become too large, only what that index has is looked at.
    pub(crate) fn scan_again(
        &self,
        roots: &Roots,
        before: &Index,
        repository: Option<&Repository>,
    ) -> Result<Index, Error> {
        let Some(folder) = roots.workspace() else { return Ok(Index::empty()) };
        if let Some(index) = Index::scan(folder, &self.filter(), Some(before), repository)? {
            return Ok(index);
        }
        self.is_too_large.store(true, Ordering::Relaxed);
        self.note_failure(&Error::TooManyFiles(MAX_PATHS));
        Ok(Index::revisit(folder, before))
    }

    /// Opens the workspace that the run began in, wherever it is now.
    fn roots(&self) -> Result<Roots, Error> {
        let held = self.baseline().as_ref().and_then(|baseline| baseline.folder.as_ref()?.again().ok());
        Roots::holding(&self.options.workspace, held)
    }

    /// Tells whether another process may have the session.
    pub(crate) fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Returns the number of the run in progress, if it has one.
    pub(crate) fn live_number(&self) -> Option<u64> {
        self.live().number
    }

    pub(crate) fn pinned(&self) -> MutexGuard<'_, HashSet<ImageId>> {
        self.pinned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of the run in progress, which it gets when it is about to change something.
    fn run_number(&self, live: &mut LiveRun) -> Result<u64, Error> {
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
        let excluded = own.filter_map(|path| below(bowline_files::canonical(path)));
        let excluded = excluded.filter(|path| !path.is_empty()).collect();
        Filter { home: self.options.home.clone(), excluded }
    }

    fn index_path(&self) -> PathBuf {
        self.options.folder.join("index.jsonl")
    }

    pub(crate) fn written_index(&self) -> Option<Index> {
        let path = self.index_path();
        refuse_link(&path).ok()?;
        Index::parse(&bowline_files::read_text(&path, MAX_INDEX_BYTES).ok()?)
    }

    fn write_index(&self, index: &Index) -> Result<(), Error> {
        let failed = |error| Error::access(&self.options.folder, error);
        refuse_link(&self.options.folder)?;
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
