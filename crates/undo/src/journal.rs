//! What happened, line by line, so that it survives the end of the process at any moment: a line is written in one piece
//! before what it announces is done, and a line that is not complete is skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{Error, refuse_link};
use crate::image::ImageId;
use crate::state::{Change, Stamp, State};

/// The most that is read of a journal. One run adds far less than what is between this and the next limit.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// The length from which the oldest runs are left out of a journal.
const LONG: u64 = 32 * 1024 * 1024;

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Line {
    /// A run is about to change files.
    Run { run: u64, entry: Option<String>, started: u64 },
    /// A file tool is about to change a path.
    Before { run: u64, turn: u32, path: String, state: Option<State> },
    /// A command is about to run; the index of the workspace is in its file.
    Commands {
        run: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<u64>,
    },
    /// What changed in a turn, or during a call in it.
    Changes {
        run: u64,
        turn: u32,
        entry: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        changes: Vec<Change>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        recovered: bool,
        /// The inode of the workspace, unless it was gone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<u64>,
    },
    /// A run is over.
    End { run: u64 },
    /// An undo of the last run has left some of its paths alone, and said so.
    LeftAlone { run: u64 },
    /// Paths are about to be restored, or to be changed again. It holds until the same number is undone or redone.
    Intent(Intent),
    /// Paths were restored.
    Undone {
        undo: u64,
        steps: Vec<Step>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        restamped: Vec<Restamped>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<u64>,
    },
    /// Paths were changed again.
    Redone {
        undo: u64,
        paths: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        restamped: Vec<Restamped>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<u64>,
    },
    /// The former contents of a run are no longer kept.
    Dropped { run: u64 },
}

/// What an undo or a redo is about to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Intent {
    pub undo: u64,
    pub is_redo: bool,
    pub steps: Vec<Step>,
    /// Where files are moved to.
    pub quarantine: PathBuf,
}

/// A file whose content is not kept and that was moved or got other permissions: it has another stamp since.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Restamped {
    pub path: String,
    pub old: Stamp,
    pub new: Stamp,
}

/// A path that was restored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Step {
    pub path: String,
    pub from: Option<State>,
    pub to: Option<State>,
    /// The changes that were taken back: runs, and the places of their lists of changes.
    pub parts: Vec<(u64, usize)>,
    /// Where the file was moved to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<PathBuf>,
    /// The path whose file is moved to this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// A run that may have changed files.
#[derive(Debug, Clone, Default)]
pub(crate) struct Run {
    pub entry: Option<String>,
    pub started: u64,
    pub turns: Vec<Turn>,
    /// What file tools were about to change since the last list of changes.
    pub announced: BTreeMap<String, Option<State>>,
    pub announced_turn: u32,
    pub had_commands: bool,
    pub is_over: bool,
    pub is_recovered: bool,
    pub is_dropped: bool,
    /// Whether an undo of the last run has said what it left alone of this one.
    pub is_told: bool,
}

/// What a turn, or a call in it, changed.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub turn: u32,
    pub entry: Option<String>,
    pub call: Option<String>,
    pub changes: Vec<Change>,
}

/// Paths that were put back and can be changed again.
#[derive(Debug, Clone)]
pub(crate) struct Undo {
    pub number: u64,
    pub steps: Vec<Step>,
}

/// Everything that a journal says.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub runs: BTreeMap<u64, Run>,
    /// The changes that are taken back: run, place of the list of changes, path.
    pub undone: BTreeSet<(u64, usize, String)>,
    /// What can be done again, newest last.
    pub undos: Vec<Undo>,
    pub last_undo: u64,
    /// What was about to be done when the process ended.
    pub intent: Option<Intent>,
    /// The inode of the workspace, as it was last known.
    pub workspace: Option<u64>,
}

/// The file with the lines.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
}

impl Journal {
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Adds a line in one write.
    pub fn append(&self, line: &Line) -> Result<(), Error> {
        let failed = |error| Error::access(&self.path, error);
        self.refuse_links()?;
        if let Some(folder) = self.path.parent() {
            bowline_files::create_private_folder(folder).map_err(failed)?;
        }
        let mut options = bowline_files::private_file();
        options.read(true).append(true).create(true);
        let mut file =
            bowline_files::open_by(&mut options, &self.path).map_err(|error| failed(error.into_io()))?;
        let mut text = Vec::new();
        if is_torn(&mut file).map_err(failed)? {
            text.push(b'\n');
        }
        serde_json::to_writer(&mut text, line).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        file.write_all(&text).map_err(failed)
    }

    fn refuse_links(&self) -> Result<(), Error> {
        self.path.parent().map_or(Ok(()), refuse_link)?;
        refuse_link(&self.path)
    }

    /// Writes a long journal anew without its older half.
    pub fn shorten(&self) -> Result<(), Error> {
        let failed = |error| Error::access(&self.path, error);
        let length = self.path.symlink_metadata().map_or(0, |metadata| metadata.len());
        if length <= LONG {
            return Ok(());
        }
        let text = bowline_files::read(&self.path, MAX_BYTES).map_err(|error| failed(error.into_io()))?;
        let mut starts = Vec::new();
        let mut place = 0;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            if let Ok(Line::Run { run, .. }) = serde_json::from_slice(line) {
                starts.push((place, run));
            }
            place += line.len();
        }
        // The newest run stays whatever its length is; numbers go on from it.
        let first = starts.iter().find(|(place, _)| (text.len() - place) as u64 <= LONG / 2);
        let (place, oldest) = first.or(starts.last()).copied().unwrap_or((0, 0));
        let kept = &text[place..];
        let mut lines = Vec::with_capacity(kept.len());
        for line in kept.split_inclusive(|byte| *byte == b'\n') {
            let is_known = match serde_json::from_slice(line) {
                Ok(Line::Undone { steps, .. }) => {
                    steps.iter().flat_map(|step| &step.parts).all(|(run, _)| *run >= oldest)
                }
                _ => true,
            };
            if is_known {
                lines.extend_from_slice(line);
            }
        }
        let lock =
            bowline_files::Lock::acquire(&self.path, std::time::Duration::from_secs(1)).map_err(failed)?;
        lock.replace(&lines).map_err(failed)
    }

    /// Reads all lines. Those that cannot be understood are skipped.
    pub fn read(&self) -> Result<History, Error> {
        self.refuse_links()?;
        let text = match bowline_files::read(&self.path, MAX_BYTES) {
            Ok(text) => text,
            Err(error) if error.is_not_found() => return Ok(History::default()),
            Err(error) => return Err(Error::access(&self.path, error.into_io())),
        };
        let mut history = History::default();
        for line in text.split(|byte| *byte == b'\n') {
            if let Ok(line) = serde_json::from_slice(line) {
                history.add(line);
            }
        }
        Ok(history)
    }
}

/// Tells whether the last line has no end.
fn is_torn(file: &mut std::fs::File) -> std::io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != [b'\n'])
}

impl History {
    fn add(&mut self, line: Line) {
        match line {
            Line::Run { run, entry, started } => {
                self.runs.insert(run, Run { entry, started, ..Run::default() });
            }
            Line::Before { run, turn, path, state } => {
                if let Some(run) = self.runs.get_mut(&run) {
                    run.announced.entry(path).or_insert(state);
                    run.announced_turn = turn;
                }
            }
            Line::Commands { run, workspace } => {
                self.workspace = workspace;
                self.change(run, |run| run.had_commands = true);
            }
            Line::Changes { run, turn, entry, call, changes, recovered, workspace } => {
                self.workspace = workspace;
                if let Some(run) = self.runs.get_mut(&run) {
                    run.announced.clear();
                    run.is_recovered |= recovered;
                    run.turns.push(Turn { turn, entry, call, changes });
                }
            }
            Line::End { run } => self.change(run, |run| run.is_over = true),
            Line::LeftAlone { run } => self.change(run, |run| run.is_told = true),
            Line::Dropped { run: number } => {
                self.change(number, |run| {
                    run.is_dropped = true;
                    run.turns.clear();
                });
                let is_of_run = |step: &Step| step.parts.iter().any(|(run, _)| *run == number);
                self.undos.iter_mut().for_each(|undo| undo.steps.retain(|step| !is_of_run(step)));
                self.undos.retain(|undo| !undo.steps.is_empty());
            }
            Line::Intent(intent) => self.intent = Some(intent),
            Line::Undone { undo, steps, restamped, workspace } => {
                self.intent = None;
                self.workspace = workspace;
                self.last_undo = self.last_undo.max(undo);
                self.restamp(&restamped);
                for step in &steps {
                    self.undone.extend(parts_of(step));
                }
                if !steps.is_empty() {
                    self.undos.push(Undo { number: undo, steps });
                }
            }
            Line::Redone { undo, paths, restamped, workspace } => {
                self.intent = None;
                self.workspace = workspace;
                self.restamp(&restamped);
                let Some(place) = self.undos.iter().position(|found| found.number == undo) else { return };
                let (redone, left): (Vec<_>, Vec<_>) =
                    self.undos[place].steps.drain(..).partition(|step| paths.contains(&step.path));
                for step in &redone {
                    for part in parts_of(step) {
                        self.undone.remove(&part);
                    }
                }
                self.undos[place].steps = left;
                self.undos.retain(|undo| !undo.steps.is_empty());
            }
        }
    }

    /// Has files that got another stamp be what they were.
    fn restamp(&mut self, restamped: &[Restamped]) {
        if restamped.is_empty() {
            return;
        }
        let renew = |path: &str, state: Option<&mut State>| {
            let Some(stamp) = state.and_then(|state| state.stamp.as_mut()) else { return };
            if let Some(found) = restamped.iter().find(|found| found.path == path && found.old == *stamp) {
                *stamp = found.new;
            }
        };
        for change in self.runs.values_mut().flat_map(|run| &mut run.turns).flat_map(|turn| &mut turn.changes)
        {
            renew(&change.path, change.before.as_mut());
            renew(&change.path, change.after.as_mut());
        }
        for step in self.undos.iter_mut().flat_map(|undo| &mut undo.steps) {
            renew(&step.path, step.from.as_mut());
            renew(&step.path, step.to.as_mut());
        }
    }

    fn change(&mut self, run: u64, change: impl FnOnce(&mut Run)) {
        if let Some(run) = self.runs.get_mut(&run) {
            change(run);
        }
    }

    /// Returns the contents that are needed to put things back or to change them again.
    pub fn images(&self) -> impl Iterator<Item = ImageId> {
        let changes = self.runs.values().flat_map(|run| &run.turns).flat_map(|turn| &turn.changes);
        let announced = self.runs.values().flat_map(|run| run.announced.values().flatten());
        let steps = self.undos.iter().flat_map(|undo| &undo.steps);
        let steps = steps.flat_map(|step| [&step.from, &step.to].into_iter().flatten());
        changes.flat_map(Change::images).chain(announced.chain(steps).filter_map(|state| state.image))
    }

    /// Tells whether a run has changes that are not taken back.
    pub fn has_changes_left(&self, number: u64, run: &Run) -> bool {
        run.turns.iter().enumerate().any(|(place, turn)| {
            turn.changes.iter().any(|change| !self.undone.contains(&(number, place, change.path.clone())))
        })
    }
}

fn parts_of(step: &Step) -> impl Iterator<Item = (u64, usize, String)> {
    step.parts.iter().map(|(run, place)| (*run, *place, step.path.clone()))
}
