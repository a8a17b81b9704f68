//! Access to what is below a folder without following links: commands may have planted links that lead out of it, and may
//! exchange a folder for a link at any moment. Each part of a path is opened relative to the one before.

use std::fs::File;
use std::io::{self, Read as _};
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd as _;
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

/// How a folder on the way to a path is opened: the right to search it is enough, where the system can tell.
#[cfg(target_os = "linux")]
const ON_THE_WAY: OFlags = FOLDER.union(OFlags::PATH);
#[cfg(not(target_os = "linux"))]
const ON_THE_WAY: OFlags = FOLDER;

const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// The permissions that the owner of a folder needs to change what is in it.
pub(crate) const OWNER_RIGHTS: u32 = 0o700;

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
        self.enter_with(name, FOLDER)
    }

    fn enter_with(&self, name: &str, flags: OFlags) -> Result<Self, Error> {
        let descriptor = fs::openat(&self.descriptor, name, flags, Mode::empty())
            .map_err(|error| self.failed(name, error))?;
        Ok(Self { descriptor, path: self.path.join(name) })
    }

    /// Returns the same folder once more.
    pub fn again(&self) -> Result<Self, Error> {
        let descriptor = self.descriptor.try_clone().map_err(|error| Error::access(&self.path, error))?;
        Ok(Self { descriptor, path: self.path.clone() })
    }

    /// Opens the folder that a relative path is in, and returns the last name of the path.
    pub fn parent_of<'a>(&self, path: &'a str) -> Result<(Self, &'a str), Error> {
        let mut folder = self.again()?;
        let bad = || Error::BadPath(path.to_owned());
        let (above, name) = path.rsplit_once('/').map_or((None, path), |(above, name)| (Some(above), name));
        for part in above.into_iter().flat_map(|above| above.split('/')) {
            if !is_plain(part) {
                return Err(bad());
            }
            folder = folder.enter_with(part, ON_THE_WAY)?;
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
        let opened = fs::openat(&self.descriptor, name, FILE, Mode::empty());
        let file = File::from(opened.map_err(|error| self.failed(name, error))?);
        let stat = stat_of(&fs::fstat(&file).map_err(|error| self.failed(name, error))?);
        Ok((file, stat))
    }

    /// Puts a file in the place of whatever file or link has that name: readers see the old or the new one.
    pub fn replace(&self, name: &str, content: impl io::Read, mode: u32) -> Result<(), Error> {
        self.replace_by(name, |temporary| self.write_new(temporary, content, mode, None))
    }

    /// Does the same with a link.
    pub fn replace_by_link(&self, name: &str, target: &str) -> Result<(), Error> {
        self.replace_by(name, |temporary| self.link(temporary, target))
    }

    fn replace_by(&self, name: &str, make: impl FnOnce(&str) -> Result<(), Error>) -> Result<(), Error> {
        let temporary = format!(".{name}.bowline-{}", std::process::id());
        let _ = self.remove(&temporary);
        make(&temporary)?;
        let placed = self.rename(&temporary, self, name);
        if placed.is_err() {
            let _ = self.remove(&temporary);
        }
        placed
    }

    /// Writes a file under a name that nothing has.
    pub fn write_new(
        &self,
        name: &str,
        mut content: impl io::Read,
        mode: u32,
        owner: Option<(u32, u32)>,
    ) -> Result<(), Error> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = fs::openat(&self.descriptor, name, flags, Mode::RUSR | Mode::WUSR);
        let mut file = File::from(opened.map_err(|error| self.failed(name, error))?);
        let written =
            io::copy(&mut content, &mut file).map_err(|error| Error::access(&self.path.join(name), error));
        let finished = written.and_then(|_| {
            give_to(&file, owner);
            fs::fchmod(&file, mode_of(mode)).map_err(|error| self.failed(name, error))
        });
        if finished.is_err() {
            let _ = self.remove(name);
        }
        finished
    }

    /// Copies a regular file into another folder, under a name that nothing has there.
    pub fn copy(&self, name: &str, to: &Self, new_name: &str) -> Result<(), Error> {
        let (file, stat) = self.open_file(name)?;
        if stat.kind != Kind::File {
            return Err(self.failed(name, Errno::INVAL));
        }
        to.write_new(new_name, file, stat.mode, Some((stat.owner, stat.group)))?;
        let time = |nanoseconds: i64| fs::Timespec {
            tv_sec: nanoseconds.div_euclid(1_000_000_000) as _,
            tv_nsec: nanoseconds.rem_euclid(1_000_000_000) as _,
        };
        let times =
            fs::Timestamps { last_access: time(stat.modified), last_modification: time(stat.modified) };
        let _ = fs::utimensat(&to.descriptor, new_name, &times, AtFlags::SYMLINK_NOFOLLOW);
        Ok(())
    }

    /// Makes a link under a name that nothing has.
    pub fn link(&self, name: &str, target: &str) -> Result<(), Error> {
        fs::symlinkat(target, &self.descriptor, name).map_err(|error| self.failed(name, error))
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
        let changed = match fs::openat(&self.descriptor, name, FILE, Mode::empty()) {
            Ok(file) => fs::fchmod(file.as_fd(), mode_of(mode)),
            Err(Errno::ACCESS | Errno::NXIO) => self.set_mode_unread(name, mode),
            Err(error) => Err(error),
        };
        changed.map_err(|error| self.failed(name, error))
    }

    /// Sets the permissions of what may not be read. The descriptor is of what the name stands for, so that no link that
    /// takes its place is followed.
    #[cfg(target_os = "linux")]
    fn set_mode_unread(&self, name: &str, mode: u32) -> Result<(), Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::openat(&self.descriptor, name, flags, Mode::empty())?;
        if stat_of(&fs::fstat(&file)?).kind == Kind::Link {
            return Err(Errno::LOOP);
        }
        fs::chmod(format!("/proc/self/fd/{}", file.as_raw_fd()), mode_of(mode))
    }

    #[cfg(not(target_os = "linux"))]
    fn set_mode_unread(&self, name: &str, mode: u32) -> Result<(), Errno> {
        fs::chmodat(&self.descriptor, name, mode_of(mode), AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Gives a folder to its former owner, if that is allowed.
    pub fn give(&self, name: &str, owner: Option<(u32, u32)>) {
        if let Ok(file) = fs::openat(&self.descriptor, name, FILE, Mode::empty()) {
            give_to(&File::from(file), owner);
        }
    }

    /// Moves something into another folder, in the place of whatever file or link has that name there.
    pub fn rename(&self, name: &str, to: &Self, new_name: &str) -> Result<(), Error> {
        fs::renameat(&self.descriptor, name, &to.descriptor, new_name)
            .map_err(|error| to.failed(new_name, error))
    }

    /// Moves something into another folder, under a name that nothing has there.
    pub fn rename_new(&self, name: &str, to: &Self, new_name: &str) -> Result<(), Error> {
        #[cfg(target_os = "linux")]
        {
            let flags = fs::RenameFlags::NOREPLACE;
            match fs::renameat_with(&self.descriptor, name, &to.descriptor, new_name, flags) {
                // Some file systems cannot do it.
                Err(Errno::INVAL | Errno::NOSYS) => {}
                result => return result.map_err(|error| to.failed(new_name, error)),
            }
        }
        if to.stat(new_name)?.is_some() {
            return Err(to.failed(new_name, Errno::EXIST));
        }
        self.rename(name, to, new_name)
    }

    /// Returns when a file was created, in nanoseconds since 1970, where the file system keeps that.
    #[cfg(target_os = "linux")]
    pub fn created(&self, name: &str) -> Option<i64> {
        use fs::StatxFlags;
        let found = fs::statx(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BTIME).ok()?;
        let is_known = found.stx_mask & StatxFlags::BTIME.bits() != 0;
        is_known.then(|| nanoseconds(found.stx_btime.tv_sec, found.stx_btime.tv_nsec.into()))
    }

    #[cfg(not(target_os = "linux"))]
    pub fn created(&self, _: &str) -> Option<i64> {
        None
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Gives a file to its former owner, if it is not of that owner and if that is allowed: for root it is.
fn give_to(file: &File, owner: Option<(u32, u32)>) {
    let Some((user, group)) = owner else { return };
    if fs::fstat(file).is_ok_and(|found| (found.st_uid, found.st_gid) != (user, group)) {
        let (user, group) = (fs::Uid::from_raw(user), fs::Gid::from_raw(group));
        let _ = fs::fchown(file, Some(user), Some(group));
    }
}

/// Tells whether an error is that a file cannot be moved to another file system.
pub(crate) fn is_other_file_system(error: &Error) -> bool {
    matches!(error, Error::Access { source, .. } if source.kind() == io::ErrorKind::CrossesDevices)
}

fn is_plain(part: &str) -> bool {
    !matches!(part, "" | "." | "..") && !part.contains('\0')
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
