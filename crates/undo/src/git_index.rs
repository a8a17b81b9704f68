//! What git's own index says of the files of the workspace: a file whose times, size and inode are those that git noted has
//! the content that git has, so it needs no copy.
//!
//! The index may come from others. A wrong one makes nothing worse than a copy that is missing: what is read from git later
//! is compared with its name and with the size of the file.

use std::path::{Path, PathBuf};

use crate::git_objects::Objects;
use crate::git_settings::{Conversion, MAX_TEXT, Places, conversion};
use crate::state::{Kind, Stat};

/// The most that is read of an index: more than the largest index of [`crate::index::MAX_PATHS`] files.
const MAX_INDEX: u64 = 128 * 1024 * 1024;

/// The repository that the workspace is in.
#[derive(Debug)]
pub(crate) struct Repository {
    /// What git tracks below the workspace, in the order of git: byte by byte.
    files: Vec<(String, Noted)>,
    /// How files may differ from their objects.
    conversion: Conversion,
    /// When the index was written, in nanoseconds since 1970. What changed no earlier may have changed after.
    written: i64,
    pub objects: Objects,
}

/// What git noted of a file.
#[derive(Debug, Clone, Copy)]
struct Noted {
    changed: (u32, u32),
    modified: (u32, u32),
    inode: u32,
    mode: u32,
    owner: u32,
    group: u32,
    size: u32,
    name: [u8; 20],
}

impl Repository {
    /// Reads the index of the repository around a folder; `home` has the user's settings for git. `None` without one. What
    /// git converts is not known yet, so nothing counts as being in git.
    pub fn around(workspace: &Path, home: Option<&Path>) -> Option<Self> {
        let workspace = &bowline_files::canonical(workspace);
        let top = workspace.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
        let (own, shared) = folders(&top.join(".git"))?;
        let prefix = workspace.strip_prefix(top).ok()?.to_str()?;
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let path = own.join("index");
        let content = bowline_files::read(&path, MAX_INDEX).ok()?;
        let written = modified(&path)?;
        let mut files = parse(&content, &prefix)?;
        if !files.is_sorted_by(|(one, _), (other, _)| one < other) {
            files.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        }
        let objects = Objects::open(&shared.join("objects"));
        let mut repository = Self { files, conversion: Conversion::Any, written, objects };
        if !shared.join("objects/info/alternates").exists() {
            let attributes = repository.files.iter().filter(|(path, _)| is_attributes(path));
            let attributes = attributes.map(|(path, _)| workspace.join(path));
            let places = Places { top, workspace, own: &own, shared: &shared, home };
            repository.conversion = conversion(&places, attributes);
        }
        Some(repository)
    }

    /// Takes a `.gitattributes` into account that git does not track.
    pub fn add_attributes(&mut self, path: &Path) {
        self.conversion = self.conversion.max(crate::git_settings::conversion_by_attributes(path));
    }

    /// Tells whether git tracks a file, or something below a folder.
    pub fn tracks(&self, path: &str, is_folder: bool) -> bool {
        if !is_folder {
            return self.noted(path).is_some();
        }
        let below = format!("{path}/");
        let place = self.files.partition_point(|(found, _)| **found < *below);
        self.files.get(place).is_some_and(|(found, _)| found.starts_with(&below))
    }

    fn noted(&self, path: &str) -> Option<&Noted> {
        let place = self.files.binary_search_by(|(found, _)| found.as_str().cmp(path)).ok()?;
        Some(&self.files[place].1)
    }

    /// Returns the name of a file's content, if git has it. `known` is the name that the same file, with the same times, had
    /// for an index before.
    pub fn content_of(&self, path: &str, stat: &Stat, known: Option<[u8; 20]>) -> Option<[u8; 20]> {
        if self.conversion == Conversion::Any {
            return None;
        }
        let noted = self.noted(path)?;
        let is_same = stat.kind == Kind::File
            && noted.modified == split(stat.modified)
            && noted.changed == split(stat.changed)
            && noted.inode == stat.inode as u32
            && noted.size == stat.size as u32
            && (noted.owner, noted.group) == (stat.owner, stat.group)
            && noted.mode & 0o170_000 == 0o100_000;
        let has_size = || {
            self.conversion == Conversion::None
                || known == Some(noted.name)
                || self.objects.size(&noted.name) == Some(stat.size)
        };
        (is_same && stat.modified < self.written && has_size()).then_some(noted.name)
    }
}

/// Returns the folder of a repository or of one of its worktrees, and the one with the objects.
fn folders(path: &Path) -> Option<(PathBuf, PathBuf)> {
    if path.is_dir() {
        return Some((path.to_owned(), path.to_owned()));
    }
    let named = bowline_files::read_text(path, MAX_TEXT).ok()?;
    let own = path.parent()?.join(named.strip_prefix("gitdir:")?.trim());
    let shared = match bowline_files::read_text(&own.join("commondir"), MAX_TEXT) {
        Ok(shared) => own.join(shared.trim()),
        Err(_) => own.clone(),
    };
    Some((own, shared))
}

fn modified(path: &Path) -> Option<i64> {
    let time = path.metadata().ok()?.modified().ok()?;
    i64::try_from(time.duration_since(std::time::UNIX_EPOCH).ok()?.as_nanos()).ok()
}

pub(crate) fn is_attributes(path: &str) -> bool {
    path.rsplit('/').next() == Some(".gitattributes")
}

fn split(nanoseconds: i64) -> (u32, u32) {
    // The index keeps the lower half of the seconds.
    (nanoseconds.div_euclid(1_000_000_000) as u32, nanoseconds.rem_euclid(1_000_000_000) as u32)
}

/// Returns the files below `prefix` that an index lists, by their paths without it. `None` if it is not understood.
fn parse(content: &[u8], prefix: &str) -> Option<Vec<(String, Noted)>> {
    let mut reader = Reader { rest: content };
    if reader.take(4)? != b"DIRC" {
        return None;
    }
    let version = reader.number()?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let count = reader.number()?;
    let mut files = Vec::new();
    let mut path = Vec::new();
    for _ in 0..count {
        let start = reader.rest.len();
        let mut numbers = [0; 10];
        for number in &mut numbers {
            *number = reader.number()?;
        }
        let name: [u8; 20] = reader.take(20)?.try_into().ok()?;
        let flags = reader.half()?;
        let extended = if version >= 3 && flags & 0x4000 != 0 { reader.half()? } else { 0 };
        if version == 4 {
            let kept = path.len().checked_sub(reader.offset()?)?;
            path.truncate(kept);
        } else {
            path.clear();
        }
        path.extend_from_slice(reader.until_zero()?);
        if version < 4 {
            // Padded with zeros, of which one was taken.
            let length = start - reader.rest.len();
            reader.take(length.next_multiple_of(8) - length)?;
        }
        let is_plain = flags & 0x3000 == 0 && extended & 0x6000 == 0;
        if is_plain
            && let Some(below) = std::str::from_utf8(&path).ok().and_then(|path| path.strip_prefix(prefix))
        {
            let [changed, changed_part, modified, modified_part, _, inode, mode, owner, group, size] =
                numbers;
            let (changed, modified) = ((changed, changed_part), (modified, modified_part));
            let noted = Noted { changed, modified, inode, mode, owner, group, size, name };
            files.push((below.to_owned(), noted));
        }
    }
    Some(files)
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn half(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    /// Reads a number of any length, of which each byte but the last has its highest bit set.
    fn offset(&mut self) -> Option<usize> {
        let mut value = 0_usize;
        for index in 0..8 {
            let byte = *self.take(1)?.first()?;
            if index > 0 {
                value += 1;
            }
            value = (value << 7) | usize::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn until_zero(&mut self) -> Option<&'a [u8]> {
        let length = self.rest.iter().position(|byte| *byte == 0)?;
        let taken = self.take(length)?;
        self.take(1)?;
        Some(taken)
    }
}
