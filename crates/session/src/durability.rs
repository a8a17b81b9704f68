//! How safely an entry is stored by the time its append returns.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::platform;

/// What an entry survives once its append has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The end of this process, even by a kill: the operating system has the entry.
    #[default]
    Flush,
    /// A power failure too: the disk has the entry.
    Fsync,
}

impl Durability {
    /// Applies to what was just appended to `file`.
    pub(crate) fn keep(self, file: &File) -> io::Result<()> {
        match self {
            Self::Flush => Ok(()),
            Self::Fsync => file.sync_data(),
        }
    }

    /// Applies to a file that was just created at `path`.
    pub(crate) fn keep_new(self, file: &File, path: &Path) -> io::Result<()> {
        match self {
            Self::Flush => Ok(()),
            Self::Fsync => file.sync_all().and_then(|()| platform::sync_directory(path)),
        }
    }
}
