//! Putting paths back to what they were, and changing them again.
//!
//! A path is only touched if it still is what the run left. What is new is moved away, never deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bowline_core::file_changes::{LeftAlone, Quarantined, RestoreReport, UndoTarget};

use crate::beneath::{Folder, is_other_file_system};
use crate::capture::Roots;
use crate::error::Error;
use crate::index::order;
use crate::journal::{History, Line, Run, Step};
use crate::recorder::Recorder;
use crate::report::After;
use crate::state::{Kind, State, is_same};

/// What is to be done to paths, and what is not.
#[derive(Debug, Default)]
struct Plan {
    steps: Vec<Step>,
    report: RestoreReport,
}

impl Recorder {
    /// Puts back what runs changed. `entries` are the ids of the session's entries in the order of the file.
    pub fn undo(
        &self,
        target: &UndoTarget,
        entries: &[String],
        dry_run: bool,
    ) -> Result<RestoreReport, Error> {
        self.recover()?;
        let history = self.journal.read()?;
        let roots = Roots::open(&self.options.workspace)?;
        let number = history.last_undo + 1;
        let undone = |steps| Line::Undone { undo: number, steps };
        if *target != UndoTarget::LastRun {
            let plan = self.plan_undo(&history, &select(&history, target, entries)?, &roots)?;
            return self.carry_out(plan, &roots, dry_run, undone);
        }
        let (run, plan) = self.plan_last(&history, &roots)?;
        let report = self.carry_out(plan, &roots, dry_run, undone)?;
        let is_whole = report.conflicts.is_empty() && report.not_covered.is_empty();
        if !dry_run && !is_whole {
            self.journal.append(&Line::LeftAlone { run })?;
        }
        Ok(report)
    }

    /// Returns the newest run that is not undone, and what is to be done. A run of which nothing can be restored is taken
    /// once, to say so; after that an older one comes first, or it would be in the way of all of them.
    fn plan_last(&self, history: &History, roots: &Roots) -> Result<(u64, Plan), Error> {
        let mut stuck = None;
        for (number, run) in history.runs.iter().rev() {
            if !history.has_changes_left(*number, run) {
                continue;
            }
            let plan = self.plan_undo(history, &all_turns(*number, run), roots)?;
            if !run.is_told || !plan.steps.is_empty() {
                return Ok((*number, plan));
            }
            stuck.get_or_insert((*number, plan));
        }
        stuck.ok_or(Error::NothingToUndo)
    }

    /// Changes again what the last undo restored.
    pub fn redo(&self, dry_run: bool) -> Result<RestoreReport, Error> {
        self.recover()?;
        let history = self.journal.read()?;
        let undo = history.undos.last().ok_or(Error::NothingToRedo)?;
        let roots = Roots::open(&self.options.workspace)?;
        let mut plan = Plan::default();
        let mut runs = BTreeSet::new();
        for step in &undo.steps {
            runs.extend(step.parts.iter().map(|(run, _)| *run));
            let now = self.look_at(&roots, &step.path)?;
            let inverse = Step { from: now.clone(), to: step.from.clone(), ..step.clone() };
            if !is_same(now.as_ref(), step.to.as_ref()) && !is_same(now.as_ref(), step.from.as_ref()) {
                plan.conflict(&step.path, "it has changed since it was restored");
            } else if let Some(missing) = self.is_missing(step.from.as_ref(), step.quarantine.as_deref()) {
                plan.not_covered(&step.path, missing);
            } else {
                plan.steps.push(inverse);
            }
        }
        plan.report.runs = runs.into_iter().collect();
        let number = undo.number;
        let line = |steps: Vec<Step>| Line::Redone {
            undo: number,
            paths: steps.into_iter().map(|step| step.path).collect(),
        };
        self.carry_out(plan, &roots, dry_run, line)
    }

    /// Finds out what each path has to become. Changes are taken back one after the other, newest first, as long as each
    /// finds what it left.
    fn plan_undo(&self, history: &History, selected: &[(u64, usize)], roots: &Roots) -> Result<Plan, Error> {
        let mut plan = Plan::default();
        let mut paths: BTreeMap<&str, PathHistory> = BTreeMap::new();
        let mut runs = BTreeSet::new();
        for (number, place) in selected.iter().rev() {
            let Some(turn) = history.runs.get(number).and_then(|run| run.turns.get(*place)) else { continue };
            for change in &turn.changes {
                if history.undone.contains(&(*number, *place, change.path.clone())) {
                    continue;
                }
                runs.insert(*number);
                if !paths.contains_key(change.path.as_str()) {
                    let now = self.look_at(roots, &change.path)?;
                    paths.insert(
                        &change.path,
                        PathHistory { state: now.clone(), now, parts: Vec::new(), is_stopped: false },
                    );
                }
                let Some(path_history) = paths.get_mut(change.path.as_str()) else { continue };
                if path_history.is_stopped {
                    continue;
                }
                match path_history.take_back(change.before.as_ref(), change.after.as_ref()) {
                    true => path_history.parts.push((*number, *place)),
                    false => {
                        path_history.is_stopped = true;
                        plan.conflict(
                            &change.path,
                            conflict_text(change.after.as_ref(), path_history.state.as_ref()),
                        );
                    }
                }
            }
        }
        for (path, path_history) in paths {
            if path_history.parts.is_empty() {
                continue;
            }
            if !is_same(path_history.now.as_ref(), path_history.state.as_ref())
                && let Some(missing) = self.is_missing(path_history.state.as_ref(), None)
            {
                plan.not_covered(path, missing);
                continue;
            }
            let (from, to, parts) = (path_history.now, path_history.state, path_history.parts);
            plan.steps.push(Step { path: path.to_owned(), from, to, parts, quarantine: None });
        }
        plan.report.runs = runs.into_iter().collect();
        Ok(plan)
    }

    /// Returns why a state cannot be brought back, if so.
    fn is_missing(&self, state: Option<&State>, quarantine: Option<&Path>) -> Option<&'static str> {
        let state = state.filter(|state| matches!(state.kind, Kind::File | Kind::Other))?;
        if quarantine.is_some_and(|path| path.symlink_metadata().is_ok()) {
            return None;
        }
        match (state.missing, state.image) {
            (Some(missing), _) => Some(missing.text()),
            (None, Some(image)) if self.store.has(image) => None,
            _ => Some("its content is no longer kept"),
        }
    }

    fn carry_out(
        &self,
        plan: Plan,
        roots: &Roots,
        dry_run: bool,
        line: impl FnOnce(Vec<Step>) -> Line,
    ) -> Result<RestoreReport, Error> {
        let Plan { mut steps, mut report } = plan;
        report.dry_run = dry_run;
        steps.sort_by(|one, other| order(&one.path, &other.path));
        if dry_run {
            report.restored = steps.into_iter().map(|step| step.path).collect();
            return Ok(report);
        }
        let quarantine = self.free_quarantine();
        let mut restoring = Restoring { recorder: self, roots, quarantine, failed: BTreeMap::new() };
        restoring.apply(&mut steps);
        for (path, reason) in restoring.failed {
            steps.retain(|step| step.path != path);
            report.conflicts.push(LeftAlone { path, reason });
        }
        for step in &steps {
            report.restored.push(step.path.clone());
            if let Some(moved_to) = step.quarantine.as_ref().filter(|_| step.to.is_none()) {
                let moved_to = moved_to.display().to_string();
                report.quarantined.push(Quarantined { path: step.path.clone(), moved_to });
            }
        }
        if !steps.is_empty() {
            self.journal.append(&line(steps))?;
        }
        Ok(report)
    }
}

impl Recorder {
    /// Returns a folder for files that are moved away, which does not exist yet.
    fn free_quarantine(&self) -> PathBuf {
        let above = self.options.folder.join("quarantine");
        let mut numbers = (1_u64..).map(|number| above.join(number.to_string()));
        numbers.find(|folder| folder.symlink_metadata().is_err()).unwrap_or(above)
    }
}

/// How a path goes back through the changes that are taken back.
struct PathHistory {
    now: Option<State>,
    /// What it is after those that were looked at.
    state: Option<State>,
    parts: Vec<(u64, usize)>,
    is_stopped: bool,
}

impl PathHistory {
    /// Takes one change back. Returns whether the path is what the change left, or already what it was before.
    fn take_back(&mut self, before: Option<&State>, after: Option<&State>) -> bool {
        let keeps_mode = matches!((before, after), (Some(before), Some(after)) if before.mode == after.mode);
        let is_as_left = match (&self.state, after) {
            (Some(state), Some(after)) if keeps_mode || state.kind == Kind::Folder && before.is_none() => {
                state.has_content_of(after)
            }
            (state, after) => is_same(state.as_ref(), after),
        };
        if !is_as_left {
            // An undo that was interrupted has put some paths back already.
            return is_same(self.state.as_ref(), before);
        }
        let mode = self.state.as_ref().map(|state| state.mode).filter(|_| keeps_mode);
        self.state = before.cloned();
        if let (Some(state), Some(mode)) = (&mut self.state, mode) {
            state.mode = mode;
        }
        true
    }
}

fn conflict_text(left: Option<&State>, now: Option<&State>) -> &'static str {
    match (left, now) {
        (Some(_), None) => "it no longer exists",
        (None, Some(_)) => "it exists again",
        _ => "it has changed since",
    }
}

impl Plan {
    fn conflict(&mut self, path: &str, reason: &str) {
        self.report.conflicts.push(LeftAlone { path: path.to_owned(), reason: reason.to_owned() });
    }

    fn not_covered(&mut self, path: &str, reason: &str) {
        self.report.not_covered.push(LeftAlone { path: path.to_owned(), reason: reason.to_owned() });
    }
}

/// Returns the lists of changes that a target means, oldest first.
fn select(history: &History, target: &UndoTarget, entries: &[String]) -> Result<Vec<(u64, usize)>, Error> {
    let known = |number: u64| match history.runs.get(&number) {
        Some(run) if run.is_dropped => Err(Error::DroppedRun(number)),
        Some(run) if !run.turns.is_empty() => Ok(run),
        _ => Err(Error::UnknownRun(number)),
    };
    let selected: Vec<_> = match target {
        // What can be restored decides about it, see `plan_last`.
        UndoTarget::LastRun => Vec::new(),
        UndoTarget::Run(number) => all_turns(*number, known(*number)?),
        UndoTarget::Before { run: first, turn } => {
            known(*first)?;
            let is_later = |number: u64, run: &Run, place: usize| {
                number > *first || turn.is_none_or(|turn| run.turns[place].turn >= turn)
            };
            let later = history.runs.range(first..).flat_map(|(number, run)| {
                all_turns(*number, run)
                    .into_iter()
                    .filter(|(_, place)| is_later(*number, run, *place))
                    .collect::<Vec<_>>()
            });
            later.collect()
        }
        UndoTarget::AfterEntry(entry) => {
            let after = After::new(entry, entries)?;
            let later = history.runs.iter().flat_map(|(number, run)| {
                all_turns(*number, run)
                    .into_iter()
                    .filter(|(_, place)| after.covers(run, *place))
                    .collect::<Vec<_>>()
            });
            later.collect()
        }
    };
    if selected.is_empty() { Err(Error::NothingToUndo) } else { Ok(selected) }
}

/// Returns the lists of changes of a run.
fn all_turns(number: u64, run: &Run) -> Vec<(u64, usize)> {
    (0..run.turns.len()).map(|place| (number, place)).collect()
}

/// Paths being restored.
struct Restoring<'a> {
    recorder: &'a Recorder,
    roots: &'a Roots,
    /// Where new files are moved to.
    quarantine: PathBuf,
    failed: BTreeMap<String, String>,
}

impl Restoring<'_> {
    /// Carries out steps, which are in the order of their paths: what goes is removed from the inside out, what comes is
    /// created from the outside in, and permissions of folders come last, so that they hinder nothing.
    fn apply(&mut self, steps: &mut [Step]) {
        for step in steps.iter_mut().rev() {
            if self.goes(step) {
                let result = self.take_away(step);
                self.note(&step.path, result);
            }
        }
        for step in steps.iter_mut() {
            if !self.failed.contains_key(&step.path) && !is_same(step.from.as_ref(), step.to.as_ref()) {
                let result = self.bring(step);
                self.note(&step.path, result);
            }
        }
        for step in steps.iter().rev() {
            if let Some(State { kind: Kind::Folder, mode, .. }) = step.to
                && !self.failed.contains_key(&step.path)
            {
                let result = self.parent(&step.path).and_then(|(folder, name)| folder.set_mode(name, mode));
                self.note(&step.path, result);
            }
        }
    }

    fn note(&mut self, path: &str, result: Result<(), Error>) {
        if let Err(error) = result {
            self.failed.insert(path.to_owned(), error.to_string());
        }
    }

    fn parent<'a>(&self, path: &'a str) -> Result<(Folder, &'a str), Error> {
        self.roots.parent_of(path)
    }

    /// Removes what is in the way, or what is new. Files are moved away unless their content is kept and something takes
    /// their place.
    fn take_away(&self, step: &mut Step) -> Result<(), Error> {
        let Some(from) = &step.from else { return Ok(()) };
        let (folder, name) = self.parent(&step.path)?;
        self.check_unchanged(step)?;
        match from.kind {
            Kind::Folder => match folder.remove_folder(name)? {
                true => Ok(()),
                false => Err(Error::access(
                    &folder.path().join(name),
                    std::io::Error::other("the folder is not empty"),
                )),
            },
            _ => {
                step.quarantine = Some(self.move_away(&step.path, from, &folder, name)?);
                Ok(())
            }
        }
    }

    /// Looks once more whether a path is what it was when the plan was made.
    fn check_unchanged(&self, step: &Step) -> Result<(), Error> {
        let now = self.recorder.look_at(self.roots, &step.path)?;
        let is_as_planned = match (&now, &step.from) {
            (Some(now), Some(from)) if from.kind == Kind::Folder => now.kind == Kind::Folder,
            (now, from) => is_same(now.as_ref(), from.as_ref()),
        };
        if is_as_planned {
            return Ok(());
        }
        let path = self.recorder.options.workspace.join(&step.path);
        Err(Error::access(&path, std::io::Error::other("it is being changed")))
    }

    /// Moves a file or a link to the quarantine, with the folders that it is in.
    fn move_away(&self, path: &str, state: &State, folder: &Folder, name: &str) -> Result<PathBuf, Error> {
        let relative =
            path.strip_prefix('/').map_or_else(|| path.to_owned(), |path| format!("outside/{path}"));
        let place = self.quarantine.join(relative);
        let above = place.parent().unwrap_or(&self.quarantine);
        bowline_files::create_private_folder(above).map_err(|error| Error::access(above, error))?;
        let to = Folder::open(above)?;
        match folder.rename(name, &to, name) {
            Err(error) if is_other_file_system(&error) => {
                match state {
                    State { kind: Kind::Link, target: Some(target), .. } => to.link(name, target)?,
                    State { kind: Kind::File, .. } => {
                        let read = folder.read(name, self.recorder.options.max_file_bytes)?;
                        let (content, _) = read.ok_or(error)?;
                        to.write(name, &content, state.mode)?;
                    }
                    _ => return Err(error),
                }
                folder.remove(name)?;
            }
            result => result?,
        }
        Ok(place)
    }

    /// Brings a state back.
    fn bring(&self, step: &mut Step) -> Result<(), Error> {
        let Some(to) = &step.to else { return Ok(()) };
        let (folder, name) = self.parent(&step.path)?;
        if !self.goes(step) {
            self.check_unchanged(step)?;
        } else if folder.stat(name)?.is_some() {
            return Err(Error::access(
                &folder.path().join(name),
                std::io::Error::other("it is being changed"),
            ));
        }
        let only_mode = step.from.as_ref().is_some_and(|from| from.has_content_of(to));
        match (to.kind, &to.target) {
            (Kind::Folder, _) if only_mode => Ok(()),
            (Kind::Folder, _) => folder.create_folder(name),
            (Kind::Link, Some(target)) => folder.link(name, target),
            (Kind::File, _) if only_mode => folder.set_mode(name, to.mode),
            (Kind::File, _) => self.bring_file(step, to, &folder, name),
            _ => Err(Error::BadPath(step.path.clone())),
        }
    }

    fn bring_file(&self, step: &Step, to: &State, folder: &Folder, name: &str) -> Result<(), Error> {
        let limit = self.recorder.options.max_file_bytes;
        if let Some(content) = to.image.and_then(|image| self.recorder.store.get(image, limit)) {
            return folder.write(name, &content, to.mode);
        }
        let missing = || {
            Error::access(&folder.path().join(name), std::io::Error::other("its content is no longer kept"))
        };
        let place = step.quarantine.as_ref().ok_or_else(missing)?;
        let above = Folder::open(place.parent().unwrap_or(place))?;
        above.rename(name, folder, name)
    }

    /// Tells whether a step begins with removing something: whatever has to be another kind of thing, or nothing, and a
    /// file that is replaced and whose content is not kept.
    fn goes(&self, step: &Step) -> bool {
        match (&step.from, &step.to) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(from), Some(to)) if from.kind != to.kind => {
                from.kind == Kind::Folder || to.kind == Kind::Folder
            }
            (Some(from), Some(to)) => {
                let is_kept = from.image.is_some_and(|image| self.recorder.store.has(image));
                from.kind == Kind::File && !from.has_content_of(to) && !is_kept
            }
        }
    }
}
