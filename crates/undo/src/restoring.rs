//! Carrying out the steps of an undo or a redo, so that no file is lost whenever it fails or is interrupted.
//!
//! What is to be done is in the journal before anything is touched. A file that is replaced stays until the other one is
//! written; a file that is moved away goes to a place that follows from its path, where it is found again.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Error as IoError;
use std::path::{Path, PathBuf};

use crate::beneath::{Folder, OWNER_RIGHTS, is_other_file_system};
use crate::capture::{Keep, Roots};
use crate::error::{Error, refuse_link};
use crate::journal::{Restamped, Step};
use crate::recorder::Recorder;
use crate::state::{Kind, Stamp, State, is_same};

/// Paths being put back.
pub(crate) struct Restoring<'a> {
    recorder: &'a Recorder,
    roots: &'a Roots,
    /// Where files are moved to.
    quarantine: &'a Path,
    /// Paths that were left as they were, and why.
    pub failed: BTreeMap<String, String>,
    /// Paths that nothing is at any more, because what was there is taken away.
    taken: BTreeSet<String>,
    /// Paths that are done.
    done: BTreeSet<String>,
    /// Where an undo before moved the files that come.
    moved: BTreeMap<String, PathBuf>,
}

/// Something that is ready to be put in its place.
struct Ready {
    folder: Folder,
    name: String,
    /// Whether it is a copy, which can be made again.
    is_copy: bool,
}

impl<'a> Restoring<'a> {
    pub fn new(recorder: &'a Recorder, roots: &'a Roots, quarantine: &'a Path, steps: &mut [Step]) -> Self {
        let (failed, taken, done) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        let moved = steps.iter_mut().filter_map(|step| Some((step.path.clone(), step.quarantine.take()?)));
        Self { recorder, roots, quarantine, failed, taken, done, moved: moved.collect() }
    }

    /// Finds out how far an undo came that was interrupted, and removes what it had not finished writing.
    pub fn resume(&mut self, steps: &mut [Step]) {
        for step in steps.iter_mut() {
            if let Ok((folder, name)) = self.parent(&step.path) {
                let _ = folder.remove(&self.temporary(name));
            }
            let place = self.place_of(&step.path);
            let is_away = place.symlink_metadata().is_ok();
            let now = match self.recorder.look_at(self.roots, &step.path) {
                Ok(now) => now,
                Err(error) => {
                    self.failed.insert(step.path.clone(), error.to_string());
                    continue;
                }
            };
            if is_reached(now.as_ref(), step.to.as_ref()) {
                self.done.insert(step.path.clone());
                step.quarantine = is_away.then_some(place);
            } else if is_reached(now.as_ref(), step.from.as_ref()) {
                // It was copied to another file system, and is still here.
                if is_away && step.from.as_ref().is_some_and(|from| from.kind != Kind::Folder) {
                    let _ = std::fs::remove_file(&place);
                }
            } else if now.is_none() && is_away {
                self.taken.insert(step.path.clone());
                step.quarantine = Some(place);
            } else if now.is_none() && step.from.as_ref().is_some_and(|from| from.kind == Kind::Folder) {
                self.taken.insert(step.path.clone());
            } else {
                self.failed.insert(step.path.clone(), "it has changed since".to_owned());
            }
        }
    }

    /// Carries out steps, which are in the order of their paths: what goes is removed from the inside out, what comes is
    /// created from the outside in, and permissions of folders come last, so that they hinder nothing.
    pub fn apply(&mut self, steps: &mut [Step]) {
        let sources: BTreeSet<String> = steps.iter().filter_map(|step| step.source.clone()).collect();
        for step in steps.iter_mut().rev() {
            if self.is_open(step) && !self.taken.contains(&step.path) && goes(step, &sources) {
                match self.take_away(step) {
                    Ok(()) => drop(self.taken.insert(step.path.clone())),
                    Err(error) => drop(self.failed.insert(step.path.clone(), error.to_string())),
                }
            }
        }
        for place in 0..steps.len() {
            let step = &steps[place];
            if !self.is_open(step) || is_same(step.from.as_ref(), step.to.as_ref()) {
                continue;
            }
            if let Err(error) = self.bring(steps, place) {
                self.roll_back(steps, place, &error.to_string());
            }
        }
        for step in steps.iter().rev() {
            if let Some(State { kind: Kind::Folder, mode, owner, .. }) = step.to
                && !self.failed.contains_key(&step.path)
            {
                let result = self.parent(&step.path).and_then(|(folder, name)| {
                    folder.give(name, owner);
                    folder.set_mode(name, mode)
                });
                if let Err(error) = result {
                    self.failed.insert(step.path.clone(), error.to_string());
                }
            }
        }
    }

    /// Returns the files whose stamps are others now, and notes those in the steps.
    pub fn restamped(&self, steps: &mut [Step]) -> Vec<Restamped> {
        let mut restamped = Vec::new();
        for step in steps {
            let Some(State { stamp: Some(old), image: None, size, .. }) = &mut step.to else { continue };
            let Ok((folder, name)) = self.parent(&step.path) else { continue };
            let Ok(Some(stat)) = folder.stat(name) else { continue };
            let new = Stamp::of(&stat);
            if new != *old && (stat.kind != Kind::File || stat.size == *size) {
                restamped.push(Restamped { path: step.path.clone(), old: *old, new });
                *old = new;
            }
        }
        restamped
    }

    fn is_open(&self, step: &Step) -> bool {
        !self.failed.contains_key(&step.path) && !self.done.contains(&step.path)
    }

    fn parent<'p>(&self, path: &'p str) -> Result<(Folder, &'p str), Error> {
        self.roots.parent_of(path)
    }

    /// Returns where a path is moved to.
    fn place_of(&self, path: &str) -> PathBuf {
        match path.strip_prefix('/') {
            Some(path) => self.quarantine.join("outside").join(path),
            None => self.quarantine.join("workspace").join(path),
        }
    }

    /// Returns a name in the same folder that is only used here, and that is not too long for any file system.
    fn temporary(&self, name: &str) -> String {
        let short: String = name.chars().take(40).collect();
        let number = self.quarantine.file_name().unwrap_or_default().to_string_lossy();
        format!(".{short}.bowline-undo-{number}")
    }

    /// Removes what is new or of another kind. Files are moved away.
    fn take_away(&self, step: &mut Step) -> Result<(), Error> {
        let Some(from) = &step.from else { return Ok(()) };
        let (folder, name) = self.parent(&step.path)?;
        self.check_unchanged(step)?;
        if from.kind == Kind::Folder {
            return match folder.remove_folder(name)? {
                true => Ok(()),
                false => Err(other(&folder, name, "the folder is not empty")),
            };
        }
        step.quarantine = Some(self.move_away(&step.path, from, &folder, name)?);
        Ok(())
    }

    /// Looks once more whether a path is what it was when the plan was made.
    fn check_unchanged(&self, step: &Step) -> Result<(), Error> {
        let now = self.recorder.look_at(self.roots, &step.path)?;
        if is_reached(now.as_ref(), step.from.as_ref()) {
            return Ok(());
        }
        let path = self.recorder.options.workspace.join(&step.path);
        Err(Error::access(&path, IoError::other("it is being changed")))
    }

    /// Moves a file or a link to the quarantine, with the folders that it is in.
    fn move_away(&self, path: &str, state: &State, folder: &Folder, name: &str) -> Result<PathBuf, Error> {
        let place = self.place_of(path);
        let above = place.parent().unwrap_or(self.quarantine);
        refuse_link(self.quarantine.parent().unwrap_or(self.quarantine))?;
        bowline_files::create_private_folder(above).map_err(|error| Error::access(above, error))?;
        let to = Folder::open(above)?;
        match folder.rename_new(name, &to, name) {
            Err(error) if is_other_file_system(&error) => {
                let temporary = self.temporary(name);
                let _ = to.remove(&temporary);
                match state {
                    State { kind: Kind::Link, target: Some(target), .. } => to.link(&temporary, target)?,
                    State { kind: Kind::File, .. } => folder.copy(name, &to, &temporary)?,
                    _ => return Err(error),
                }
                to.rename_new(&temporary, &to, name)?;
                folder.remove(name)?;
            }
            result => result?,
        }
        Ok(place)
    }

    /// Moves what was taken away to where it was.
    fn move_back(&self, step: &Step) -> Result<(), Error> {
        let Some(from) = &step.from else { return Ok(()) };
        let (folder, name) = self.parent(&step.path)?;
        if from.kind == Kind::Folder {
            folder.create_folder(name)?;
            folder.give(name, from.owner);
            return folder.set_mode(name, from.mode | OWNER_RIGHTS);
        }
        let Some(place) = &step.quarantine else { return Ok(()) };
        let ready = self.ready_at(place, &folder, name)?;
        self.put(&ready, &folder, name, None)
    }

    /// Gives up a step: what was taken away for its sake comes back.
    fn roll_back(&mut self, steps: &mut [Step], place: usize, reason: &str) {
        let path = steps[place].path.clone();
        let below = format!("{path}/");
        let source = steps[place].source.clone();
        let is_concerned = |step: &Step| {
            step.path == path || step.path.starts_with(&below) || Some(&step.path) == source.as_ref()
        };
        for step in steps.iter_mut().filter(|step| is_concerned(step)) {
            let was_taken = self.taken.remove(&step.path);
            if self.done.contains(&step.path) {
                continue;
            }
            let text = match was_taken.then(|| self.move_back(step)) {
                Some(Err(error)) => match &step.quarantine {
                    Some(place) => format!("{reason}; it is in {}, because of: {error}", place.display()),
                    None => format!("{reason}; {error}"),
                },
                _ => {
                    step.quarantine = None;
                    reason.to_owned()
                }
            };
            self.failed.entry(step.path.clone()).or_insert(text);
        }
    }

    /// Brings a state back.
    fn bring(&mut self, steps: &mut [Step], place: usize) -> Result<(), Error> {
        let step = &steps[place];
        let Some(to) = step.to.clone() else { return Ok(()) };
        let path = step.path.clone();
        let (folder, name) = self.parent(&path)?;
        let is_taken = self.taken.contains(&step.path);
        let from = step.from.clone().filter(|_| !is_taken);
        if !is_taken {
            self.check_unchanged(step)?;
        }
        let only_mode = from.as_ref().is_some_and(|from| from.has_content_of(&to));
        match to.kind {
            Kind::Folder if only_mode => return Ok(()),
            Kind::Folder => return folder.create_folder(name),
            _ if only_mode => return folder.set_mode(name, to.mode),
            _ => {}
        }
        let ready = self.make_ready(steps, place, &to, &folder, name)?;
        let step = &mut steps[place];
        let is_kept = from.as_ref().is_none_or(|from| self.is_kept(from));
        let result = if is_kept {
            self.put(&ready, &folder, name, from.as_ref())
        } else {
            let from = from.as_ref().ok_or_else(|| Error::BadPath(path.clone()))?;
            self.move_away(&path, from, &folder, name).and_then(|moved_to| {
                step.quarantine = Some(moved_to);
                self.put(&ready, &folder, name, None).inspect_err(|_| drop(self.move_back(step)))
            })
        };
        if result.is_err() && ready.is_copy {
            let _ = ready.folder.remove(&ready.name);
        }
        result
    }

    /// Writes what comes beside the place that it gets, or finds it where it was moved to.
    fn make_ready(
        &self,
        steps: &mut [Step],
        place: usize,
        to: &State,
        folder: &Folder,
        name: &str,
    ) -> Result<Ready, Error> {
        if let Some(source) = steps[place].source.clone() {
            let moved = steps.iter_mut().find(|step| step.path == source);
            let moved =
                moved.and_then(|step| step.quarantine.take().filter(|_| self.taken.contains(&source)));
            let moved =
                moved.ok_or_else(|| other(folder, name, "the file that it was could not be moved"))?;
            let ready = self.ready_at(&moved, folder, name);
            if let (Err(_), Some(step)) = (&ready, steps.iter_mut().find(|step| step.path == source)) {
                step.quarantine = Some(moved);
            }
            return ready;
        }
        let temporary = self.temporary(name);
        let _ = folder.remove(&temporary);
        let ready =
            |folder: &Folder| Ok(Ready { folder: folder.again()?, name: temporary.clone(), is_copy: true });
        if let (Kind::Link, Some(target)) = (to.kind, &to.target) {
            folder.link(&temporary, target)?;
            return ready(folder);
        }
        let moved = self.moved.get(&steps[place].path);
        if let Some(place) = moved.filter(|place| self.is_in(place, to)) {
            return self.ready_at(place, folder, name);
        }
        let limit = self.recorder.options.max_file_bytes;
        let content = to.image.and_then(|image| self.recorder.store.get(image, limit));
        let content = content.ok_or_else(|| other(folder, name, "its content is no longer kept"))?;
        folder.write_new(&temporary, content.as_slice(), to.mode, to.owner)?;
        ready(folder)
    }

    /// Finds what was moved away. On another file system it is copied first.
    fn ready_at(&self, place: &Path, folder: &Folder, name: &str) -> Result<Ready, Error> {
        let above = Folder::open(place.parent().unwrap_or(place))?;
        let own = place.file_name().and_then(|name| name.to_str()).unwrap_or(name).to_owned();
        let is_near = above.own_stat()?.device == folder.own_stat()?.device;
        if is_near {
            return Ok(Ready { folder: above, name: own, is_copy: false });
        }
        let temporary = self.temporary(name);
        let _ = folder.remove(&temporary);
        match above.target(&own) {
            Ok(Some(target)) => folder.link(&temporary, &target)?,
            _ => above.copy(&own, folder, &temporary)?,
        }
        Ok(Ready { folder: folder.again()?, name: temporary, is_copy: true })
    }

    /// Puts what is ready in its place: over what is there, if that is known, else only if nothing is there.
    fn put(&self, ready: &Ready, folder: &Folder, name: &str, over: Option<&State>) -> Result<(), Error> {
        match over {
            Some(_) => ready.folder.rename(&ready.name, folder, name),
            None => ready.folder.rename_new(&ready.name, folder, name),
        }
    }

    /// Tells whether the quarantine has a file as it was moved there.
    fn is_in(&self, place: &Path, state: &State) -> bool {
        let Ok(folder) = Folder::open(place.parent().unwrap_or(place)) else { return false };
        let Some(name) = place.file_name().and_then(|name| name.to_str()) else { return false };
        let Ok(Some(stat)) = folder.stat(name) else { return false };
        if stat.kind != state.kind || stat.mode != state.mode {
            return false;
        }
        match (state.image, stat.kind) {
            (Some(image), Kind::File) => {
                self.recorder.file_state(&folder, name, &stat, Keep::No).image == Some(image)
            }
            _ => state.stamp.is_none_or(|stamp| stamp.modified == stat.modified && state.size == stat.size),
        }
    }

    /// Tells whether a state can be brought back without the file that has it.
    fn is_kept(&self, state: &State) -> bool {
        match state.kind {
            Kind::Link => state.target.is_some(),
            Kind::File => state.image.is_some_and(|image| self.recorder.store.has(image)),
            Kind::Folder => true,
            Kind::Other => false,
        }
    }
}

/// Tells whether a path is in a state. Folders get their permissions last.
fn is_reached(now: Option<&State>, state: Option<&State>) -> bool {
    match (now, state) {
        (Some(now), Some(state)) if state.kind == Kind::Folder => now.kind == Kind::Folder,
        // Moving one name of a file changes the stamp of its others.
        (Some(now), Some(state)) => now.is_same(state) || state.image.is_none() && now.is_same_inode(state),
        (now, state) => is_same(now, state),
    }
}

/// Tells whether a step begins with removing something: what has to be nothing, a folder that has to be something else, and
/// what is moved to another path.
fn goes(step: &Step, sources: &BTreeSet<String>) -> bool {
    match (&step.from, &step.to) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(from), Some(to)) => {
            let changes_kind = from.kind != to.kind && (from.kind == Kind::Folder || to.kind == Kind::Folder);
            changes_kind || sources.contains(&step.path)
        }
    }
}

fn other(folder: &Folder, name: &str, text: &str) -> Error {
    Error::access(&folder.path().join(name), IoError::other(text.to_owned()))
}
