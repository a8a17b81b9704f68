//! The lines that tell an extension of deltas. They are by far the most frequent ones, and those of a block differ only in
//! their text, so the rest is serialised once.

use bowline_core::hook::HookEvent;
use bowline_core::stream::Update;
use bowline_core::usage::Usage;
use bowline_dialect::write_json;

use crate::protocol::{HookEventRecord, ToExtension};

/// What follows the text of a delta: the end of the step, of the event and of the record.
const SUFFIX: &[u8] = b"}}}";

/// An empty text, in whose place that of a delta comes.
const NO_TEXT: &[u8] = b"\"\"";

/// The line of the last delta up to its text.
#[derive(Debug, Default)]
pub(crate) struct DeltaLines {
    usage: Usage,
    block: Option<Block>,
    prefix: Vec<u8>,
}

/// The line of a delta.
pub(crate) struct DeltaLine<'line> {
    prefix: &'line [u8],
    text: &'line str,
}

impl DeltaLine<'_> {
    /// Appends the line, without a line end.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.prefix);
        write_json(out, &self.text);
        out.extend_from_slice(SUFFIX);
    }
}

/// What deltas have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    Text(usize),
    Thinking(usize),
    ToolCall(usize),
}

impl DeltaLines {
    /// Returns the line of a delta; `None` if the event is none.
    pub fn line<'line>(&'line mut self, event: &'line HookEvent) -> Option<DeltaLine<'line>> {
        let HookEvent::MessageUpdate { usage, update } = event else { return None };
        let (block, text) = match update {
            Update::TextDelta { content_index, delta } => (Block::Text(*content_index), delta),
            Update::ThinkingDelta { content_index, delta } => (Block::Thinking(*content_index), delta),
            Update::ToolCallDelta { content_index, delta } => (Block::ToolCall(*content_index), delta),
            _ => return None,
        };
        if (self.block != Some(block) || self.usage != *usage) && !self.begin(block, usage) {
            return None;
        }
        Some(DeltaLine { prefix: &self.prefix, text })
    }

    /// Takes the prefix from the line of an empty delta. Returns whether there is one.
    fn begin(&mut self, block: Block, usage: &Usage) -> bool {
        let delta = String::new();
        let update = match block {
            Block::Text(content_index) => Update::TextDelta { content_index, delta },
            Block::Thinking(content_index) => Update::ThinkingDelta { content_index, delta },
            Block::ToolCall(content_index) => Update::ToolCallDelta { content_index, delta },
        };
        let event = HookEvent::MessageUpdate { usage: *usage, update };
        self.block = None;
        self.prefix.clear();
        let Some(event) = HookEventRecord::of(&event) else { return false };
        write_json(&mut self.prefix, &ToExtension::Event { event: &event });
        let ends = self.prefix.strip_suffix(SUFFIX).and_then(|line| line.strip_suffix(NO_TEXT));
        let Some(length) = ends.map(<[u8]>::len) else { return false };
        self.prefix.truncate(length);
        (self.usage, self.block) = (*usage, Some(block));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_record() {
        let usage = |output| Usage { output, ..Usage::default() };
        let text = |content_index, delta: &str| Update::TextDelta { content_index, delta: delta.to_owned() };
        let updates = [
            (usage(0), text(0, "a\"\u{2028}\n")),
            (usage(0), text(0, "")),
            (usage(1), text(0, "b")),
            (usage(1), Update::ThinkingDelta { content_index: 0, delta: "c".to_owned() }),
            (usage(1), Update::ToolCallDelta { content_index: 1, delta: "{\"".to_owned() }),
            (usage(1), text(2, "d")),
        ];
        let mut lines = DeltaLines::default();
        for (usage, update) in updates {
            let event = HookEvent::MessageUpdate { usage, update };
            let record = HookEventRecord::of(&event).unwrap();
            let mut line = Vec::new();
            lines.line(&event).unwrap().write_to(&mut line);
            assert_eq!(line, bowline_dialect::to_line(&ToExtension::Event { event: &record }));
        }
    }

    #[test]
    fn other_events_are_left_alone() {
        let start = HookEvent::MessageUpdate {
            usage: Usage::default(),
            update: Update::TextStart { content_index: 0 },
        };
        for event in [start, HookEvent::AgentStart] {
            assert!(DeltaLines::default().line(&event).is_none());
        }
    }
}
