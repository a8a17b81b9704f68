//! What git's own index says of the files of the workspace: a file whose times, size and inode are those that git noted has
//! the content that git has, so it needs no copy.
//!
//! The index may come from others. A wrong one makes nothing worse than a copy that is missing: what is read from git later
//! is compared with its name and with the size of the file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::git_objects::Objects;
use crate::state::{Kind, Stat};

/// The most that is read of an index: more than the largest index of [`crate::index::MAX_PATHS`] files.
const MAX_INDEX: u64 = 128 * 1024 * 1024;

/// The most that is read of a file with settings or attributes.
const MAX_TEXT: u64 = 256 * 1024;

/// The repository that the workspace is in.
#[derive(Debug)]
pub(crate) struct Repository {
    files: HashMap<String, Noted>,
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
    /// Reads the index of the repository around a folder. `None` without one, or if contents in it are not those of files.
    pub fn around(workspace: &Path) -> Option<Self> {
        let top = workspace.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
        let (own, shared) = folders(&top.join(".git"))?;
        let settings = bowline_files::read_text(&shared.join("config"), MAX_TEXT).ok()?.to_lowercase();
        let converts =
            ["autocrlf", "objectformat", "alternaterefs"].iter().any(|word| settings.contains(word));
        if converts || shared.join("objects/info/alternates").exists() {
            return None;
        }
        let prefix = workspace.strip_prefix(top).ok()?.to_str()?;
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let path = own.join("index");
        let content = bowline_files::read(&path, MAX_INDEX).ok()?;
        let written = modified(&path)?;
        let files = parse(&content, &prefix)?;
        let attributes = [shared.join("info/attributes"), top.join(".gitattributes")];
        let below = files.keys().filter(|path| is_attributes(path)).map(|path| workspace.join(path));
        if attributes.into_iter().chain(below).any(|path| converts_content(top, &path)) {
            return None;
        }
        Some(Self { files, written, objects: Objects::open(&shared.join("objects")) })
    }

    /// Returns the name of a file's content, if git has it.
    pub fn content_of(&self, path: &str, stat: &Stat) -> Option<[u8; 20]> {
        let noted = self.files.get(path)?;
        let is_same = stat.kind == Kind::File
            && noted.modified == split(stat.modified)
            && noted.changed == split(stat.changed)
            && noted.inode == stat.inode as u32
            && noted.size == stat.size as u32
            && (noted.owner, noted.group) == (stat.owner, stat.group)
            && noted.mode & 0o170_000 == 0o100_000;
        (is_same && stat.modified < self.written).then_some(noted.name)
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

fn is_attributes(path: &str) -> bool {
    path.rsplit('/').next() == Some(".gitattributes")
}

/// Tells whether files may have another content than git has for them, without it showing in their size.
fn converts_content(top: &Path, attributes: &Path) -> bool {
    let Ok(file) = bowline_files::open_within(top, attributes) else {
        return attributes.symlink_metadata().is_ok();
    };
    let Ok(beginning) = bowline_files::read_beginning(file, attributes, MAX_TEXT) else { return true };
    let text = String::from_utf8_lossy(&beginning.bytes);
    beginning.is_cut || ["filter", "working-tree-encoding", "ident"].iter().any(|word| text.contains(word))
}

fn split(nanoseconds: i64) -> (u32, u32) {
    // The index keeps the lower half of the seconds.
    (nanoseconds.div_euclid(1_000_000_000) as u32, nanoseconds.rem_euclid(1_000_000_000) as u32)
}

/// Returns the files below `prefix` that an index lists, by their paths without it. `None` if it is not understood.
fn parse(content: &[u8], prefix: &str) -> Option<HashMap<String, Noted>> {
    let mut reader = Reader { rest: content };
    if reader.take(4)? != b"DIRC" {
        return None;
    }
    let version = reader.number()?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let count = reader.number()?;
    let mut files = HashMap::new();
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
            files.insert(below.to_owned(), noted);
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
