//! Entries exactly as written in the file, for clients that parse them.

use std::path::Path;

use serde_json::value::RawValue;

use crate::header::CURRENT_VERSION;
use crate::tree::Node;
use crate::{Error, Session, upgrade};

impl Session {
    /// Returns the entries of all branches in the order of the file; with `since`, only those after that entry.
    /// Entries of an older version are returned as their upgrade will write them.
    pub fn entries(&self, since: Option<&str>) -> Result<Vec<Box<RawValue>>, Error> {
        let first = match since {
            None => 0,
            Some(id) => self.tree.known_position(id)? as usize + 1,
        };
        self.tree.nodes()[first..].iter().map(|node| self.entry(node)).collect()
    }

    /// Returns the entry with this id.
    pub fn written_entry(&self, id: &str) -> Result<Box<RawValue>, Error> {
        let position = self.tree.known_position(id)?;
        self.entry(self.tree.node(position))
    }

    /// Returns one entry.
    pub(crate) fn entry(&self, node: &Node) -> Result<Box<RawValue>, Error> {
        let line = String::from_utf8(self.line(node)?)
            // Indexing does not check UTF-8, but a reply must be valid.
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        // It was valid JSON when the file was indexed.
        RawValue::from_string(line).map_err(|_| Error::Changed {
            file: self.file().unwrap_or(Path::new("(in memory)")).to_path_buf(),
        })
    }

    /// Returns the line of an entry in the current format.
    pub(crate) fn line(&self, node: &Node) -> Result<Vec<u8>, Error> {
        let line = self.storage.read(node)?;
        if self.header.version >= CURRENT_VERSION {
            return Ok(line);
        }
        upgrade::upgraded_entry(&line, node, &self.tree)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::fixture::Written;

    fn texts(session: &Session, since: Option<&str>) -> Vec<String> {
        session.entries(since).unwrap().iter().map(|entry| entry.get().to_owned()).collect()
    }

    #[test]
    fn entries_are_returned_byte_for_byte() {
        let lines = [
            r#"{"type":"session","version":3,"id":"s"}"#,
            r#"{ "type": "message", "id": "1", "parentId": null, "message": {"n": 1.50, "big": 123456789012345678901234567890} }"#,
            r#"{"type":"from_the_future","id":"2","parentId":null,"x":"\ud83d"}"#,
            r#"{"type":"label","id":"3","parentId":"2","targetId":"1"}"#,
        ];
        let session = Written::new(&lines).open();
        assert_eq!(texts(&session, None), lines[1..]);
        assert_eq!(texts(&session, Some("1")), lines[2..]);
        assert!(texts(&session, Some("3")).is_empty());
        assert_eq!(session.written_entry("1").unwrap().get(), lines[1]);
        let error = session.entries(Some("nope")).unwrap_err();
        assert_eq!(error.to_string(), "Entry not found: nope");
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        let written = Written::new(&[r#"{"type":"session","version":3,"id":"s"}"#]);
        let mut content = fs::read(written.path()).unwrap();
        content
            .extend_from_slice(b"{\"type\":\"custom\",\"id\":\"1\",\"parentId\":null,\"data\":\"a\xffb\"}\n");
        fs::write(written.path(), content).unwrap();
        let expected = "{\"type\":\"custom\",\"id\":\"1\",\"parentId\":null,\"data\":\"a\u{fffd}b\"}";
        assert_eq!(texts(&written.open(), None), [expected]);
    }

    #[test]
    fn an_array_is_not_an_entry() {
        let written =
            Written::new(&[r#"{"type":"session","version":3,"id":"s"}"#, r#"["message","1",null]"#]);
        let session = written.open();
        assert_eq!((session.entries(None).unwrap().len(), session.malformed_lines()), (0, 1));
    }

    #[test]
    fn entries_of_version_1_have_the_ids_of_their_upgrade() {
        let message = r#""timestamp":"T","message":{"role":"user","content":"a","timestamp":1}}"#;
        let line = format!(r#"{{"type":"message",{message}"#);
        let written = Written::new(&[r#"{"type":"session","id":"s"}"#, &line, &line]);
        let expected = [
            format!(r#"{{"type":"message","id":"00000001","parentId":null,{message}"#),
            format!(r#"{{"type":"message","id":"00000002","parentId":"00000001",{message}"#),
        ];
        assert_eq!(texts(&written.open(), None), expected);
    }

    #[test]
    fn a_file_truncated_by_another_program_is_an_error() {
        let entry = r#"{"type":"custom","id":"1","parentId":null}"#;
        let written = Written::new(&[r#"{"type":"session","version":3,"id":"s"}"#, entry]);
        let session = written.open();
        fs::write(written.path(), "x").unwrap();
        assert!(matches!(session.entries(None), Err(Error::Changed { .. })));
        assert!(matches!(session.tree_json(), Err(Error::Changed { .. })));
        assert_eq!(fs::read(written.path()).unwrap(), b"x");
    }
}
