//! Where the page goes: a file that is there whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::path::{self, Path, PathBuf};

use crate::Error;

/// A file to be.
pub(crate) struct Target {
    path: PathBuf,
    temporary: PathBuf,
}

impl Target {
    /// Checks that a page can go to `out`, which must not be the session itself.
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
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        // Like the session: what is in it is the user's to share.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&self.temporary).map_err(failed)?;
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
