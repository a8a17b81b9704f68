//! Labels: bookmarks on entries.

use std::collections::HashMap;

use crate::decode::LabelEntry;
use crate::entry::Kind;
use crate::{EntryBody, EntryId, Error, Session};

/// A label that is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    pub target: EntryId,
    pub text: String,
    /// When it was set.
    pub timestamp: String,
}

impl Session {
    /// Sets the label of an entry, or removes it.
    pub fn label(&mut self, entry: &str, label: Option<&str>) -> Result<EntryId, Error> {
        let position = self.tree.known_position(entry)?;
        let target = self.tree.node(position).id.clone();
        let label = label.map(str::trim).filter(|label| !label.is_empty()).map(str::to_owned);
        self.append(EntryBody::Label { target, label })
    }

    /// Returns the labels on all branches, in the order in which they were set.
    pub fn labels(&self) -> Result<Vec<Label>, Error> {
        let mut labels = HashMap::new();
        for node in self.tree.nodes().iter().filter(|node| node.kind == Kind::Label) {
            let Ok(entry) = serde_json::from_slice::<LabelEntry>(&self.storage.read(node)?) else { continue };
            let target = EntryId::from(entry.target_id);
            match entry.label.filter(|label| !label.is_empty()) {
                None => labels.remove(&target),
                Some(text) => {
                    let label = Label { target: target.clone(), text, timestamp: entry.timestamp };
                    labels.insert(target, (node.offset, label))
                }
            };
        }
        let mut labels: Vec<_> = labels.into_values().collect();
        labels.sort_by_key(|(offset, _)| *offset);
        Ok(labels.into_iter().map(|(_, label)| label).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Written;

    fn check(session: &Session, expected: &[(&str, &str)]) {
        let labels = session.labels().unwrap();
        let labels: Vec<_> =
            labels.iter().map(|label| (label.target.as_str(), label.text.as_str())).collect();
        assert_eq!(labels, expected);
    }

    #[test]
    fn the_last_label_of_an_entry_wins() {
        let written = Written::new(&[
            r#"{"type":"session","version":3,"id":"s"}"#,
            r#"{"type":"custom","id":"1","parentId":null}"#,
            r#"{"type":"custom","id":"2","parentId":"1"}"#,
        ]);
        let mut session = written.open();
        let first = session.label("1", Some(" a ")).unwrap();
        assert_eq!(session.leaf(), Some(&first));
        session.label("2", Some("b")).unwrap();
        check(&session, &[("1", "a"), ("2", "b")]);
        session.label("1", Some("c")).unwrap();
        check(&session, &[("2", "b"), ("1", "c")]);
        session.label("2", None).unwrap();
        session.label("1", Some("")).unwrap();
        check(&session, &[]);
        assert!(matches!(session.label("9", Some("x")), Err(Error::UnknownEntry { .. })));
    }
}
