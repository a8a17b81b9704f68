//! Access to what is below a folder without following links: commands may have planted links that lead out of it, and may
//! exchange a folder for a link at any moment. Each part of a path is opened relative to the one before.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::error::Error;
use crate::state::{Kind, Stat};

/// A folder that was opened.
#[derive(Debug)]
pub struct Folder {
    descriptor: OwnedFd,
    path: PathBuf,
}

/// A name in a folder and what it stands for, if the folder says.
pub struct Name {
    pub name: String,
    /// Whether it is not the whole name, which is not UTF-8.
    pub is_lossy: bool,
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Folder {
    /// Opens a folder by its path; links in the path are followed.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let descriptor = fs::open(path, flags, Mode::empty()).map_err(|error| Error::access(path, error))?;
        Ok(Self { descriptor, path: path.to_owned() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, name: &str, error: Errno) -> Error {
        Error::access(&self.path.join(name), error)
    }

    /// Opens a folder in it that is no link.
    pub fn enter(&self, name: &str) -> Result<Self, Error> {
        let descriptor = fs::openat(&self.descriptor, name, FOLDER, Mode::empty())
            .map_err(|error| self.failed(name, error))?;
        Ok(Self { descriptor, path: self.path.join(name) })
    }

    /// Opens the folder that a relative path is in, and returns the last name of the path.
    pub fn parent_of<'a>(&self, path: &'a str) -> Result<(Self, &'a str), Error> {
        let descriptor = self.descriptor.try_clone().map_err(|error| Error::access(&self.path, error))?;
        let mut folder = Self { descriptor, path: self.path.clone() };
        let bad = || Error::BadPath(path.to_owned());
        let (above, name) = path.rsplit_once('/').map_or((None, path), |(above, name)| (Some(above), name));
        for part in above.into_iter().flat_map(|above| above.split('/')) {
            if !is_plain(part) {
                return Err(bad());
            }
            folder = folder.enter(part)?;
        }
        if is_plain(name) { Ok((folder, name)) } else { Err(bad()) }
    }

    /// Returns the names in it, sorted, at most `limit` of them, and whether there are more.
    pub fn names(&self, limit: usize) -> Result<(Vec<Name>, bool), Error> {
        let failed = |error| Error::access(&self.path, error);
        let mut names = Vec::new();
        for entry in fs::Dir::read_from(&self.descriptor).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let bytes = entry.file_name().to_bytes();
            if bytes == b"." || bytes == b".." {
                continue;
            }
            if names.len() == limit {
                return Ok((names, true));
            }
            names.push(match std::str::from_utf8(bytes) {
                Ok(name) => Name { name: name.to_owned(), is_lossy: false },
                Err(_) => Name { name: String::from_utf8_lossy(bytes).into_owned(), is_lossy: true },
            });
        }
        names.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok((names, false))
    }

    /// Returns what a name stands for; `None` if there is nothing.
    pub fn stat(&self, name: &str) -> Result<Option<Stat>, Error> {
        match fs::statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(stat_of(&found))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(self.failed(name, error)),
        }
    }

    /// Returns what the folder itself is.
    pub fn own_stat(&self) -> Result<Stat, Error> {
        let found = fs::fstat(&self.descriptor).map_err(|error| Error::access(&self.path, error))?;
        Ok(stat_of(&found))
    }

    /// Returns where a link leads; `None` if that is not UTF-8.
    pub fn target(&self, name: &str) -> Result<Option<String>, Error> {
        let target = fs::readlinkat(&self.descriptor, name, Vec::new());
        Ok(target.map_err(|error| self.failed(name, error))?.into_string().ok())
    }

    /// Reads a regular file of at most `limit` bytes, with what was opened; `None` if it is larger or something else.
    pub fn read(&self, name: &str, limit: u64) -> Result<Option<(Vec<u8>, Stat)>, Error> {
        let (file, stat) = self.open_file(name)?;
        if stat.kind != Kind::File || stat.size > limit {
            return Ok(None);
        }
        let mut content = Vec::with_capacity(usize::try_from(stat.size).unwrap_or(0));
        let read = file.take(limit.saturating_add(1)).read_to_end(&mut content);
        read.map_err(|error| Error::access(&self.path.join(name), error))?;
        Ok((content.len() as u64 <= limit).then_some((content, stat)))
    }

    /// Opens something that is no link for reading, without waiting for anybody, and returns what was opened.
    pub fn open_file(&self, name: &str) -> Result<(File, Stat), Error> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = fs::openat(&self.descriptor, name, flags, Mode::empty());
        let file = File::from(opened.map_err(|error| self.failed(name, error))?);
        let stat = stat_of(&fs::fstat(&file).map_err(|error| self.failed(name, error))?);
        Ok((file, stat))
    }

    /// Puts a file in the place of whatever file or link has that name: readers see the old or the new one.
    pub fn write(&self, name: &str, content: &[u8], mode: u32) -> Result<(), Error> {
        self.write_with(name, mode, |file| file.write_all(content))
    }

    /// Does the same with a content that `fill` writes.
    pub fn write_with(
        &self,
        name: &str,
        mode: u32,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), Error> {
        let temporary = temporary_name(name);
        let _ = fs::unlinkat(&self.descriptor, &*temporary, AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = fs::openat(&self.descriptor, &*temporary, flags, Mode::RUSR | Mode::WUSR);
        let mut file = File::from(opened.map_err(|error| self.failed(name, error))?);
        let written = fill(&mut file).map_err(|error| Error::access(&self.path.join(name), error));
        let placed = written
            .and_then(|()| fs::fchmod(&file, mode_of(mode)).map_err(|error| self.failed(name, error)))
            .and_then(|()| self.rename(&temporary, self, name));
        if placed.is_err() {
            let _ = fs::unlinkat(&self.descriptor, &*temporary, AtFlags::empty());
        }
        placed
    }

    /// Puts a link in the place of whatever file or link has that name.
    pub fn link(&self, name: &str, target: &str) -> Result<(), Error> {
        let temporary = temporary_name(name);
        let _ = fs::unlinkat(&self.descriptor, &*temporary, AtFlags::empty());
        fs::symlinkat(target, &self.descriptor, &*temporary).map_err(|error| self.failed(name, error))?;
        self.rename(&temporary, self, name)
    }

    /// Creates a folder that its owner may write to.
    pub fn create_folder(&self, name: &str) -> Result<(), Error> {
        fs::mkdirat(&self.descriptor, name, Mode::RWXU).map_err(|error| self.failed(name, error))
    }

    /// Removes a folder that is empty. Returns whether it was.
    pub fn remove_folder(&self, name: &str) -> Result<bool, Error> {
        match fs::unlinkat(&self.descriptor, name, AtFlags::REMOVEDIR) {
            Ok(()) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(error) => Err(self.failed(name, error)),
        }
    }

    /// Removes a file or a link.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        fs::unlinkat(&self.descriptor, name, AtFlags::empty()).map_err(|error| self.failed(name, error))
    }

    /// Sets the permissions of a file or folder.
    pub fn set_mode(&self, name: &str, mode: u32) -> Result<(), Error> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let changed = match fs::openat(&self.descriptor, name, flags, Mode::empty()) {
            Ok(file) => fs::fchmod(file.as_fd(), mode_of(mode)),
            // Without the right to read it cannot be opened. A link that takes its place is refused where the system can.
            Err(Errno::ACCESS) => {
                fs::chmodat(&self.descriptor, name, mode_of(mode), AtFlags::SYMLINK_NOFOLLOW)
            }
            Err(error) => Err(error),
        };
        changed.map_err(|error| self.failed(name, error))
    }

    /// Moves something into another folder, in the place of whatever file or link has that name there.
    pub fn rename(&self, name: &str, to: &Self, new_name: &str) -> Result<(), Error> {
        fs::renameat(&self.descriptor, name, &to.descriptor, new_name)
            .map_err(|error| self.failed(new_name, error))
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Tells whether an error is that a file cannot be moved to another file system.
pub(crate) fn is_other_file_system(error: &Error) -> bool {
    matches!(error, Error::Access { source, .. } if source.kind() == io::ErrorKind::CrossesDevices)
}

fn is_plain(part: &str) -> bool {
    !matches!(part, "" | "." | "..") && !part.contains('\0')
}

/// Returns a name that no two threads use for different purposes, and that is not too long for any file system.
fn temporary_name(name: &str) -> String {
    let short: String = name.chars().take(40).collect();
    format!(".{short}.bowline-undo-{}", std::process::id())
}

fn mode_of(mode: u32) -> Mode {
    Mode::from_bits_truncate(mode as _)
}

#[expect(clippy::unnecessary_cast, reason = "the types of the fields differ between systems")]
fn stat_of(found: &fs::Stat) -> Stat {
    let kind = match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Other,
    };
    Stat {
        kind,
        mode: found.st_mode as u32 & 0o7777,
        size: found.st_size as u64,
        modified: nanoseconds(found.st_mtime as i64, found.st_mtime_nsec as i64),
        changed: nanoseconds(found.st_ctime as i64, found.st_ctime_nsec as i64),
        inode: found.st_ino as u64,
        device: found.st_dev as u64,
        links: found.st_nlink as u64,
        owner: found.st_uid,
        group: found.st_gid,
    }
}

fn nanoseconds(seconds: i64, nanoseconds: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}
