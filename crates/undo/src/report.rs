//! What is recorded, as clients see it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::Ordering;

use bowline_core::file_changes::{
    ChangesQuery, ChangesReport, FileChange, FileChangeKind, RunChanges, TurnChanges,
};

use crate::difference::Differences;
use crate::error::{Error, refuse_link};
use crate::journal::{History, Run};
use crate::recorder::Recorder;
use crate::state::{Change, Kind, State};

/// The most files of a run that are listed.
const MAX_FILES: usize = 1000;

/// The most files of a run that are compared.
const MAX_COMPARED: usize = 500;

/// The changes that nobody sees.
const NEVER_COVERED: [&str; 3] = [
    "what commands change outside of the working directory",
    "what commands change in ignored files and folders, in .git and on other file systems",
    "owners, extended attributes and times of files",
];

impl Recorder {
    /// Returns what runs changed. `entries` are the ids of the session's entries in the order of the file, which tell what
    /// followed an entry.
    pub fn changes(&self, query: &ChangesQuery, entries: &[String]) -> Result<ChangesReport, Error> {
        if let Err(error) = self.recover() {
            self.note_failure(&error);
        }
        let history = self.journal.read().unwrap_or_else(|error| {
            self.note_failure(&error);
            History::default()
        });
        if let Some(run) = query.run
            && history.runs.get(&run).is_none_or(|run| run.turns.is_empty())
        {
            return Err(Error::UnknownRun(run));
        }
        let after = query.entry.as_deref().map(|entry| After::new(entry, entries)).transpose()?;
        let is_shown = |number: u64, run: &Run| {
            query.run.is_none_or(|wanted| wanted == number)
                && after
                    .as_ref()
                    .is_none_or(|after| (0..run.turns.len()).any(|place| after.covers(run, place)))
        };
        let shown = history.runs.iter().filter(|(number, run)| is_shown(**number, run));
        let runs = shown.filter_map(|(number, _)| self.run_changes(&history, *number, query.with_diff));
        let unseen = self.unseen_commands();
        let failed = self.failure().map(|failure| incomplete_text(&failure));
        let mut not_covered = NEVER_COVERED.map(str::to_owned).to_vec();
        let unnamed = self.unnamed.load(Ordering::Relaxed);
        if unnamed > 0 {
            not_covered.push(format!("{unnamed} files and folders whose names are not UTF-8"));
        }
        Ok(ChangesReport {
            enabled: true,
            commands: unseen.is_none(),
            reason: unseen.or(failed),
            runs: runs.collect(),
            can_redo: !history.undos.is_empty(),
            stored_bytes: self
                .store
                .bytes()
                .saturating_add(bytes_below(&self.options.folder.join("quarantine"))),
            not_covered,
        })
    }

    /// Returns what is recorded of runs, without looking at the workspace or writing anything.
    pub fn recorded(&self, query: &ChangesQuery) -> Result<Vec<RunChanges>, Error> {
        let history = self.journal.read()?;
        let runs = history.runs.keys().filter(|run| query.run.is_none_or(|wanted| wanted == **run));
        Ok(runs.filter_map(|run| self.run_changes(&history, *run, query.with_diff)).collect())
    }

    /// Returns what one run changed in the end; `None` if that is nothing.
    pub(crate) fn run_changes(&self, history: &History, number: u64, with_diff: bool) -> Option<RunChanges> {
        let run = history.runs.get(&number)?;
        let net = net_changes(history, number, run);
        if net.is_empty() {
            return None;
        }
        let mut differences = Differences::default();
        for net in net.iter().take(MAX_COMPARED) {
            self.compare_contents(&net.change, &mut differences);
        }
        differences.is_truncated |= net.len() > MAX_COMPARED;
        let turns = run.turns.iter().map(|turn| TurnChanges {
            turn: turn.turn,
            entry_id: turn.entry.clone(),
            tool_call_id: turn.call.clone(),
            files: turn.changes.len() as u64,
        });
        let is_undone = net.iter().all(|net| net.is_undone);
        Some(RunChanges {
            run: number,
            entry_id: run.entry.clone(),
            started: run.started,
            omitted_files: net.len().saturating_sub(MAX_FILES) as u64,
            files: net.iter().take(MAX_FILES).map(file_change).collect(),
            turns: turns.collect(),
            added: differences.added,
            removed: differences.removed,
            diff: (with_diff && !differences.text.is_empty()).then_some(differences.text),
            diff_truncated: with_diff && differences.is_truncated,
            recovered: run.is_recovered,
            undone: is_undone,
        })
    }

    fn compare_contents(&self, change: &Change, differences: &mut Differences) {
        let content = |state: Option<&State>| match state {
            Some(State { kind: Kind::File, image: Some(image), .. }) => {
                self.store.get(*image, self.options.max_file_bytes).map(Some)
            }
            Some(State { kind: Kind::Link, target: Some(target), .. }) => {
                Some(Some(format!("{target}\n").into_bytes()))
            }
            Some(State { kind: Kind::Folder, .. }) | None => Some(None),
            Some(_) => None,
        };
        let (before, after) = (content(change.before.as_ref()), content(change.after.as_ref()));
        if let (Some(before), Some(after)) = (before, after)
            && before != after
        {
            differences.add(&change.path, before.as_deref(), after.as_deref());
        }
    }
}

/// Returns what users read if something of a run could not be recorded.
pub fn incomplete_text(failure: &str) -> String {
    format!("What this run changes cannot be undone completely: {failure}")
}

/// Returns how many bytes the files below a folder have.
fn bytes_below(folder: &Path) -> u64 {
    let mut bytes = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        if refuse_link(&folder).is_err() {
            continue;
        }
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) => bytes += metadata.len(),
                Err(_) => {}
            }
        }
    }
    bytes
}

/// What a path was before a run and after it.
struct NetChange {
    change: Change,
    is_undone: bool,
}

/// Returns what the turns of a run changed together, by path.
fn net_changes(history: &History, number: u64, run: &Run) -> Vec<NetChange> {
    let mut net: BTreeMap<&str, NetChange> = BTreeMap::new();
    for (place, turn) in run.turns.iter().enumerate() {
        for change in &turn.changes {
            let is_undone = history.undone.contains(&(number, place, change.path.clone()));
            match net.get_mut(change.path.as_str()) {
                Some(found) => {
                    found.change.after = change.after.clone();
                    found.is_undone &= is_undone;
                }
                None => drop(net.insert(&change.path, NetChange { change: change.clone(), is_undone })),
            }
        }
    }
    net.into_values().filter(|net| net.change.is_change()).collect()
}

fn file_change(net: &NetChange) -> FileChange {
    let change = &net.change;
    let kind = change.after.as_ref().or(change.before.as_ref()).map(State::file_kind);
    let size = |state: Option<&State>| state.filter(|state| state.kind == Kind::File).map(|state| state.size);
    let missing = change.missing();
    FileChange {
        path: change.path.clone(),
        change: change.kind(),
        kind: kind.unwrap_or(bowline_core::file_changes::FileKind::File),
        size_before: size(change.before.as_ref()),
        size: if change.kind() == FileChangeKind::Deleted { None } else { size(change.after.as_ref()) },
        covered: missing.is_none(),
        reason: missing.map(|missing| missing.text().to_owned()),
        undone: net.is_undone,
    }
}

/// What followed an entry of the session.
pub(crate) struct After<'a> {
    later: BTreeSet<&'a str>,
}

impl<'a> After<'a> {
    pub fn new(entry: &str, entries: &'a [String]) -> Result<Self, Error> {
        let place = entries.iter().position(|found| found == entry);
        let place = place.ok_or_else(|| Error::UnknownEntry(entry.to_owned()))?;
        Ok(Self { later: entries[place + 1..].iter().map(String::as_str).collect() })
    }

    /// Tells whether a list of changes of a run came later. One without an entry came after the run's prompt.
    pub fn covers(&self, run: &Run, place: usize) -> bool {
        let entry = run.turns.get(place).and_then(|turn| turn.entry.as_deref()).or(run.entry.as_deref());
        entry.is_some_and(|entry| self.later.contains(entry))
    }
}
