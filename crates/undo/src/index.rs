//! The index of the workspace: what the file system says of every path, and where the content of each file is available.
//!
//! Two of them show what happened between them. Ignored files, `.git` and other file systems are left out.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use bowline_files::IgnoreRules;
use serde::{Deserialize, Serialize};

use crate::beneath::Folder;
use crate::error::Error;
use crate::git_index::Repository;
use crate::image::ImageId;
use crate::state::{Kind, Missing, Stat};

/// The most paths of an index. A larger workspace is not covered, because an index of it would take too long.
pub(crate) const MAX_PATHS: usize = 300_000;

/// How many folders may be within each other. Each takes a descriptor while it is read.
const MAX_DEPTH: usize = 128;

/// How long before a scan a file must have changed last for its times to tell whether it changes again. File systems
/// keep times no finer than the kernel's clock ticks.
pub(crate) const TICK: i64 = 50_000_000;

/// The same for file systems that keep whole seconds.
const SECONDS: i64 = 2_000_000_000;

/// A path of the workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub path: Box<str>,
    pub stat: Stat,
    pub image: Image,
}

/// Where the content of a file is available.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Image {
    /// There is none, as for a folder, or it has not been looked for.
    #[serde(rename = "n")]
    None,
    /// Where a link leads.
    #[serde(rename = "l")]
    Target(String),
    #[serde(rename = "s")]
    Stored(ImageId),
    /// In the repository, under this name.
    #[serde(rename = "g")]
    Git([u8; 20]),
    #[serde(rename = "m")]
    Missing(Missing),
}

/// What tells a file from all others although it gets another name: device, inode and the time of its last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileId(pub u64, pub u64, pub i64);

impl FileId {
    pub fn of(stat: &Stat) -> Self {
        Self(stat.device, stat.inode, stat.modified)
    }

    /// Returns the part that another file may have once this one is gone.
    pub fn place(self) -> (u64, u64) {
        (self.0, self.1)
    }
}

/// The paths of the workspace at some moment.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// In the order of their parts.
    pub entries: Vec<Entry>,
    /// What was left out, without what is below. It stays left out although rules change.
    pub left_out: HashMap<String, FileId>,
    /// Folders of which it is not known what is below.
    pub unreadable: HashSet<String>,
    /// How many names are not UTF-8, so that they could not be noted.
    pub unnamed: u64,
    /// When the scan began, in nanoseconds since 1970.
    pub started: i64,
}

/// What a scan leaves out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    /// Where the user's own ignore rules are.
    pub home: Option<PathBuf>,
    /// Folders and files that bowline itself writes to, relative to the workspace.
    pub excluded: HashSet<String>,
}

impl Index {
    /// Reads the workspace. What an index before left out stays out, and what it had stays in. `None` if there are too many
    /// paths.
    pub fn scan(
        root: &Folder,
        filter: &Filter,
        before: Option<&Self>,
        repository: Option<&Repository>,
    ) -> Result<Option<Self>, Error> {
        let rules = IgnoreRules::around(root.path(), root.path(), filter.home.as_deref());
        let index = Self::empty();
        let device = root.own_stat()?.device;
        let (path, below) = (root.path().to_owned(), String::new());
        let mut scan = Scan {
            index,
            rules,
            filter,
            known: before.map(|before| &before.left_out),
            before: before.map(Self::cursor),
            repository,
            device,
            top: root.path(),
            path,
            below,
            depth: 0,
            is_in_ignored: false,
        };
        let is_complete = scan.read(root)?;
        if !is_complete {
            return Ok(None);
        }
        let mut index = scan.index;
        if let Some(before) = before {
            index.carry_over(before);
        }
        Ok(Some(index))
    }

    /// Returns the index of a workspace that is not there.
    pub fn empty() -> Self {
        Self { started: now(), ..Self::default() }
    }

    /// Looks only at what an index before has, in a workspace that has become too large.
    pub fn revisit(root: &Folder, before: &Self) -> Self {
        let mut index = Self::empty();
        for entry in &before.entries {
            let found = root.parent_of(&entry.path).and_then(|(folder, name)| {
                let stat = folder.stat(name)?;
                let target = stat.filter(|stat| stat.kind == Kind::Link).map(|_| folder.target(name));
                Ok(stat.map(|stat| (stat, target)))
            });
            let Ok(Some((stat, target))) = found else { continue };
            let image = image_at_first(&stat, || target.and_then(Result::ok).flatten());
            index.entries.push(Entry { path: entry.path.clone(), stat, image });
        }
        index
    }

    /// Takes over from an index before what is below folders that cannot be read any more.
    fn carry_over(&mut self, before: &Self) {
        if self.unreadable.is_empty() {
            return;
        }
        let hidden = before.entries.iter().filter(|entry| self.hides(&entry.path));
        let mut known = self.cursor();
        let hidden: Vec<Entry> = hidden.filter(|entry| known.find(&entry.path).is_none()).cloned().collect();
        self.entries.extend(hidden);
        self.entries.sort_by(|one, other| order(&one.path, &other.path));
    }

    /// Tells whether a path is below a folder that could not be read.
    pub fn hides(&self, path: &str) -> bool {
        !self.unreadable.is_empty()
            && (self.unreadable.contains("")
                || path.match_indices('/').any(|(place, _)| self.unreadable.contains(&path[..place])))
    }

    /// Returns the entry of a path.
    pub fn find(&self, path: &str) -> Option<&Entry> {
        let place = self.entries.binary_search_by(|entry| order(&entry.path, path)).ok()?;
        Some(&self.entries[place])
    }

    /// Returns what finds entries in the order of their paths.
    pub fn cursor(&self) -> Cursor<'_> {
        Cursor { rest: &self.entries }
    }

    /// Tells whether a file changed so shortly before the scan that it may have changed after it at the same time.
    pub fn is_racy(&self, stat: &Stat) -> bool {
        let is_coarse = stat.changed % 1_000_000_000 == 0;
        stat.changed > self.started - if is_coarse { SECONDS } else { TICK }
    }

    /// Writes it as lines of JSON.
    pub fn write(&self, mut output: impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut output, &(self.started, &self.left_out, &self.unreadable))?;
        output.write_all(b"\n")?;
        for entry in &self.entries {
            serde_json::to_writer(&mut output, entry)?;
            output.write_all(b"\n")?;
        }
        // A file that was not written completely is of no use.
        output.write_all(b"end\n")
    }

    /// Reads what was written; `None` if it is not complete.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.strip_suffix("end\n")?.lines();
        let (started, left_out, unreadable) = serde_json::from_str(lines.next()?).ok()?;
        let entries: Option<Vec<Entry>> = lines.map(|line| serde_json::from_str(line).ok()).collect();
        let entries = entries?;
        entries.is_sorted_by(|one, other| order(&one.path, &other.path).is_lt()).then_some(Self {
            entries,
            left_out,
            unreadable,
            unnamed: 0,
            started,
        })
    }
}

/// Finds entries whose paths are asked for in their order, which takes no longer than reading them all.
pub(crate) struct Cursor<'a> {
    rest: &'a [Entry],
}

impl<'a> Cursor<'a> {
    /// Returns the entry of a path that comes after those that were asked for.
    pub fn find(&mut self, path: &str) -> Option<&'a Entry> {
        while let [first, rest @ ..] = self.rest {
            match order(&first.path, path) {
                Ordering::Less => self.rest = rest,
                Ordering::Equal => return Some(first),
                Ordering::Greater => return None,
            }
        }
        None
    }
}

/// Compares paths part by part, as a scan finds them.
pub(crate) fn order(one: &str, other: &str) -> Ordering {
    // A slash comes before every other letter.
    let (one, other) = (one.as_bytes(), other.as_bytes());
    match one.iter().zip(other).position(|(one, other)| one != other) {
        None => one.len().cmp(&other.len()),
        Some(place) => match (one[place], other[place]) {
            (b'/', _) => Ordering::Less,
            (_, b'/') => Ordering::Greater,
            (one, other) => one.cmp(&other),
        },
    }
}

/// Returns the paths at which two indexes differ, with the entries of both.
pub(crate) fn differences<'a>(
    old: &'a Index,
    new: &'a Index,
) -> impl Iterator<Item = (&'a str, Option<&'a Entry>, Option<&'a Entry>)> {
    let (mut olds, mut news) = (old.entries.iter().peekable(), new.entries.iter().peekable());
    std::iter::from_fn(move || {
        loop {
            let compared = match (olds.peek(), news.peek()) {
                (None, None) => return None,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(one), Some(other)) => order(&one.path, &other.path),
            };
            let one = if compared.is_le() { olds.next() } else { None };
            let other = if compared.is_ge() { news.next() } else { None };
            let path = one.or(other).map(|entry| &*entry.path)?;
            if let (Some(one), Some(other)) = (one, other)
                && is_unchanged(old, &one.stat, &other.stat)
            {
                continue;
            }
            return Some((path, one, other));
        }
    })
}

/// Tells whether the file system shows that nothing changed since an index.
pub(crate) fn is_unchanged(old: &Index, one: &Stat, other: &Stat) -> bool {
    match (one.kind, other.kind) {
        // What is in a folder shows by itself.
        (Kind::Folder, Kind::Folder) => one.mode == other.mode,
        (Kind::File, Kind::File) => one == other && !old.is_racy(one),
        _ => one == other,
    }
}

/// A scan in progress.
struct Scan<'a> {
    index: Index,
    rules: IgnoreRules,
    filter: &'a Filter,
    /// What an index before left out.
    known: Option<&'a HashMap<String, FileId>>,
    /// What an index before had.
    before: Option<Cursor<'a>>,
    repository: Option<&'a Repository>,
    device: u64,
    top: &'a Path,
    /// The folder that is being read.
    path: PathBuf,
    /// The same relative to the workspace, with a slash at the end if it is not the workspace.
    below: String,
    depth: usize,
    /// Whether the folder that is being read is ignored, and read for the sake of some files in it.
    is_in_ignored: bool,
}

impl Scan<'_> {
    /// Reads a folder and what is below. Returns whether there was room for all of it.
    fn read(&mut self, folder: &Folder) -> Result<bool, Error> {
        let room = MAX_PATHS.saturating_sub(self.index.entries.len());
        let (names, has_more) = folder.names(room)?;
        if has_more {
            return Ok(false);
        }
        self.rules.enter(&self.path, self.top, names.iter().map(|name| name.name.as_ref()));
        let mut is_complete = true;
        for name in names {
            if name.name == ".git" {
                continue;
            }
            let length = self.below.len();
            self.below.push_str(&name.name);
            self.path.push(&name.name);
            is_complete =
                self.index.entries.len() < MAX_PATHS && self.add(folder, &name.name, name.is_lossy)?;
            self.path.pop();
            self.below.truncate(length);
            if !is_complete {
                break;
            }
        }
        self.rules.leave();
        Ok(is_complete)
    }

    /// Adds what a name stands for, and what is below it.
    fn add(&mut self, folder: &Folder, name: &str, is_lossy: bool) -> Result<bool, Error> {
        if is_lossy {
            self.index.unnamed += 1;
            return Ok(true);
        }
        let stat = match folder.stat(name) {
            Ok(Some(stat)) => stat,
            // What has gone since the folder was read is not there.
            Ok(None) => return Ok(true),
            // Its names may be read, but not what they stand for.
            Err(_) => {
                let above = self.below.rsplit_once('/').map_or("", |(above, _)| above);
                self.index.unreadable.insert(above.to_owned());
                return Ok(true);
            }
        };
        let is_folder = stat.kind == Kind::Folder;
        // Some file systems give files other devices than the folders that they are in.
        let is_elsewhere = is_folder && stat.device != self.device;
        let is_closed = is_elsewhere
            || self.depth == MAX_DEPTH
            || self.known.is_some_and(|known| known.contains_key(&self.below))
            || self.filter.excluded.contains(&self.below);
        let is_ignored = !is_closed && (self.is_in_ignored || self.rules.leave_out(&self.path, is_folder));
        if is_closed || is_ignored && !self.stays_in(is_folder) {
            self.index.left_out.insert(self.below.clone(), FileId::of(&stat));
            return Ok(true);
        }
        let image = image_at_first(&stat, || folder.target(name).ok().flatten());
        self.index.entries.push(Entry { path: self.below.as_str().into(), stat, image });
        if !is_folder {
            return Ok(true);
        }
        let Ok(inner) = folder.enter(name) else {
            self.index.unreadable.insert(self.below.clone());
            return Ok(true);
        };
        self.below.push('/');
        self.depth += 1;
        let was_in_ignored = std::mem::replace(&mut self.is_in_ignored, is_ignored);
        // A folder that cannot be read hides what is below it.
        let is_complete = self.read(&inner).or_else(|error| match error {
            Error::Access { .. } => {
                let length = self.below.trim_end_matches('/').len();
                self.index.unreadable.insert(self.below[..length].to_owned());
                Ok(true)
            }
            error => Err(error),
        });
        self.is_in_ignored = was_in_ignored;
        self.depth -= 1;
        is_complete
    }

    /// Tells whether something is looked at although it is ignored: git tracks it, or an index before had it.
    fn stays_in(&mut self, is_folder: bool) -> bool {
        self.repository.is_some_and(|repository| repository.tracks(&self.below, is_folder))
            || self.before.as_mut().is_some_and(|before| before.find(&self.below).is_some())
    }
}

/// Returns what is known of a content without reading it.
fn image_at_first(stat: &Stat, target: impl FnOnce() -> Option<String>) -> Image {
    match stat.kind {
        Kind::Link => target().map_or(Image::Missing(Missing::Unreadable), Image::Target),
        Kind::Other => Image::Missing(Missing::Special),
        Kind::File | Kind::Folder => Image::None,
    }
}

/// Returns the time in nanoseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
