//! A model's stream: an answer of many small text deltas, in the form of a provider's API.

use std::fmt::Write as _;

/// The APIs that the deltas are measured with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    AnthropicMessages,
    OpenaiCompletions,
}

/// One delta, about as long as those of providers.
const DELTA: &str = "a few words of text ";

impl Api {
    pub(crate) const ALL: [Self; 2] = [Self::AnthropicMessages, Self::OpenaiCompletions];

    /// Returns the name that `models.json` uses.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
            Self::OpenaiCompletions => "openai-completions",
        }
    }

    /// Returns the body of an answer with this many deltas.
    pub(crate) fn body(self, deltas: usize) -> String {
        let (head, delta, tail) = match self {
            Self::AnthropicMessages => (ANTHROPIC_HEAD, anthropic_delta(), ANTHROPIC_TAIL),
            Self::OpenaiCompletions => (OPENAI_HEAD, openai_delta(), OPENAI_TAIL),
        };
        let mut body = String::with_capacity(head.len() + delta.len() * deltas + tail.len());
        body.push_str(head);
        for _ in 0..deltas {
            body.push_str(&delta);
        }
        body.push_str(tail);
        body
    }
}

/// Returns the text of an answer with this many deltas.
pub(crate) fn text(deltas: usize) -> String {
    DELTA.repeat(deltas)
}

const ANTHROPIC_HEAD: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m1","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":100,"output_tokens":1,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

"#;

const ANTHROPIC_TAIL: &str = r#"event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":40000}}

event: message_stop
data: {"type":"message_stop"}

"#;

const OPENAI_HEAD: &str = r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

"#;

const OPENAI_TAIL: &str = r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m1","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":40000,"total_tokens":40100}}

data: [DONE]

"#;

fn anthropic_delta() -> String {
    let mut delta = String::from("event: content_block_delta\n");
    let _ = write!(
        delta,
        "data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{DELTA}\"}}}}\n\n"
    );
    delta
}

fn openai_delta() -> String {
    format!(
        "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m1\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{DELTA}\"}},\"finish_reason\":null}}]}}\n\n"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_frame_is_json_and_the_deltas_contain_the_text() {
        for api in Api::ALL {
            let body = api.body(3);
            let frames = body.lines().filter_map(|line| line.strip_prefix("data: "));
            let mut found = String::new();
            for frame in frames.filter(|frame| *frame != "[DONE]") {
                let frame: Value = serde_json::from_str(frame).expect("a frame is JSON");
                for place in ["/delta/text", "/choices/0/delta/content"] {
                    found.push_str(frame.pointer(place).and_then(Value::as_str).unwrap_or_default());
                }
            }
            assert_eq!(found, text(3));
        }
    }
}
