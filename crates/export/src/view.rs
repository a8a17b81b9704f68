//! What rendering an entry needs to know about other entries: their addresses, their labels, and which result belongs to
//! which tool call.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use bowline_core::tool::ToolTraits;
use bowline_session::display::{Answer, Body};
use bowline_session::{Error, Session};
use jiff::Timestamp;

use crate::highlight;
use crate::segments::{Position, Segments};

/// How many bytes of tool input and output are highlighted completely. After that only the visible part is, because
/// browsers cannot cope with pages of millions of elements.
const HIGHLIGHTED: usize = 2 << 20;

/// How many bytes of each piece are highlighted once that budget is spent.
const HIGHLIGHTED_IN_SIGHT: usize = 1_024;

/// A session with everything that rendering looks up. Contents are read on demand.
pub(crate) struct View<'a> {
    pub session: &'a Session,
    pub segments: &'a Segments,
    tools: fn(&str) -> Option<&'static ToolTraits>,
    digests: Vec<Digest>,
    labels: HashMap<Position, String>,
    /// The results that are shown within the answer that called the tool, by answer and number of the call.
    results: HashMap<(Position, usize), Position>,
    highlighting_left: Cell<usize>,
    /// The first failure to read an entry, after which the page is useless.
    failure: RefCell<Option<Error>>,
}

/// What is remembered about an entry.
#[derive(Debug, Clone, Copy, Default)]
struct Digest {
    time: Option<Timestamp>,
    kind: Kind,
    is_within_answer: bool,
}

/// What an entry is in the outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Kind {
    Prompt,
    /// An answer, with the number of its model.
    Answer(usize),
    Summary,
    Command,
    #[default]
    Other,
}

impl<'a> View<'a> {
    /// Reads all entries of the session once.
    pub fn new(
        session: &'a Session,
        segments: &'a Segments,
        tools: fn(&str) -> Option<&'static ToolTraits>,
    ) -> Result<Self, Error> {
        let mut view = Self {
            session,
            segments,
            tools,
            digests: vec![Digest::default(); session.entry_count()],
            labels: HashMap::new(),
            results: HashMap::new(),
            highlighting_left: Cell::new(HIGHLIGHTED),
            failure: RefCell::new(None),
        };
        view.labels = session
            .labels()?
            .into_iter()
            .filter_map(|label| Some((session.number_of(label.target.as_str())?, label.text)))
            .collect();
        view.read_entries()?;
        Ok(view)
    }

    fn read_entries(&mut self) -> Result<(), Error> {
        let mut models = HashMap::new();
        for segment in &self.segments.list {
            let mut calls = HashMap::new();
            for &position in &segment.entries {
                let entry = self.session.displayed_entry(position)?;
                self.digests[position].time = entry.time;
                self.digests[position].kind = match entry.body {
                    Body::User(_) => Kind::Prompt,
                    Body::Answer(answer) => {
                        for (number, call) in answer.calls().enumerate() {
                            calls.insert(call.id.clone(), (position, number));
                        }
                        let Answer { provider, model, .. } = *answer;
                        let next = models.len();
                        Kind::Answer(*models.entry((provider, model)).or_insert(next))
                    }
                    Body::ToolResult(result) => {
                        if let Some(call) = calls.remove(&result.call_id) {
                            self.results.insert(call, position);
                            self.digests[position].is_within_answer = true;
                        }
                        Kind::Other
                    }
                    Body::Compaction { .. } | Body::BranchSummary { .. } => Kind::Summary,
                    Body::Bash(_) => Kind::Command,
                    _ => Kind::Other,
                };
            }
        }
        Ok(())
    }

    /// Reads the content of an entry. A failure is kept for [`View::check`].
    pub fn body(&self, position: Position) -> Body {
        match self.session.displayed_entry(position) {
            Ok(entry) => entry.body,
            Err(error) => {
                self.failure.borrow_mut().get_or_insert(error);
                Body::Unreadable(String::new())
            }
        }
    }

    /// Fails if an entry could not be read.
    pub fn check(&self) -> Result<(), Error> {
        self.failure.borrow_mut().take().map_or(Ok(()), Err)
    }

    /// Returns the id of an entry.
    pub fn id(&self, position: Position) -> &'a str {
        self.session.place(position).id.as_str()
    }

    /// Returns the parent of an entry.
    pub fn parent(&self, position: Position) -> Option<Position> {
        self.session.place(position).parent
    }

    /// Returns the time of an entry.
    pub fn time(&self, position: Position) -> Option<Timestamp> {
        self.digests[position].time
    }

    /// Returns the times of all entries that have one.
    pub fn times(&self) -> impl Iterator<Item = Timestamp> {
        self.digests.iter().filter_map(|digest| digest.time)
    }

    /// Returns what an entry is in the outline.
    pub fn kind(&self, position: Position) -> Kind {
        self.digests[position].kind
    }

    /// Returns the first prompt in the file.
    pub fn first_prompt(&self) -> Option<Position> {
        self.digests.iter().position(|digest| digest.kind == Kind::Prompt)
    }

    /// Returns the position of the entry with an id. If several entries have the id, this is the last one.
    pub fn position(&self, id: &str) -> Option<Position> {
        self.session.number_of(id)
    }

    /// Returns the traits of a tool.
    pub fn tool(&self, name: &str) -> Option<&'static ToolTraits> {
        (self.tools)(name)
    }

    /// Returns the result of the call with this number in an answer.
    pub fn result(&self, answer: Position, call: usize) -> Option<Position> {
        self.results.get(&(answer, call)).copied()
    }

    /// Returns whether an entry is shown within another one.
    pub fn is_within_answer(&self, position: Position) -> bool {
        self.digests[position].is_within_answer
    }

    /// Returns the label of an entry.
    pub fn label(&self, position: Position) -> Option<&str> {
        self.labels.get(&position).map(String::as_str)
    }

    /// Returns how many bytes of a tool's input or output of this length to highlight.
    pub fn highlighted(&self, length: usize) -> usize {
        match self.highlighting_left.get().checked_sub(length) {
            Some(left) => {
                self.highlighting_left.set(left);
                highlight::LIMIT
            }
            None => HIGHLIGHTED_IN_SIGHT,
        }
    }

    /// Returns the anchor of an entry: its id, or its number if the id is ambiguous or has special characters.
    pub fn anchor(&self, position: Position) -> String {
        let id = self.id(position);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn session(lines: &[&str]) -> Session {
        Session::from_content(lines.join("\n").into_bytes()).unwrap()
    }

    #[test]
    fn anchors_are_plain_and_unique() {
        let session = session(&[
            r#"{"type":"session","version":3}"#,
            r#"{"type":"x","id":"a1","parentId":null}"#,
            r#"{"type":"x","id":"\"><script>","parentId":null}"#,
            r#"{"type":"x","id":"a1","parentId":null}"#,
            r#"{"type":"x","id":"","parentId":null}"#,
        ]);
        let segments = Segments::new(&[None; 4], None);
        let view = View::new(&session, &segments, |_| None).unwrap();
        let anchors: Vec<_> = (0..4).map(|position| view.anchor(position)).collect();
        assert_eq!(anchors, ["entry-~0", "entry-~1", "entry-a1", "entry-~3"]);
    }

    #[test]
    fn a_file_that_shrinks_during_the_export_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.jsonl");
        let header = r#"{"type":"session","version":3}"#;
        let entry = r#"{"type":"x","id":"a","parentId":null}"#;
        std::fs::write(&path, format!("{header}\n{entry}\n")).unwrap();
        let session = Session::read_for_display(&path).unwrap();
        let segments = Segments::new(&[None], Some(0));
        let view = View::new(&session, &segments, |_| None).unwrap();
        view.check().unwrap();
        std::fs::write(&path, header).unwrap();
        assert_eq!(view.body(0), Body::Unreadable(String::new()));
        assert!(matches!(view.check(), Err(Error::Changed { .. })));
    }
}
