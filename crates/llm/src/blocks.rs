//! The blocks of an answer as its events describe them: each has a start, text and an end, and they are numbered from
//! zero.
//!
//! Providers number their blocks themselves, and not always as we do: there are kinds of blocks that we do not know.
//! Events of a block that is not open are ignored.

use bowline_core::StreamEvent;
use bowline_core::stream::{BlockKind, StreamError};

use crate::limits::{self, mebibytes};

/// The blocks of an answer.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// The number of blocks started.
    count: usize,
    open: Vec<Open>,
    /// The size of all text, arguments and signatures.
    bytes: usize,
    /// Whether a call has an excessive name, or excessive arguments.
    has_excessive_name: bool,
    has_excessive_arguments: bool,
}

#[derive(Debug)]
struct Open {
    /// The provider's number.
    number: usize,
    index: usize,
    is_call: bool,
    /// The size of its text.
    bytes: usize,
    signature: Option<String>,
}

impl Blocks {
    /// Starts a block with the provider's number.
    pub(crate) fn start(&mut self, number: usize, mut kind: BlockKind, out: &mut Vec<StreamEvent>) {
        let index = self.count;
        self.count += 1;
        let mut is_call = false;
        if let BlockKind::ToolCall { id, name } = &mut kind {
            is_call = true;
            for name in [id, name] {
                self.has_excessive_name |= name.len() > limits::NAME_BYTES;
                name.truncate(name.floor_char_boundary(limits::NAME_BYTES));
                self.bytes += name.len();
            }
        }
        self.open.push(Open { number, index, is_call, bytes: 0, signature: None });
        out.push(StreamEvent::BlockStart { index, kind });
    }

    /// Starts a block for which the provider has no number, and returns one.
    pub(crate) fn append(&mut self, kind: BlockKind, out: &mut Vec<StreamEvent>) -> usize {
        let number = self.count;
        self.start(number, kind, out);
        number
    }

    /// Adds text to a block.
    pub(crate) fn extend(&mut self, number: usize, text: impl Into<String>, out: &mut Vec<StreamEvent>) {
        let text = text.into();
        let length = text.len();
        if let Some(block) = self.find(number).filter(|_| length > 0) {
            block.bytes += length;
            out.push(StreamEvent::Delta { index: block.index, text });
            let is_excessive = block.is_call && block.bytes > limits::ARGUMENT_BYTES;
            self.has_excessive_arguments |= is_excessive;
            self.bytes += length;
        }
    }

    /// Adds to the signature of a block.
    pub(crate) fn sign(&mut self, number: usize, more: &str) {
        if let Some(block) = self.find(number) {
            block.signature.get_or_insert_default().push_str(more);
            self.bytes += more.len();
        }
    }

    /// Ends a block.
    pub(crate) fn close(&mut self, number: usize, out: &mut Vec<StreamEvent>) {
        if let Some(place) = self.open.iter().rposition(|block| block.number == number) {
            self.open.remove(place).end(out);
        }
    }

    /// Ends all blocks, the oldest first.
    pub(crate) fn close_all(&mut self, out: &mut Vec<StreamEvent>) {
        self.open.drain(..).for_each(|block| block.end(out));
    }

    pub(crate) fn is_open(&self, number: usize) -> bool {
        self.open.iter().any(|block| block.number == number)
    }

    /// Returns whether a block is open and has text.
    pub(crate) fn has_text(&self, number: usize) -> bool {
        self.open.iter().rfind(|block| block.number == number).is_some_and(|block| block.bytes > 0)
    }

    /// Returns the failure of an answer that exceeds a limit.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), StreamError> {
        let is_excessive = self.bytes > limits::ANSWER_BYTES
            || self.count > limits::BLOCKS
            || self.has_excessive_arguments
            || self.has_excessive_name;
        if is_excessive { Err(self.excess()) } else { Ok(()) }
    }

    #[cold]
    fn excess(&self) -> StreamError {
        limits::exceeded(&if self.bytes > limits::ANSWER_BYTES {
            format!("an answer of more than {}", mebibytes(limits::ANSWER_BYTES))
        } else if self.count > limits::BLOCKS {
            format!("an answer of more than {} blocks", limits::BLOCKS)
        } else if self.has_excessive_arguments {
            format!("arguments of a tool call of more than {}", mebibytes(limits::ARGUMENT_BYTES))
        } else {
            format!("a tool call with a name or an id of more than {} bytes", limits::NAME_BYTES)
        })
    }

    /// Returns whether no block has started yet.
    pub(crate) fn is_empty(&self) -> bool {
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
    fn excess_of_any_kind_is_a_failure() {
        let check = |fill: fn(&mut Blocks, &mut Vec<StreamEvent>), expected: &str| {
            let (mut blocks, mut out) = (Blocks::default(), Vec::new());
            blocks.start(0, BlockKind::Thinking, &mut out);
            assert_eq!(blocks.check(), Ok(()));
            fill(&mut blocks, &mut out);
            let error = blocks.check().unwrap_err();
            assert!(error.message.contains(expected), "{error}");
        };
        let call = |name: &str| BlockKind::ToolCall { id: "1".into(), name: name.into() };
        check(|blocks, out| (0..17).for_each(|_| blocks.extend(0, "x".repeat(1 << 20), out)), "16 MiB");
        check(|blocks, _| (0..17).for_each(|_| blocks.sign(0, &"x".repeat(1 << 20))), "16 MiB");
        check(
            |blocks, out| (0..1000).for_each(|number| blocks.start(number, BlockKind::Text, out)),
            "1000 blocks",
        );
        let long = "x".repeat(limits::NAME_BYTES + 1);
        let (mut blocks, mut out) = (Blocks::default(), Vec::new());
        blocks.start(1, call(&long), &mut out);
        assert!(blocks.check().is_err());
        let (mut blocks, mut out) = (Blocks::default(), Vec::new());
        blocks.start(1, call("write"), &mut out);
        blocks.extend(1, "x".repeat(limits::ARGUMENT_BYTES + 1), &mut out);
        assert!(blocks.check().unwrap_err().message.contains("arguments"));
    }

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
