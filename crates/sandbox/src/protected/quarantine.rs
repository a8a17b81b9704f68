//! Taking something away from a protected path. It may be somebody's work, so it is moved, never deleted, however large it is.

use std::ffi::{OsStr, OsString};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, fchmod, fstat, renameat, renameat_with, statat};
use rustix::io::Errno;

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
    let moved = try_to_move(parent, name, path, quarantine);
    // A command may have taken away the right to change the folder.
    moved
        .or_else(|_| with_right_to_write(parent, || try_to_move(parent, name, path, quarantine)))
        .map_or(Removal::Stays, Removal::Moved)
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

/// Does something while the user has the right to change a folder that the user owns.
fn with_right_to_write<T>(
    folder: BorrowedFd<'_>,
    work: impl FnOnce() -> Result<T, Errno>,
) -> Result<T, Errno> {
    let before = Mode::from_raw_mode(fstat(folder)?.st_mode & 0o7777);
    fchmod(folder, before | Mode::WUSR | Mode::XUSR)?;
    let done = work();
    let _ = fchmod(folder, before);
    done
}
