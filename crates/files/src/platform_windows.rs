//! Opening files as Windows offers it.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, FOLDER};

/// Files never block here when they are opened.
pub(crate) fn do_not_block(_: &mut OpenOptions) {}

/// A file has the permissions of its folder.
pub(crate) fn make_private(_: &mut OpenOptions) {}

/// Does nothing: a file has the permissions of its folder.
#[expect(clippy::unnecessary_wraps, reason = "it fails on Unix")]
pub(crate) fn restrict(_: &File) -> io::Result<()> {
    Ok(())
}

/// Creates a folder with its parents.
pub(crate) fn create_private_folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

/// Returns nothing: there are no permission bits.
pub(crate) fn mode(_: &Path) -> Option<u32> {
    None
}

/// Returns the error for a file that the system did not open.
pub(crate) fn opening_failed(path: &Path, error: io::Error) -> Error {
    Error::read(path, error)
}

/// Returns what a file is, in words.
pub(crate) fn kind(file_type: FileType) -> &'static str {
    if file_type.is_dir() { FOLDER } else { "a device" }
}

/// Who may write is not known here.
pub(crate) fn is_writable_by_others(_: &Metadata) -> bool {
    false
}

/// There are no files here whose content the kernel makes up.
pub(crate) fn is_virtual(_: &File) -> io::Result<bool> {
    Ok(false)
}

/// Returns the path that the name stands for.
pub(crate) fn real_path(_: &File, path: &Path) -> io::Result<PathBuf> {
    path.canonicalize()
}
