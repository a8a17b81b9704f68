//! A reply as a stream of the API `openai-completions`.

use serde_json::{Value, json};

use super::reply::{Frame, Reply, Step, event};

/// Returns the stream of a reply. `number` makes its identifiers unique.
pub(crate) fn frames(reply: &Reply, steps: &[Step], model: &str, number: usize) -> Vec<Frame> {
    let chunk = |choices: Value| {
        json!({ "id": format!("chatcmpl_{number}"), "object": "chat.completion.chunk",
        "created": 1, "model": model, "choices": choices })
    };
    let choice = |delta: Value, finish_reason: Option<&str>| {
        event(None, &chunk(json!([{ "index": 0, "delta": delta, "finish_reason": finish_reason }])))
    };
    let mut frames = vec![Frame::Plain(choice(json!({ "role": "assistant", "content": "" }), None))];
    let mut tools = 0;
    for step in steps {
        match step {
            Step::Thinking(text) => {
                frames.push(Frame::Delta(choice(json!({ "reasoning_content": text }), None)));
            }
            Step::Text(text) => frames.push(Frame::Delta(choice(json!({ "content": text }), None))),
            Step::Tool { name, arguments } => {
                let call = json!({ "index": tools, "id": format!("call_{number}_{tools}"), "type": "function",
                    "function": { "name": name, "arguments": "" } });
                frames.push(Frame::Plain(choice(json!({ "tool_calls": [call] }), None)));
                for piece in arguments {
                    let call = json!({ "index": tools, "function": { "arguments": piece } });
                    frames.push(Frame::Delta(choice(json!({ "tool_calls": [call] }), None)));
                }
                tools += 1;
            }
            Step::Gate(gate) => frames.push(Frame::Gate(gate.clone())),
            Step::Error(kind) => {
                let error = json!({ "error": { "type": kind, "code": kind, "message": kind } });
                frames.push(Frame::Plain(event(None, &error)));
                return frames;
            }
        }
    }
    let natural = if tools > 0 { "tool_calls" } else { "stop" };
    let reason = reply.stop_reason.as_deref().unwrap_or(natural);
    frames.push(Frame::Plain(choice(json!({}), Some(reason))));
    let mut last = chunk(json!([]));
    last["usage"] = usage(reply);
    frames.push(Frame::Plain(event(None, &last)));
    frames.push(Frame::Plain("data: [DONE]\n\n".to_owned()));
    frames
}

/// Returns the usage as this API counts it: cached tokens are part of the prompt.
fn usage(reply: &Reply) -> Value {
    let usage = reply.usage;
    let prompt = usage.input + usage.cache_read + usage.cache_write;
    json!({ "prompt_tokens": prompt, "completion_tokens": usage.output, "total_tokens": prompt + usage.output,
        "prompt_tokens_details": { "cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write } })
}
