//! The complete tree with all branches, in depth-first order.
//!
//! A conversation without branches is as deep as it is long, so nothing here may recurse.

use std::collections::HashMap;

use serde_json::value::RawValue;

use crate::decode::Dated;
use crate::label::Label;
use crate::tree::Position;
use crate::{Error, Session, clock};

/// An entry with its place in the tree.
#[derive(Debug, Clone)]
pub struct TreeNode {
    pub entry: Box<RawValue>,
    /// The index of the parent in the list of nodes; none for a root.
    pub parent: Option<usize>,
    /// The number of ancestors.
    pub depth: usize,
    pub label: Option<String>,
    /// When the label was set.
    pub label_timestamp: Option<String>,
}

/// The place of an entry in the outline.
struct Place {
    position: Position,
    parent: Option<usize>,
    depth: usize,
}

impl Session {
    /// Returns the nodes of the tree depth-first: each before its children, and children in the order of their
    /// timestamps.
    pub fn tree(&self) -> Result<Vec<TreeNode>, Error> {
        let labels = self.labels()?;
        let labels = by_target(&labels);
        let node = |place: Place| {
            let node = self.tree.node(place.position);
            let label = labels.get(node.id.as_str());
            Ok(TreeNode {
                entry: self.entry(node)?,
                parent: place.parent,
                depth: place.depth,
                label: label.map(|label| label.text.clone()),
                label_timestamp: label.map(|label| label.timestamp.clone()),
            })
        };
        self.outline()?.into_iter().map(node).collect()
    }

    /// Returns the tree in pi's format: a list of `{entry, children, label?, labelTimestamp?}`.
    pub fn tree_json(&self) -> Result<Box<RawValue>, Error> {
        let labels = self.labels()?;
        let labels = by_target(&labels);
        let mut json = String::from("[");
        let mut open: Vec<Position> = Vec::new();
        for place in self.outline()? {
            for position in open.drain(place.depth..).rev() {
                close(&mut json, labels.get(self.tree.node(position).id.as_str()))?;
            }
            if !json.ends_with('[') {
                json.push(',');
            }
            json.push_str(r#"{"entry":"#);
            json.push_str(self.entry(self.tree.node(place.position))?.get());
            json.push_str(r#","children":["#);
            open.push(place.position);
        }
        for position in open.into_iter().rev() {
            close(&mut json, labels.get(self.tree.node(position).id.as_str()))?;
        }
        json.push(']');
        Ok(RawValue::from_string(json)?)
    }

    fn outline(&self) -> Result<Vec<Place>, Error> {
        let nodes = self.tree.nodes();
        let mut children: Vec<Vec<Position>> = vec![Vec::new(); nodes.len()];
        let mut roots = Vec::new();
        for (position, node) in (0..).zip(nodes) {
            match node.parent {
                Some(parent) => children[parent as usize].push(position),
                None => roots.push(position),
            }
        }
        for siblings in children.iter_mut().filter(|siblings| siblings.len() > 1) {
            self.sort_by_time(siblings)?;
        }
        let mut outline = Vec::with_capacity(nodes.len());
        let mut waiting: Vec<_> =
            roots.into_iter().rev().map(|position| Place { position, parent: None, depth: 0 }).collect();
        while let Some(place) = waiting.pop() {
            let (parent, depth) = (Some(outline.len()), place.depth + 1);
            let children = &children[place.position as usize];
            waiting.extend(children.iter().rev().map(|&position| Place { position, parent, depth }));
            outline.push(place);
        }
        Ok(outline)
    }

    fn sort_by_time(&self, siblings: &mut [Position]) -> Result<(), Error> {
        let mut times = HashMap::new();
        for position in siblings.iter() {
            let line = self.storage.read(self.tree.node(*position))?;
            let dated = serde_json::from_slice::<Dated<'_>>(&line);
            times.insert(*position, dated.map(|dated| clock::milliseconds(&dated.timestamp.0)).unwrap_or(0));
        }
        siblings.sort_by_key(|position| times.get(position).copied());
        Ok(())
    }
}

fn by_target(labels: &[Label]) -> HashMap<&str, &Label> {
    labels.iter().map(|label| (label.target.as_str(), label)).collect()
}

/// Writes the end of a node.
fn close(json: &mut String, label: Option<&&Label>) -> Result<(), Error> {
    json.push(']');
    if let Some(label) = label {
        json.push_str(r#","label":"#);
        json.push_str(&serde_json::to_string(&label.text)?);
        json.push_str(r#","labelTimestamp":"#);
        json.push_str(&serde_json::to_string(&label.timestamp)?);
    }
    json.push('}');
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::thread;

    use crate::fixture::Written;

    fn entry(id: u32, parent: &str, second: u32) -> String {
        format!(
            r#"{{"type":"custom","id":"{id}","parentId":{parent},"timestamp":"2026-11-16T00:00:{second:02}.000Z"}}"#
        )
    }

    #[test]
    fn children_are_sorted_by_time_and_roots_are_in_file_order() {
        let label = r#"{"type":"label","id":"6","parentId":"1","timestamp":"2026-11-16T00:00:07.000Z","targetId":"2","label":"\"x\""}"#;
        let lines = [
            r#"{"type":"session","version":3,"id":"s"}"#.to_owned(),
            entry(1, "null", 9),
            entry(2, r#""1""#, 8),
            entry(3, r#""1""#, 2),
            entry(4, "null", 1),
            entry(5, r#""2""#, 9),
            label.to_owned(),
        ];
        let session = Written::new(&lines.each_ref().map(String::as_str)).open();
        let expected = format!(
            r#"[{{"entry":{},"children":[{{"entry":{},"children":[]}},{{"entry":{label},"children":[]}},{{"entry":{},"children":[{{"entry":{},"children":[]}}],"label":"\"x\"","labelTimestamp":"2026-11-16T00:00:07.000Z"}}]}},{{"entry":{},"children":[]}}]"#,
            lines[1], lines[3], lines[2], lines[5], lines[4],
        );
        assert_eq!(session.tree_json().unwrap().get(), expected);

        let tree = session.tree().unwrap();
        let places: Vec<_> =
            tree.iter().map(|node| (node.parent, node.depth, node.label.as_deref())).collect();
        assert_eq!(
            places,
            [
                (None, 0, None),
                (Some(0), 1, None),
                (Some(0), 1, None),
                (Some(0), 1, Some("\"x\"")),
                (Some(3), 2, None),
                (None, 0, None)
            ]
        );
        assert_eq!(tree[3].entry.get(), lines[2]);
    }

    #[test]
    fn an_empty_session_is_an_empty_list() {
        let session = Written::new(&[r#"{"type":"session","version":3,"id":"s"}"#]).open();
        assert_eq!(session.tree_json().unwrap().get(), "[]");
        assert!(session.tree().unwrap().is_empty());
    }

    #[test]
    fn long_conversations_fit_on_a_small_stack() {
        let mut lines = vec![r#"{"type":"session","version":3,"id":"s"}"#.to_owned()];
        lines.extend((1..=100_000).map(|id| entry(id, &format!(r#""{}""#, id - 1), 0)));
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        let written = Written::new(&lines);
        let run = move || {
            let session = written.open();
            assert_eq!(session.tree().unwrap().last().map(|node| node.depth), Some(99_999));
            session.tree_json().unwrap().get().len()
        };
        let small = thread::Builder::new().stack_size(256 * 1024).spawn(run).unwrap();
        assert!(small.join().unwrap() > 100_000 * 100);
    }
}
