//! Bookmarks on entries.

use std::collections::HashMap;

use crate::decode::LabelEntry;
use crate::entry::Kind;
use crate::{EntryBody, EntryId, Error, Session};

/// A bookmark that is set.
#[derive(Debug)]
pub(crate) struct Label {
    pub(crate) target: EntryId,
    pub(crate) text: String,
    pub(crate) timestamp: String,
}

impl Session {
    /// Sets the label of an entry, or removes it.
    pub fn label(&mut self, entry: &str, label: Option<&str>) -> Result<EntryId, Error> {
        let position = self.tree.known_position(entry)?;
        let target = self.tree.node(position).id.clone();
        let label = label.map(str::trim).filter(|label| !label.is_empty()).map(str::to_owned);
        self.append(EntryBody::Label { target, label })
    }

    /// Returns the labels that are set, of all branches, in the order in which they were.
    pub(crate) fn labels(&self) -> Result<Vec<Label>, Error> {
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
