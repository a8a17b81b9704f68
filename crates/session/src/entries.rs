//! Entries exactly as written in the file, for clients that parse them.

use std::ops::Range;

use bowline_core::Message;
use serde_json::value::RawValue;

use crate::decode::{self, ParentOf};
use crate::depth::is_too_deep;
use crate::entry::Entry;
use crate::header::CURRENT_VERSION;
use crate::mend::mend;
use crate::tree::Node;
use crate::{EntryBody, EntryId, Error, Session, upgrade};

/// The type of the stand-in for an entry whose line cannot be read.
const UNREADABLE: &str = "bowline.unreadable";

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

    /// Returns the message that an entry adds to the context, as a reader of the file finds it.
    pub fn written_message(&self, id: &str) -> Option<Message> {
        let position = self.tree.known_position(id).ok()?;
        let node = self.tree.node(position);
        decode::message(node.kind, &self.line(node).ok()?).ok()?
    }

    /// Returns one entry.
    pub(crate) fn entry(&self, node: &Node) -> Result<Box<RawValue>, Error> {
        // The index knows only the head of the line, but a reply must be valid.
        let line =
            String::from_utf8(mend(self.line(node)?)).ok().filter(|line| !is_too_deep(line.as_bytes()));
        match line.map(RawValue::from_string) {
            Some(Ok(entry)) => Ok(entry),
            _ => Ok(RawValue::from_string(
                String::from_utf8_lossy(&stand_in(node, self.tree.parent_id(node))?).into_owned(),
            )?),
        }
    }

    /// Returns the line of an entry in the current format, with the parent that it has in the tree.
    pub(crate) fn line(&self, node: &Node) -> Result<Vec<u8>, Error> {
        let line = self.storage.read_exactly(node)?;
        if self.header.version < CURRENT_VERSION {
            return upgrade::upgraded_entry(&mend(line), node, &self.tree);
        }
        if self.tree.is_relinked(node) {
            return with_parent(line, node, self.tree.parent_id(node));
        }
        Ok(line)
    }
}

/// Returns the line of an entry with another parent.
pub(crate) fn with_parent(
    mut line: Vec<u8>,
    node: &Node,
    parent: Option<&EntryId>,
) -> Result<Vec<u8>, Error> {
    match serde_json::from_slice::<ParentOf<'_>>(&line) {
        Ok(ParentOf { parent: written }) => {
            let place = place_of(written, &line);
            line.splice(place, serde_json::to_vec(&parent)?);
            Ok(line)
        }
        Err(_) => stand_in(node, parent),
    }
}

/// Returns a line that keeps the place of an entry whose own line is damaged: data of an extension, which every client
/// skips.
fn stand_in(node: &Node, parent: Option<&EntryId>) -> Result<Vec<u8>, Error> {
    let body = EntryBody::Custom { custom_type: UNREADABLE.to_owned(), data: None };
    let mut line = Entry { id: &node.id, parent, timestamp: "", body: &body }.line()?;
    line.pop();
    Ok(line)
}

/// Returns the place in `line` of a value that borrows from it.
pub(crate) fn place_of(value: &RawValue, line: &[u8]) -> Range<usize> {
    let start = value.get().as_ptr().addr() - line.as_ptr().addr();
    start..start + value.get().len()
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
            r#"{"type":"from_the_future","id":"2","parentId":null,"x":"\ud83d\ude00"}"#,
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
    fn halves_of_surrogate_pairs_are_replaced() {
        let line = r#"{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"a\ud83d","timestamp":1}}"#;
        let session = Written::new(&[r#"{"type":"session","version":3,"id":"s"}"#, line]).open();
        assert_eq!(texts(&session, None), [line.replace("d83d", "fffd")]);
        assert_eq!(crate::fixture::texts(&session), ["a\u{fffd}"]);
        assert_eq!(session.fork_messages().unwrap()[0].text, "a\u{fffd}");
        assert_eq!(session.statistics().unwrap().user_messages, 1);
    }

    #[test]
    fn an_entry_with_a_damaged_line_keeps_its_place() {
        let deep = format!(
            r#"{{"type":"custom","id":"4","parentId":"3","data":{}{}}}"#,
            "[".repeat(200),
            "]".repeat(200)
        );
        let lines = [
            r#"{"type":"session","version":3,"id":"s","cwd":"/"}"#,
            r#"{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"a","timestamp":1}}"#,
            r#"{"type":"message","id":"2","parentId":"1","message":{"role":"user","content":"b","#,
            r#"{"type":"label","id":"l","parentId":"2","targetId":"1","label":"x"}"#,
            r#"{"type":"message","id":"3","parentId":"l","message":{"role":"us}}}"#,
            &deep,
            r#"{"type":"message","id":"5","parentId":"4","message":{"role":"user","content":"c","timestamp":1}}"#,
        ];
        let written = Written::new(&lines);
        let session = written.open();
        assert_eq!(crate::fixture::texts(&session), ["a", "c"]);
        let context = session.context().unwrap();
        let unreadable: Vec<_> = context.unreadable.iter().map(EntryId::as_str).collect();
        assert_eq!(unreadable, ["2", "3"]);
        let stand_in = |id: &str, parent: &str| {
            format!(
                r#"{{"type":"custom","id":"{id}","parentId":"{parent}","timestamp":"","customType":"bowline.unreadable"}}"#
            )
        };
        let expected =
            [lines[1], &stand_in("2", "1"), lines[3], &stand_in("3", "l"), &stand_in("4", "3"), lines[6]];
        assert_eq!(texts(&session, None), expected);
        assert_eq!(session.tree().unwrap().len(), 6);
        let clone = session.clone_at_leaf().unwrap();
        assert_eq!(crate::fixture::texts(&clone), ["a", "c"]);
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
