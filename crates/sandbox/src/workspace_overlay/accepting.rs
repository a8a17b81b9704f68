//! Applying pending changes to the real workspace. Nothing is mounted meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use bowline_core::file_changes::{FileChangeKind, LeftAlone};
use bowline_core::pending_changes::{AcceptReport, PendingObstacle};
use bowline_undo::{Error as FolderError, Folder, Kind};

use super::baseline::Stamp;
use super::listing::{Entry, PERMISSIONS, shorten};
use super::protection::Protection;
use super::selection::Selection;
use super::store::Store;
use super::taking_out::{sides, take_out};
use crate::error::Error;

/// What the owner needs to fill a folder.
const OWNER: u32 = 0o700;

const CHANGED: &str = "it was changed in the workspace meanwhile";
const NOT_EMPTY: &str = "the folder in the workspace still has something in it";

/// Why one change was not applied.
enum Left {
    Conflict(&'static str),
    Failed(String),
}

impl From<FolderError> for Left {
    fn from(error: FolderError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl Store {
    /// Applies the changes of these paths and what is below them, or all of them.
    pub fn accept(&self, protection: &Protection, paths: Option<&[String]>) -> Result<AcceptReport, Error> {
        let listing = self.list(protection)?;
        let selection = Selection::new(paths, &self.workspace);
        let not_applied = selection.missing(&listing.entries);
        let mut report = AcceptReport { not_applied, ..AcceptReport::default() };
        if listing.entries.is_empty() && !listing.is_partial {
            self.reset().map_err(Error::preparing("emptying the overlay"))?;
            return Ok(report);
        }
        let mut applying = Applying::new(self, &listing.entries, &selection)?;
        applying.run();
        for (path, left) in applying.left {
            match left {
                (PendingObstacle::Conflict, reason) => report.conflicts.push(LeftAlone { path, reason }),
                (_, reason) => report.not_applied.push(LeftAlone { path, reason }),
            }
        }
        let is_done = |entry: &&Entry| applying.done.contains(entry.path.as_str());
        let done: Vec<&Entry> = listing.entries.iter().filter(is_done).collect();
        report.accepted = done.iter().map(|entry| entry.path.clone()).collect();
        if done.len() == listing.entries.len() && !listing.is_partial {
            self.reset().map_err(Error::preparing("emptying the overlay"))?;
        } else if !done.is_empty() {
            // What stays in the overlay although it was applied is no change, because both sides are the same.
            let _ = take_out(self, &done, false);
        }
        shorten(&mut report.accepted, &mut report.omitted);
        shorten(&mut report.conflicts, &mut report.omitted);
        shorten(&mut report.not_applied, &mut report.omitted);
        report.pending = self.list(protection)?.entries.len() as u64;
        Ok(report)
    }
}

struct Applying<'a> {
    upper: Folder,
    real: Folder,
    entries: Vec<&'a Entry>,
    done: BTreeSet<&'a str>,
    left: BTreeMap<String, (PendingObstacle, String)>,
}

impl<'a> Applying<'a> {
    fn new(store: &Store, entries: &'a [Entry], selection: &Selection) -> Result<Self, Error> {
        let (upper, real) = sides(store)?;
        let mut selected: BTreeSet<&str> =
            entries.iter().filter(|entry| selection.has(&entry.path)).map(|entry| &*entry.path).collect();
        // A new folder comes with what is accepted in it.
        let above: Vec<&str> =
            selected.iter().flat_map(|path| path.match_indices('/').map(|(end, _)| &path[..end])).collect();
        selected.extend(above);
        let entries = entries.iter().filter(|entry| selected.contains(entry.path.as_str()));
        Ok(Self { upper, real, entries: entries.collect(), done: BTreeSet::new(), left: BTreeMap::new() })
    }

    fn run(&mut self) {
        let entries = std::mem::take(&mut self.entries);
        // Entries are removed before their folder, and created after it.
        for entry in entries.iter().rev().filter(|entry| entry.change == FileChangeKind::Deleted) {
            self.one(entry, Self::delete);
        }
        for entry in entries.iter().filter(|entry| entry.change != FileChangeKind::Deleted) {
            self.one(entry, Self::put);
        }
        // A folder that its owner may not write to could not be filled before.
        for entry in entries.iter().rev() {
            if !self.done.contains(entry.path.as_str()) {
                continue;
            }
            if let Some(after) = entry.after.as_ref().filter(|after| after.stat.kind == Kind::Folder) {
                let special = entry
                    .before
                    .as_ref()
                    .filter(|before| before.stat.kind == Kind::Folder)
                    .map_or(0, |before| before.stat.mode & !PERMISSIONS);
                let set = self.real.parent_of(&entry.path).and_then(|(folder, name)| {
                    folder.set_mode(name, after.stat.mode & PERMISSIONS | special)
                });
                if let Err(error) = set {
                    self.done.remove(entry.path.as_str());
                    self.left.insert(entry.path.clone(), (PendingObstacle::Unsupported, error.to_string()));
                }
            }
        }
    }

    fn one(&mut self, entry: &'a Entry, apply: fn(&Self, &Entry) -> Result<(), Left>) {
        if let Some(obstacle) = &entry.obstacle {
            self.left.insert(entry.path.clone(), obstacle.clone());
            return;
        }
        match apply(self, entry) {
            Ok(()) => drop(self.done.insert(&entry.path)),
            Err(Left::Conflict(reason)) => {
                self.left.insert(entry.path.clone(), (PendingObstacle::Conflict, reason.to_owned()));
            }
            Err(Left::Failed(reason)) => {
                self.left.insert(entry.path.clone(), (PendingObstacle::Unsupported, reason));
            }
        }
    }

    /// Opens the real folder of a path, and checks that the path is still what the listing found.
    fn place<'entry>(&self, entry: &'entry Entry) -> Result<(Folder, &'entry str), Left> {
        let (folder, name) = self.real.parent_of(&entry.path)?;
        let now = folder.stat(name)?;
        let expected = entry.before.as_ref().map(|before| Stamp::of(&before.stat));
        if now.as_ref().map(Stamp::of) != expected {
            return Err(Left::Conflict(CHANGED));
        }
        Ok((folder, name))
    }

    fn delete(&self, entry: &Entry) -> Result<(), Left> {
        let (folder, name) = self.place(entry)?;
        match &entry.before {
            Some(before) if before.stat.kind == Kind::Folder => remove_folder(&folder, name),
            _ => Ok(folder.remove(name)?),
        }
    }

    fn put(&self, entry: &Entry) -> Result<(), Left> {
        let Some(after) = &entry.after else { return Ok(()) };
        let (folder, name) = self.place(entry)?;
        let was = entry.before.as_ref().map(|before| before.stat.kind);
        if was == Some(Kind::Folder) && after.stat.kind != Kind::Folder {
            remove_folder(&folder, name)?;
        }
        let mode = after.stat.mode & PERMISSIONS;
        match (after.stat.kind, &after.target) {
            (Kind::Folder, _) => {
                if was == Some(Kind::Folder) {
                    return Ok(());
                }
                if was.is_some() {
                    folder.remove(name)?;
                }
                folder.create_folder(name)?;
                Ok(folder.set_mode(name, mode | OWNER)?)
            }
            (Kind::Link, Some(target)) => Ok(folder.replace_by_link(name, target)?),
            _ if entry.change == FileChangeKind::Mode => Ok(folder.set_mode(name, mode)?),
            _ => {
                let (source, source_name) = self.upper.parent_of(&entry.path)?;
                let (file, stat) = source.open_file(source_name)?;
                if stat.kind != Kind::File || stat.links > 1 {
                    return Err(Left::Failed("it is not a plain file any more".to_owned()));
                }
                Ok(folder.replace(name, file.take(stat.size), mode)?)
            }
        }
    }
}

/// Removes a folder that must be empty by now: what stays in it is the user's, or stays for another reason.
fn remove_folder(folder: &Folder, name: &str) -> Result<(), Left> {
    if folder.remove_folder(name)? { Ok(()) } else { Err(Left::Conflict(NOT_EMPTY)) }
}
