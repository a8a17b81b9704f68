//! The model response so far, for the dialects that repeat it in every update.
//!
//! Serialising the message again for each delta would escape, format and allocate a quadratic number of bytes. Instead its
//! JSON is kept: a delta is escaped once and appended to its block, and records share the bytes of the blocks. The form
//! of a message, its blocks and its tool calls is the dialect's [`Shape`].
//!
//! A shape decides how the arguments of an incomplete tool call appear. As a string they grow like any text; as an object
//! they stay empty until the call is complete. They are never parsed in between.

use bowline_core::message::{AssistantMessage, ToolCall};
use bowline_core::stream::Update;
use bowline_core::usage::Usage;
use bowline_wire::{Pieces, Shared};

use crate::delta_keys::DeltaKeys;

/// The form of a model response in a dialect.
pub(crate) trait Shape {
    /// Appends the members of the message other than its blocks, separated by commas.
    fn members(&self, message: &AssistantMessage, out: &mut Vec<u8>);

    /// Appends the start of a block, up to the place where deltas are appended.
    fn open(&self, block: &Block<'_>, out: &mut Vec<u8>);

    /// Appends the rest of a block, from the place where deltas are appended.
    fn close(&self, block: &Block<'_>, out: &mut Vec<u8>);

    /// Returns what happens to the deltas of a tool call's arguments.
    fn argument_deltas(&self) -> Deltas;

    /// Appends the block of a complete tool call.
    fn call(&self, call: &ToolCall, out: &mut Vec<u8>);
}

/// What happens to the deltas of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deltas {
    /// They become part of the block.
    Appended,
    /// The block stays as it is until it is complete.
    Ignored,
}

/// The start of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Block<'update> {
    Text,
    Thinking,
    ToolCall { id: &'update str, name: &'update str },
}

/// The model response so far.
#[derive(Debug)]
pub(crate) struct Snapshot<S> {
    shape: S,
    keys: DeltaKeys,
    /// The message without its blocks.
    message: Option<AssistantMessage>,
    /// The members of the message other than its blocks, as bytes.
    members: Vec<u8>,
    /// Several blocks can grow at once: some providers stream tool calls in parallel.
    blocks: Vec<Growing>,
}

#[derive(Debug)]
struct Growing {
    /// The block from its start to the last delta.
    written: Shared,
    /// The bytes that complete the block.
    rest: Vec<u8>,
    deltas: Deltas,
}

impl<S: Shape> Snapshot<S> {
    pub fn new(shape: S) -> Self {
        Self { shape, keys: DeltaKeys::default(), message: None, members: Vec::new(), blocks: Vec::new() }
    }

    /// Starts another message. It has no blocks yet.
    pub fn start(&mut self, message: &AssistantMessage) {
        self.keys.start_message();
        self.blocks.clear();
        let message = AssistantMessage { content: Vec::new(), ..message.clone() };
        self.encode_members(&message);
        self.message = Some(message);
    }

    /// Updates the usage of the response.
    pub fn count(&mut self, usage: &Usage) {
        if let Some(mut message) = self.message.take_if(|message| message.usage != *usage) {
            message.usage = *usage;
            self.encode_members(&message);
            self.message = Some(message);
        }
    }

    fn encode_members(&mut self, message: &AssistantMessage) {
        self.members.clear();
        self.shape.members(message, &mut self.members);
    }

    /// Appends a delta to a block. `body` is the delta as the body of a JSON string.
    pub fn grow(&mut self, content_index: usize, body: &[u8]) {
        if let Some(block) =
            self.blocks.get_mut(content_index).filter(|block| block.deltas == Deltas::Appended)
        {
            block.written.extend(body);
        }
    }

    /// Applies the start or the end of a block. Deltas are for [`Snapshot::grow`].
    pub fn apply(&mut self, update: &Update) {
        match update {
            Update::TextStart { .. } => self.open(Block::Text, Deltas::Appended),
            Update::ThinkingStart { .. } => self.open(Block::Thinking, Deltas::Appended),
            Update::ToolCallStart { id, name, .. } => {
                self.open(Block::ToolCall { id, name }, self.shape.argument_deltas());
            }
            Update::ToolCallEnd { content_index, call } => {
                if let Some(block) = self.blocks.get_mut(*content_index) {
                    let mut written = Vec::new();
                    self.shape.call(call, &mut written);
                    *block = Growing { written: written.into(), rest: Vec::new(), deltas: Deltas::Ignored };
                }
            }
            Update::TextEnd { .. }
            | Update::ThinkingEnd { .. }
            | Update::TextDelta { .. }
            | Update::ThinkingDelta { .. }
            | Update::ToolCallDelta { .. } => {}
        }
    }

    fn open(&mut self, block: Block<'_>, deltas: Deltas) {
        let (mut written, mut rest) = (Vec::new(), Vec::new());
        self.shape.open(&block, &mut written);
        self.shape.close(&block, &mut rest);
        self.blocks.push(Growing { written: written.into(), rest, deltas });
    }

    /// Appends the message so far to `out`. `lead`, which may be empty, precedes its first member.
    pub fn append_to(&self, lead: &str, out: &mut Pieces) {
        out.extend(b"{");
        out.extend(lead.as_bytes());
        out.extend(br#""content":["#);
        for (index, block) in self.blocks.iter().enumerate() {
            if index > 0 {
                out.extend(b",");
            }
            out.share(&block.written);
            out.extend(&block.rest);
        }
        out.extend(b"],");
        out.extend(&self.members);
        out.extend(b"}");
    }

    /// Returns the key by which the deltas of a block of this message are joined.
    pub fn key(&self, content_index: usize) -> u64 {
        self.keys.of_block(content_index)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use bowline_core::message::StopReason;
    use serde_json::{Value, json};

    use super::*;
    use crate::json as escaping;

    /// A shape that counts the bytes that it writes.
    #[derive(Default)]
    struct Counting {
        written: Cell<usize>,
        arguments_are_text: bool,
    }

    impl Counting {
        fn write(&self, out: &mut Vec<u8>, text: &str) {
            self.written.set(self.written.get() + text.len());
            out.extend_from_slice(text.as_bytes());
        }
    }

    impl Shape for Counting {
        fn members(&self, message: &AssistantMessage, out: &mut Vec<u8>) {
            self.write(out, &format!("\"output\":{}", message.usage.output));
        }

        fn open(&self, block: &Block<'_>, out: &mut Vec<u8>) {
            match block {
                Block::Text => self.write(out, r#"{"text":""#),
                Block::Thinking => self.write(out, r#"{"thinking":""#),
                Block::ToolCall { id, .. } if self.arguments_are_text => {
                    self.write(out, &format!(r#"{{"id":"{id}","arguments":""#));
                }
                Block::ToolCall { id, .. } => self.write(out, &format!(r#"{{"id":"{id}","arguments":{{"#)),
            }
        }

        fn close(&self, block: &Block<'_>, out: &mut Vec<u8>) {
            match block {
                Block::ToolCall { .. } if !self.arguments_are_text => self.write(out, "}}"),
                _ => self.write(out, r#""}"#),
            }
        }

        fn argument_deltas(&self) -> Deltas {
            if self.arguments_are_text { Deltas::Appended } else { Deltas::Ignored }
        }

        fn call(&self, call: &ToolCall, out: &mut Vec<u8>) {
            self.write(out, &json!({ "id": call.id, "arguments": call.arguments }).to_string());
        }
    }

    fn empty_message() -> AssistantMessage {
        AssistantMessage {
            content: Vec::new(),
            api: String::new(),
            provider: String::new(),
            model: String::new(),
            thinking_level: None,
            usage: Usage::default(),
            stop_reason: StopReason::Pending,
            timestamp: 0,
            response_id: None,
            raw_stop_reason: None,
            error_message: None,
            error_kind: None,
            duration: None,
            time_to_first_piece: None,
            completed_at: None,
        }
    }

    fn started(shape: Counting) -> Snapshot<Counting> {
        let mut snapshot = Snapshot::new(shape);
        snapshot.start(&empty_message());
        snapshot
    }

    fn parsed(snapshot: &Snapshot<Counting>, lead: &str) -> Value {
        let mut record = Pieces::default();
        snapshot.append_to(lead, &mut record);
        serde_json::from_slice(&record.to_vec()).unwrap()
    }

    fn grow(snapshot: &mut Snapshot<Counting>, index: usize, text: &str) {
        snapshot.grow(index, &escaping::string_body(text));
    }

    #[test]
    fn message_is_complete_json_at_every_step() {
        let mut snapshot = started(Counting::default());
        assert_eq!(parsed(&snapshot, ""), json!({ "content": [], "output": 0 }));
        snapshot.apply(&Update::ThinkingStart { content_index: 0 });
        grow(&mut snapshot, 0, "h\"m\n");
        snapshot.apply(&Update::TextStart { content_index: 1 });
        grow(&mut snapshot, 1, "one\u{2028}");
        snapshot.count(&Usage { output: 7, ..Usage::default() });
        grow(&mut snapshot, 1, "two");
        assert_eq!(
            parsed(&snapshot, r#""role":"assistant","#),
            json!({
                "role": "assistant",
                "content": [{ "thinking": "h\"m\n" }, { "text": "one\u{2028}two" }],
                "output": 7,
            })
        );
        snapshot.start(&empty_message());
        assert_eq!(parsed(&snapshot, ""), json!({ "content": [], "output": 0 }));
    }

    #[test]
    fn calls_can_be_streamed_in_parallel() {
        for arguments_are_text in [false, true] {
            let mut snapshot = started(Counting { arguments_are_text, ..Counting::default() });
            for (content_index, id) in ["a", "b"].into_iter().enumerate() {
                snapshot.apply(&Update::ToolCallStart { content_index, id: id.into(), name: "t".into() });
            }
            grow(&mut snapshot, 1, "{\"n\":");
            grow(&mut snapshot, 0, "{");
            grow(&mut snapshot, 1, "2}");
            let shown =
                if arguments_are_text { [json!("{"), json!("{\"n\":2}")] } else { [json!({}), json!({})] };
            assert_eq!(
                parsed(&snapshot, "")["content"],
                json!([{ "id": "a", "arguments": shown[0] }, { "id": "b", "arguments": shown[1] }])
            );
            let arguments = json!({ "n": 2 }).as_object().cloned().unwrap();
            let call = ToolCall { id: "b".into(), name: "t".into(), arguments, thought_signature: None };
            snapshot.apply(&Update::ToolCallEnd { content_index: 1, call });
            assert_eq!(parsed(&snapshot, "")["content"][1], json!({ "id": "b", "arguments": { "n": 2 } }));
        }
    }

    #[test]
    fn bytes_written_do_not_depend_on_the_number_of_deltas() {
        let written_for = |deltas: usize| {
            let mut snapshot = started(Counting::default());
            snapshot.apply(&Update::TextStart { content_index: 0 });
            for _ in 0..deltas {
                snapshot.count(&Usage::default());
                snapshot.grow(0, b"twenty bytes of text");
                snapshot.append_to("", &mut Pieces::default());
            }
            assert_eq!(parsed(&snapshot, "")["content"][0]["text"].as_str().unwrap().len(), 20 * deltas);
            snapshot.shape.written.get()
        };
        assert_eq!(written_for(1), written_for(4_000));
    }
}
