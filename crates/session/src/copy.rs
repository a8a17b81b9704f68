//! Whole sessions beside the one that is in use: read without a lock, or copied with all their branches.

use std::fs;
use std::path::Path;

use crate::header::{Header, validate_session_id};
use crate::scan::{is_object, scan_content};
use crate::session::Storage;
use crate::{Error, Location, NewSession, Session};

impl Session {
    /// Reads a session that someone may be using: what its file says now, kept in memory. The file is neither
    /// locked nor repaired, and whatever is appended here stays here.
    pub fn read(path: &Path, current_directory: &Path) -> Result<Self, Error> {
        let mut content = fs::read(path).map_err(|error| Error::read(path, error))?;
        let whole = memchr::memrchr(b'\n', &content).map_or(0, |end| end + 1);
        if is_object(&content[whole..]) {
            content.push(b'\n');
        } else {
            content.truncate(whole);
        }
        let scan = scan_content(&content, path)?;
        Ok(Self::from_scan(scan, Storage::Memory(content), current_directory))
    }

    /// Starts a session with all branches of this one. A file is written at once.
    pub fn copy(&self, options: NewSession) -> Result<Self, Error> {
        if let Some(id) = &options.id {
            validate_session_id(id)?;
        }
        let parent = options.parent.or_else(|| Some(self.file()?.to_string_lossy().into_owned()));
        let header = Header::new(options.id, &options.working_directory, parent);
        let mut content = header.line()?;
        for node in self.tree.nodes() {
            content.extend_from_slice(&self.line(node)?);
            content.push(b'\n');
        }
        let scan = scan_content(&content, Path::new(""))?;
        let storage = match options.location {
            Location::Memory => Storage::Memory(content),
            Location::Directory(directory) => {
                Storage::Unsaved { path: directory.join(header.file_name()), content }
            }
        };
        let mut session = Self::from_scan(scan, storage, &options.working_directory);
        session.durability = self.durability;
        session.persist_now()?;
        Ok(session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Written, texts};

    const HEADER: &str = r#"{"type":"session","version":3,"id":"s","cwd":"/old"}"#;

    fn said(id: u32, parent: u32) -> String {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","message":{{"role":"user","content":"m{id}","timestamp":1}}}}"#
        )
    }

    #[test]
    fn a_session_in_use_can_be_read_and_copied() {
        let written = Written::new(&[HEADER, &said(1, 0), &said(2, 1), &said(3, 1)]);
        let open = written.open();
        let read = Session::read(written.path(), Path::new("/")).unwrap();
        assert_eq!((texts(&read), read.file()), (texts(&open), None));

        let copy = read
            .copy(NewSession {
                working_directory: "/new".into(),
                location: Location::Directory(written.path().with_extension("copies")),
                id: None,
                parent: written.path().to_str().map(str::to_owned),
            })
            .unwrap();
        assert!(copy.is_saved() && copy.id() != open.id());
        assert_eq!((copy.header().cwd.as_str(), copy.entries(None).unwrap().len()), ("/new", 3));
        assert_eq!(copy.header().parent_session.as_deref(), written.path().to_str());
        assert_eq!(texts(&copy), ["m1", "m3"]);
    }

    #[test]
    fn a_torn_end_is_passed_over_and_stays_in_the_file() {
        let written = Written::new(&[]);
        for (tail, messages) in [(r#"{"type":"mess"#, 1), (said(2, 1).as_str(), 2)] {
            let content = format!("{HEADER}\n{}\n{tail}", said(1, 0));
            fs::write(written.path(), &content).unwrap();
            assert_eq!(texts(&Session::read(written.path(), Path::new("/")).unwrap()).len(), messages);
            assert_eq!(fs::read_to_string(written.path()).unwrap(), content);
        }
        fs::write(written.path(), "text").unwrap();
        assert!(matches!(Session::read(written.path(), Path::new("/")), Err(Error::NotASession { .. })));
    }
}
