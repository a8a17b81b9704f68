//! Putting paths back to what they were, and changing them again.
//!
//! A path is only touched if it still is what the run left. What is new is moved away, never deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bowline_core::file_changes::{LeftAlone, Quarantined, RestoreReport, UndoTarget};

use crate::beneath::OWNER_RIGHTS;
use crate::capture::Roots;
use crate::error::Error;
use crate::index::order;
use crate::journal::{History, Intent, Line, Run, Step};
use crate::recorder::Recorder;
use crate::report::After;
use crate::restoring::Restoring;
use crate::state::{Change, Kind, Missing, Origin, State, is_same};

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
        self.check_folder(&history, &roots)?;
        let last = match target {
            UndoTarget::LastRun => Some(self.last_run(&history, &roots)?),
            _ => None,
        };
        let selected = match last {
            Some(number) => select(&history, &UndoTarget::Run(number), entries)?,
            None => select(&history, target, entries)?,
        };
        let folders =
            changes_of(&history, &selected).filter_map(|(_, _, change)| locked(&change.path, &change.after));
        let locked = self.unlock(&roots, folders.collect(), dry_run);
        let plan = self.plan_undo(&history, &selected, &roots, &locked);
        let number = history.last_undo + 1;
        let result = plan.and_then(|plan| self.carry_out(plan, roots, dry_run, number, false));
        self.lock_again(&locked, result.as_ref().map_or(&[], |report| &report.restored));
        let is_whole = |report: &RestoreReport| report.conflicts.is_empty() && report.not_covered.is_empty();
        if let (Some(run), Ok(report)) = (last, &result)
            && !dry_run
            && !is_whole(report)
        {
            self.journal.append(&Line::LeftAlone { run })?;
        }
        result
    }

    /// Returns the newest run that is not undone. A run of which nothing can be restored is taken once, to say so; after that
    /// an older one comes first, or it would be in the way of all of them.
    fn last_run(&self, history: &History, roots: &Roots) -> Result<u64, Error> {
        let mut stuck = None;
        for (number, run) in history.runs.iter().rev() {
            if !history.has_changes_left(*number, run) {
                continue;
            }
            let unlocked = self.unlock(roots, Vec::new(), true);
            let can_restore = |plan: Plan| !plan.steps.is_empty();
            if !run.is_told
                || self.plan_undo(history, &all_turns(*number, run), roots, &unlocked).is_ok_and(can_restore)
            {
                return Ok(*number);
            }
            stuck.get_or_insert(*number);
        }
        stuck.ok_or(Error::NothingToUndo)
    }

    /// Changes again what the last undo put back.
    pub fn redo(&self, dry_run: bool) -> Result<RestoreReport, Error> {
        self.recover()?;
        let history = self.journal.read()?;
        let undo = history.undos.last().ok_or(Error::NothingToRedo)?;
        let roots = Roots::open(&self.options.workspace)?;
        self.check_folder(&history, &roots)?;
        let folders = undo.steps.iter().filter_map(|step| locked(&step.path, &step.to));
        let locked = self.unlock(&roots, folders.collect(), dry_run);
        let plan = self.plan_redo(&undo.steps, &roots, &locked);
        let result = plan.and_then(|plan| self.carry_out(plan, roots, dry_run, undo.number, true));
        self.lock_again(&locked, result.as_ref().map_or(&[], |report| &report.restored));
        result
    }

    fn plan_redo(&self, undone: &[Step], roots: &Roots, locked: &Locked) -> Result<Plan, Error> {
        let mut plan = Plan::default();
        let mut runs = BTreeSet::new();
        // What was moved goes the other way.
        let moved = undone.iter().filter_map(|step| Some((step.source.as_deref()?, step.path.as_str())));
        let moved: BTreeMap<&str, &str> = moved.collect();
        for step in undone {
            runs.extend(step.parts.iter().map(|(run, _)| *run));
            let now = match self.look_for_plan(roots, &step.path, step.to.as_ref(), locked) {
                Err(error) if error.is_of_path() => {
                    plan.conflict(&step.path, &error.to_string());
                    continue;
                }
                now => now?,
            };
            let source = moved.get(step.path.as_str()).map(|path| (*path).to_owned());
            let is_moved = source.is_some();
            let inverse = Step { from: now.clone(), to: step.from.clone(), source, ..step.clone() };
            if !is_same(now.as_ref(), step.to.as_ref()) && !is_same(now.as_ref(), step.from.as_ref()) {
                plan.conflict(&step.path, "it has changed since it was restored");
            } else if let Some(missing) = self.is_missing(step.from.as_ref(), step.quarantine.as_deref())
                && !is_moved
            {
                plan.not_covered(&step.path, missing);
            } else {
                plan.steps.push(inverse);
            }
        }
        plan.drop_halves();
        plan.report.runs = runs.into_iter().collect();
        Ok(plan)
    }

    /// Finds out what each path has to become. Changes are taken back one after the other, newest first, as long as each
    /// finds what it left.
    fn plan_undo(
        &self,
        history: &History,
        selected: &[(u64, usize)],
        roots: &Roots,
        locked: &Locked,
    ) -> Result<Plan, Error> {
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
                    let now = match self.look_for_plan(roots, &change.path, change.after.as_ref(), locked) {
                        Err(error) if error.is_of_path() => {
                            plan.conflict(&change.path, &error.to_string());
                            paths.insert(
                                &change.path,
                                PathHistory { is_stopped: true, ..PathHistory::at(None) },
                            );
                            continue;
                        }
                        now => now?,
                    };
                    paths.insert(&change.path, PathHistory::at(now));
                }
                let Some(path_history) = paths.get_mut(change.path.as_str()) else { continue };
                if path_history.is_stopped {
                    continue;
                }
                match path_history.take_back(change.before.as_ref(), change.after.as_ref()) {
                    true => {
                        path_history.parts.push((*number, *place));
                        path_history.origin.clone_from(&change.origin);
                    }
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
        self.plan_steps(&mut plan, &paths, roots);
        plan.report.runs = runs.into_iter().collect();
        Ok(plan)
    }

    /// Adds a step for each path that has to become something.
    fn plan_steps(&self, plan: &mut Plan, paths: &BTreeMap<&str, PathHistory>, roots: &Roots) {
        let is_free = |path: &str| matches!(self.look_at(roots, path), Ok(None));
        let mut sources: BTreeMap<String, &str> = BTreeMap::new();
        let mut stays: BTreeSet<&str> = BTreeSet::new();
        for (path, path_history) in paths.iter().filter(|(_, path_history)| !path_history.parts.is_empty()) {
            let Some(origin) = path_history.origin.as_ref().filter(|_| path_history.now.is_some()) else {
                continue;
            };
            let former = former_name(paths, origin).filter(|former| {
                !sources.contains_key(*former)
                    && match paths.get(former) {
                        Some(former) => !former.parts.is_empty() && former.state.is_some(),
                        None => is_free(former),
                    }
            });
            match former {
                Some(former) => drop(sources.insert(former.to_owned(), path)),
                None => drop(stays.insert(path)),
            }
        }
        for (path, path_history) in paths.iter().filter(|(_, path_history)| !path_history.parts.is_empty()) {
            let source = sources.get(*path).map(|source| (*source).to_owned());
            if stays.contains(path) {
                plan.not_covered(path, Missing::Older.text());
                continue;
            }
            if !is_same(path_history.now.as_ref(), path_history.state.as_ref())
                && source.is_none()
                && let Some(missing) = self.is_missing(path_history.state.as_ref(), None)
            {
                plan.not_covered(path, missing);
                continue;
            }
            let (from, to, parts) =
                (path_history.now.clone(), path_history.state.clone(), path_history.parts.clone());
            plan.steps.push(Step { path: (*path).to_owned(), from, to, parts, quarantine: None, source });
        }
        // A file that was left out of the index gets its former name back.
        for (former, path) in sources.iter().filter(|(former, _)| !paths.contains_key(former.as_str())) {
            let to = paths.get(path).and_then(|path_history| path_history.now.clone());
            let source = Some((*path).to_owned());
            let (path, from, parts) = (former.clone(), None, Vec::new());
            plan.steps.push(Step { path, from, to, parts, quarantine: None, source });
        }
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
        roots: Roots,
        dry_run: bool,
        undo: u64,
        is_redo: bool,
    ) -> Result<RestoreReport, Error> {
        let Plan { mut steps, mut report } = plan;
        report.dry_run = dry_run;
        steps.sort_by(|one, other| order(&one.path, &other.path));
        if dry_run {
            report.restored = steps.into_iter().map(|step| step.path).collect();
            return Ok(report);
        }
        if steps.is_empty() {
            return Ok(report);
        }
        let quarantine = self.free_quarantine();
        let intent = Intent { undo, is_redo, steps, quarantine };
        self.journal.append(&Line::Intent(intent.clone()))?;
        self.finish(intent, roots, report, false)
    }

    /// Carries out what the journal announces, from the beginning or from where it was interrupted.
    pub(crate) fn finish(
        &self,
        intent: Intent,
        mut roots: Roots,
        mut report: RestoreReport,
        resumes: bool,
    ) -> Result<RestoreReport, Error> {
        let Intent { undo, is_redo, mut steps, quarantine } = intent;
        let workspace = &self.options.workspace;
        if roots.workspace().is_none()
            && steps.iter().any(|step| step.to.is_some() && !step.path.starts_with('/'))
        {
            std::fs::create_dir_all(workspace).map_err(|error| Error::access(workspace, error))?;
            roots = Roots::open(workspace)?;
        }
        if resumes {
            let folders = steps.iter().filter_map(|step| locked(&step.path, &step.from));
            self.unlock(&roots, folders.collect(), false);
        }
        let mut restoring = Restoring::new(self, &roots, &quarantine, &mut steps);
        if resumes {
            restoring.resume(&mut steps);
        }
        restoring.apply(&mut steps);
        for (path, reason) in &restoring.failed {
            report.conflicts.push(LeftAlone { path: path.clone(), reason: reason.clone() });
        }
        steps.retain(|step| !restoring.failed.contains_key(&step.path));
        let restamped = restoring.restamped(&mut steps);
        for step in &steps {
            report.restored.push(step.path.clone());
            if let Some(moved_to) = step.quarantine.as_ref().filter(|place| place.starts_with(&quarantine)) {
                let moved_to = moved_to.display().to_string();
                report.quarantined.push(Quarantined { path: step.path.clone(), moved_to });
            }
        }
        let workspace = roots.inode();
        let line = if is_redo {
            let paths = steps.into_iter().map(|step| step.path).collect();
            Line::Redone { undo, paths, restamped, workspace }
        } else {
            Line::Undone { undo, steps, restamped, workspace }
        };
        self.journal.append(&line)?;
        Ok(report)
    }

    /// Returns a folder for files that are moved away, which does not exist yet.
    fn free_quarantine(&self) -> PathBuf {
        let above = self.options.folder.join("quarantine");
        let mut numbers = (1_u64..).map(|number| above.join(number.to_string()));
        numbers.find(|folder| folder.symlink_metadata().is_err()).unwrap_or(above)
    }

    /// Returns what a path stands for. What is below a folder that would be unlocked counts as being as expected.
    fn look_for_plan(
        &self,
        roots: &Roots,
        path: &str,
        expected: Option<&State>,
        locked: &Locked,
    ) -> Result<Option<State>, Error> {
        let is_below =
            |folder: &String| path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'));
        match self.look_at(roots, path) {
            Err(error) if error.is_denied() && locked.keys().any(is_below) => Ok(expected.cloned()),
            Ok(Some(mut state)) => {
                if let Some(mode) = locked.get(path) {
                    state.mode = *mode;
                }
                Ok(Some(state))
            }
            found => found,
        }
    }

    /// Lets the user change what is in folders that are as a run left them, and returns those with their permissions.
    fn unlock(&self, roots: &Roots, mut folders: Vec<(&str, u32)>, dry_run: bool) -> Locked {
        folders.sort_by(|(one, _), (other, _)| order(one, other));
        let mut unlocked = Locked::new();
        for (path, mode) in folders {
            let Ok((folder, name)) = roots.parent_of(path) else { continue };
            let is_as_left = folder
                .stat(name)
                .is_ok_and(|stat| stat.is_some_and(|stat| stat.kind == Kind::Folder && stat.mode == mode));
            if is_as_left && (dry_run || folder.set_mode(name, mode | OWNER_RIGHTS).is_ok()) {
                unlocked.insert(path.to_owned(), mode);
            }
        }
        unlocked
    }

    /// Gives folders that were not put back the permissions that they had.
    fn lock_again(&self, locked: &Locked, restored: &[String]) {
        let Ok(roots) = Roots::open(&self.options.workspace) else { return };
        for (path, mode) in locked.iter().rev() {
            let Ok((folder, name)) = roots.parent_of(path) else { continue };
            let is_unlocked = folder.stat(name).is_ok_and(|stat| {
                stat.is_some_and(|stat| stat.kind == Kind::Folder && stat.mode == mode | OWNER_RIGHTS)
            });
            if is_unlocked && !restored.contains(path) {
                let _ = folder.set_mode(name, *mode);
            }
        }
    }
}

/// Folders that the user may not change, with their permissions.
type Locked = BTreeMap<String, u32>;

/// Returns a folder with its permissions, if they keep its owner from changing what is in it.
fn locked<'a>(path: &'a str, state: &Option<State>) -> Option<(&'a str, u32)> {
    let state = state.as_ref().filter(|state| state.kind == Kind::Folder)?;
    (state.mode & OWNER_RIGHTS != OWNER_RIGHTS).then_some((path, state.mode))
}

/// Returns the changes that were selected, newest first, with their runs and places.
fn changes_of<'a>(
    history: &'a History,
    selected: &'a [(u64, usize)],
) -> impl Iterator<Item = (u64, usize, &'a Change)> {
    selected.iter().rev().flat_map(|(number, place)| {
        let turn = history.runs.get(number).and_then(|run| run.turns.get(*place));
        turn.into_iter().flat_map(|turn| &turn.changes).map(|change| (*number, *place, change))
    })
}

/// Returns the name that a file had before the changes that are taken back.
fn former_name<'a>(paths: &'a BTreeMap<&str, PathHistory>, origin: &'a Origin) -> Option<&'a str> {
    let mut origin = origin;
    for _ in 0..=paths.len() {
        let Origin::MovedFrom(former) = origin else { return None };
        match paths.get(former.as_str()) {
            // It had that name in between only.
            Some(PathHistory { state: None, origin: Some(earlier), .. }) => origin = earlier,
            _ => return Some(former),
        }
    }
    None
}

/// How a path goes back through the changes that are taken back.
struct PathHistory {
    now: Option<State>,
    /// What it is after those that were looked at.
    state: Option<State>,
    parts: Vec<(u64, usize)>,
    is_stopped: bool,
    /// What the file was before it had this name.
    origin: Option<Origin>,
}

impl PathHistory {
    fn at(now: Option<State>) -> Self {
        Self { state: now.clone(), now, parts: Vec::new(), is_stopped: false, origin: None }
    }

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

    /// Drops the steps of files that were to be moved, of which the other half is missing.
    fn drop_halves(&mut self) {
        let planned: BTreeSet<String> = self.steps.iter().map(|step| step.path.clone()).collect();
        let halves = self
            .steps
            .extract_if(.., |step| step.source.as_ref().is_some_and(|source| !planned.contains(source)));
        let halves: Vec<Step> = halves.collect();
        for step in halves {
            self.conflict(&step.path, "the file that it was has changed since");
        }
    }

    fn not_covered(&mut self, path: &str, reason: &str) {
        self.report.not_covered.push(LeftAlone { path: path.to_owned(), reason: reason.to_owned() });
    }
}

/// Returns the lists of changes of a run.
fn all_turns(number: u64, run: &Run) -> Vec<(u64, usize)> {
    (0..run.turns.len()).map(|place| (number, place)).collect()
}

/// Returns the lists of changes that a target means, oldest first.
fn select(history: &History, target: &UndoTarget, entries: &[String]) -> Result<Vec<(u64, usize)>, Error> {
    let known = |number: u64| match history.runs.get(&number) {
        Some(run) if run.is_dropped => Err(Error::DroppedRun(number)),
        Some(run) if !run.turns.is_empty() => Ok(run),
        _ => Err(Error::UnknownRun(number)),
    };
    let selected: Vec<_> = match target {
        // What can be restored decides about it, see `last_run`.
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
