//! A reply as a stream of the API `anthropic-messages`.

use serde_json::{Value, json};

use super::reply::{Frame, Reply, Step, event};

/// Returns the stream of a reply. `number` makes its identifiers unique.
pub(crate) fn frames(reply: &Reply, steps: &[Step], model: &str, number: usize) -> Vec<Frame> {
    let mut stream = Stream { frames: Vec::new(), open: None, blocks: 0 };
    let usage = reply.usage;
    stream.plain(json!({ "type": "message_start", "message": {
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": { "input_tokens": usage.input, "output_tokens": 1,
            "cache_read_input_tokens": usage.cache_read, "cache_creation_input_tokens": usage.cache_write },
    } }));
    let mut has_tools = false;
    for step in steps {
        match step {
            Step::Thinking(text) => {
                stream.open(Block::Thinking, json!({ "type": "thinking", "thinking": "", "signature": "" }));
                stream.delta(json!({ "type": "thinking_delta", "thinking": text }));
            }
            Step::Text(text) => {
                stream.open(Block::Text, json!({ "type": "text", "text": "" }));
                stream.delta(json!({ "type": "text_delta", "text": text }));
            }
            Step::Tool { name, arguments } => {
                has_tools = true;
                stream.close();
                let id = format!("toolu_{number}_{}", stream.blocks);
                stream.open(Block::Tool, json!({ "type": "tool_use", "id": id, "name": name, "input": {} }));
                for piece in arguments {
                    stream.delta(json!({ "type": "input_json_delta", "partial_json": piece }));
                }
                stream.close();
            }
            Step::Gate(gate) => stream.frames.push(Frame::Gate(gate.clone())),
            Step::Error(kind) => {
                stream.plain(json!({ "type": "error", "error": { "type": kind, "message": kind } }));
                return stream.frames;
            }
        }
    }
    stream.close();
    let natural = if has_tools { "tool_use" } else { "end_turn" };
    let reason = reply.stop_reason.as_deref().unwrap_or(natural);
    stream.plain(json!({ "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null },
        "usage": { "output_tokens": usage.output } }));
    stream.plain(json!({ "type": "message_stop" }));
    stream.frames
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Thinking,
    Text,
    Tool,
}

struct Stream {
    frames: Vec<Frame>,
    open: Option<Block>,
    /// How many blocks have been opened; the open one has the preceding index.
    blocks: usize,
}

impl Stream {
    fn plain(&mut self, data: Value) {
        self.frames.push(Frame::Plain(event(data["type"].as_str(), &data)));
    }

    fn delta(&mut self, delta: Value) {
        let data = json!({ "type": "content_block_delta", "index": self.blocks - 1, "delta": delta });
        self.frames.push(Frame::Delta(event(Some("content_block_delta"), &data)));
    }

    fn open(&mut self, block: Block, content: Value) {
        if self.open == Some(block) {
            return;
        }
        self.close();
        self.plain(json!({ "type": "content_block_start", "index": self.blocks, "content_block": content }));
        self.open = Some(block);
        self.blocks += 1;
    }

    fn close(&mut self) {
        let Some(block) = self.open.take() else { return };
        let index = self.blocks - 1;
        if block == Block::Thinking {
            let signature = json!({ "type": "signature_delta", "signature": "c2lnbmF0dXJl" });
            self.plain(json!({ "type": "content_block_delta", "index": index, "delta": signature }));
        }
        self.plain(json!({ "type": "content_block_stop", "index": index }));
    }
}
