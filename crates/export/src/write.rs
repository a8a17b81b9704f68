//! Writes the page to a file, completely or not at all.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{self, Path, PathBuf};

use crate::Error;
use crate::page::GENERATOR;

/// How much of a file is read to recognise it.
const HEAD: u64 = 4096;

/// How many names are tried for the temporary file.
const ATTEMPTS: usize = 100;

/// A page to write.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    folder: PathBuf,
    name: String,
}

impl Target {
    /// Checks that a page can be written to `out`: nothing is there yet, or another page. It is not `source`, which it is
    /// made of.
    pub fn new(out: &Path, source: Option<&Path>) -> Result<Self, Error> {
        let failed = |error| Error::WriteFile { file: out.to_path_buf(), error };
        let path = path::absolute(out).map_err(failed)?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let (Some(name), Some(folder), false) = (name, path.parent(), path.is_dir()) else {
            return Err(Error::IsFolder { path });
        };
        if !folder.is_dir() {
            return Err(Error::NoFolder { folder: folder.to_path_buf() });
        }
        let is_source = || Some(fs::canonicalize(&path).ok()? == fs::canonicalize(source?).ok()?);
        if is_source() == Some(true) {
            return Err(Error::IsTheSession { path });
        }
        refuse_other_files(&path)?;
        Ok(Self { folder: folder.to_path_buf(), name, path })
    }

    /// Writes the file and returns its absolute path.
    pub fn write(self, content: impl FnOnce(&mut File) -> Result<(), Error>) -> Result<PathBuf, Error> {
        let failed = |error| Error::WriteFile { file: self.path.clone(), error };
        let (mut file, temporary) = self.create_temporary().map_err(failed)?;
        let written = content(&mut file).map_err(|error| match error {
            Error::Write(error) => failed(error),
            other => other,
        });
        let moved = written.and_then(|()| fs::rename(&temporary, &self.path).map_err(failed));
        if moved.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        moved.map(|()| self.path)
    }

    /// Creates a new file beside the page. Another export, or one that was killed, may have left files with such names.
    fn create_temporary(&self) -> io::Result<(File, PathBuf)> {
        let mut number = 0;
        loop {
            let temporary = self.folder.join(format!(".{}.{}-{number}.tmp", self.name, std::process::id()));
            // Private like the session: sharing it is up to the user.
            match bowline_files::private_file().write(true).create_new(true).open(&temporary) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists && number < ATTEMPTS => number += 1,
                result => return result.map(|file| (file, temporary)),
            }
        }
    }
}

/// Refuses to replace anything but a page of ours: a client may name any file of the user.
fn refuse_other_files(path: &Path) -> Result<(), Error> {
    let not_ours = || Error::NotOurs { path: path.to_path_buf() };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::WriteFile { file: path.to_path_buf(), error }),
        Ok(metadata) if !metadata.is_file() => return Err(not_ours()),
        Ok(_) => {}
    }
    let file = bowline_files::open(path).map_err(|_| not_ours())?;
    let head = bowline_files::read_beginning(file, path, HEAD).map_err(|_| not_ours())?;
    if String::from_utf8_lossy(&head.bytes).contains(GENERATOR) { Ok(()) } else { Err(not_ours()) }
}
