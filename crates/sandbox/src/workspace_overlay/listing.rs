//! What is pending: the folder of the overlay compared with the real workspace.

use std::collections::HashSet;
use std::io::Read;

use bowline_core::file_changes::FileChangeKind;
use bowline_core::pending_changes::{PendingChange, PendingKind, PendingObstacle, PendingReport};
use bowline_undo::{Differences, Folder, Kind, Stat};

use super::baseline::Baseline;
use super::protection::Protection;
use super::selection::Selection;
use super::store::Store;
use super::upper::{DEEPEST, MOST_NAMES, is_opaque, is_whiteout, join};
use crate::error::Error;

/// The most changes that are known. What is beyond stays pending.
const MOST_ENTRIES: usize = 100_000;

/// The most bytes of the paths of all changes, which may be long.
const MOST_PATH_BYTES: usize = 32 << 20;

/// The most changes that a report lists, the most bytes of their paths, and the most files that it compares.
const MOST_LISTED: usize = 2_000;
const MOST_LISTED_BYTES: usize = 1 << 20;
const MOST_COMPARED: usize = 500;

/// The most bytes of files that are read to find out that they are the same. Beyond, they count as changed.
const MOST_READ: u64 = 512 << 20;

/// The largest file that is applied. An empty one can claim any size, and copying it would fill the disk.
const LARGEST: u64 = 4 << 30;

/// The permissions that are compared and applied. The bits beyond would lend the user's rights to others.
pub(super) const PERMISSIONS: u32 = 0o777;

/// What a path is on one side.
#[derive(Debug, Clone)]
pub(super) struct Side {
    pub stat: Stat,
    /// Where a link leads.
    pub target: Option<String>,
}

/// A change that is pending.
#[derive(Debug)]
pub(super) struct Entry {
    pub path: String,
    pub change: FileChangeKind,
    /// What the real workspace has.
    pub before: Option<Side>,
    /// What the overlay has.
    pub after: Option<Side>,
    /// Why it is not applied.
    pub obstacle: Option<(PendingObstacle, String)>,
}

/// The changes that are pending, by path.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub entries: Vec<Entry>,
    /// Whether there is more than is listed.
    pub is_partial: bool,
}

impl Store {
    /// Finds out what is pending.
    pub(super) fn list(&self, protection: &Protection) -> Result<Listing, Error> {
        let Ok(upper) = Folder::open(&self.upper()) else { return Ok(Listing::default()) };
        let real = Folder::open(&self.workspace).map_err(Error::changes)?;
        let device = real.own_stat().map_err(Error::changes)?.device;
        let baseline = self.baseline();
        let mut walk = Walk {
            baseline,
            protection,
            device,
            listing: Listing::default(),
            unread: MOST_READ,
            path_bytes: 0,
        };
        walk.folder(&upper, Some(&real), "", false, 0);
        let mut listing = walk.listing;
        listing.entries.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(listing)
    }

    /// Returns what is pending, as clients see it.
    pub fn report(
        &self,
        protection: &Protection,
        paths: Option<&[String]>,
        with_diff: bool,
    ) -> Result<PendingReport, Error> {
        let (listing, selection) = (self.list(protection)?, Selection::new(paths, &self.workspace));
        let shown: Vec<&Entry> = listing.entries.iter().filter(|entry| selection.has(&entry.path)).collect();
        let mut differences = Differences::default();
        if with_diff {
            for entry in shown.iter().take(MOST_COMPARED) {
                self.compare(entry, &mut differences);
            }
            differences.is_truncated |= shown.len() > MOST_COMPARED || listing.is_partial;
        }
        let mut bytes = 0;
        let fits = shown.iter().take(MOST_LISTED).take_while(|entry| {
            bytes += entry.path.len();
            bytes <= MOST_LISTED_BYTES
        });
        let listed: Vec<PendingChange> = fits.map(|entry| entry.shown()).collect();
        Ok(PendingReport {
            enabled: true,
            reason: None,
            omitted: (shown.len() - listed.len()) as u64 + u64::from(listing.is_partial),
            changes: listed,
            diff: (!differences.text.is_empty()).then_some(differences.text),
            diff_truncated: differences.is_truncated,
        })
    }

    fn compare(&self, entry: &Entry, differences: &mut Differences) {
        let content = |side: Option<&Side>, root: &std::path::Path| match side {
            Some(Side { stat: Stat { kind: Kind::File, .. }, .. }) => {
                let root = Folder::open(root).ok()?;
                let (folder, name) = root.parent_of(&entry.path).ok()?;
                // One byte more than is compared, so that it is said to be too large.
                let read = folder.read(name, Differences::MAX_FILE as u64 + 1).ok()?;
                Some(Some(
                    read.map_or_else(|| vec![b'\n'; Differences::MAX_FILE + 1], |(content, _)| content),
                ))
            }
            Some(Side { target: Some(target), .. }) => Some(Some(format!("{target}\n").into_bytes())),
            Some(Side { stat: Stat { kind: Kind::Folder, .. }, .. }) | None => Some(None),
            Some(_) => None,
        };
        let before = content(entry.before.as_ref(), &self.workspace);
        let after = content(entry.after.as_ref(), &self.upper());
        if let (Some(before), Some(after)) = (before, after)
            && before != after
        {
            differences.add(&entry.path, before.as_deref(), after.as_deref());
        }
    }
}

/// Shortens a list of a report, and counts what it leaves out.
pub(super) fn shorten<T>(list: &mut Vec<T>, omitted: &mut u64) {
    *omitted += list.len().saturating_sub(MOST_LISTED) as u64;
    list.truncate(MOST_LISTED);
}

impl Entry {
    fn shown(&self) -> PendingChange {
        let side = self.after.as_ref().or(self.before.as_ref());
        let size =
            |side: Option<&Side>| side.filter(|side| side.stat.kind == Kind::File).map(|side| side.stat.size);
        let mode = |side: Option<&Side>| {
            let stat = side.map(|side| side.stat).filter(|stat| stat.kind != Kind::Link)?;
            Some(format!("{:o}", stat.mode))
        };
        let modified = self.after.as_ref().map(|side| side.stat.modified / 1_000_000);
        PendingChange {
            path: self.path.clone(),
            change: self.change,
            kind: side.map_or(PendingKind::Special, |side| match side.stat.kind {
                Kind::File => PendingKind::File,
                Kind::Folder => PendingKind::Folder,
                Kind::Link => PendingKind::Link,
                Kind::Other => PendingKind::Special,
            }),
            size_before: size(self.before.as_ref()),
            size: size(self.after.as_ref()),
            mode_before: mode(self.before.as_ref()),
            mode: mode(self.after.as_ref()),
            modified: modified.and_then(|modified| u64::try_from(modified).ok()),
            obstacle: self.obstacle.as_ref().map(|(obstacle, _)| *obstacle),
            reason: self.obstacle.as_ref().map(|(_, reason)| reason.clone()),
        }
    }
}

struct Walk<'a> {
    baseline: Baseline,
    protection: &'a Protection,
    /// The file system of the workspace.
    device: u64,
    listing: Listing,
    /// How many bytes may still be read.
    unread: u64,
    /// How many bytes the paths have.
    path_bytes: usize,
}

impl Walk<'_> {
    /// Compares a folder of the overlay with the real one. `hides` is whether nothing of the real one shows through.
    fn folder(&mut self, upper: &Folder, real: Option<&Folder>, below: &str, hides: bool, depth: usize) {
        let hides = hides || is_opaque(upper);
        let Ok((names, has_more)) = upper.names(MOST_NAMES) else {
            self.listing.is_partial = true;
            return;
        };
        self.listing.is_partial |= has_more;
        for name in &names {
            let path = join(below, &name.name);
            if name.is_lossy {
                self.unsupported(path, None, None, "its name is not UTF-8");
            } else if is_whiteout(upper, &name.name) {
                self.deleted(real, &name.name, path, depth);
            } else if let Ok(Some(stat)) = upper.stat(&name.name) {
                self.present(upper, real, &name.name, path, &stat, hides, depth);
            }
        }
        if let Some(real) = real.filter(|_| hides) {
            let here: HashSet<&str> = names.iter().map(|name| name.name.as_str()).collect();
            let Ok((covered, has_more)) = real.names(MOST_NAMES) else { return };
            self.listing.is_partial |= has_more;
            for name in covered.iter().filter(|name| !name.is_lossy && !here.contains(name.name.as_str())) {
                self.deleted(Some(real), &name.name, join(below, &name.name), depth);
            }
        }
    }

    /// Compares what the overlay has at a name with what the real folder has.
    #[expect(clippy::too_many_arguments, reason = "the two sides, and where they are")]
    fn present(
        &mut self,
        upper: &Folder,
        real: Option<&Folder>,
        name: &str,
        path: String,
        stat: &Stat,
        hides: bool,
        depth: usize,
    ) {
        let before = real.and_then(|real| side(real, name));
        let Some(after) = side(upper, name) else {
            return self.unsupported(path, before, None, "where it leads is not UTF-8");
        };
        let was_folder = before.as_ref().is_some_and(|before| before.stat.kind == Kind::Folder);
        let inner_real = real.filter(|_| was_folder).and_then(|real| real.enter(name).ok());
        if stat.kind != Kind::Folder {
            if let Some(inner) = &inner_real {
                self.deleted_inside(inner, &path, depth);
            }
            let change = match &before {
                None => FileChangeKind::Created,
                Some(before) => match self.difference(upper, real, name, before, &after) {
                    Some(change) => change,
                    None => return,
                },
            };
            return self.push(path, change, before, Some(after));
        }
        let change = match &before {
            None => Some(FileChangeKind::Created),
            Some(_) if !was_folder => Some(FileChangeKind::Modified),
            Some(before) => differs_in_mode(before, &after).then_some(FileChangeKind::Mode),
        };
        if let Some(change) = change {
            self.push(path.clone(), change, before, Some(after));
        }
        match upper.enter(name) {
            Ok(inner) if depth < DEEPEST => self.folder(&inner, inner_real.as_ref(), &path, hides, depth + 1),
            Ok(_) => {
                self.unsupported(join(&path, "…"), None, None, "there are too many folders in each other");
            }
            Err(_) => self.unsupported(join(&path, "…"), None, None, "the folder cannot be read"),
        }
    }

    /// Returns how two files or links differ; `None` if they do not.
    fn difference(
        &mut self,
        upper: &Folder,
        real: Option<&Folder>,
        name: &str,
        before: &Side,
        after: &Side,
    ) -> Option<FileChangeKind> {
        let is_same = match (before.stat.kind, after.stat.kind) {
            (Kind::Link, Kind::Link) => {
                return (before.target != after.target).then_some(FileChangeKind::Modified);
            }
            (Kind::File, Kind::File) => {
                before.stat.size == after.stat.size
                    && real.is_some_and(|real| self.has_same_content(upper, real, name, after.stat.size))
            }
            _ => false,
        };
        match (is_same, differs_in_mode(before, after)) {
            (false, _) => Some(FileChangeKind::Modified),
            (true, true) => Some(FileChangeKind::Mode),
            (true, false) => None,
        }
    }

    fn has_same_content(&mut self, upper: &Folder, real: &Folder, name: &str, size: u64) -> bool {
        let Some(rest) = self.unread.checked_sub(size) else { return false };
        self.unread = rest;
        let (Ok((mut one, _)), Ok((mut other, _))) = (upper.open_file(name), real.open_file(name)) else {
            return false;
        };
        let (mut left, mut right) = ([0; 64 * 1024], [0; 64 * 1024]);
        let mut unread = size;
        while unread > 0 {
            let length = usize::try_from(unread).unwrap_or(usize::MAX).min(left.len());
            let is_read =
                one.read_exact(&mut left[..length]).is_ok() && other.read_exact(&mut right[..length]).is_ok();
            if !is_read || left[..length] != right[..length] {
                return false;
            }
            unread -= length as u64;
        }
        true
    }

    /// Notes that a name of the real folder is not in the overlay, with everything below it.
    fn deleted(&mut self, real: Option<&Folder>, name: &str, path: String, depth: usize) {
        let Some(before) = real.and_then(|real| side(real, name)) else { return };
        if before.stat.kind == Kind::Folder
            && let Some(inner) = real.and_then(|real| real.enter(name).ok())
        {
            self.deleted_inside(&inner, &path, depth);
        }
        self.push(path, FileChangeKind::Deleted, Some(before), None);
    }

    fn deleted_inside(&mut self, real: &Folder, below: &str, depth: usize) {
        let (Ok((names, has_more)), true) = (real.names(MOST_NAMES), depth < 2 * DEEPEST) else {
            self.listing.is_partial = true;
            return;
        };
        self.listing.is_partial |= has_more;
        for name in names.iter().filter(|name| !name.is_lossy) {
            self.deleted(Some(real), &name.name, join(below, &name.name), depth + 1);
        }
    }

    fn push(&mut self, path: String, change: FileChangeKind, before: Option<Side>, after: Option<Side>) {
        let obstacle = self.obstacle(&path, before.as_ref(), after.as_ref());
        self.add(Entry { path, change, before, after, obstacle });
    }

    fn unsupported(&mut self, path: String, before: Option<Side>, after: Option<Side>, reason: &str) {
        let obstacle = Some((PendingObstacle::Unsupported, reason.to_owned()));
        self.add(Entry { path, change: FileChangeKind::Created, before, after, obstacle });
    }

    fn add(&mut self, entry: Entry) {
        self.path_bytes += entry.path.len();
        if self.listing.entries.len() < MOST_ENTRIES && self.path_bytes <= MOST_PATH_BYTES {
            self.listing.entries.push(entry);
        } else {
            self.listing.is_partial = true;
        }
    }

    /// Returns why a change is not applied, if so.
    fn obstacle(
        &self,
        path: &str,
        before: Option<&Side>,
        after: Option<&Side>,
    ) -> Option<(PendingObstacle, String)> {
        let is_folder = after.or(before).is_some_and(|side| side.stat.kind == Kind::Folder);
        if let Some(reason) = self.protection.refusal(path, is_folder) {
            return Some((PendingObstacle::Protected, reason.to_owned()));
        }
        let is_other = |side: Option<&Side>| side.is_some_and(|side| side.stat.kind == Kind::Other);
        let unsupported = if is_other(after) {
            Some("it is a FIFO, a socket or a device")
        } else if is_other(before) {
            Some("the workspace has a FIFO, a socket or a device there")
        } else if after.is_some_and(|side| side.stat.kind == Kind::File && side.stat.links > 1) {
            Some("it has several names (hard links)")
        } else if after.is_some()
            && before.is_some_and(|side| side.stat.kind == Kind::File && side.stat.links > 1)
        {
            Some("the file in the workspace has several names (hard links)")
        } else if after.is_some_and(|side| side.stat.kind == Kind::File && side.stat.size > LARGEST) {
            Some("it is larger than 4 GB")
        } else if before.is_some_and(|side| side.stat.device != self.device) {
            Some("it is on another file system than the workspace")
        } else {
            None
        };
        if let Some(reason) = unsupported {
            return Some((PendingObstacle::Unsupported, reason.to_owned()));
        }
        let reason = self.baseline.conflict(path, before.map(|side| &side.stat))?;
        Some((PendingObstacle::Conflict, reason.to_owned()))
    }
}

/// Returns what a name in a folder is; `None` if there is nothing, or it cannot be told.
pub(super) fn side(folder: &Folder, name: &str) -> Option<Side> {
    let stat = folder.stat(name).ok()??;
    let target = match stat.kind {
        Kind::Link => Some(folder.target(name).ok()??),
        _ => None,
    };
    Some(Side { stat, target })
}

fn differs_in_mode(before: &Side, after: &Side) -> bool {
    before.stat.mode & PERMISSIONS != after.stat.mode & PERMISSIONS
}
