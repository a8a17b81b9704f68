//! Properties of all decoders: the result does not depend on how the bytes are split, an answer without its end is
//! incomplete, unknown events are ignored, and no input causes a panic.

use bowline_core::StreamEvent;
use bowline_core::stream::{FailureKind, StreamError};
use proptest::prelude::*;

use super::APIS;
use super::probe::decode as decode_api;

/// How many corrupted answers each decoder is given.
const MUTATIONS: usize = 2000;

/// An answer on each API.
fn answers() -> Vec<(&'static str, Vec<u8>)> {
    let responses = include_bytes!("openai_responses/fixtures/answer.sse");
    let completions = include_bytes!("openai_completions/fixtures/answer.sse");
    vec![
        ("anthropic-messages", include_bytes!("anthropic_messages/fixtures/answer.sse").to_vec()),
        ("openai-completions", completions.to_vec()),
        ("openai-responses", responses.to_vec()),
        ("google-generative-ai", include_bytes!("google_generative_ai/fixtures/answer.sse").to_vec()),
        ("azure-openai-responses", responses.to_vec()),
        ("mistral-conversations", completions.to_vec()),
        #[cfg(feature = "bedrock")]
        ("bedrock-converse-stream", super::bedrock_converse_stream::fixture()),
    ]
}

fn decode(api: &str, pieces: &[&[u8]]) -> Result<Vec<StreamEvent>, StreamError> {
    decode_api(api, pieces).unwrap()
}

#[test]
fn every_api_is_tested() {
    let tested: Vec<&str> = answers().iter().map(|(api, _)| *api).collect();
    assert_eq!(tested, APIS.iter().map(|api| api.name).collect::<Vec<_>>());
}

#[test]
fn every_split_gives_the_same_events() {
    for (api, bytes) in answers() {
        let whole = decode(api, &[&bytes]).unwrap();
        for split in 0..=bytes.len() {
            assert_eq!(
                decode(api, &[&bytes[..split], &bytes[split..]]).unwrap(),
                whole,
                "{api} split at {split}"
            );
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(decode(api, &single).unwrap(), whole, "{api} byte by byte");
    }
}

proptest! {
    #[test]
    fn events_do_not_depend_on_the_chunks(splits in prop::collection::vec(any::<prop::sample::Index>(), 0..9)) {
        for (api, bytes) in answers() {
            let mut places: Vec<usize> = splits.iter().map(|split| split.index(bytes.len() + 1)).collect();
            places.extend([0, bytes.len()]);
            places.sort_unstable();
            let pieces: Vec<&[u8]> = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(decode(api, &pieces).unwrap(), decode(api, &[&bytes]).unwrap(), "{}", api);
        }
    }
}

#[test]
fn answer_without_its_end_is_incomplete() {
    for (api, bytes) in answers() {
        for length in 0..bytes.len() {
            match decode(api, &[&bytes[..length]]) {
                Ok(events) => {
                    check_form(api, &events);
                    assert!(matches!(events.last(), Some(StreamEvent::Done { .. })), "{api}: {length}");
                }
                Err(error) => {
                    assert_eq!(error.kind, FailureKind::Incomplete, "{api} after {length} bytes: {error}");
                }
            }
        }
        assert!(decode(api, &[&bytes[..bytes.len() * 3 / 4]]).is_err(), "{api}");
    }
}

#[test]
fn unknown_events_and_events_after_the_end_are_ignored() {
    let unknown =
        b"event: unheard.of\r\nid: 1\r\ndata: {\"type\":\"unheard.of\",\"novel\":{\"a\":[1]}}\r\n\r\n";
    for (api, bytes) in answers().into_iter().filter(|(api, _)| *api != "bedrock-converse-stream") {
        let text = String::from_utf8(bytes.clone()).unwrap();
        let separator = if text.contains("\r\n") { "\r\n\r\n" } else { "\n\n" };
        let first = text.find("data").map(|start| start + text[start..].find(separator).unwrap());
        let (head, tail) = text.split_at(first.unwrap() + separator.len());
        let mut longer = head.as_bytes().to_vec();
        for event in tail.split_inclusive(separator) {
            longer.extend_from_slice(unknown);
            longer.extend_from_slice(event.as_bytes());
        }
        longer.extend_from_slice(b"data: {\"type\":\"more\"}\n\ndata: [DONE]\n\n");
        assert_eq!(decode(api, &[&longer]).unwrap(), decode(api, &[&bytes]).unwrap(), "{api}");
    }
}

/// Checks the events of any answer: blocks start in ascending order, events of a block come between its start and its
/// end, and nothing follows the end.
#[track_caller]
fn check_form(api: &str, events: &[StreamEvent]) {
    let mut open: Vec<bool> = Vec::new();
    for (place, event) in events.iter().enumerate() {
        match event {
            StreamEvent::BlockStart { index, .. } => {
                assert_eq!(*index, open.len(), "{api}: {events:?}");
                open.push(true);
            }
            StreamEvent::Delta { index, .. } => assert!(open[*index], "{api}: {events:?}"),
            StreamEvent::BlockEnd { index, .. } => {
                assert!(std::mem::replace(&mut open[*index], false), "{api}: {events:?}");
            }
            StreamEvent::Done { .. } => assert_eq!(place + 1, events.len(), "{api}: {events:?}"),
            StreamEvent::Started { .. } | StreamEvent::Tokens(_) => {}
        }
    }
}

/// Returns the number of bytes in the events.
fn size(events: &[StreamEvent]) -> usize {
    let sizes = events.iter().map(|event| match event {
        StreamEvent::Delta { text, .. } => text.len(),
        StreamEvent::BlockEnd { signature, .. } => signature.as_ref().map_or(0, String::len),
        _ => 0,
    });
    sizes.sum()
}

/// Deterministic pseudo-random numbers (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap()
    }
}

/// Fragments inserted into answers to corrupt them.
const STONES: [&[u8]; 12] = [
    b"\n\n",
    b"data: ",
    b"{",
    b"}",
    b"\"",
    b"null",
    b"-1",
    b"99999999999999999999",
    b"[[[[[[[[",
    b"\\ud800",
    b"\xff\xfe",
    b"data: [DONE]\n\n",
];

fn mutate(bytes: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..=dice.below(4) {
        let place = dice.below(bytes.len());
        let end = (place + dice.below(200)).min(bytes.len());
        match dice.below(6) {
            0 => bytes[place] = u8::try_from(dice.below(256)).unwrap(),
            1 => drop(bytes.drain(place..end)),
            2 => {
                let piece = bytes[place..end].to_vec();
                let target = dice.below(bytes.len());
                bytes.splice(target..target, piece);
            }
            3 => bytes.truncate(place.max(1)),
            _ => {
                let stone = STONES[dice.below(STONES.len())];
                bytes.splice(place..place, stone.iter().copied());
            }
        }
        if bytes.is_empty() {
            bytes.push(b'\n');
        }
    }
}

#[test]
fn corrupted_answers_never_panic() {
    for (api, answer) in answers() {
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        for _ in 0..MUTATIONS {
            let mut bytes = answer.clone();
            mutate(&mut bytes, &mut dice);
            let mut probe = super::probe::Probe::new(api).unwrap();
            let mut events = Vec::new();
            let split = dice.below(bytes.len());
            let fed = [&bytes[..split], &bytes[split..]]
                .iter()
                .try_for_each(|piece| probe.feed(piece, &mut events));
            let finished = fed.and_then(|()| probe.finish(&mut events));
            let ended = matches!(events.last(), Some(StreamEvent::Done { .. }));
            assert_eq!(finished.is_ok(), ended, "{api}: {finished:?} {}", String::from_utf8_lossy(&bytes));
            check_form(api, &events);
            assert!(size(&events) <= 3 * bytes.len() + 64, "{api}: {}", size(&events));
        }
    }
}
