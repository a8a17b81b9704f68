//! A file that only the user may read and that several processes change: under a lock, and completely or not at all.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::Error;

/// How long another process may hold the lock.
const LOCK_LIMIT: Duration = Duration::from_secs(10);
const LOCK_GLANCE: Duration = Duration::from_millis(20);

/// Returns the text of a file; `None` if there is none.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Option<String>, Error> {
    match bowline_files::read_text(path, limit) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The exclusive right to change a file, held until dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Waits for the lock. It is a separate file, because the file itself is replaced.
    pub fn acquire(path: &Path) -> Result<Self, Error> {
        let failed = |error: io::Error| unwritable(path, error.to_string());
        if let Some(folder) = path.parent() {
            create_folder(folder).map_err(failed)?;
        }
        let lock = beside(path, "lock");
        let file = bowline_files::open_by(options().truncate(false), &lock)?;
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { path: path.to_owned(), _file: file }),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) if started.elapsed() < LOCK_LIMIT => {
                    std::thread::sleep(LOCK_GLANCE);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(unwritable(path, "another process is holding its lock".to_owned()));
                }
            }
        }
    }

    /// Replaces the content: readers see the old one or the new one.
    pub fn replace(&self, content: &[u8]) -> Result<(), Error> {
        self.write(content).map_err(|error| unwritable(&self.path, error.to_string()))
    }

    fn write(&self, content: &[u8]) -> io::Result<()> {
        // A link is kept; its target is replaced.
        let target = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let temporary = beside(&target, "new");
        // What a process left behind that was killed here may have other permissions.
        let _ = fs::remove_file(&temporary);
        let mut file = options().create_new(true).open(&temporary)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&temporary, target)
    }
}

fn unwritable(path: &Path, reason: String) -> Error {
    Error::Unwritable { path: path.to_owned(), reason }
}

/// Returns the path of a hidden file beside another.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{ending}"))
}

/// Returns options that create a file only the user may read.
#[cfg(unix)]
fn options() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}

/// Returns options that create a file, which has the permissions of its folder.
#[cfg(windows)]
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true);
    options
}

/// Creates a folder that only the user may enter, with its parents.
#[cfg(unix)]
fn create_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(windows)]
fn create_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}
