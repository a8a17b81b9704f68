//! Files on Windows, where the folder decides who may read them.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Returns options that create a file.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true);
    options
}

/// Does nothing: a file has the permissions of its folder.
#[expect(clippy::unnecessary_wraps, reason = "it fails on Unix")]
pub(crate) fn restrict(_file: &File) -> io::Result<()> {
    Ok(())
}

/// Creates a folder with its parents.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

/// Returns nothing: there are no permission bits.
pub(crate) fn mode(_path: &Path) -> Option<u32> {
    None
}
