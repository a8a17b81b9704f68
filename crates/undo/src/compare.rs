//! What changed between an index of the workspace and now.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::capture::Roots;
use crate::error::Error;
use crate::index::{FileId, Image, Index, TICK, differences, is_unchanged};
use crate::recorder::{Baseline, Recorder};
use crate::state::{Change, Kind, Origin, Stat, State};

/// The most changes that are recorded of one turn.
const MAX_CHANGES: usize = 100_000;

/// Paths of files by their devices and inodes.
type ByPlace<P> = HashMap<(u64, u64), Vec<(P, FileId)>>;

/// What changes that are recorded already left at paths, which the index does not show.
pub(crate) type Left = BTreeMap<String, Option<State>>;

impl Recorder {
    /// Returns what changed between the index before and that of now, which learns where contents can be had. Paths that are
    /// among `known` changes are left out.
    pub(crate) fn compare(
        &self,
        roots: &Roots,
        baseline: &Baseline,
        now: &mut Index,
        known: &[Change],
        left: &Left,
    ) -> Vec<Change> {
        let known: HashSet<&str> = known.iter().map(|change| change.path.as_str()).collect();
        let mut found = Vec::new();
        let mut moves = Moves::default();
        let mut is_complete = true;
        let mut looked_at: BTreeMap<String, Option<State>> = BTreeMap::new();
        for (path, old, new) in differences(&baseline.index, now) {
            if found.len() == MAX_CHANGES {
                self.note_failure(&Error::TooManyChanges(MAX_CHANGES));
                is_complete = false;
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
            // What was in a folder that could not be read is not known.
            if old.is_none() && !left.contains_key(path) && baseline.index.hides(path) {
                continue;
            }
            let Ok(after) = self.state_now(roots, path) else {
                is_complete = false;
                continue;
            };
            looked_at.insert(path.to_owned(), after.clone());
            if known.contains(path) {
                continue;
            }
            let before = match left.get(path) {
                Some(before) => before.clone(),
                None => old.map(|old| self.state_of(old, baseline.repository.as_ref())),
            };
            let change = Change { path: path.to_owned(), before, after, origin: None };
            if change.is_change() {
                moves.note(&change, found.len(), old.map(|old| &old.stat), new.map(|new| &new.stat));
                found.push(change);
            }
        }
        self.find_origins(roots, baseline, moves, &mut found);
        let others = left
            .iter()
            .filter(|(path, _)| !looked_at.contains_key(path.as_str()) && !known.contains(path.as_str()));
        let others = others.filter_map(|(path, before)| {
            let after = self.state_now(roots, path).ok()?;
            Some(Change { path: path.clone(), before: before.clone(), after, origin: None })
        });
        found.extend(others.filter(Change::is_change));
        note_images(&baseline.index, now, &looked_at, is_complete);
        found
    }

    /// Finds out which new files are older than the run: they are not its own, so they must not be taken away.
    fn find_origins(&self, roots: &Roots, baseline: &Baseline, mut moves: Moves, found: &mut [Change]) {
        if moves.created.is_empty() {
            return;
        }
        let index = &baseline.index;
        let mut known: Option<HashSet<(u64, u64)>> = None;
        let mut left_out: Option<ByPlace<&str>> = None;
        for (place, stat) in std::mem::take(&mut moves.created) {
            let change = &mut found[place];
            let id = FileId::of(&stat);
            let born = roots.parent_of(&change.path).ok().and_then(|(folder, name)| folder.created(name));
            // An inode that is free is soon that of another file.
            let is_file = |old: FileId| match born {
                Some(born) if born < index.started - TICK => true,
                Some(born) if born > index.started => false,
                _ => old == id,
            };
            if let Some(path) = moves.take_vanished(id, &change.path, is_file) {
                change.origin = Some(Origin::MovedFrom(path));
                continue;
            }
            let left_out = left_out.get_or_insert_with(|| {
                let mut files: HashMap<_, Vec<_>> = HashMap::new();
                for (path, id) in &index.left_out {
                    files.entry(id.place()).or_default().push((path.as_str(), *id));
                }
                files
            });
            let moved = left_out.get(&id.place()).into_iter().flatten().find(|(path, old)| {
                let is_gone = matches!(self.look_at(roots, path), Ok(None));
                is_gone && is_file(*old)
            });
            if let Some((path, _)) = moved {
                change.origin = Some(Origin::MovedFrom((*path).to_owned()));
                continue;
            }
            let known = known.get_or_insert_with(|| {
                index.entries.iter().map(|entry| FileId::of(&entry.stat).place()).collect()
            });
            let is_older = born.is_some_and(|born| born < baseline.started - TICK);
            if is_older && !known.contains(&id.place()) {
                change.origin = Some(Origin::Older);
            }
        }
    }
}

/// Files that vanished and files that are new, which may be the same.
#[derive(Default)]
struct Moves {
    /// New files: their places in the list of changes.
    created: Vec<(usize, Stat)>,
    /// Files that have gone and whose content is not kept.
    vanished: ByPlace<String>,
}

impl Moves {
    fn note(&mut self, change: &Change, place: usize, old: Option<&Stat>, new: Option<&Stat>) {
        let is_file = |stat: &&Stat| matches!(stat.kind, Kind::File | Kind::Other);
        match (&change.before, &change.after) {
            (None, Some(_)) => {
                self.created.extend(new.filter(is_file).map(|stat| (place, *stat)));
            }
            (Some(before), _) if before.missing.is_some() => {
                let is_there =
                    |old: &Stat| new.is_some_and(|new| FileId::of(new).place() == FileId::of(old).place());
                if let Some(stat) = old.filter(is_file).filter(|old| !is_there(old)) {
                    let id = FileId::of(stat);
                    self.vanished.entry(id.place()).or_default().push((change.path.clone(), id));
                }
            }
            _ => {}
        }
    }

    /// Returns the former name of a file. If it had several, one with the same end is taken.
    fn take_vanished(&mut self, id: FileId, path: &str, is_file: impl Fn(FileId) -> bool) -> Option<String> {
        let names = self.vanished.get_mut(&id.place())?;
        let end = |path: &str| path.rsplit('/').next().map(str::to_owned);
        let same_end = names.iter().position(|(name, old)| end(name) == end(path) && is_file(*old));
        let place = same_end.or_else(|| names.iter().position(|(_, old)| is_file(*old)))?;
        Some(names.swap_remove(place).0)
    }
}

/// Notes in an index where contents can be had: where they were before, or where they were put when a path was looked at.
/// If not all that changed was looked at, the rest of it has none.
fn note_images(
    before: &Index,
    now: &mut Index,
    looked_at: &BTreeMap<String, Option<State>>,
    is_complete: bool,
) {
    let mut before = before.cursor();
    for entry in &mut now.entries {
        match looked_at.get(&*entry.path) {
            Some(Some(State { image: Some(image), missing: None, .. })) => {
                entry.image = Image::Stored(*image);
            }
            Some(Some(State { missing: Some(missing), .. })) => entry.image = Image::Missing(*missing),
            Some(_) => {}
            None => match before.find(&entry.path) {
                Some(old) if is_complete || old.stat == entry.stat => entry.image = old.image.clone(),
                // It has changed, but was not looked at.
                _ => {}
            },
        }
    }
}
