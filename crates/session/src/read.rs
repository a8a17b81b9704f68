//! Sessions read without locking or changing their files, which others may be using.

use std::path::Path;
use std::sync::Arc;

use crate::line::Accept;
use crate::scan::scan_unlocked;
use crate::storage::{Snapshot, Storage};
use crate::{Error, Session};

impl Session {
    /// Reads the session at `path` as it is now. An incomplete last line is ignored. Entries that are appended to the
    /// result stay in memory.
    pub fn read(path: &Path, current_directory: &Path) -> Result<Self, Error> {
        let (snapshot, scan) = Snapshot::open(path, Accept::Supported)?;
        Ok(Self::from_scan(scan, Storage::Snapshot(snapshot), current_directory))
    }

    /// Reads the session at `path` for display: like [`Session::read`], but also accepts newer versions and incomplete
    /// headers.
    pub fn read_for_display(path: &Path) -> Result<Self, Error> {
        let (snapshot, scan) = Snapshot::open(path, Accept::Any)?;
        Ok(Self::from_scan(scan, Storage::Snapshot(snapshot), Path::new("")))
    }

    /// Returns the session as it is now, for reading on another thread while this one goes on.
    pub fn reader(&self) -> Result<Self, Error> {
        let storage = match &self.storage {
            Storage::File(file) => Storage::Snapshot(Snapshot::of_file(file)?),
            Storage::Snapshot(snapshot) => Storage::Snapshot(snapshot.again()?),
            Storage::Memory(content) | Storage::Unsaved { content, .. } => Storage::Memory(content.clone()),
        };
        Ok(Self {
            header: self.header.clone(),
            working_directory: self.working_directory.clone(),
            storage,
            tree: self.tree.clone(),
            durability: self.durability,
            name: self.name.clone(),
            malformed_lines: self.malformed_lines,
            clock: self.clock.clone(),
            counts: Arc::clone(&self.counts),
        })
    }

    /// Reads a session for display from the content of its file.
    pub fn from_content(mut content: Vec<u8>) -> Result<Self, Error> {
        let (scan, coverage) = scan_unlocked(content.as_slice(), Accept::Any, Path::new("(in memory)"))?;
        content.truncate(usize::try_from(coverage.length).unwrap_or(usize::MAX));
        if coverage.lacks_final_line_feed {
            content.push(b'\n');
        }
        Ok(Self::from_scan(scan, Storage::Memory(content), Path::new("")))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::EntryBody;
    use crate::fixture::{HEADER, Written, texts, user};

    #[test]
    fn an_incomplete_last_line_is_ignored_and_stays_in_the_file() {
        let written = Written::new(&[]);
        for (tail, messages) in [(r#"{"type":"mess"#, 1), (user(2, 1).as_str(), 2)] {
            let content = format!("{HEADER}\n{}\n{tail}", user(1, 0));
            fs::write(written.path(), &content).unwrap();
            let mut session = Session::read(written.path(), Path::new("/")).unwrap();
            assert_eq!((texts(&session).len(), session.malformed_lines()), (messages, 0));
            session.append(EntryBody::SessionInfo { name: "n".into() }).unwrap();
            assert_eq!(
                (texts(&session).len(), session.entries(None).unwrap().len()),
                (messages, messages + 1)
            );
            assert_eq!(fs::read_to_string(written.path()).unwrap(), content);
            let displayed = Session::from_content(content.into_bytes()).unwrap();
            assert_eq!(texts(&displayed).len(), messages);
        }
        fs::write(written.path(), "text").unwrap();
        assert!(matches!(Session::read(written.path(), Path::new("/")), Err(Error::NotASession { .. })));
    }

    #[test]
    fn entries_written_after_the_read_are_not_seen() {
        let written = Written::new(&[HEADER, &user(1, 0)]);
        let session = Session::read(written.path(), Path::new("/")).unwrap();
        fs::write(written.path(), format!("{HEADER}\n{}\n{}\n", user(1, 0), user(2, 1))).unwrap();
        assert_eq!(texts(&session), ["m1"]);
        fs::write(written.path(), HEADER).unwrap();
        assert!(matches!(session.context(), Err(Error::Changed { .. })));
    }

    #[test]
    fn newer_versions_and_incomplete_headers_can_be_displayed() {
        for header in [
            r#"{"type":"session","version":4,"id":"s"}"#,
            r#"{"type":"session","version":3}"#,
            r#"{"type":"session","version":3,"id":7,"cwd":null,"timestamp":[]}"#,
        ] {
            let written = Written::new(&[header, &user(1, 0)]);
            assert!(Session::read(written.path(), Path::new("/")).is_err());
            assert_eq!(texts(&Session::read_for_display(written.path()).unwrap()), ["m1"], "{header}");
        }
        for content in ["", "hello", "{\"type\":\"message\"}", "[]"] {
            let result = Session::from_content(content.into());
            assert!(matches!(result, Err(Error::NotASession { .. })), "{content}");
        }
    }
}
