//! File operations as Unix offers them.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Returns whether two descriptions are of the same file.
pub(crate) fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Returns whether an open file still has a name.
pub(crate) fn is_linked(metadata: &Metadata, _: &Path) -> bool {
    metadata.nlink() > 0
}

/// Creates a symbolic link to a file.
#[cfg(test)]
pub(crate) fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

/// Fills `bytes` from `offset` on, without moving the position of the file.
pub(crate) fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    file.read_exact_at(bytes, offset)
}

/// Flushes the directory entry of the file at `path` to disk, and that of its directory, which may be just as new.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    for directory in path.ancestors().skip(1).take(2) {
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        match File::open(directory).and_then(|directory| directory.sync_all()) {
            // The right to write there does not imply the right to list, and not every file system supports this.
            Err(error) if is_tolerated(error.kind()) => {}
            result => result?,
        }
    }
    Ok(())
}

fn is_tolerated(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::durability::Durability;
    use crate::file::SessionFile;

    #[test]
    fn only_the_user_has_access_to_files_and_directories() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b/s.jsonl");
        SessionFile::create(&path, b"x\n", Durability::Flush).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!((mode(&directory.path().join("a")), mode(&directory.path().join("a/b"))), (0o700, 0o700));
    }
}
