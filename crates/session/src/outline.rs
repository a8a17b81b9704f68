//! The complete tree with all branches, in depth-first order.
//!
//! A conversation without branches is as deep as it is long, so nothing here may recurse.

use std::collections::HashMap;

use serde_json::value::RawValue;

use crate::decode::Dated;
use crate::depth::{DEPTH_LIMIT, depth};
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

/// A tree as nested JSON.
#[derive(Debug, Clone)]
pub struct NestedTree {
    pub json: Box<RawValue>,
    /// Whether it was too deep, so that some elements of the list continue others: their entry's parent is in another
    /// element.
    pub is_split: bool,
}

/// The levels around the first entry of the tree in a response: the response, its data, the list and the node.
const OUTER_LEVELS: usize = 4;

/// The most levels of a response, a little less than serde_json decodes.
const NESTING_LIMIT: usize = DEPTH_LIMIT + OUTER_LEVELS;

/// What to write next of a tree.
enum Step {
    /// An entry and the start of its children.
    Open(Position),
    /// The end of its children.
    Close(Position),
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
    ///
    /// A conversation is as deep as it is long, and decoders limit the depth. So a branch that would become too deep is
    /// continued as a further element of the list, directly after the one that it continues.
    pub fn tree_json(&self) -> Result<NestedTree, Error> {
        let labels = self.labels()?;
        let labels = by_target(&labels);
        let (roots, children) = self.children()?;
        let mut is_split = false;
        let mut json = String::from("[");
        let mut waiting: Vec<Step> = roots.into_iter().rev().map(Step::Open).collect();
        // The continuations of the element that is being written.
        let mut continuations = Vec::new();
        let mut level = 0;
        while let Some(step) = waiting.pop() {
            let position = match step {
                Step::Open(position) => position,
                Step::Close(position) => {
                    close(&mut json, labels.get(self.tree.node(position).id.as_str()))?;
                    level -= 1;
                    if level == 0 {
                        waiting.extend(continuations.drain(..).rev().map(Step::Open));
                    }
                    continue;
                }
            };
            let entry = self.entry(self.tree.node(position))?;
            let levels = OUTER_LEVELS + 2 * level + depth(entry.get().as_bytes());
            if level > 0 && levels > NESTING_LIMIT {
                is_split = true;
                continuations.push(position);
            } else {
                if !json.ends_with('[') {
                    json.push(',');
                }
                json.push_str(r#"{"entry":"#);
                json.push_str(entry.get());
                json.push_str(r#","children":["#);
                level += 1;
                waiting.push(Step::Close(position));
                waiting.extend(children[position as usize].iter().rev().copied().map(Step::Open));
            }
        }
        json.push(']');
        Ok(NestedTree { json: RawValue::from_string(json)?, is_split })
    }

    fn outline(&self) -> Result<Vec<Place>, Error> {
        let (roots, children) = self.children()?;
        let mut outline = Vec::with_capacity(self.tree.nodes().len());
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

    /// Returns the roots, and the children of each entry in the order of their timestamps.
    fn children(&self) -> Result<(Vec<Position>, Vec<Vec<Position>>), Error> {
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
        Ok((roots, children))
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

    use serde_json::Value;

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
        let nested = session.tree_json().unwrap();
        assert_eq!((nested.json.get(), nested.is_split), (expected.as_str(), false));

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
    fn a_deep_tree_is_split_so_that_every_decoder_reads_all_of_it() {
        let mut lines = vec![r#"{"type":"session","version":3,"id":"s"}"#.to_owned()];
        // Two long branches, then another root, with some deep entries in between.
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        for id in 1..=400 {
            let parent = match id {
                1 | 400 => "null".to_owned(),
                200 => r#""60""#.to_owned(),
                _ => format!(r#""{}""#, id - 1),
            };
            let levels = if id % 50 == 0 { 100 } else { 1 };
            lines.push(format!(
                r#"{{"type":"custom","id":"{id}","parentId":{parent},"timestamp":"2026-11-16T00:00:00.000Z","data":{}}}"#,
                deep(levels)
            ));
        }
        let session = Written::new(&lines.iter().map(String::as_str).collect::<Vec<_>>()).open();
        let nested = session.tree_json().unwrap();
        assert!(nested.is_split);
        let response = format!(r#"{{"type":"response","data":{{"tree":{}}}}}"#, nested.json.get());
        let response: Value = serde_json::from_str(&response).unwrap();
        let roots = response["data"]["tree"].as_array().unwrap();
        let mut waiting: Vec<_> = roots.iter().map(|node| (None, node)).collect();
        let mut found = Vec::new();
        while let Some((parent, node)) = waiting.pop() {
            let entry = &node["entry"];
            assert!(parent.is_none_or(|parent: &Value| *parent == entry["parentId"]));
            found.push(entry["id"].as_str().unwrap().parse::<u32>().unwrap());
            let children = node["children"].as_array().unwrap().iter();
            waiting.extend(children.map(|child| (Some(&entry["id"]), child)));
        }
        found.sort_unstable();
        assert_eq!(found, (1..=400).collect::<Vec<_>>());
        // Each element of the list continues one before it.
        for (at, root) in roots.iter().enumerate() {
            let parent = root["entry"]["parentId"].as_str();
            let before = serde_json::to_string(&roots[..at]).unwrap();
            assert!(parent.is_none_or(|parent| before.contains(&format!(r#""id":"{parent}""#))));
        }
    }

    #[test]
    fn an_empty_session_is_an_empty_list() {
        let session = Written::new(&[r#"{"type":"session","version":3,"id":"s"}"#]).open();
        assert_eq!(session.tree_json().unwrap().json.get(), "[]");
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
            session.tree_json().unwrap().json.get().len()
        };
        let small = thread::Builder::new().stack_size(256 * 1024).spawn(run).unwrap();
        assert!(small.join().unwrap() > 100_000 * 100);
    }
}
