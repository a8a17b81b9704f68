//! Where sessions live, and how one is found again.

use std::cmp::Reverse;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{self, Path, PathBuf};
use std::time::SystemTime;

use crate::Error;
use crate::decode::Head;
use crate::file::SessionFile;
use crate::header::{self, Header};

/// How much of a file is looked at to find its header. Real headers have a few hundred bytes.
const HEADER_LIMIT: u64 = 64 * 1024;

/// A directory of sessions.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
    /// Whether the files lie in `root` itself rather than in one directory for each working directory.
    flat: bool,
}

/// A session file as a search sees it.
struct Found {
    file: PathBuf,
    header: Header,
}

impl Store {
    /// Returns the store at `root`. A flat one has all files there; else each working directory has its own
    /// directory below.
    pub fn new(root: PathBuf, flat: bool) -> Self {
        Self { root, flat }
    }

    /// Returns the directory for the sessions that work in `working_directory`, which must be absolute.
    pub fn directory_for(&self, working_directory: &Path) -> PathBuf {
        if self.flat { self.root.clone() } else { self.root.join(encode(working_directory)) }
    }

    /// Returns the session of `working_directory` that was written to last.
    pub fn latest(&self, working_directory: &Path) -> Result<Option<PathBuf>, Error> {
        let mut files = session_files(&self.directory_for(working_directory))?;
        files.sort_by_cached_key(|file| Reverse(modified(file)));
        let mut found = files.into_iter().filter_map(look_at);
        Ok(found.find(|found| self.belongs(&found.header, working_directory)).map(|found| found.file))
    }

    /// Returns the session that the user means by `text`: a file, a session's id, or the beginning of one. The
    /// sessions of `working_directory` go before those of other directories.
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

    /// Returns the session of `working_directory` that has exactly this id.
    pub fn with_id(&self, working_directory: &Path, id: &str) -> Result<Option<PathBuf>, Error> {
        let here = self.all_here(working_directory)?;
        Ok(here.into_iter().find(|found| found.header.id == id).map(|found| found.file))
    }

    /// Deletes a session of this store. One that is open, here or in another process, is left alone.
    pub fn delete(&self, path: &Path) -> Result<(), Error> {
        let file = path.canonicalize().map_err(|error| Error::read(path, error))?;
        let root = self.root.canonicalize().map_err(|error| Error::read(&self.root, error))?;
        let is_here = file.starts_with(&root) && is_session(&file);
        if !is_here || look_at(file.clone()).is_none() {
            return Err(Error::OutsideStore { file: path.to_path_buf(), root: self.root.clone() });
        }
        // Held until the file is gone, so that nobody opens it in between.
        let _lock = SessionFile::open(&file)?;
        fs::remove_file(&file).map_err(|error| Error::write(&file, error))
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

    /// Returns the files of all sessions.
    pub(crate) fn all_files(&self) -> Result<Vec<PathBuf>, Error> {
        let mut files = session_files(&self.root)?;
        if !self.flat {
            for directory in
                entries(&self.root)?.into_iter().filter(|entry| !is_session(entry) && entry.is_dir())
            {
                files.extend(session_files(&directory)?);
            }
        }
        Ok(files)
    }

    /// Returns the files among which those of a working directory are.
    pub(crate) fn files_for(&self, working_directory: &Path) -> Result<Vec<PathBuf>, Error> {
        session_files(&self.directory_for(working_directory))
    }

    /// Returns the directory that everything is in.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    // The name of a directory is not enough: `/a-b` and `/a/b` have the same. Sessions that do not say where they
    // work are taken to belong to the directory that they lie in.
    pub(crate) fn belongs(&self, header: &Header, working_directory: &Path) -> bool {
        let directory = &header.cwd;
        Path::new(directory) == working_directory || (directory.is_empty() && !self.flat)
    }
}

/// Returns the one session whose id is `text` or, if there is none, starts with it.
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

/// Returns the directory name that pi gives to the sessions of a working directory.
fn encode(working_directory: &Path) -> String {
    let text = working_directory.to_string_lossy();
    let text = text.strip_prefix(['/', '\\']).unwrap_or(&text);
    format!("--{}--", text.replace(['/', '\\', ':'], "-"))
}

fn session_files(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    Ok(entries(directory)?.into_iter().filter(|entry| is_session(entry)).collect())
}

/// Tells whether a file has the name of a session.
fn is_session(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// Returns what is in a directory, in the order of names; a directory that does not exist has nothing in it.
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

/// Returns the header of a file, if it is a session.
fn look_at(file: PathBuf) -> Option<Found> {
    let header = read_header(&mut BufReader::new(File::open(&file).ok()?))?;
    Some(Found { file, header })
}

/// Reads the header, if it is one that stands there.
pub(crate) fn read_header(reader: &mut impl BufRead) -> Option<Header> {
    let mut line = Vec::new();
    reader.by_ref().take(HEADER_LIMIT).read_until(b'\n', &mut line).ok()?;
    let head: Head<'_> = serde_json::from_slice(&line).ok()?;
    (head.kind.0 == header::TYPE).then(|| serde_json::from_slice(&line).ok())?
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Session;

    fn store(flat: bool) -> (tempfile::TempDir, Store) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path().join("sessions"), flat);
        (directory, store)
    }

    /// Writes a session that was last written to `age` seconds ago.
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
    fn working_directories_are_encoded_as_pi_does() {
        let store = Store::new("/s".into(), false);
        for (working_directory, expected) in
            [("/tmp/a/b", "/s/--tmp-a-b--"), ("/", "/s/----"), ("C:\\x", "/s/--C--x--"), ("//a", "/s/---a--")]
        {
            assert_eq!(store.directory_for(Path::new(working_directory)), Path::new(expected));
        }
        assert_eq!(Store::new("/s".into(), true).directory_for(Path::new("/a")), Path::new("/s"));
    }

    #[test]
    fn the_latest_session_is_the_one_of_this_directory_that_was_written_last() {
        for flat in [false, true] {
            let (_directory, store) = store(flat);
            assert_eq!(store.latest(Path::new("/a/b")).unwrap(), None);
            add(&store, "/a/b", "older", 50);
            let newer = add(&store, "/a/b", "newer", 30);
            // The same directory name when encoded.
            add(&store, "/a-b", "other", 10);
            let directory = store.directory_for(Path::new("/a/b"));
            fs::write(directory.join("broken.jsonl"), "no session").unwrap();
            fs::write(directory.join("2026_newer.jsonl.torn"), "{}").unwrap();
            assert_eq!(store.latest(Path::new("/a/b")).unwrap(), Some(newer), "flat: {flat}");
        }
    }

    #[test]
    fn a_session_is_found_by_the_beginning_of_its_id() {
        for flat in [false, true] {
            let (_directory, store) = store(flat);
            let here = Path::new("/here");
            let one = add(&store, "/here", "abc-1", 0);
            let two = add(&store, "/here", "abc-2", 0);
            let away = add(&store, "/away", "abc-3", 0);
            let short = add(&store, "/away", "abc", 0);
            assert_eq!(store.find(here, "abc-1").unwrap(), one);
            assert_eq!(store.find(here, "abc-3").unwrap(), away, "other directories come second");
            assert_eq!(store.find(Path::new("/away"), "abc").unwrap(), short, "a whole id is not ambiguous");
            let error = store.find(here, "abc").unwrap_err();
            assert!(matches!(&error, Error::Ambiguous { matches, .. } if *matches == [one.clone(), two]));
            assert!(error.to_string().contains(one.to_str().unwrap()));
            assert!(matches!(store.find(here, "zzz"), Err(Error::NoMatch { .. })));
            assert_eq!(store.with_id(here, "abc-1").unwrap(), Some(one));
            assert_eq!(store.with_id(here, "abc").unwrap(), None);
        }
    }

    #[test]
    fn only_a_session_of_the_store_that_nobody_has_open_is_deleted() {
        for flat in [false, true] {
            let (directory, store) = store(flat);
            let file = add(&store, "/here", "one", 0);
            let outside = directory.path().join("outside.jsonl");
            fs::copy(&file, &outside).unwrap();
            let link = store.directory_for(Path::new("/here")).join("link.jsonl");
            #[cfg(unix)]
            std::os::unix::fs::symlink(&outside, &link).unwrap();
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
    fn a_path_is_taken_as_it_is() {
        let (directory, store) = store(false);
        let file = directory.path().join("x.jsonl");
        fs::write(&file, "").unwrap();
        assert_eq!(store.find(directory.path(), "x.jsonl").unwrap(), file);
        assert_eq!(store.find(directory.path(), file.to_str().unwrap()).unwrap(), file);
        assert!(matches!(store.find(directory.path(), "y.jsonl"), Err(Error::NotFound { .. })));
    }
}
