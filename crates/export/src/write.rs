//! Writes the page to a file, completely or not at all.

use std::fs::{self, File};
use std::path::{self, Path, PathBuf};

use crate::Error;
use crate::platform::private_file;

/// The file to write.
pub(crate) struct Target {
    path: PathBuf,
    temporary: PathBuf,
}

impl Target {
    /// Checks that a page can be written to `out`, which must not be the session itself.
    pub fn new(out: &Path, session: &Path) -> Result<Self, Error> {
        let failed = |error| Error::WriteFile { file: out.to_path_buf(), error };
        let path = path::absolute(out).map_err(failed)?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let (Some(name), Some(folder), false) = (name, path.parent(), path.is_dir()) else {
            return Err(Error::IsFolder { path });
        };
        if !folder.is_dir() {
            return Err(Error::NoFolder { folder: folder.to_path_buf() });
        }
        let is_session = || Some(fs::canonicalize(&path).ok()? == fs::canonicalize(session).ok()?);
        if is_session() == Some(true) {
            return Err(Error::IsTheSession { path });
        }
        let temporary = folder.join(format!(".{name}.{}.tmp", std::process::id()));
        Ok(Self { path, temporary })
    }

    /// Writes the file and returns its absolute path.
    pub fn write(self, content: impl FnOnce(&mut File) -> Result<(), Error>) -> Result<PathBuf, Error> {
        let failed = |error| Error::WriteFile { file: self.path.clone(), error };
        // Private like the session: sharing it is up to the user.
        let opened = private_file().write(true).create(true).truncate(true).open(&self.temporary);
        let mut file = opened.map_err(failed)?;
        let written = content(&mut file).map_err(|error| match error {
            Error::Write(error) => failed(error),
            other => other,
        });
        let moved = written.and_then(|()| fs::rename(&self.temporary, &self.path).map_err(failed));
        if moved.is_err() {
            let _ = fs::remove_file(&self.temporary);
        }
        moved.map(|()| self.path)
    }
}
