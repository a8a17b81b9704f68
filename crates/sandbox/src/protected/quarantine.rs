//! Taking something away from a protected path. It may be somebody's work, so it is moved, never deleted, however large it is.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, RenameFlags, chmodat, fchmod, fstat, openat, renameat, renameat_with, statat,
};
use rustix::io::Errno;

use super::open_beneath;

/// What became of something that was to be taken away.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Removal {
    /// There was nothing.
    Nothing,
    Moved(PathBuf),
    /// It could not be moved, so it is still in its place.
    Stays,
}

impl Removal {
    /// Returns where it is now, if it was moved.
    pub fn place(self) -> Option<PathBuf> {
        match self {
            Self::Moved(place) => Some(place),
            Self::Nothing | Self::Stays => None,
        }
    }
}

/// Moves what is at a name in a folder to quarantine. If that is on another file system or cannot be written, it gets another
/// name in the same folder, which nothing looks for. `path` is the whole path.
pub(super) fn move_away(parent: BorrowedFd<'_>, name: &OsStr, path: &Path, quarantine: &Path) -> Removal {
    if statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).is_err() {
        return Removal::Nothing;
    }
    try_to_move(parent, name, path, quarantine).map_or(Removal::Stays, Removal::Moved)
}

fn try_to_move(
    parent: BorrowedFd<'_>,
    name: &OsStr,
    path: &Path,
    quarantine: &Path,
) -> Result<PathBuf, Errno> {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let moment = format!("{}-{}", time.as_millis(), time.subsec_nanos());
    let folder = quarantine.join(&moment);
    if bowline_files::create_private_folder(&folder).is_ok() {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let target = rustix::fs::open(&folder, flags, Mode::empty());
        if target.and_then(|target| renameat(parent, name, &target, name)).is_ok() {
            return Ok(folder.join(name));
        }
        let _ = std::fs::remove_dir(&folder);
    }
    let mut new_name = OsString::from(name);
    new_name.push(format!(".quarantined-{moment}"));
    renameat_with(parent, name, parent, &new_name, RenameFlags::NOREPLACE)?;
    Ok(path.with_file_name(new_name))
}

/// The right to change a folder, which a command may have taken away. It is gone again when this is dropped.
pub(super) struct RightToWrite<'folder> {
    folder: BorrowedFd<'folder>,
    before: Option<Mode>,
}

impl<'folder> RightToWrite<'folder> {
    /// Takes the right, as far as the user may.
    pub fn take(folder: BorrowedFd<'folder>) -> Self {
        let mode = fstat(folder).map(|found| Mode::from_raw_mode(found.st_mode & 0o7777));
        let before = mode.ok().filter(|mode| !mode.contains(Mode::WUSR | Mode::XUSR));
        let taken = before.map(|mode| fchmod(folder, mode | Mode::WUSR | Mode::XUSR));
        Self { folder, before: before.filter(|_| taken == Some(Ok(()))) }
    }
}

impl Drop for RightToWrite<'_> {
    fn drop(&mut self) {
        if let Some(mode) = self.before {
            let _ = fchmod(self.folder, mode);
        }
    }
}

/// Opens a folder beneath another, without following links. If a command has taken away the rights to it or to a folder on
/// the way, the user gets them back.
pub(super) fn open_with_rights(base: BorrowedFd<'_>, folder: &Path) -> Result<OwnedFd, Errno> {
    match open_beneath(base, folder) {
        Err(Errno::ACCESS) => {}
        opened => return opened,
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut here = openat(base, ".", flags, Mode::empty()).or_else(|_| rustix::io::dup(base))?;
    restore_rights(&here)?;
    for part in folder.components() {
        here = openat(&here, part.as_os_str(), flags, Mode::empty())?;
        restore_rights(&here)?;
    }
    open_beneath(base, folder)
}

/// Gives the user all rights to a folder that was opened without any.
fn restore_rights(folder: &OwnedFd) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode(fstat(folder)?.st_mode & 0o7777);
    if mode.contains(Mode::RWXU) {
        return Ok(());
    }
    let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
    chmodat(CWD, path, mode | Mode::RWXU, AtFlags::empty())
}
