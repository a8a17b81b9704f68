//! What must hold for any bytes. The first byte of an input says where it is cut.

use bowline_core::StreamEvent;
use bowline_llm::probe;

/// Checks a decoder: it does not panic, an answer that it accepts has an end, and it holds no more than came in.
pub fn check_decoder(api: &str, input: &[u8]) {
    let Some((first, second)) = cut(input) else { return };
    let Some(outcome) = probe::decode(api, &[first, second]) else { panic!("no API {api}") };
    let Ok(events) = outcome else { return };
    assert!(matches!(events.last(), Some(StreamEvent::Done { .. })), "no end: {events:?}");
    let size: usize = events.iter().map(size_of).sum();
    assert!(size <= 3 * input.len() + 64, "{size} bytes of {}", input.len());
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
