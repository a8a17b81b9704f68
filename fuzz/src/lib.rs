//! What must hold for any bytes. The first byte of an input says where it is cut.

use bowline_core::StreamEvent;
use bowline_dialect::DIALECTS;
use bowline_llm::probe;
use bowline_wire::Line;

/// Checks a decoder: it does not panic, an answer that it accepts has an end, and it holds no more than came in.
pub fn check_decoder(api: &str, input: &[u8]) {
    let Some((first, second)) = cut(input) else { return };
    let Some(outcome) = probe::decode(api, &[first, second]) else { panic!("no API {api}") };
    let Ok(events) = outcome else { return };
    assert!(matches!(events.last(), Some(StreamEvent::Done { .. })), "no end: {events:?}");
    let size: usize = events.iter().map(size_of).sum();
    assert!(size <= 3 * input.len() + 64, "{size} bytes of {}", input.len());
}

/// Checks the decoders of commands: in every dialect, a line is decoded, or refused in one record, and does not affect
/// the next line.
pub fn check_lines(input: &[u8]) {
    for entry in DIALECTS {
        let mut dialect = entry.make();
        for line in input.split(|byte| *byte == b'\n') {
            let line = match std::str::from_utf8(line) {
                Ok(text) => Line::Text(text.to_owned()),
                Err(_) => Line::NotUtf8,
            };
            // The answer to a question gets no response.
            let may_be_ignored = matches!(&line, Line::Text(text) if text.contains("extension_ui_response"));
            let mut records = Vec::new();
            let incoming = dialect.decode(line, &mut records);
            assert!(records.len() <= 1, "{}: {records:?}", entry.name);
            assert!(incoming.is_some() || records.len() == 1 || may_be_ignored, "{}", entry.name);
        }
    }
}

/// Checks the decoder of Bedrock with frames whose checksums are right: chance would hardly ever find one. Every line of
/// the input is an event; its first byte chooses the name.
pub fn check_bedrock(input: &[u8]) {
    const NAMES: [&str; 7] = [
        "messageStart",
        "contentBlockStart",
        "contentBlockDelta",
        "contentBlockStop",
        "messageStop",
        "metadata",
        "throttlingException",
    ];
    let api = "bedrock-converse-stream";
    check_decoder(api, input);
    let Some((place, lines)) = input.split_first() else { return };
    let mut framed = vec![*place];
    for line in lines.split(|byte| *byte == b'\n') {
        let Some((choice, payload)) = line.split_first() else { continue };
        framed.extend(frame(NAMES[usize::from(*choice) % NAMES.len()], payload));
    }
    check_decoder(api, &framed);
}

fn frame(name: &str, payload: &[u8]) -> Vec<u8> {
    let kind = if name.ends_with("Exception") { "exception" } else { "event" };
    let mut headers = Vec::new();
    for (header, value) in [(format!(":{kind}-type"), name), (":message-type".to_owned(), kind)] {
        headers.push(header.len() as u8);
        headers.extend_from_slice(header.as_bytes());
        headers.push(7);
        headers.extend_from_slice(&(value.len() as u16).to_be_bytes());
        headers.extend_from_slice(value.as_bytes());
    }
    let mut bytes = ((16 + headers.len() + payload.len()) as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(&(headers.len() as u32).to_be_bytes());
    bytes.extend_from_slice(&checksum(&bytes).to_be_bytes());
    bytes.extend_from_slice(&headers);
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(&checksum(&bytes).to_be_bytes());
    bytes
}

/// Returns the CRC-32 of bytes.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
    !bytes.iter().fold(u32::MAX, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}

/// Checks the parser of server-sent events: the place of a cut does not matter.
pub fn check_server_sent_events(input: &[u8]) {
    let Some((first, second)) = cut(input) else { return };
    assert_eq!(probe::server_sent_events(&[first, second]), probe::server_sent_events(&[&input[1..]]));
}

fn cut(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let (place, bytes) = input.split_first()?;
    Some(bytes.split_at(usize::from(*place) * bytes.len() / 256))
}

fn size_of(event: &StreamEvent) -> usize {
    match event {
        StreamEvent::Delta { text, .. } => text.len(),
        StreamEvent::BlockEnd { signature, .. } => signature.as_ref().map_or(0, String::len),
        _ => 0,
    }
}
