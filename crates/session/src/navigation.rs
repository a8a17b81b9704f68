//! Moves to another place in the tree: the new leaf and the abandoned branch.

use std::collections::HashSet;
use std::sync::Arc;

use bowline_core::Message;

use crate::decode::{self, Compaction};
use crate::entry::Kind;
use crate::tree::{Node, Position};
use crate::{EntryId, Error, Session};

/// The consequences of moving to an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Navigation {
    /// The new leaf: the entry itself or, if it is a message to the model, its parent, so that the message can be
    /// rewritten.
    pub leaf: Option<EntryId>,
    /// The text of that message, to be edited.
    pub text: Option<String>,
    /// The messages that are only on the abandoned branch, oldest first, including tool results and summaries.
    pub abandoned: Vec<Arc<Message>>,
    /// The previous leaf.
    pub old_leaf: Option<EntryId>,
    /// The last entry that the old path and the path to the target share.
    pub common_ancestor: Option<EntryId>,
}

impl Session {
    /// Returns the consequences of moving to `target`. [`Session::move_leaf`] makes the move.
    pub fn navigation(&self, target: &str) -> Result<Navigation, Error> {
        let target = self.tree.known_position(target)?;
        let node = self.tree.node(target);
        let text = self.text_to_the_model(node)?;
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

    fn text_to_the_model(&self, node: &Node) -> Result<Option<String>, Error> {
        Ok(match node.kind {
            Kind::Message => decode::user_text(node.kind, &self.storage.read(node)?),
            Kind::CustomMessage => decode::custom_text(&self.storage.read(node)?),
            _ => None,
        })
    }

    /// Returns the message of an entry; none if it has none or cannot be decoded.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Written;

    /// Returns a conversation that was abandoned after `4` and continued from `1`.
    fn session() -> Session {
        let message = |id: u32, parent: u32, rest: &str| {
            format!(
                r#"{{"type":"message","id":"{id}","parentId":"{parent}","message":{{{rest},"timestamp":1}}}}"#
            )
        };
        let user = r#""role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#;
        Written::new(&[
            r#"{"type":"session","version":3,"id":"s"}"#,
            &message(1, 0, user),
            &message(2, 1, r#""role":"assistant","content":[{"type":"text","text":"c"}]"#),
            r#"{"type":"custom_message","id":"3","parentId":"2","customType":"n","content":"note","display":true}"#,
            r#"{"type":"compaction","id":"4","parentId":"3","summary":"s","firstKeptEntryId":"3","tokensBefore":1}"#,
            r#"{"type":"label","id":"5","parentId":"1","targetId":"1","label":"here"}"#,
            &message(6, 5, user),
        ])
        .open()
    }

    #[track_caller]
    fn check(
        from: &str,
        to: &str,
        leaf: Option<&str>,
        text: Option<&str>,
        ancestor: Option<&str>,
        roles: &[&str],
    ) {
        let mut session = session();
        session.move_leaf(Some(&from.into())).unwrap();
        let navigation = session.navigation(to).unwrap();
        let abandoned: Vec<_> = navigation.abandoned.iter().map(|message| message.role()).collect();
        assert_eq!(abandoned, roles);
        assert_eq!(navigation.leaf, leaf.map(EntryId::from));
        assert_eq!(navigation.text.as_deref(), text);
        assert_eq!(navigation.common_ancestor, ancestor.map(EntryId::from));
        assert_eq!(navigation.old_leaf, Some(from.into()));
    }

    #[test]
    fn moving_to_a_message_to_the_model_goes_before_it() {
        check("4", "1", None, Some("ab"), Some("1"), &["assistant", "custom", "compactionSummary"]);
        check("6", "3", Some("2"), Some("note"), Some("1"), &["user"]);
        check("6", "6", Some("5"), Some("ab"), Some("6"), &[]);
    }

    #[test]
    fn moving_to_any_other_entry_makes_it_the_leaf() {
        check("4", "2", Some("2"), None, Some("2"), &["custom", "compactionSummary"]);
        check("6", "4", Some("4"), None, Some("1"), &["user"]);
        check("4", "5", Some("5"), None, Some("1"), &["assistant", "custom", "compactionSummary"]);
        check("1", "4", Some("4"), None, Some("1"), &[]);
    }

    #[test]
    fn nothing_is_abandoned_before_the_first_entry() {
        let mut session = session();
        session.move_leaf(None).unwrap();
        let navigation = session.navigation("2").unwrap();
        assert_eq!((navigation.old_leaf, navigation.common_ancestor), (None, None));
        assert!(navigation.abandoned.is_empty());
        assert!(matches!(session.navigation("9"), Err(Error::UnknownEntry { .. })));
    }
}
