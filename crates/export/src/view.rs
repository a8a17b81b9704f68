//! What rendering an entry needs to know of the other entries: where it is linked to, which label it has, and which
//! result belongs to which call.

use std::cell::Cell;
use std::collections::HashMap;

use crate::entry::{Body, Entry, Position, Session};
use crate::highlight;
use crate::tree::Tree;

/// How many bytes of what tools read and wrote a page has in colour before it saves them for what is in sight: a page
/// of millions of elements is no use to anyone.
const COLOURED: usize = 2 << 20;

/// How many bytes of each are in colour then.
const COLOURED_IN_SIGHT: usize = 1_024;

/// A session with everything that rendering looks up.
pub(crate) struct View<'a> {
    pub session: &'a Session,
    pub tree: &'a Tree,
    positions: HashMap<&'a str, Position>,
    labels: HashMap<Position, &'a str>,
    /// The results that are shown within the answer that called for them, by answer and number of the call.
    results: HashMap<(Position, usize), Position>,
    is_within_answer: Vec<bool>,
    colour_left: Cell<usize>,
}

impl<'a> View<'a> {
    /// Looks through the session once.
    pub fn new(session: &'a Session, tree: &'a Tree) -> Self {
        let positions = positions(session);
        let mut view = Self {
            session,
            tree,
            labels: HashMap::new(),
            results: HashMap::new(),
            is_within_answer: vec![false; session.entries.len()],
            positions,
            colour_left: Cell::new(COLOURED),
        };
        view.find_labels();
        view.find_results();
        view
    }

    fn find_labels(&mut self) {
        for entry in &self.session.entries {
            let Body::Label { target, label } = &entry.body else { continue };
            let Some(target) = self.position(target) else { continue };
            match label {
                Some(label) => self.labels.insert(target, label),
                None => self.labels.remove(&target),
            };
        }
    }

    fn find_results(&mut self) {
        for segment in &self.tree.segments {
            let mut calls = HashMap::new();
            for position in &segment.entries {
                match &self.session.entries[*position].body {
                    Body::Answer(answer) => {
                        calls.extend(
                            answer
                                .calls()
                                .enumerate()
                                .map(|(number, call)| (call.id.as_str(), (*position, number))),
                        );
                    }
                    Body::ToolResult(result) => {
                        if let Some(call) = calls.remove(result.call_id.as_str()) {
                            self.results.insert(call, *position);
                            self.is_within_answer[*position] = true;
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// Returns an entry.
    pub fn entry(&self, position: Position) -> &'a Entry {
        &self.session.entries[position]
    }

    /// Returns where the entry with an id is. If several have it, the last one is meant.
    pub fn position(&self, id: &str) -> Option<Position> {
        self.positions.get(id).copied()
    }

    /// Returns the result of the call with this number in an answer.
    pub fn result(&self, answer: Position, call: usize) -> Option<Position> {
        self.results.get(&(answer, call)).copied()
    }

    /// Whether an entry is shown within another one.
    pub fn is_within_answer(&self, position: Position) -> bool {
        self.is_within_answer[position]
    }

    /// Returns the label of an entry.
    pub fn label(&self, position: Position) -> Option<&'a str> {
        self.labels.get(&position).copied()
    }

    /// Returns how much of a tool's code of this length is to be coloured.
    pub fn coloured(&self, length: usize) -> usize {
        match self.colour_left.get().checked_sub(length) {
            Some(left) => {
                self.colour_left.set(left);
                highlight::LIMIT
            }
            None => COLOURED_IN_SIGHT,
        }
    }

    /// Returns the name of an entry in addresses: its id, or its number where the id is not fit for one or is not its
    /// own.
    pub fn anchor(&self, position: Position) -> String {
        let id = &self.entry(position).id;
        let is_plain = !id.is_empty()
            && id.len() <= 64
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        if is_plain && self.position(id) == Some(position) {
            format!("entry-{id}")
        } else {
            format!("entry-~{position}")
        }
    }
}

/// Returns where the entry with each id is.
pub(crate) fn positions(session: &Session) -> HashMap<&str, Position> {
    session.entries.iter().enumerate().map(|(position, entry)| (entry.id.as_str(), position)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_plain_and_each_entry_has_its_own() {
        let lines = [
            r#"{"type":"session","version":3}"#,
            r#"{"type":"x","id":"a1","parentId":null}"#,
            r#"{"type":"x","id":"\"><script>","parentId":null}"#,
            r#"{"type":"x","id":"a1","parentId":null}"#,
            r#"{"type":"x","id":"","parentId":null}"#,
        ];
        let session = crate::read::read(lines.join("\n").as_bytes()).unwrap();
        let tree = Tree::new(&session.entries, None);
        let view = View::new(&session, &tree);
        let anchors: Vec<_> = (0..4).map(|position| view.anchor(position)).collect();
        assert_eq!(anchors, ["entry-~0", "entry-~1", "entry-a1", "entry-~3"]);
    }
}
