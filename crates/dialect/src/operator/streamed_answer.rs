//! The model response that is being streamed, as far as every delta repeats it: as a message with the delta as its only
//! block.

use bowline_core::message::AssistantMessage;
use bowline_core::usage::Usage;

use super::messages;
use crate::delta_keys::DeltaKeys;
use crate::json;

/// The start of the JSON of a message without blocks.
const EMPTY_CONTENTS: &[u8] = br#"{"contents":[]"#;

/// The response without its blocks. Its JSON is kept until its usage changes.
#[derive(Debug, Default)]
pub(super) struct StreamedAnswer {
    keys: DeltaKeys,
    message: Option<AssistantMessage>,
    id: String,
    /// The JSON of the members that follow the blocks; empty if it has to be written again.
    tail: Vec<u8>,
}

impl StreamedAnswer {
    /// Starts another response.
    pub fn start(&mut self, answer: &AssistantMessage, id: &str) {
        self.keys.start_message();
        self.message = Some(AssistantMessage { content: Vec::new(), ..answer.clone() });
        id.clone_into(&mut self.id);
        self.tail.clear();
    }

    /// Returns the JSON that follows the blocks of the message, if a response has started.
    pub fn tail(&mut self, usage: &Usage) -> Option<&[u8]> {
        let message = self.message.as_mut()?;
        if self.tail.is_empty() || message.usage != *usage {
            message.usage = *usage;
            self.tail.clear();
            json::write(&mut self.tail, &messages::assistant(message).named(&self.id));
            self.tail.drain(..EMPTY_CONTENTS.len());
        }
        Some(&self.tail)
    }

    /// Returns the key by which the deltas of a block are joined.
    pub fn key(&self, content_index: usize) -> u64 {
        self.keys.of_block(content_index)
    }
}
