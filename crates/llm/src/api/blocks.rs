//! The blocks of an answer as its events describe them: each has a start, text and an end, and they are numbered from
//! zero.
//!
//! Providers number their blocks themselves, and not always as we do: there are kinds of blocks that we do not know.
//! Events of a block that is not open are ignored.

use bowline_core::StreamEvent;
use bowline_core::stream::BlockKind;

/// The blocks of an answer.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// The number of blocks started.
    count: usize,
    open: Vec<Open>,
}

#[derive(Debug)]
struct Open {
    /// The provider's number.
    number: usize,
    index: usize,
    has_text: bool,
    signature: Option<String>,
}

impl Blocks {
    /// Starts a block with the provider's number.
    pub(super) fn start(&mut self, number: usize, kind: BlockKind, out: &mut Vec<StreamEvent>) {
        let index = self.count;
        self.count += 1;
        self.open.push(Open { number, index, has_text: false, signature: None });
        out.push(StreamEvent::BlockStart { index, kind });
    }

    /// Starts a block for which the provider has no number, and returns one.
    pub(super) fn append(&mut self, kind: BlockKind, out: &mut Vec<StreamEvent>) -> usize {
        let number = self.count;
        self.start(number, kind, out);
        number
    }

    /// Adds text to a block.
    pub(super) fn extend(&mut self, number: usize, text: impl Into<String>, out: &mut Vec<StreamEvent>) {
        let text = text.into();
        if let Some(block) = self.find(number).filter(|_| !text.is_empty()) {
            block.has_text = true;
            out.push(StreamEvent::Delta { index: block.index, text });
        }
    }

    /// Adds to the signature of a block.
    pub(super) fn sign(&mut self, number: usize, more: &str) {
        if let Some(block) = self.find(number) {
            block.signature.get_or_insert_default().push_str(more);
        }
    }

    /// Ends a block.
    pub(super) fn close(&mut self, number: usize, out: &mut Vec<StreamEvent>) {
        if let Some(place) = self.open.iter().rposition(|block| block.number == number) {
            self.open.remove(place).end(out);
        }
    }

    /// Ends all blocks, the oldest first.
    pub(super) fn close_all(&mut self, out: &mut Vec<StreamEvent>) {
        self.open.drain(..).for_each(|block| block.end(out));
    }

    pub(super) fn is_open(&self, number: usize) -> bool {
        self.open.iter().any(|block| block.number == number)
    }

    /// Returns whether a block is open and has text.
    pub(super) fn has_text(&self, number: usize) -> bool {
        self.open.iter().rfind(|block| block.number == number).is_some_and(|block| block.has_text)
    }

    /// Returns whether no block has started yet.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the open block with this number; the latest if there are several.
    fn find(&mut self, number: usize) -> Option<&mut Open> {
        self.open.iter_mut().rfind(|block| block.number == number)
    }
}

impl Open {
    fn end(self, out: &mut Vec<StreamEvent>) {
        out.push(StreamEvent::BlockEnd { index: self.index, signature: self.signature });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_renumbered_and_stray_events_ignored() {
        let (mut blocks, mut out) = (Blocks::default(), Vec::new());
        blocks.extend(7, "lost", &mut out);
        blocks.start(7, BlockKind::Thinking, &mut out);
        blocks.start(3, BlockKind::Text, &mut out);
        blocks.extend(7, "a", &mut out);
        blocks.extend(3, "", &mut out);
        blocks.sign(7, "si");
        blocks.sign(7, "gn");
        assert!(blocks.has_text(7) && !blocks.has_text(3));
        blocks.close(3, &mut out);
        blocks.close(3, &mut out);
        blocks.extend(3, "late", &mut out);
        blocks.close_all(&mut out);
        let expected = [
            StreamEvent::BlockStart { index: 0, kind: BlockKind::Thinking },
            StreamEvent::BlockStart { index: 1, kind: BlockKind::Text },
            StreamEvent::Delta { index: 0, text: "a".into() },
            StreamEvent::BlockEnd { index: 1, signature: None },
            StreamEvent::BlockEnd { index: 0, signature: Some("sign".into()) },
        ];
        assert_eq!(out, expected);
    }
}
