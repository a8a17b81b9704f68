//! Why a file was not opened or not read.

use std::io;
use std::path::{Path, PathBuf};

/// How a folder is named.
pub(crate) const FOLDER: &str = "a folder";

/// How a file is named whose content the kernel makes up.
pub(crate) const VIRTUAL: &str = "a file of the system";

/// Why a file was not opened or not read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{} cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is {kind}, not a regular file", path.display())]
    NotRegular { path: PathBuf, kind: &'static str },
    #[error("{} is a link that leaves {}", path.display(), folder.display())]
    OutsideFolder { path: PathBuf, folder: PathBuf },
    #[error("{} is larger than {limit} bytes", path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    #[error("{} is not UTF-8 text", path.display())]
    NotText { path: PathBuf },
}

impl Error {
    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        Self::Read { path: path.to_owned(), source }
    }

    /// Returns whether there is no such file.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Read { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Returns whether it is a folder.
    pub fn is_folder(&self) -> bool {
        matches!(self, Self::NotRegular { kind, .. } if *kind == FOLDER)
    }

    /// Returns whether the kernel makes up its content.
    pub fn is_virtual(&self) -> bool {
        matches!(self, Self::NotRegular { kind, .. } if *kind == VIRTUAL)
    }

    /// Returns the error of the system, or one that carries the text.
    pub fn into_io(self) -> io::Error {
        match self {
            Self::Read { source, .. } => source,
            other => io::Error::new(io::ErrorKind::InvalidInput, other.to_string()),
        }
    }
}
