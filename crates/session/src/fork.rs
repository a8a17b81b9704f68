//! New sessions that start with a branch of another one.

use std::path::PathBuf;

use crate::decode::{self, FirstKeptOf};
use crate::entries::{place_of, with_parent};
use crate::entry::Kind;
use crate::header::Header;
use crate::scan::scan_content;
use crate::storage::Storage;
use crate::tree::{Node, Position};
use crate::{EntryBody, EntryId, Error, Session};

/// A user message that can be forked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkMessage {
    pub entry: EntryId,
    pub text: String,
}

/// A session forked before a user message.
#[derive(Debug)]
pub struct Fork {
    pub session: Session,
    /// The text of the message, to be edited.
    pub text: String,
}

impl Session {
    /// Returns the user messages with text on all branches, in the order of the file.
    pub fn fork_messages(&self) -> Result<Vec<ForkMessage>, Error> {
        let mut messages = Vec::new();
        for node in self.tree.nodes().iter().filter(|node| node.kind == Kind::Message) {
            let text = decode::user_text(node.kind, &self.storage.read(node)?);
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                messages.push(ForkMessage { entry: node.id.clone(), text });
            }
        }
        Ok(messages)
    }

    /// Creates a session with everything before a user message. Its file is in the same directory; it is written
    /// immediately if the session has an answer, otherwise with the next message.
    pub fn fork(&self, entry: &str) -> Result<Fork, Error> {
        let position = self.tree.position(entry).ok_or(Error::NotForkable)?;
        let node = self.tree.node(position);
        let text = decode::user_text(node.kind, &self.storage.read(node)?).ok_or(Error::NotForkable)?;
        Ok(Fork { session: self.branch_off(node.parent)?, text })
    }

    /// Creates a session with everything up to and including an entry. Its file is written like that of a fork.
    pub fn fork_after(&self, entry: &str) -> Result<Self, Error> {
        let unknown = || Error::UnknownEntry { id: entry.to_owned() };
        let position = self.tree.position(entry).ok_or_else(unknown)?;
        self.branch_off(Some(position))
    }

    /// Creates a session with everything up to the leaf. Its file is written like that of a fork.
    pub fn clone_at_leaf(&self) -> Result<Self, Error> {
        let leaf = self.tree.leaf_position().ok_or(Error::NothingToClone)?;
        self.branch_off(Some(leaf))
    }

    /// Creates a session with the path up to `end`: the same entries with the same ids, except for labels, which are
    /// appended as new entries, including those that were set on other branches.
    fn branch_off(&self, end: Option<Position>) -> Result<Self, Error> {
        if matches!(self.storage, Storage::Unsaved { .. }) {
            return Err(Error::NotSaved);
        }
        let parent = self.file().map(|file| file.to_string_lossy().into_owned());
        let header = Header::new(None, &self.working_directory, parent, &self.clock);
        let mut content = header.line()?;
        let mut is_answered = false;
        let path = self.tree.path_to(end);
        for node in path.iter().filter(|node| node.kind != Kind::Label) {
            let line = self.line_without_labels(node, &path)?;
            is_answered |= node.kind == Kind::Message && decode::role_is(&line, "assistant");
            content.extend_from_slice(&line);
            content.push(b'\n');
        }
        let scan = scan_content(&content, &PathBuf::new())?;
        let storage = match self.file().and_then(|file| file.parent()) {
            None => Storage::Memory(content),
            Some(directory) => Storage::Unsaved { path: directory.join(header.file_name()), content },
        };
        let mut session = Self::from_scan(scan, storage, &self.working_directory);
        session.durability = self.durability;
        session.clock = self.clock.clone();
        for label in self.labels()? {
            if session.has_entry(label.target.as_str()) {
                let body = EntryBody::Label { target: label.target, label: Some(label.text) };
                session.append_at(&label.timestamp, body)?;
            }
        }
        if is_answered {
            session.persist_now()?;
        }
        Ok(session)
    }

    /// Returns the line of an entry on `path` for a copy without labels: references to a label are replaced by
    /// references to its neighbour.
    fn line_without_labels(&self, node: &Node, path: &[&Node]) -> Result<Vec<u8>, Error> {
        let mut line = self.line(node)?;
        if node.parent.is_some_and(|parent| self.tree.node(parent).kind == Kind::Label) {
            let mut ancestors = self.tree.upwards(node.parent).map(|position| self.tree.node(position));
            let parent = ancestors.find(|ancestor| ancestor.kind != Kind::Label).map(|ancestor| &ancestor.id);
            line = with_parent(line, node, parent)?;
        }
        if node.kind == Kind::Compaction
            && let Ok(FirstKeptOf { first_kept }) = serde_json::from_slice(&line)
            && let Ok(id) = serde_json::from_str::<EntryId>(first_kept.get())
            && let Some(label) = path.iter().position(|node| node.id == id && node.kind == Kind::Label)
            && let Some(next) = path[label..].iter().find(|node| node.kind != Kind::Label)
        {
            let place = place_of(first_kept, &line);
            line.splice(place, serde_json::to_vec(&next.id)?);
        }
        Ok(line)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::fixture::{Written, texts};
    use crate::{Durability, Location, NewSession};

    const HEADER: &str = r#"{"type":"session","version":3,"id":"s","cwd":"/work"}"#;

    fn message(id: u32, parent: &str, role: &str, text: &str) -> String {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"T{id}","message":{{"role":"{role}","content":[{{"type":"text","text":"{text}"}}],"timestamp":1}}}}"#
        )
    }

    /// Writes a question, its answer, a label on the question, and then two branches, with a label on the answer in the
    /// first one.
    fn written() -> Written {
        Written::new(&[
            HEADER,
            &message(1, "null", "user", "first"),
            &message(2, r#""1""#, "assistant", "answer"),
            r#"{"type":"label","id":"3","parentId":"2","timestamp":"T3","targetId":"1","label":"start"}"#,
            r#"{"type":"from_the_future","id":"4","parentId":"3","number":1.50}"#,
            &message(5, r#""4""#, "user", "left"),
            r#"{"type":"label","id":"6","parentId":"5","timestamp":"T6","targetId":"2","label":"there"}"#,
            r#"{"type":"label","id":"7","parentId":"6","timestamp":"T7","targetId":"5","label":"not on the path"}"#,
            &message(8, r#""4""#, "user", ""),
            &message(9, r#""8""#, "user", "right"),
        ])
    }

    fn lines(session: &Session) -> Vec<String> {
        session.entries(None).unwrap().iter().map(|entry| entry.get().to_owned()).collect()
    }

    #[test]
    fn a_fork_has_the_path_to_the_message_and_then_the_labels() {
        let written = written();
        let session = written.open();
        let Fork { session: fork, text } = session.fork("8").unwrap();
        assert_eq!((text.as_str(), texts(&fork)), ("", vec!["first".to_owned(), "answer".to_owned()]));
        let lines = lines(&fork);
        assert_eq!(
            lines[..2],
            [message(1, "null", "user", "first"), message(2, r#""1""#, "assistant", "answer")]
        );
        assert_eq!(lines[2], r#"{"type":"from_the_future","id":"4","parentId":"2","number":1.50}"#);
        let [start, there] = &lines[3..] else { panic!("{lines:?}") };
        assert!(
            start.contains(r#""parentId":"4","timestamp":"T3","targetId":"1","label":"start"}"#),
            "{start}"
        );
        assert!(there.contains(r#""timestamp":"T6","targetId":"2","label":"there"}"#), "{there}");
        assert!(fork.leaf().is_some_and(|leaf| there.contains(leaf.as_str())));

        assert_ne!(fork.id(), session.id());
        assert_eq!(fork.header().parent_session.as_deref(), written.path().to_str());
        assert_eq!(fork.header().cwd, "/work");
        let file = fork.file().unwrap().to_path_buf();
        assert_eq!((file.parent(), fork.is_saved()), (written.path().parent(), true));
        drop(fork);
        assert_eq!(texts(&Session::open(&file, Path::new("/")).unwrap()), ["first", "answer"]);
    }

    #[test]
    fn a_clone_keeps_the_entries_of_a_compaction_that_starts_at_a_label() {
        let written = Written::new(&[
            HEADER,
            &message(1, "null", "user", "gone"),
            r#"{"type":"label","id":"2","parentId":"1","timestamp":"T","targetId":"1","label":"x"}"#,
            &message(3, r#""2""#, "user", "kept"),
            r#"{"type":"compaction","id":"4","parentId":"3","timestamp":"T","summary":"s","firstKeptEntryId":"2","tokensBefore":1}"#,
        ]);
        let session = written.open();
        assert_eq!(texts(&session), ["summary: s", "kept"]);
        assert_eq!(texts(&session.clone_at_leaf().unwrap()), ["summary: s", "kept"]);
    }

    #[test]
    fn a_clone_has_the_path_to_the_leaf() {
        let written = written();
        let session = written.open();
        let clone = session.clone_at_leaf().unwrap();
        assert_eq!(texts(&clone), texts(&session));
        assert_eq!(lines(&clone).len(), 7);
    }

    #[test]
    fn a_fork_without_an_answer_is_saved_with_its_first_message() {
        let written = written();
        let session = written.open();
        let mut fork = session.fork("1").unwrap().session;
        assert_eq!((fork.leaf(), fork.is_saved()), (None, false));
        assert!(matches!(fork.clone_at_leaf(), Err(Error::NothingToClone)));
        fork.append(EntryBody::SessionInfo { name: "n".into() }).unwrap();
        assert!(matches!(fork.clone_at_leaf(), Err(Error::NotSaved)));
        let body = EntryBody::Message(bowline_core::Message::user("again", Vec::new(), 1).into());
        fork.append(body).unwrap();
        assert!(fork.is_saved());
        assert_eq!(texts(&fork.clone_at_leaf().unwrap()), ["again"]);
    }

    #[test]
    fn only_user_messages_can_be_forked_at() {
        let written = written();
        let session = written.open();
        for entry in ["2", "3", "4", "nope"] {
            let error = session.fork(entry).unwrap_err();
            assert_eq!(error.to_string(), "Invalid entry ID for forking", "{entry}");
        }
        let messages = session.fork_messages().unwrap();
        let messages: Vec<_> =
            messages.iter().map(|message| (message.entry.as_str(), message.text.as_str())).collect();
        assert_eq!(messages, [("1", "first"), ("5", "left"), ("9", "right")]);
    }

    #[test]
    fn a_fork_of_a_session_in_memory_stays_in_memory() {
        let (working_directory, location) = ("/".into(), Location::Memory);
        let options = NewSession { working_directory, location, id: None, parent: None };
        let mut session = Session::create(options).unwrap();
        session.set_durability(Durability::Fsync);
        let body = EntryBody::Message(bowline_core::Message::user("a", Vec::new(), 1).into());
        session.append(body).unwrap();
        let clone = session.clone_at_leaf().unwrap();
        assert_eq!((clone.file(), &clone.header().parent_session), (None, &None));
        assert_ne!(clone.id(), session.id());
        assert_eq!((texts(&clone), clone.durability), (vec!["a".to_owned()], Durability::Fsync));
    }

    #[test]
    fn a_fork_of_version_1_has_the_current_version() {
        let message = |role: &str, text: &str| {
            format!(
                r#"{{"type":"message","timestamp":"T","message":{{"role":"{role}","content":[{{"type":"text","text":"{text}"}}],"timestamp":1}}}}"#
            )
        };
        let written = Written::new(&[
            r#"{"type":"session","id":"s"}"#,
            &message("user", "a"),
            &message("assistant", "b"),
            &message("user", "c"),
        ]);
        let before = fs::read(written.path()).unwrap();
        let fork = written.open().fork("00000003").unwrap();
        assert_eq!((fork.text.as_str(), texts(&fork.session)), ("c", vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(fork.session.leaf().unwrap().as_str(), "00000002");
        assert_eq!(fs::read(written.path()).unwrap(), before);
    }

    #[test]
    fn a_session_whose_file_was_deleted_can_be_cloned() {
        let written = written();
        let mut session = written.open();
        fs::remove_file(written.path()).unwrap();
        assert!(matches!(session.label("1", None), Err(Error::Vanished { .. })));
        let clone = session.clone_at_leaf().unwrap();
        assert!(clone.is_saved() && clone.file().unwrap().exists());
    }
}
