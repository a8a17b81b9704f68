//! Copies of a session with all its branches.

use std::path::Path;

use crate::header::{Header, validate_session_id};
use crate::scan::scan_content;
use crate::storage::Storage;
use crate::{Error, NewSession, Session};

impl Session {
    /// Creates a session with all branches of this one and saves it immediately.
    pub fn copy(&self, options: NewSession) -> Result<Self, Error> {
        if let Some(id) = &options.id {
            validate_session_id(id)?;
        }
        let parent = options.parent.or_else(|| Some(self.file()?.to_string_lossy().into_owned()));
        let header = Header::new(options.id, &options.working_directory, parent, &self.clock);
        let mut content = header.line()?;
        for node in self.tree.nodes() {
            content.extend_from_slice(&self.line(node)?);
            content.push(b'\n');
        }
        let scan = scan_content(&content, Path::new(""))?;
        let storage = Storage::new(options.location, &header, content);
        let mut session = Self::from_scan(scan, storage, &options.working_directory);
        session.durability = self.durability;
        session.clock = self.clock.clone();
        session.persist_now()?;
        Ok(session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Location;
    use crate::fixture::{HEADER, Written, texts, user};

    #[test]
    fn a_session_in_use_can_be_read_and_copied() {
        let written = Written::new(&[HEADER, &user(1, 0), &user(2, 1), &user(3, 1)]);
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
}
