//! The tree of entries: who is whose child and where in the file each one is. Bodies are not kept here.

use std::collections::HashMap;

use crate::Error;
use crate::entry::{EntryId, Kind};

/// The place of an entry in the tree: its number in the order of the file.
pub(crate) type Position = u32;

/// An entry without its body.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) id: EntryId,
    pub(crate) parent: Option<Position>,
    pub(crate) kind: Kind,
    /// Where the entry's line starts.
    pub(crate) offset: u64,
    /// How long the line is, without its line feed.
    pub(crate) length: usize,
}

/// All entries of a session, and the one that the conversation is at.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    by_id: HashMap<EntryId, Position>,
    leaf: Option<Position>,
}

impl Tree {
    /// Adds an entry and makes it the leaf. If its id was there before, the id means this entry from now on.
    pub(crate) fn push(&mut self, node: Node) {
        // 2^32 entries of even the smallest size are a file of 300 GB.
        let position = Position::try_from(self.nodes.len()).unwrap_or(Position::MAX);
        self.by_id.insert(node.id.clone(), position);
        self.nodes.push(node);
        self.leaf = Some(position);
    }

    /// Returns the entries in the order of the file.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the position of an entry.
    pub(crate) fn position(&self, id: &str) -> Option<Position> {
        // Most entries are asked for by their child, right after they were added.
        if self.nodes.last().is_some_and(|last| last.id.as_str() == id) {
            return Position::try_from(self.nodes.len() - 1).ok();
        }
        self.by_id.get(id).copied()
    }

    /// Returns the position of an entry that must be there.
    pub(crate) fn known_position(&self, id: &str) -> Result<Position, Error> {
        self.position(id).ok_or_else(|| Error::UnknownEntry { id: id.to_owned() })
    }

    /// Returns the entry that the conversation is at.
    pub(crate) fn leaf(&self) -> Option<&Node> {
        self.leaf_position().map(|position| self.node(position))
    }

    pub(crate) fn leaf_position(&self) -> Option<Position> {
        self.leaf
    }

    pub(crate) fn node(&self, position: Position) -> &Node {
        &self.nodes[position as usize]
    }

    /// Moves the conversation to another entry, or before the first one.
    pub(crate) fn set_leaf(&mut self, id: Option<&EntryId>) -> Result<(), Error> {
        self.leaf = id.map(|id| self.known_position(id.as_str())).transpose()?;
        Ok(())
    }

    /// Gives an entry a parent that stands after it in the file, unless the two would then form a ring.
    pub(crate) fn set_later_parent(&mut self, child: Position, parent: Position) {
        let mut ancestor = Some(parent);
        while let Some(position) = ancestor {
            if position == child {
                return;
            }
            ancestor = self.node(position).parent;
        }
        self.nodes[child as usize].parent = Some(parent);
    }

    /// Returns the entries from the root to the leaf.
    pub(crate) fn path(&self) -> Vec<&Node> {
        self.path_to(self.leaf)
    }

    /// Returns the entries from the root to `end`.
    pub(crate) fn path_to(&self, end: Option<Position>) -> Vec<&Node> {
        let mut path: Vec<_> = self.upwards(end).map(|position| self.node(position)).collect();
        path.reverse();
        path
    }

    /// Returns the entries from `start` to the root.
    pub(crate) fn upwards(&self, start: Option<Position>) -> impl Iterator<Item = Position> {
        std::iter::successors(start, |position| self.node(*position).parent)
    }

    /// Returns an id that no entry has: eight hexadecimal digits, as long as there are free ones.
    pub(crate) fn fresh_id(&self) -> EntryId {
        for _ in 0..100 {
            let id = uuid::Uuid::new_v4().simple().to_string();
            if !self.by_id.contains_key(&id[..8]) {
                return EntryId::from(&id[..8]);
            }
        }
        EntryId::from(uuid::Uuid::new_v4().to_string().as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(parents: &[Option<Position>]) -> Tree {
        let mut tree = Tree::default();
        for (number, parent) in parents.iter().enumerate() {
            let id = EntryId::from(format!("e{number}").as_str());
            tree.push(Node { id, parent: *parent, kind: Kind::Message, offset: 0, length: 0 });
        }
        tree
    }

    #[track_caller]
    fn check_path(tree: &Tree, expected: &str) {
        let ids: Vec<_> = tree.path().iter().map(|node| node.id.as_str()).collect();
        assert_eq!(ids.join(" "), expected);
    }

    #[test]
    fn the_path_leads_from_the_root_to_the_leaf() {
        let mut tree = tree(&[None, Some(0), Some(1), Some(0)]);
        check_path(&tree, "e0 e3");
        tree.set_leaf(Some(&"e2".into())).unwrap();
        check_path(&tree, "e0 e1 e2");
        tree.set_leaf(None).unwrap();
        check_path(&tree, "");
        assert!(matches!(tree.set_leaf(Some(&"e9".into())), Err(Error::UnknownEntry { .. })));
    }

    #[test]
    fn parents_in_a_ring_do_not_hang_the_walk() {
        let mut tree = tree(&[None, Some(0), Some(1)]);
        tree.set_later_parent(0, 2);
        check_path(&tree, "e0 e1 e2");
        tree.set_later_parent(1, 1);
        check_path(&tree, "e0 e1 e2");
    }

    #[test]
    fn fresh_ids_are_eight_hexadecimal_digits() {
        let id = Tree::default().fresh_id();
        assert!(id.as_str().len() == 8 && id.as_str().bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    }
}
