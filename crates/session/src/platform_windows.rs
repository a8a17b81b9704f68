//! File operations as Windows offers them.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::os::windows::fs::FileExt;
use std::path::Path;

/// Returns true: an open file cannot be replaced here.
pub(crate) fn is_same_file(_: &Metadata, _: &Metadata) -> bool {
    true
}

/// Returns whether an open file still has its name.
pub(crate) fn is_linked(_: &Metadata, path: &Path) -> bool {
    path.exists()
}

/// Creates a symbolic link to a file.
#[cfg(test)]
pub(crate) fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_file(target, link)
}

/// Fills `bytes` from `offset` on.
pub(crate) fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_read(bytes, offset) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(length) => {
                bytes = &mut bytes[length..];
                offset += length as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Does nothing: a directory cannot be flushed here.
pub(crate) fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}
