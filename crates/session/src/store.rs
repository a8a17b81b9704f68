//! The directory in which sessions are stored, and how sessions in it are found.

use std::cmp::Reverse;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{self, Path, PathBuf};
use std::time::SystemTime;

use crate::Error;
use crate::children::delete_children;
use crate::decode::Head;
use crate::file::SessionFile;
use crate::header::{self, Header};

/// How much of a file is read to find its header. Real headers have a few hundred bytes.
const HEADER_LIMIT: u64 = 64 * 1024;

/// A directory of sessions.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
    layout: Layout,
}

/// How the files of a store are arranged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// All files are in the root directory.
    Flat,
    /// The sessions of each working directory are in a subdirectory.
    ByWorkingDirectory,
}

/// A session file with its header.
pub(crate) struct Found {
    pub(crate) file: PathBuf,
    pub(crate) header: Header,
}

impl Store {
    /// Returns the store at `root`, which need not exist yet.
    pub fn new(root: PathBuf, layout: Layout) -> Self {
        Self { root, layout }
    }

    /// Returns the directory for sessions with this working directory, which must be absolute.
    pub fn directory_for(&self, working_directory: &Path) -> PathBuf {
        match self.layout {
            Layout::Flat => self.root.clone(),
            Layout::ByWorkingDirectory => self.root.join(encode(working_directory)),
        }
    }

    /// Returns the most recently written session of `working_directory`.
    pub fn latest(&self, working_directory: &Path) -> Result<Option<PathBuf>, Error> {
        let mut files = session_files(&self.directory_for(working_directory))?;
        files.sort_by_cached_key(|file| Reverse(modified(file)));
        let mut found = files.into_iter().filter_map(look_at);
        Ok(found.find(|found| self.belongs(&found.header, working_directory)).map(|found| found.file))
    }

    /// Returns the session that `text` refers to: a file, a session id, or a prefix of one. Sessions of
    /// `working_directory` take precedence over those of other directories.
    pub fn find(&self, working_directory: &Path, text: &str) -> Result<PathBuf, Error> {
        if text.contains(path::is_separator) || text.ends_with(".jsonl") {
            let file = working_directory.join(text);
            return if file.exists() { Ok(file) } else { Err(Error::NotFound { file }) };
        }
        let here = self.all_here(working_directory)?;
        match choose(&here, text)? {
            Some(file) => Ok(file),
            None => {
                let everywhere = self.all()?;
                choose(&everywhere, text)?.ok_or_else(|| Error::NoMatch { text: text.to_owned() })
            }
        }
    }

    /// Returns the session of `working_directory` with exactly this id.
    pub fn with_id(&self, working_directory: &Path, id: &str) -> Result<Option<PathBuf>, Error> {
        let here = self.all_here(working_directory)?;
        Ok(here.into_iter().find(|found| found.header.id == id).map(|found| found.file))
    }

    /// Deletes a session of this store with those of its subagents, unless it is open in this or another process. Returns
    /// its id and theirs.
    pub fn delete(&self, path: &Path) -> Result<Vec<String>, Error> {
        let file = path.canonicalize().map_err(|error| Error::read(path, error))?;
        let root = self.root.canonicalize().map_err(|error| Error::read(&self.root, error))?;
        let is_here = file.starts_with(&root) && is_session(&file);
        let Some(found) = look_at(file.clone()).filter(|_| is_here) else {
            return Err(Error::OutsideStore { file: path.to_path_buf(), root: self.root.clone() });
        };
        // Held until the file is deleted, so that nobody opens it in between.
        let _lock = SessionFile::open(&file)?;
        fs::remove_file(&file).map_err(|error| Error::write(&file, error))?;
        let mut ids = vec![found.header.id];
        ids.extend(delete_children(&file));
        Ok(ids)
    }

    fn all_here(&self, working_directory: &Path) -> Result<Vec<Found>, Error> {
        let files = session_files(&self.directory_for(working_directory))?;
        Ok(files
            .into_iter()
            .filter_map(look_at)
            .filter(|found| self.belongs(&found.header, working_directory))
            .collect())
    }

    fn all(&self) -> Result<Vec<Found>, Error> {
        Ok(self.all_files()?.into_iter().filter_map(look_at).collect())
    }

    /// Returns the files of all sessions, damaged ones too.
    pub fn all_files(&self) -> Result<Vec<PathBuf>, Error> {
        let mut files = session_files(&self.root)?;
        if self.layout == Layout::ByWorkingDirectory {
            for directory in
                entries(&self.root)?.into_iter().filter(|entry| !is_session(entry) && entry.is_dir())
            {
                files.extend(session_files(&directory)?);
            }
        }
        Ok(files)
    }

    /// Returns the files that may be sessions of a working directory.
    pub(crate) fn files_for(&self, working_directory: &Path) -> Result<Vec<PathBuf>, Error> {
        session_files(&self.directory_for(working_directory))
    }

    /// Returns the root directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    // The name of the subdirectory is ambiguous: `/a-b` and `/a/b` share one. Sessions without a working directory
    // belong to the subdirectory that they are in.
    pub(crate) fn belongs(&self, header: &Header, working_directory: &Path) -> bool {
        let directory = &header.cwd;
        Path::new(directory) == working_directory
            || (directory.is_empty() && self.layout == Layout::ByWorkingDirectory)
    }
}

/// Returns the only session whose id is `text` or, failing that, starts with it.
fn choose(found: &[Found], text: &str) -> Result<Option<PathBuf>, Error> {
    let mut matches: Vec<_> = found.iter().filter(|found| found.header.id == text).collect();
    if matches.is_empty() {
        matches = found.iter().filter(|found| found.header.id.starts_with(text)).collect();
    }
    match matches.as_slice() {
        [] => Ok(None),
        [found] => Ok(Some(found.file.clone())),
        several => {
            let matches = several.iter().map(|found| found.file.clone()).collect();
            Err(Error::Ambiguous { text: text.to_owned(), matches })
        }
    }
}

/// Returns pi's name for the subdirectory of a working directory.
fn encode(working_directory: &Path) -> String {
    let text = working_directory.to_string_lossy();
    let text = text.strip_prefix(['/', '\\']).unwrap_or(&text);
    format!("--{}--", text.replace(['/', '\\', ':'], "-"))
}

pub(crate) fn session_files(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    Ok(entries(directory)?.into_iter().filter(|entry| is_session(entry)).collect())
}

/// Returns whether a file has the extension of a session.
fn is_session(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// Returns the entries of a directory, sorted by name; a missing directory is empty.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let listing = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        listing => listing.map_err(|error| Error::read(directory, error))?,
    };
    let mut entries: Vec<_> = listing.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    Ok(entries)
}

fn modified(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|metadata| metadata.modified()).ok()
}

/// Returns the file with its header, if it is a session.
pub(crate) fn look_at(file: PathBuf) -> Option<Found> {
    let header = read_header(&mut BufReader::new(bowline_files::open(&file).ok()?))?;
    Some(Found { file, header })
}

/// Reads the first line, if it is a header.
pub(crate) fn read_header(reader: &mut impl BufRead) -> Option<Header> {
    let mut line = Vec::new();
    reader.by_ref().take(HEADER_LIMIT).read_until(b'\n', &mut line).ok()?;
    let head: Head<'_> = serde_json::from_slice(&line).ok()?;
    (head.kind.0 == header::TYPE).then(|| serde_json::from_slice(&line).ok())?
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;
    use crate::{Session, platform};

    fn store(layout: Layout) -> (tempfile::TempDir, Store) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path().join("sessions"), layout);
        (directory, store)
    }

    /// Writes a session whose last write was `age` seconds ago.
    fn add(store: &Store, working_directory: &str, id: &str, age: u64) -> PathBuf {
        let directory = store.directory_for(Path::new(working_directory));
        fs::create_dir_all(&directory).unwrap();
        let path = directory.join(format!("2026_{id}.jsonl"));
        let header = format!(r#"{{"type":"session","version":3,"id":"{id}","cwd":"{working_directory}"}}"#);
        fs::write(&path, header + "\n").unwrap();
        let file = File::options().append(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        path
    }

    #[test]
    fn working_directories_are_encoded_as_in_pi() {
        let store = Store::new("/s".into(), Layout::ByWorkingDirectory);
        for (working_directory, expected) in
            [("/tmp/a/b", "/s/--tmp-a-b--"), ("/", "/s/----"), ("C:\\x", "/s/--C--x--"), ("//a", "/s/---a--")]
        {
            assert_eq!(store.directory_for(Path::new(working_directory)), Path::new(expected));
        }
        assert_eq!(Store::new("/s".into(), Layout::Flat).directory_for(Path::new("/a")), Path::new("/s"));
    }

    #[test]
    fn the_latest_session_is_the_last_one_written_in_this_directory() {
        for layout in [Layout::ByWorkingDirectory, Layout::Flat] {
            let (_directory, store) = store(layout);
            assert_eq!(store.latest(Path::new("/a/b")).unwrap(), None);
            add(&store, "/a/b", "older", 50);
            let newer = add(&store, "/a/b", "newer", 30);
            // Has the same encoded name.
            add(&store, "/a-b", "other", 10);
            let directory = store.directory_for(Path::new("/a/b"));
            fs::write(directory.join("broken.jsonl"), "no session").unwrap();
            fs::write(directory.join("2026_newer.jsonl.torn"), "{}").unwrap();
            assert_eq!(store.latest(Path::new("/a/b")).unwrap(), Some(newer), "{layout:?}");
        }
    }

    #[test]
    fn a_session_is_found_by_a_prefix_of_its_id() {
        for layout in [Layout::ByWorkingDirectory, Layout::Flat] {
            let (_directory, store) = store(layout);
            let here = Path::new("/here");
            let one = add(&store, "/here", "abc-1", 0);
            let two = add(&store, "/here", "abc-2", 0);
            let away = add(&store, "/away", "abc-3", 0);
            let short = add(&store, "/away", "abc", 0);
            assert_eq!(store.find(here, "abc-1").unwrap(), one);
            assert_eq!(store.find(here, "abc-3").unwrap(), away, "other directories come second");
            assert_eq!(
                store.find(Path::new("/away"), "abc").unwrap(),
                short,
                "a complete id is not ambiguous"
            );
            let error = store.find(here, "abc").unwrap_err();
            assert!(matches!(&error, Error::Ambiguous { matches, .. } if *matches == [one.clone(), two]));
            assert!(error.to_string().contains(one.to_str().unwrap()));
            assert!(matches!(store.find(here, "zzz"), Err(Error::NoMatch { .. })));
            assert_eq!(store.with_id(here, "abc-1").unwrap(), Some(one));
            assert_eq!(store.with_id(here, "abc").unwrap(), None);
        }
    }

    #[test]
    fn only_unopened_sessions_of_the_store_are_deleted() {
        for layout in [Layout::ByWorkingDirectory, Layout::Flat] {
            let (directory, store) = store(layout);
            let file = add(&store, "/here", "one", 0);
            let outside = directory.path().join("outside.jsonl");
            fs::copy(&file, &outside).unwrap();
            let link = store.directory_for(Path::new("/here")).join("link.jsonl");
            // Without symbolic links the file is missing, which is refused too.
            let _ = platform::symlink(&outside, &link);
            let other = file.with_extension("txt");
            fs::copy(&file, &other).unwrap();
            let no_session = file.with_file_name("no.jsonl");
            fs::write(&no_session, "text").unwrap();
            for path in [&outside, &link, &other, &no_session, &file.join("../../../outside.jsonl")] {
                assert!(store.delete(path).is_err(), "{}", path.display());
            }
            assert!(outside.exists() && other.exists() && no_session.exists());

            let session = Session::open(&file, Path::new("/")).unwrap();
            let error = store.delete(&file).unwrap_err();
            assert!(matches!(error, Error::Locked { .. }) && file.exists());
            drop(session);
            store.delete(&file).unwrap();
            assert!(!file.exists());
            assert!(matches!(store.delete(&file), Err(Error::NotFound { .. })));
        }
    }

    #[test]
    fn a_path_is_used_as_it_is() {
        let (directory, store) = store(Layout::ByWorkingDirectory);
        let file = directory.path().join("x.jsonl");
        fs::write(&file, "").unwrap();
        assert_eq!(store.find(directory.path(), "x.jsonl").unwrap(), file);
        assert_eq!(store.find(directory.path(), file.to_str().unwrap()).unwrap(), file);
        assert!(matches!(store.find(directory.path(), "y.jsonl"), Err(Error::NotFound { .. })));
    }
}
