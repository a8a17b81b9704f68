//! What a protected path was: a copy to put back, and what tells quickly whether it has changed.

use std::ffi::{OsStr, OsString};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Stat, mkdirat, openat, readlinkat, statat, symlinkat,
};

use rustix::io::Errno;

/// How many entries of a folder are kept or compared, and how deep.
const MOST_ENTRIES: usize = 2_000;
const DEEPEST: usize = 8;

/// A copy of what was at a path.
#[derive(Debug)]
pub(super) enum Saved {
    Absent,
    File {
        bytes: Vec<u8>,
        mode: Mode,
    },
    Link(OsString),
    Folder {
        entries: Vec<(OsString, Saved)>,
        mode: Mode,
    },
    /// There was more than is kept.
    TooLarge,
}

/// What tells whether something has changed: numbers, sizes and times of everything there.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Signature(Vec<(u64, i64, i64, i64, u32)>);

/// What stands for something that cannot be looked at.
const UNKNOWN: (u64, i64, i64, i64, u32) = (u64::MAX, -1, -1, -1, u32::MAX);

impl Signature {
    /// Returns the signature of something that cannot be looked at.
    pub fn unknown() -> Self {
        Self(vec![UNKNOWN])
    }

    /// Returns the signature of a name in a folder; an empty one if it is not there.
    pub fn of(parent: BorrowedFd<'_>, name: &OsStr) -> Self {
        let mut signature = Self::default();
        signature.add(parent, name, 0);
        signature
    }

    fn add(&mut self, parent: BorrowedFd<'_>, name: &OsStr, depth: usize) {
        let found = match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => found,
            // Not to be allowed to look is not the same as to find nothing.
            Err(Errno::ACCESS | Errno::PERM) => return self.0.push(UNKNOWN),
            Err(_) => return,
        };
        let is_folder = kind(&found) == FileType::Directory;
        // The times of a folder change with every name in it, which is compared anyway. Of those of a file, only the time
        // of the last change of anything cannot be set.
        let (size, seconds) = if is_folder { (0, 0) } else { (found.st_size, found.st_ctime) };
        let nanoseconds = if is_folder { 0 } else { i64::try_from(found.st_ctime_nsec).unwrap_or_default() };
        self.0.push((found.st_ino, size, seconds, nanoseconds, found.st_mode));
        if !is_folder || depth >= DEEPEST || self.0.len() > MOST_ENTRIES {
            return;
        }
        let Ok(folder) = open_folder(parent, name) else { return };
        for name in names(folder.as_fd()) {
            self.add(folder.as_fd(), &name, depth + 1);
        }
    }
}

impl Saved {
    /// Copies what is at a name in a folder, as far as the budget goes.
    pub fn read(parent: BorrowedFd<'_>, name: &OsStr, budget: &mut usize) -> Self {
        read(parent, name, budget, 0)
    }

    /// Writes the copy to a name in a folder, where nothing must be. What fails is left out.
    pub fn write(&self, parent: BorrowedFd<'_>, name: &OsStr) {
        match self {
            Self::Absent | Self::TooLarge => {}
            Self::File { bytes, mode } => {
                let flags =
                    OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                if let Ok(file) = openat(parent, name, flags, *mode) {
                    let mut file = std::fs::File::from(file);
                    let _ = file.write_all(bytes);
                    let _ = rustix::fs::fchmod(&file, *mode);
                }
            }
            Self::Link(target) => {
                let _ = symlinkat(target, parent, name);
            }
            Self::Folder { entries, mode } => {
                let _ = mkdirat(parent, name, Mode::RWXU);
                if let Ok(folder) = open_folder(parent, name) {
                    for (name, saved) in entries {
                        saved.write(folder.as_fd(), name);
                    }
                    let _ = rustix::fs::fchmod(&folder, *mode);
                }
            }
        }
    }
}

fn read(parent: BorrowedFd<'_>, name: &OsStr, budget: &mut usize, depth: usize) -> Saved {
    let Ok(found) = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) else { return Saved::Absent };
    let mode = Mode::from_raw_mode(found.st_mode & 0o777);
    match kind(&found) {
        FileType::Symlink => match readlinkat(parent, name, Vec::new()) {
            Ok(target) => Saved::Link(OsString::from_vec(target.into_bytes())),
            Err(_) => Saved::Absent,
        },
        FileType::RegularFile => read_file(parent, name, mode, budget),
        FileType::Directory if depth < DEEPEST => {
            let Ok(folder) = open_folder(parent, name) else { return Saved::TooLarge };
            let names = names(folder.as_fd());
            if names.len() > MOST_ENTRIES {
                return Saved::TooLarge;
            }
            let entries = names.into_iter().map(|name| {
                let saved = read(folder.as_fd(), &name, budget, depth + 1);
                (name, saved)
            });
            Saved::Folder { entries: entries.collect(), mode }
        }
        _ => Saved::TooLarge,
    }
}

fn read_file(parent: BorrowedFd<'_>, name: &OsStr, mode: Mode, budget: &mut usize) -> Saved {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = openat(parent, name, flags, Mode::empty()) else { return Saved::TooLarge };
    let file = std::fs::File::from(file);
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Saved::TooLarge;
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(*budget).unwrap_or(u64::MAX);
    match file.take(limit + 1).read_to_end(&mut bytes) {
        Ok(length) if length <= *budget => {
            *budget -= length;
            Saved::File { bytes, mode }
        }
        _ => Saved::TooLarge,
    }
}

/// Returns the names in a folder, in order.
pub(super) fn names(folder: BorrowedFd<'_>) -> Vec<OsString> {
    let entries = Dir::read_from(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned());
    let mut names: Vec<_> = names.filter(|name| name != "." && name != "..").take(MOST_ENTRIES + 1).collect();
    names.sort();
    names
}

fn open_folder(parent: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty())
}

fn kind(found: &Stat) -> FileType {
    FileType::from_raw_mode(found.st_mode)
}
