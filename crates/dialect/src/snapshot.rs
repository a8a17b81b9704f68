//! The answer so far, for the dialects that repeat it in every update.
//!
//! Serialising the message anew for each delta would cost the square of its length in work that escapes, formats and
//! allocates. Here the JSON is kept as bytes: a delta is escaped once and appended to its block, and a record is put
//! together from what is there, which it shares with the records before and after it. What a message, its blocks and
//! its calls look like is the dialect's [`Shape`].
//!
//! The arguments of a call that is still being written are shown as the shape likes: as a string they grow like any
//! other, as an object they stay as the shape opens and closes them until the call is complete. They are never parsed
//! on the way.

use bowline_core::message::{AssistantMessage, ToolCall};
use bowline_core::stream::Update;
use bowline_core::usage::Usage;
use bowline_wire::{Pieces, Shared};

use crate::delta_keys::DeltaKeys;

/// What a message of a model looks like in a dialect.
pub(crate) trait Shape {
    /// Appends the members of the message other than its blocks, with commas between them and none around.
    fn members(&self, message: &AssistantMessage, out: &mut Vec<u8>);

    /// Appends a block up to where its string grows.
    fn open(&self, block: &Block<'_>, out: &mut Vec<u8>);

    /// Appends what follows the string of a block, to the end of the block.
    fn close(&self, block: &Block<'_>, out: &mut Vec<u8>);

    /// Tells whether the arguments of a call are a string, so that their pieces are part of what is shown.
    fn shows_argument_text(&self) -> bool;

    /// Appends the block of a call that is complete.
    fn call(&self, call: &ToolCall, out: &mut Vec<u8>);
}

/// A block that begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Block<'update> {
    Text,
    Thinking,
    ToolCall { id: &'update str, name: &'update str },
}

/// The answer so far.
#[derive(Debug)]
pub(crate) struct Snapshot<S> {
    shape: S,
    keys: DeltaKeys,
    /// The message without its blocks.
    message: Option<AssistantMessage>,
    /// The members of the message other than its blocks, as bytes.
    members: Vec<u8>,
    /// One for each block. More than one can be growing: some providers write several calls at a time.
    blocks: Vec<Growing>,
}

#[derive(Debug)]
struct Growing {
    /// From the start of the block to the end of what was said so far.
    said: Shared,
    /// What makes it a whole block.
    rest: Vec<u8>,
    takes_deltas: bool,
}

impl<S: Shape> Snapshot<S> {
    pub fn new(shape: S) -> Self {
        Self { shape, keys: DeltaKeys::default(), message: None, members: Vec::new(), blocks: Vec::new() }
    }

    /// Begins another message. It has no blocks yet.
    pub fn start(&mut self, message: &AssistantMessage) {
        self.keys.start_message();
        self.blocks.clear();
        let message = AssistantMessage { content: Vec::new(), ..message.clone() };
        self.describe(&message);
        self.message = Some(message);
    }

    /// Takes in what the answer has cost so far.
    pub fn count(&mut self, usage: &Usage) {
        if let Some(mut message) = self.message.take_if(|message| message.usage != *usage) {
            message.usage = *usage;
            self.describe(&message);
            self.message = Some(message);
        }
    }

    fn describe(&mut self, message: &AssistantMessage) {
        self.members.clear();
        self.shape.members(message, &mut self.members);
    }

    /// Appends a piece to a block. `body` is the piece as it stands inside a JSON string.
    pub fn grow(&mut self, content_index: usize, body: &[u8]) {
        if let Some(block) = self.blocks.get_mut(content_index).filter(|block| block.takes_deltas) {
            block.said.extend(body);
        }
    }

    /// Takes in the beginning or the end of a block. Deltas are for [`Snapshot::grow`].
    pub fn apply(&mut self, update: &Update) {
        match update {
            Update::TextStart { .. } => self.open(Block::Text, true),
            Update::ThinkingStart { .. } => self.open(Block::Thinking, true),
            Update::ToolCallStart { id, name, .. } => {
                self.open(Block::ToolCall { id, name }, self.shape.shows_argument_text());
            }
            Update::ToolCallEnd { content_index, call } => {
                if let Some(block) = self.blocks.get_mut(*content_index) {
                    let mut said = Vec::new();
                    self.shape.call(call, &mut said);
                    *block = Growing { said: said.into(), rest: Vec::new(), takes_deltas: false };
                }
            }
            Update::TextEnd { .. }
            | Update::ThinkingEnd { .. }
            | Update::TextDelta { .. }
            | Update::ThinkingDelta { .. }
            | Update::ToolCallDelta { .. } => {}
        }
    }

    fn open(&mut self, block: Block<'_>, takes_deltas: bool) {
        let (mut said, mut rest) = (Vec::new(), Vec::new());
        self.shape.open(&block, &mut said);
        self.shape.close(&block, &mut rest);
        self.blocks.push(Growing { said: said.into(), rest, takes_deltas });
    }

    /// Appends the message so far to `out`, with `lead`, which may be empty, before its first member.
    pub fn append_to(&self, lead: &str, out: &mut Pieces) {
        out.extend(b"{");
        out.extend(lead.as_bytes());
        out.extend(br#""content":["#);
        for (index, block) in self.blocks.iter().enumerate() {
            if index > 0 {
                out.extend(b",");
            }
            out.share(&block.said);
            out.extend(&block.rest);
        }
        out.extend(b"],");
        out.extend(&self.members);
        out.extend(b"}");
    }

    /// Returns the key by which the deltas of a block of this message join.
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

    /// A shape that counts how many bytes it was asked to write.
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

        fn shows_argument_text(&self) -> bool {
            self.arguments_are_text
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
            usage: Usage::default(),
            stop_reason: StopReason::Pending,
            timestamp: 0,
            response_id: None,
            raw_stop_reason: None,
            error_message: None,
            duration: None,
            time_to_first_piece: None,
            completed_at: None,
        }
    }

    fn begun(shape: Counting) -> Snapshot<Counting> {
        let mut snapshot = Snapshot::new(shape);
        snapshot.start(&empty_message());
        snapshot
    }

    fn parsed(snapshot: &Snapshot<Counting>, lead: &str) -> Value {
        let mut record = Pieces::default();
        snapshot.append_to(lead, &mut record);
        serde_json::from_slice(&record.to_vec()).unwrap()
    }

    fn say(snapshot: &mut Snapshot<Counting>, index: usize, text: &str) {
        snapshot.grow(index, &escaping::string_body(text));
    }

    #[test]
    fn the_message_so_far_is_whole_at_every_step() {
        let mut snapshot = begun(Counting::default());
        assert_eq!(parsed(&snapshot, ""), json!({ "content": [], "output": 0 }));
        snapshot.apply(&Update::ThinkingStart { content_index: 0 });
        say(&mut snapshot, 0, "h\"m\n");
        snapshot.apply(&Update::TextStart { content_index: 1 });
        say(&mut snapshot, 1, "one\u{2028}");
        snapshot.count(&Usage { output: 7, ..Usage::default() });
        say(&mut snapshot, 1, "two");
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
    fn calls_may_be_written_at_the_same_time() {
        for arguments_are_text in [false, true] {
            let mut snapshot = begun(Counting { arguments_are_text, ..Counting::default() });
            for (content_index, id) in ["a", "b"].into_iter().enumerate() {
                snapshot.apply(&Update::ToolCallStart { content_index, id: id.into(), name: "t".into() });
            }
            say(&mut snapshot, 1, "{\"n\":");
            say(&mut snapshot, 0, "{");
            say(&mut snapshot, 1, "2}");
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
    fn nothing_is_written_again_however_long_the_answer_is() {
        let written_for = |deltas: usize| {
            let mut snapshot = begun(Counting::default());
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
