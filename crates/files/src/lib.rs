//! Opening files that others may have placed: context files, ignore files, sessions, scripts, recordings, images.
//!
//! Whoever can write to a workspace chooses what such a name stands for: a FIFO that nobody writes to, an endless
//! device, a link to the environment of this very process. So a file is opened without blocking, what was opened is
//! checked, never what the name promised, and no more is read than the caller allows.
//!
//! It also creates files that only the user may read, and changes those that several processes change.
//!
//! Everything here blocks as long as the disk does: callers that must not block use another thread.

mod canonical;
mod error;
mod ignore_files;
#[cfg(unix)]
mod platform_unix;
mod private;
#[cfg(unix)]
use platform_unix as platform;
#[cfg(windows)]
mod platform_windows;
#[cfg(windows)]
use platform_windows as platform;

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::path::{Path, PathBuf};

pub use canonical::canonical;
pub use error::Error;
pub use ignore_files::IgnoreRules;
pub use private::{Lock, create_private_folder, mode, private_file, restrict};

/// The first bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beginning {
    pub bytes: Vec<u8>,
    /// Whether the file has more than that.
    pub is_cut: bool,
}

/// Opens a regular file for reading. Links are followed; files of the kernel, such as those in `/proc`, are refused.
pub fn open(path: &Path) -> Result<File, Error> {
    open_by(OpenOptions::new().read(true), path)
}

/// Opens a regular file in the way that `options` say, without blocking.
pub fn open_by(options: &mut OpenOptions, path: &Path) -> Result<File, Error> {
    platform::do_not_block(options);
    let file = options.open(path).map_err(|error| platform::opening_failed(path, error))?;
    let metadata = file.metadata().map_err(|error| Error::read(path, error))?;
    if !metadata.is_file() {
        return Err(Error::NotRegular { path: path.to_owned(), kind: platform::kind(metadata.file_type()) });
    }
    if platform::is_virtual(&file).map_err(|error| Error::read(path, error))? {
        return Err(Error::NotRegular { path: path.to_owned(), kind: error::VIRTUAL });
    }
    Ok(file)
}

/// Opens a regular file that is really below `folder`: links within the folder are followed, links out of it refused.
pub fn open_within(folder: &Path, path: &Path) -> Result<File, Error> {
    let file = open(path)?;
    let real = real_path(&file, path)?;
    let root = folder.canonicalize().map_err(|error| Error::read(folder, error))?;
    if real.starts_with(root) {
        Ok(file)
    } else {
        Err(Error::OutsideFolder { path: path.to_owned(), folder: folder.to_owned() })
    }
}

/// Returns where an opened file really is, without links. `path` is the name that it was opened by.
pub fn real_path(file: &File, path: &Path) -> Result<PathBuf, Error> {
    platform::real_path(file, path).map_err(|error| Error::read(path, error))
}

/// Returns whether other users may create files in a folder, as in `/tmp`.
pub fn is_shared(folder: &Path) -> bool {
    folder.metadata().is_ok_and(|metadata| platform::is_writable_by_others(&metadata))
}

/// Reads a whole file; one of more than `limit` bytes is an error.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let beginning = read_beginning(open(path)?, path, limit)?;
    if beginning.is_cut { Err(Error::TooLarge { path: path.to_owned(), limit }) } else { Ok(beginning.bytes) }
}

/// Reads a whole text file; one of more than `limit` bytes is an error.
pub fn read_text(path: &Path, limit: u64) -> Result<String, Error> {
    String::from_utf8(read(path, limit)?).map_err(|_| Error::NotText { path: path.to_owned() })
}

/// How much room there is at most before a file has shown that it needs more.
const FIRST_READ: u64 = 64 * 1024;

/// Reads at most `limit` bytes of an opened file.
pub fn read_beginning(file: File, path: &Path, limit: u64) -> Result<Beginning, Error> {
    // Without a size to begin with, the standard library reads in small pieces. The size is only a claim.
    let claimed = file.metadata().map_or(0, |metadata| metadata.len());
    let mut bytes = Vec::with_capacity(usize::try_from(claimed.min(limit).min(FIRST_READ)).unwrap_or(0) + 1);
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| Error::read(path, error))?;
    let is_cut = bytes.len() as u64 > limit;
    if is_cut {
        bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    Ok(Beginning { bytes, is_cut })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn file_over_the_limit_is_an_error_and_its_beginning_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read_text(&path, 5).unwrap(), "12345");
        assert!(matches!(read(&path, 4), Err(Error::TooLarge { limit: 4, .. })));
        let beginning = read_beginning(open(&path).unwrap(), &path, 2).unwrap();
        assert_eq!(beginning, Beginning { bytes: b"12".to_vec(), is_cut: true });
    }

    #[test]
    fn folder_and_missing_file_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        assert!(open(folder.path()).is_err_and(|error| error.is_folder()));
        assert!(open_by(OpenOptions::new().write(true), folder.path()).is_err_and(|error| error.is_folder()));
        let missing = open(&folder.path().join("none")).unwrap_err();
        assert!(missing.is_not_found(), "{missing}");
    }
}
