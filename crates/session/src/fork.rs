//! New sessions that start with the past of another one.

use std::ops::Range;
use std::path::PathBuf;

use serde_json::value::RawValue;

use crate::decode::{self, ParentOf};
use crate::entry::Kind;
use crate::header::Header;
use crate::scan::scan_content;
use crate::session::Storage;
use crate::tree::{Node, Position};
use crate::{EntryBody, EntryId, Error, Session};

/// A user's message that a fork can start before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkMessage {
    pub entry: EntryId,
    pub text: String,
}

/// A session that was forked off before a user's message.
#[derive(Debug)]
pub struct Fork {
    pub session: Session,
    /// What the message said, to be edited.
    pub text: String,
}

impl Session {
    /// Returns the users' messages of all branches that have a text, in the order of the file.
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

    /// Starts a session with everything before a user's message. Its file is in the same directory, and is written
    /// at once if a model has answered by then, else with the first message.
    pub fn fork(&self, entry: &str) -> Result<Fork, Error> {
        let position = self.tree.position(entry).ok_or(Error::NotForkable)?;
        let node = self.tree.node(position);
        let text = decode::user_text(node.kind, &self.storage.read(node)?).ok_or(Error::NotForkable)?;
        Ok(Fork { session: self.branch_off(node.parent)?, text })
    }

    /// Starts a session with everything up to an entry. Its file is written as that of a fork.
    pub fn fork_after(&self, entry: &str) -> Result<Self, Error> {
        let unknown = || Error::UnknownEntry { id: entry.to_owned() };
        let position = self.tree.position(entry).ok_or_else(unknown)?;
        self.branch_off(Some(position))
    }

    /// Starts a session with everything up to the leaf. Its file is written as that of a fork.
    pub fn clone_at_leaf(&self) -> Result<Self, Error> {
        let leaf = self.tree.leaf_position().ok_or(Error::NothingToClone)?;
        self.branch_off(Some(leaf))
    }

    /// Starts a session with the path up to `end`: the same entries with the same ids, except that labels come
    /// last, as new entries, with those that were set on other branches.
    fn branch_off(&self, end: Option<Position>) -> Result<Self, Error> {
        if matches!(self.storage, Storage::Unsaved { .. }) {
            return Err(Error::NotSaved);
        }
        let parent = self.file().map(|file| file.to_string_lossy().into_owned());
        let header = Header::new(None, &self.working_directory, parent);
        let mut content = header.line()?;
        let mut is_answered = false;
        let path = self.tree.path_to(end);
        for node in path.iter().filter(|node| node.kind != Kind::Label) {
            let line = self.without_label_as_parent(node)?;
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

    /// Returns the line of an entry, with the nearest ancestor that is no label as its parent.
    fn without_label_as_parent(&self, node: &Node) -> Result<Vec<u8>, Error> {
        let mut line = self.line(node)?;
        if node.parent.is_none_or(|parent| self.tree.node(parent).kind != Kind::Label) {
            return Ok(line);
        }
        let mut ancestors = self.tree.upwards(node.parent).map(|position| self.tree.node(position));
        let parent = ancestors.find(|ancestor| ancestor.kind != Kind::Label).map(|ancestor| &ancestor.id);
        let place = place_of(serde_json::from_slice::<ParentOf<'_>>(&line)?.parent, &line);
        line.splice(place, serde_json::to_vec(&parent)?);
        Ok(line)
    }
}

/// Returns where a value that borrows from `line` stands in it.
fn place_of(value: &RawValue, line: &[u8]) -> Range<usize> {
    let start = value.get().as_ptr().addr() - line.as_ptr().addr();
    start..start + value.get().len()
}
