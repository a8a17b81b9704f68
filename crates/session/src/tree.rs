//! The tree of entries: the parent of each entry and where its line is. Contents are not kept here.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use crate::Error;
use crate::clock::Clock;
use crate::entry::{EntryId, Kind};

/// How many of the last entries are compared before the index is asked.
const RECENT: usize = 32;

/// The number of an entry in the order of the file.
pub(crate) type Position = u32;

/// An entry without its content.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) id: EntryId,
    pub(crate) parent: Option<Position>,
    pub(crate) kind: Kind,
    /// The offset of the entry's line.
    pub(crate) offset: u64,
    /// The length of the line, without its line feed.
    pub(crate) length: usize,
}

/// All entries of a session and the current leaf.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    /// Built when it is first needed: most look-ups are for one of the last entries.
    by_id: OnceLock<HashMap<EntryId, Position>>,
    leaf: Option<Position>,
    /// The entries whose parent is not the one that their line names, because that one is missing or a descendant.
    relinked: HashSet<Position>,
}

impl Tree {
    /// Adds an entry and makes it the leaf. If its id is in use already, the id refers to this entry from now on.
    pub(crate) fn push(&mut self, node: Node) {
        // 2^32 entries of the smallest size are a file of 300 GB.
        let position = Position::try_from(self.nodes.len()).unwrap_or(Position::MAX);
        if let Some(by_id) = self.by_id.get_mut() {
            by_id.insert(node.id.clone(), position);
        }
        self.nodes.push(node);
        self.leaf = Some(position);
    }

    /// Returns the entries in the order of the file.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the position of an entry.
    pub(crate) fn position(&self, id: &str) -> Option<Position> {
        let recent = self.nodes.iter().rev().take(RECENT).position(|node| node.id.as_str() == id);
        match recent {
            Some(back) => Position::try_from(self.nodes.len() - 1 - back).ok(),
            None => self.by_id().get(id).copied(),
        }
    }

    fn by_id(&self) -> &HashMap<EntryId, Position> {
        self.by_id.get_or_init(|| (0..).zip(&self.nodes).map(|(at, node)| (node.id.clone(), at)).collect())
    }

    /// Returns the position of an entry, or an error if it does not exist.
    pub(crate) fn known_position(&self, id: &str) -> Result<Position, Error> {
        self.position(id).ok_or_else(|| Error::UnknownEntry { id: id.to_owned() })
    }

    /// Returns the current leaf.
    pub(crate) fn leaf(&self) -> Option<&Node> {
        self.leaf_position().map(|position| self.node(position))
    }

    pub(crate) fn leaf_position(&self) -> Option<Position> {
        self.leaf
    }

    pub(crate) fn node(&self, position: Position) -> &Node {
        &self.nodes[position as usize]
    }

    /// Returns the id of an entry's parent.
    pub(crate) fn parent_id(&self, node: &Node) -> Option<&EntryId> {
        node.parent.map(|parent| &self.node(parent).id)
    }

    /// Moves the leaf to another entry, or before the first one.
    pub(crate) fn set_leaf(&mut self, id: Option<&EntryId>) -> Result<(), Error> {
        self.leaf = id.map(|id| self.known_position(id.as_str())).transpose()?;
        Ok(())
    }

    /// Gives entries the parents that came after them in the file. If there is no such parent, its line was lost: the
    /// entry follows the one before the nearest of the `gaps`, the lines that are not entries, which are given by the last
    /// entry before them; without a gap it follows the entry before it. Cycles are broken.
    pub(crate) fn adopt(&mut self, orphans: &[(Position, EntryId)], gaps: &[Option<Position>]) {
        let mut gaps = gaps.iter().copied().peekable();
        // The gaps before the orphan at hand that no missing parent was attributed to yet.
        let mut open_gaps = Vec::new();
        let mut found: HashMap<&EntryId, Option<Position>> = HashMap::new();
        for (child, parent) in orphans {
            while let Some(gap) = gaps.next_if(|gap| gap.is_none_or(|last| last < *child)) {
                open_gaps.push(gap);
            }
            if let Some(parent) = self.position(parent.as_str()) {
                self.nodes[*child as usize].parent = Some(parent);
                continue;
            }
            let before = child.checked_sub(1);
            // The first line of a part that was cut out of another session names a parent that was left there.
            if before.is_some() || !open_gaps.is_empty() {
                self.relinked.insert(*child);
            }
            let parent = found.entry(parent).or_insert_with(|| open_gaps.pop().unwrap_or(before));
            self.nodes[*child as usize].parent = *parent;
        }
        if !orphans.is_empty() {
            self.break_cycles();
        }
    }

    /// Makes one entry of each cycle of parents a root. Only a damaged or malicious file has cycles.
    fn break_cycles(&mut self) {
        let mut walk_of = vec![0; self.nodes.len()];
        for start in 0..self.nodes.len() {
            let walk = start + 1;
            let mut position = start;
            while walk_of[position] == 0 {
                walk_of[position] = walk;
                let Some(parent) = self.nodes[position].parent else { break };
                if walk_of[parent as usize] == walk {
                    self.nodes[position].parent = None;
                    self.relinked.extend(Position::try_from(position));
                    break;
                }
                position = parent as usize;
            }
        }
    }

    /// Returns the number of entries whose parent is not the one that their line names.
    pub(crate) fn relinked_count(&self) -> usize {
        self.relinked.len()
    }

    /// Returns whether the parent of an entry is not the one that its line names.
    pub(crate) fn is_relinked(&self, node: &Node) -> bool {
        let position = self.nodes.binary_search_by_key(&node.offset, |node| node.offset);
        position
            .is_ok_and(|position| Position::try_from(position).is_ok_and(|at| self.relinked.contains(&at)))
    }

    /// Returns all entries with parents before their children: in the order of the file, unless a parent came later.
    pub(crate) fn parents_first(&self) -> Vec<Position> {
        let count = Position::try_from(self.nodes.len()).unwrap_or(Position::MAX);
        if (0..).zip(&self.nodes).all(|(position, node)| node.parent.is_none_or(|parent| parent < position)) {
            return (0..count).collect();
        }
        let mut is_listed = vec![false; self.nodes.len()];
        let mut list = Vec::with_capacity(self.nodes.len());
        for start in 0..count {
            let unlisted = self.upwards(Some(start)).take_while(|position| !is_listed[*position as usize]);
            let path: Vec<_> = unlisted.collect();
            for position in path.into_iter().rev() {
                is_listed[position as usize] = true;
                list.push(position);
            }
        }
        list
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

    /// Returns an unused id: eight hexadecimal digits, unless those are too crowded.
    pub(crate) fn fresh_id(&self, clock: &Clock) -> EntryId {
        for _ in 0..100 {
            let id = clock.entry_id();
            if !self.by_id().contains_key(id.as_str()) {
                return EntryId::from(id.as_str());
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

    fn parents(tree: &Tree) -> Vec<Option<Position>> {
        tree.nodes.iter().map(|node| node.parent).collect()
    }

    #[test]
    fn later_parents_are_found_and_cycles_are_broken() {
        //  e0 → e1 → e2 → e0, e3 → e3, e4 → unknown, e5 → e0
        let mut tree = tree(&[None, None, Some(0), None, None, Some(0)]);
        let orphans = [(0, "e1"), (1, "e2"), (3, "e3"), (4, "unknown")];
        tree.adopt(&orphans.map(|(child, parent)| (child, parent.into())), &[]);
        assert_eq!(parents(&tree), [Some(1), Some(2), None, None, Some(3), Some(0)]);
        assert_eq!(tree.parents_first(), [2, 1, 0, 3, 4, 5]);
        assert_eq!(tree.relinked_count(), 3);
    }

    #[test]
    fn lost_parents_are_attributed_to_the_gaps_before() {
        // e0, gap p, e1 → e0, e2 → p, e3 → p, gap q, gap r, e4 → r, e5 → q, e6 → s
        let mut tree = tree(&[None, Some(0), None, None, None, None, None]);
        let orphans = [(2, "p"), (3, "p"), (4, "r"), (5, "q"), (6, "s")];
        tree.adopt(&orphans.map(|(child, parent)| (child, parent.into())), &[Some(0), Some(3), Some(3)]);
        assert_eq!(parents(&tree), [None, Some(0), Some(0), Some(0), Some(3), Some(3), Some(5)]);
        let mut first = super::tests::tree(&[None]);
        first.adopt(&[(0, "lost".into())], &[None]);
        assert_eq!((parents(&first), first.relinked_count()), (vec![None], 1));
    }

    #[test]
    fn many_orphans_of_a_long_branch_take_linear_time() {
        let count: Position = 50_000;
        let mut nodes = vec![None; count as usize];
        nodes.extend((0..count).map(|number| (number > 0).then(|| count + number - 1)));
        let mut tree = tree(&nodes);
        let last = EntryId::from(format!("e{}", 2 * count - 1));
        let orphans: Vec<_> = (0..count).map(|child| (child, last.clone())).collect();
        tree.adopt(&orphans, &[]);
        assert_eq!(tree.node(0).parent, Some(2 * count - 1));
        assert_eq!(tree.parents_first().len(), 2 * count as usize);
    }

    #[test]
    fn fresh_ids_are_eight_hexadecimal_digits() {
        let id = Tree::default().fresh_id(&Clock::System);
        assert!(id.as_str().len() == 8 && id.as_str().bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    }
}
