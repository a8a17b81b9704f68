//! Going to another place in the tree: where one arrives, and what one leaves behind.

use std::collections::HashSet;
use std::sync::Arc;

use bowline_core::Message;

use crate::decode::{self, Compaction};
use crate::entry::Kind;
use crate::tree::{Node, Position};
use crate::{EntryId, Error, Session};

/// What it means to go to an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Navigation {
    /// Where the conversation goes on: the entry itself, or, if it is something that was said to the model, its
    /// parent, so that it can be said in other words.
    pub leaf: Option<EntryId>,
    /// What was said there, to be edited.
    pub text: Option<String>,
    /// The messages that are only on the branch that is left, oldest first, with tool results and summaries.
    pub abandoned: Vec<Arc<Message>>,
    /// Where the conversation was.
    pub old_leaf: Option<EntryId>,
    /// The last entry that is both on the old path and on the one to the target.
    pub common_ancestor: Option<EntryId>,
}

impl Session {
    /// Returns what going to `target` means. It goes nowhere yet: that is [`Session::move_leaf`].
    pub fn navigation(&self, target: &str) -> Result<Navigation, Error> {
        let target = self.tree.known_position(target)?;
        let node = self.tree.node(target);
        let text = self.said_to_the_model(node)?;
        let leaf = if text.is_some() { node.parent } else { Some(target) };
        let old_leaf = self.tree.leaf_position();
        let target_path: HashSet<_> = self.tree.upwards(Some(target)).collect();
        let common_ancestor = self.tree.upwards(old_leaf).find(|position| target_path.contains(position));
        let mut abandoned = Vec::new();
        for position in self.tree.upwards(old_leaf).take_while(|position| Some(*position) != common_ancestor)
        {
            abandoned.extend(self.message(self.tree.node(position))?.map(Arc::new));
        }
        abandoned.reverse();
        let id = |position: Position| self.tree.node(position).id.clone();
        Ok(Navigation {
            leaf: leaf.map(id),
            text,
            abandoned,
            old_leaf: old_leaf.map(id),
            common_ancestor: common_ancestor.map(id),
        })
    }

    fn said_to_the_model(&self, node: &Node) -> Result<Option<String>, Error> {
        Ok(match node.kind {
            Kind::Message => decode::user_text(node.kind, &self.storage.read(node)?),
            Kind::CustomMessage => decode::custom_text(&self.storage.read(node)?),
            _ => None,
        })
    }

    /// Returns the message that an entry is or stands for; none if it cannot be understood.
    fn message(&self, node: &Node) -> Result<Option<Message>, Error> {
        Ok(match node.kind {
            Kind::Message | Kind::CustomMessage | Kind::BranchSummary => {
                decode::message(node.kind, &self.storage.read(node)?).ok().flatten()
            }
            Kind::Compaction => {
                serde_json::from_slice(&self.storage.read(node)?).ok().map(Compaction::message)
            }
            _ => None,
        })
    }
}
