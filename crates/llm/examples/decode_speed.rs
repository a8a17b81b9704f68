//! Measures the speed of the decoders:
//! `cargo run --release -p bowline-llm --features bedrock --example decode_speed`.
//!
//! Every API gets an answer with the same texts in its own frames, in chunks as a socket delivers them. The first times
//! are for decoding alone, the others include assembling the message.

#![expect(clippy::print_stdout, clippy::expect_used, reason = "a program for the terminal")]

use std::fmt::Write;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bowline_core::{Model, StreamEvent};
use bowline_llm::{Assembly, probe::Probe};

const DELTAS: usize = 20_000;
const CHUNK: usize = 16 * 1024;
const ROUNDS: usize = 15;
const TEXT: &str = "alpha bravo\\n “cable” ";

fn main() {
    println!("{:<26}{:>10}{:>10}{:>12}{:>22}", "api", "MB", "MB/s", "µs/delta", "µs/delta + message");
    for api in bowline_llm::probe::apis() {
        let Some(bytes) = answer(api) else { continue };
        let decoding = fastest(|| decode(api, &bytes, |event| drop(black_box(event))));
        let model = model(api);
        let assembling = fastest(|| {
            let mut assembly = Assembly::new(Arc::clone(&model), 0);
            decode(api, &bytes, |event| drop(black_box(assembly.apply(event))));
            assert!(assembly.is_done());
            black_box(assembly.finish());
        });
        let megabytes = bytes.len() as f64 / 1e6;
        let per_delta = |time: Duration| time.as_secs_f64() * 1e6 / DELTAS as f64;
        println!(
            "{api:<26}{megabytes:>10.2}{:>10.0}{:>12.3}{:>22.3}",
            megabytes / decoding.as_secs_f64(),
            per_delta(decoding),
            per_delta(assembling)
        );
    }
}

fn decode(api: &str, bytes: &[u8], mut take: impl FnMut(StreamEvent)) {
    let mut decoder = Probe::new(api).expect("the API is known");
    let mut events = Vec::new();
    for chunk in bytes.chunks(CHUNK) {
        decoder.feed(chunk, &mut events).expect("the answer is valid");
        events.drain(..).for_each(&mut take);
    }
    decoder.finish(&mut events).expect("the answer is complete");
    events.drain(..).for_each(take);
}

/// Returns the shortest of several times: the others include noise of the machine.
fn fastest(mut work: impl FnMut()) -> Duration {
    let times = (0..ROUNDS).map(|_| {
        let started = Instant::now();
        work();
        started.elapsed()
    });
    times.min().unwrap_or_default()
}

fn model(api: &str) -> Arc<Model> {
    let model = serde_json::json!({
        "id": "m", "name": "m", "api": api, "provider": "p", "baseUrl": "", "reasoning": false, "input": ["text"],
        "cost": {}, "contextWindow": 200_000, "maxTokens": 32000,
    });
    Arc::new(serde_json::from_value(model).expect("the model is complete"))
}

/// Returns an answer in the provider's frames, as its documentation shows them.
fn answer(api: &str) -> Option<Vec<u8>> {
    if api == "bedrock-converse-stream" {
        return Some(bedrock_answer());
    }
    let (head, delta, tail) = match api {
        "anthropic-messages" => (
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"TEXT\"}}\n\n",
            "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        ),
        "openai-completions" => (
            "",
            "data: {\"id\":\"chatcmpl-123\",\"object\":\"chat.completion.chunk\",\"created\":1694268190,\"model\":\"gpt-4o-mini\",\"system_fingerprint\":\"fp_44709d6fcb\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"TEXT\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n",
            "data: {\"id\":\"chatcmpl-123\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        ),
        "mistral-conversations" => (
            "",
            "data: {\"id\":\"cmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1694268190,\"model\":\"magistral\",\"choices\":[{\"index\":0,\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"TEXT\"}]}]},\"finish_reason\":null}]}\n\n",
            "data: {\"id\":\"cmpl-1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        ),
        "openai-responses" | "azure-openai-responses" => (
            "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\"}}\n\nevent: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"id\":\"msg_1\",\"type\":\"message\"}}\n\n",
            "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":7,\"item_id\":\"msg_67ccd2bf17f0819081ff3bb2cf6508e6\",\"output_index\":0,\"content_index\":0,\"delta\":\"TEXT\",\"logprobs\":[],\"obfuscation\":\"YiYuCNpDSB\"}\n\n",
            "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"status\":\"completed\"}}\n\n",
        ),
        "google-generative-ai" => (
            "",
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"TEXT\"}],\"role\":\"model\"},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":4,\"totalTokenCount\":4,\"promptTokensDetails\":[{\"modality\":\"TEXT\",\"tokenCount\":4}]},\"modelVersion\":\"gemini-3.8-flash\",\"responseId\":\"mAitaLmkHPPlz7IPvtfUqQ4\"}\r\n\r\n",
            "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\r\n\r\n",
        ),
        _ => return None,
    };
    let mut text = head.to_owned();
    let delta = delta.replace("TEXT", TEXT);
    for _ in 0..DELTAS {
        let _ = write!(text, "{delta}");
    }
    text.push_str(tail);
    Some(text.into_bytes())
}

/// Returns an answer in Amazon's binary framing.
fn bedrock_answer() -> Vec<u8> {
    let delta = format!(r#"{{"contentBlockIndex":0,"delta":{{"text":"{TEXT}"}},"p":"abcdefghijklm"}}"#);
    let mut bytes = bedrock_message("messageStart", r#"{"role":"assistant"}"#);
    let frame = bedrock_message("contentBlockDelta", &delta);
    for _ in 0..DELTAS {
        bytes.extend_from_slice(&frame);
    }
    bytes.extend(bedrock_message("contentBlockStop", r#"{"contentBlockIndex":0}"#));
    bytes.extend(bedrock_message("messageStop", r#"{"stopReason":"end_turn"}"#));
    bytes.extend(bedrock_message("metadata", r#"{"usage":{"inputTokens":9,"outputTokens":9}}"#));
    bytes
}

/// Returns a message: both lengths and their checksum, the headers, the payload, and the checksum of all of it.
fn bedrock_message(event: &str, payload: &str) -> Vec<u8> {
    let mut headers = Vec::new();
    for (name, value) in [(":event-type", event), (":message-type", "event")] {
        headers.push(name.len() as u8);
        headers.extend_from_slice(name.as_bytes());
        // The type of a text.
        headers.push(7);
        headers.extend((value.len() as u16).to_be_bytes());
        headers.extend_from_slice(value.as_bytes());
    }
    let length = 12 + headers.len() + payload.len() + 4;
    let mut message = [(length as u32).to_be_bytes(), (headers.len() as u32).to_be_bytes()].concat();
    message.extend(checksum(&message).to_be_bytes());
    message.extend_from_slice(&headers);
    message.extend_from_slice(payload.as_bytes());
    message.extend(checksum(&message).to_be_bytes());
    message
}

/// Returns the CRC-32 of bytes.
fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum: u32, byte| {
        (0..8).fold(
            sum ^ u32::from(*byte),
            |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 },
        )
    })
}
