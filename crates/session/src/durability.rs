//! How safe an entry is once it is said to be written.

use std::fs::File;
use std::io;
use std::path::Path;

/// What has become of an entry when its append returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The operating system has it: it outlives this process, also a killed one.
    #[default]
    Flush,
    /// The disk has it: it outlives a loss of power too.
    Fsync,
}

impl Durability {
    /// Makes what was added to `file` as safe as this asks for.
    pub(crate) fn keep(self, file: &File) -> io::Result<()> {
        match self {
            Self::Flush => Ok(()),
            Self::Fsync => file.sync_data(),
        }
    }

    /// Makes a file that was just created as safe as this asks for.
    pub(crate) fn keep_new(self, file: &File, path: &Path) -> io::Result<()> {
        match self {
            Self::Flush => Ok(()),
            Self::Fsync => file.sync_all().and_then(|()| sync_directory(path)),
        }
    }
}

/// Puts the name of the file at `path` on the disk, and that of its directory, which may be as new.
#[cfg(unix)]
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    for directory in path.ancestors().skip(1).take(2) {
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        match File::open(directory).and_then(|directory| directory.sync_all()) {
            // We may have the right to write there without the right to list, and not every file system can do it.
            Err(error) if is_no_fault(error.kind()) => {}
            result => result?,
        }
    }
    Ok(())
}

#[cfg(unix)]
fn is_no_fault(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

/// Elsewhere a directory is not something that can be opened.
#[cfg(not(unix))]
pub(crate) fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}
