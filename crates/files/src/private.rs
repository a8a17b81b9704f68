//! Files that only the user may read. On Windows the folder decides who may.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::{open_by, platform};

/// How often a lock that another process holds is tried.
const LOCK_GLANCE: Duration = Duration::from_millis(20);

/// Returns options with which a file that is created belongs to the user alone.
pub fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    platform::make_private(&mut options);
    options
}

/// Makes a file that may have existed before readable for the user only.
pub fn restrict(file: &File) -> io::Result<()> {
    platform::restrict(file)
}

/// Creates a folder that only the user may enter, with its parents.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    platform::create_private_folder(path)
}

/// Returns the permission bits of a file, where there are any.
pub fn mode(path: &Path) -> Option<u32> {
    platform::mode(path)
}

/// The exclusive right to change a private file that several processes change, held until dropped.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Waits for the lock, no longer than `patience`. It is a separate file, because the file itself is replaced.
    pub fn acquire(path: &Path, patience: Duration) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            create_private_folder(folder)?;
        }
        let mut options = private_file();
        options.write(true).create(true).truncate(false);
        let file = open_by(&mut options, &beside(path, "lock")).map_err(crate::Error::into_io)?;
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { path: path.to_owned(), _file: file }),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if started.elapsed() < patience => {
                    std::thread::sleep(LOCK_GLANCE);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::other("another process is holding its lock"));
                }
            }
        }
    }

    /// Returns the file that may be changed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the content: readers see the old one or the new one.
    pub fn replace(&self, content: &[u8]) -> io::Result<()> {
        // A link is kept; its target is replaced.
        let target = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let temporary = beside(&target, "new");
        // What a process left behind that was killed here may have other permissions.
        let _ = fs::remove_file(&temporary);
        let mut file = private_file().write(true).create_new(true).open(&temporary)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&temporary, target)
    }
}

/// Returns the path of a hidden file beside another.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_is_held_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/folder/file");
        let lock = Lock::acquire(&path, Duration::ZERO).unwrap();
        let second = Lock::acquire(&path, Duration::ZERO).unwrap_err();
        assert_eq!(second.to_string(), "another process is holding its lock");
        lock.replace(b"one").unwrap();
        lock.replace(b"two").unwrap();
        assert_eq!((fs::read(lock.path()).unwrap(), lock.path()), (b"two".to_vec(), &*path));
        drop(lock);
        Lock::acquire(&path, Duration::ZERO).unwrap();
    }
}
