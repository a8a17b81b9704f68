//! The folder of a sandbox among the temporary files: a private `/tmp` for each keeper, and the full texts of truncated
//! output, which all of them share.
//!
//! Commands fill it with whatever they like, so removing it must neither follow links nor recurse without end.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fchmod, openat, renameat, unlinkat};

const PREFIX: &str = "bowline-sandbox-";
const LOGS: &str = "logs";
const TEMPORARY: &str = "tmp-";

/// How long the folder of a process that is gone is kept, if it has logs.
const KEPT_FOR: Duration = Duration::from_hours(24 * 7);

/// How long a folder counts as new: whoever makes it has not locked it yet.
const NEW_FOR: Duration = Duration::from_secs(10);

/// How deep a folder is removed in place. What is deeper is moved up first.
const DEEPEST: usize = 32;

/// The folder of a sandbox.
#[derive(Debug)]
pub(crate) struct SessionFolder {
    path: PathBuf,
    keeps_logs: bool,
    next: AtomicU32,
    /// Locked while the process lives, so that others leave the folder alone.
    _lock: File,
}

impl SessionFolder {
    /// Makes the folder in the one for temporary files.
    pub fn create(temporary_directory: &Path, token: &str, keeps_logs: bool) -> io::Result<Self> {
        let parent = temporary_directory.canonicalize()?;
        let path = parent.join(format!("{PREFIX}{token}"));
        private_folder(&path)?;
        // Others leave it alone until it is locked, because it is new.
        let lock = File::open(&path)?;
        lock.lock()?;
        private_folder(&path.join(LOGS))?;
        std::thread::spawn(move || remove_abandoned(&parent));
        Ok(Self { path, keeps_logs, next: AtomicU32::new(1), _lock: lock })
    }

    /// Returns the folder for the full texts of truncated output.
    pub fn logs(&self) -> PathBuf {
        self.path.join(LOGS)
    }

    /// Makes a folder for the temporary files of a keeper. Numbers of processes begin anew in each keeper, so names that
    /// contain one must not be found from an earlier one.
    pub fn new_temporary(&self) -> io::Result<TemporaryFolder> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.path.join(format!("{TEMPORARY}{number}"));
        private_folder(&path)?;
        // Programs check that anyone may write to /tmp; the folder above is closed to others.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o1777))?;
        Ok(TemporaryFolder { path })
    }
}

impl Drop for SessionFolder {
    fn drop(&mut self) {
        let logs = self.logs();
        if !self.keeps_logs {
            remove_tree(&logs);
        }
        // Fails if a log is left in it, which is as it should be.
        let _ = fs::remove_dir(&logs);
        let _ = fs::remove_dir(&self.path);
    }
}

/// The folder for the temporary files of a keeper, removed when dropped.
#[derive(Debug)]
pub(crate) struct TemporaryFolder {
    pub path: PathBuf,
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        remove_tree(&self.path);
    }
}

fn private_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(path)
}

/// Removes the folders of processes that are gone: their temporary files at once, logs after a week.
fn remove_abandoned(parent: &Path) {
    let user = rustix::process::getuid().as_raw();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        let is_own = entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == user);
        if is_ours && is_own {
            clean(&entry.path());
        }
    }
}

fn clean(folder: &Path) {
    let Ok(lock) = File::open(folder) else { return };
    let is_new = || {
        let age = lock.metadata().and_then(|found| found.modified()).map(|time| time.elapsed());
        age.is_ok_and(|age| age.is_ok_and(|age| age < NEW_FOR))
    };
    if is_new() || lock.try_lock().is_err() {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_old = || {
            let modified = entry.metadata().and_then(|found| found.modified());
            modified.is_ok_and(|time| SystemTime::now().duration_since(time).is_ok_and(|age| age > KEPT_FOR))
        };
        if entry.file_name() != LOGS || is_old() {
            remove_tree(&entry.path());
        }
    }
    let _ = fs::remove_dir(folder.join(LOGS));
    let _ = fs::remove_dir(folder);
}

/// Removes a folder with everything in it, as far as that is possible. No link is followed.
pub(crate) fn remove_tree(path: &Path) {
    let Ok(top) = open_folder(CWD, path) else { return };
    let mut moved = 0_u64;
    // What was too deep is at the top now.
    while empty(&top, &top, &mut moved, 0) {}
    let _ = unlinkat(CWD, path, AtFlags::REMOVEDIR);
}

fn open_folder(parent: impl AsFd, name: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty())
}

/// Empties a folder. What is too deep is moved to the top; returns whether there was any.
fn empty(top: &OwnedFd, folder: &OwnedFd, moved: &mut u64, depth: usize) -> bool {
    // Commands may have taken the right to change it away.
    let _ = fchmod(folder, Mode::RWXU);
    let Ok(entries) = Dir::read_from(folder) else { return false };
    let mut was_deep = false;
    for entry in entries.flatten() {
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if entry.file_type() != FileType::Directory && unlinkat(folder, name, AtFlags::empty()).is_ok() {
            continue;
        }
        if depth >= DEEPEST {
            *moved += 1;
            was_deep |= renameat(folder, name, top, format!("moved-{moved}")).is_ok();
            continue;
        }
        if let Ok(inner) = open_folder(folder, name) {
            was_deep |= empty(top, &inner, moved, depth + 1);
        }
        let _ = unlinkat(folder, name, AtFlags::REMOVEDIR);
    }
    was_deep
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn folder_goes_with_what_commands_left_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let outside = parent.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "").unwrap();
        let folder = SessionFolder::create(parent.path(), "one", false).unwrap();
        let temporary = folder.new_temporary().unwrap();
        symlink(&outside, temporary.path.join("link")).unwrap();
        fs::create_dir_all(temporary.path.join("a/b")).unwrap();
        fs::write(temporary.path.join("a/b/file"), "").unwrap();
        fs::set_permissions(temporary.path.join("a"), fs::Permissions::from_mode(0o000)).unwrap();
        fs::write(folder.logs().join("log"), "").unwrap();
        drop((temporary, folder));
        let left: Vec<_> =
            fs::read_dir(parent.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["outside"]);
        assert!(outside.join("kept").exists());
    }

    #[test]
    fn very_deep_folder_is_removed_without_deep_recursion() {
        let parent = tempfile::tempdir().unwrap();
        let top = parent.path().join("top");
        fs::create_dir(&top).unwrap();
        let mut folder = open_folder(CWD, &top).unwrap();
        for _ in 0..2_000 {
            rustix::fs::mkdirat(&folder, "d", Mode::RWXU).unwrap();
            folder = open_folder(&folder, "d").unwrap();
        }
        remove_tree(&top);
        assert!(!top.exists());
    }

    #[test]
    fn logs_stay_unless_sessions_end_with_the_process() {
        let parent = tempfile::tempdir().unwrap();
        let folder = SessionFolder::create(parent.path(), "one", true).unwrap();
        let log = folder.logs().join("log");
        fs::write(&log, "").unwrap();
        drop(folder);
        assert!(log.exists());
        remove_abandoned(parent.path());
        assert!(log.exists());
    }
}
