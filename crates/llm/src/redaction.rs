//! Masks secrets in what a provider sends back: in errors, ids, names, reasons, signatures and recordings. The text of
//! an answer is the model's and is not searched.
//!
//! A server may repeat a key as it is, percent-encoded, escaped as in JSON, or within something that it encoded as
//! Base64. Texts are masked before they are shortened: the beginning of a key would not be recognised.

use std::ops::Range;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use bowline_core::StreamEvent;
use bowline_core::stream::{BlockKind, StreamError};

use crate::secret::Secret;

/// What takes the place of a secret.
const MASK: &str = "[redacted]";

/// Encodes without padding, in both alphabets.
const ENCODINGS: [GeneralPurpose; 2] = [
    GeneralPurpose::new(&alphabet::STANDARD, GeneralPurposeConfig::new().with_encode_padding(false)),
    GeneralPurpose::new(&alphabet::URL_SAFE, GeneralPurposeConfig::new().with_encode_padding(false)),
];

/// Masks known secrets.
#[derive(Clone, Default)]
pub struct Redactor {
    /// The secrets, the longest first, so that none is masked partially by one that it contains.
    plain: Vec<Vec<u8>>,
    /// What Base64 makes of them, wherever they begin in the encoded text.
    encoded: Vec<Vec<u8>>,
}

impl Redactor {
    /// Returns a redactor for secrets. Placeholders that are too short to be secrets are ignored.
    pub fn new(secrets: &[Secret]) -> Self {
        let worth = secrets.iter().filter(|secret| secret.is_worth_masking());
        let mut plain: Vec<Vec<u8>> = worth.map(|secret| secret.expose().as_bytes().to_vec()).collect();
        plain.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        plain.dedup();
        let encoded = plain.iter().flat_map(|secret| in_base64(secret)).collect();
        Self { plain, encoded }
    }

    /// Returns a text with all secrets masked.
    pub fn redact(&self, text: String) -> String {
        let found = self.find(text.as_bytes());
        if found.is_empty() {
            return text;
        }
        let mut masked: Vec<u8> = Vec::with_capacity(text.len());
        let mut rest = 0;
        for range in found {
            masked.extend_from_slice(&text.as_bytes()[rest..range.start]);
            masked.extend_from_slice(MASK.as_bytes());
            rest = range.end;
        }
        masked.extend_from_slice(&text.as_bytes()[rest..]);
        String::from_utf8_lossy(&masked).into_owned()
    }

    /// Overwrites all secrets in `bytes`, keeping their length.
    pub(crate) fn mask(&self, bytes: &mut [u8]) {
        for range in self.find(bytes) {
            bytes[range].fill(b'*');
        }
    }

    /// Masks secrets in a failure.
    pub(crate) fn redact_error(&self, error: StreamError) -> StreamError {
        StreamError { message: self.redact(error.message), ..error }
    }

    /// Masks secrets in what events carry beside the text of the answer. A delta costs no more than being recognised.
    pub(crate) fn redact_events(&self, events: &mut [StreamEvent]) {
        let redact = |text: &mut String| *text = self.redact(std::mem::take(text));
        for event in events {
            match event {
                StreamEvent::Delta { .. } | StreamEvent::Tokens(_) => {}
                StreamEvent::Started { response_id: text }
                | StreamEvent::BlockEnd { signature: text, .. }
                | StreamEvent::Done { raw_reason: text, .. } => text.iter_mut().for_each(redact),
                StreamEvent::BlockStart { kind: BlockKind::ToolCall { id, name }, .. } => {
                    redact(id);
                    redact(name);
                }
                StreamEvent::BlockStart { .. } => {}
            }
        }
    }

    /// Returns where secrets are, in order and without overlaps.
    fn find(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        let is_escaped = bytes.iter().any(|byte| matches!(byte, b'%' | b'\\'));
        for secret in &self.plain {
            if is_escaped {
                find_escaped(bytes, secret, &mut found);
            } else {
                let starts = memchr::memmem::find_iter(bytes, secret);
                found.extend(starts.map(|start| start..start + secret.len()));
            }
        }
        for secret in &self.encoded {
            let starts = memchr::memmem::find_iter(bytes, secret);
            found.extend(starts.map(|start| word_around(bytes, start..start + secret.len())));
        }
        found.sort_by_key(|range| range.start);
        let mut joined: Vec<Range<usize>> = Vec::new();
        for range in found {
            match joined.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        joined
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "[{} secrets]", self.plain.len())
    }
}

/// Finds a secret of which any character may be percent-encoded or escaped as in JSON.
fn find_escaped(bytes: &[u8], secret: &[u8], found: &mut Vec<Range<usize>>) {
    let mut start = 0;
    while start < bytes.len() {
        match end_of_match(bytes, start, secret) {
            Some(end) => {
                found.push(start..end);
                start = end;
            }
            None => start += 1,
        }
    }
}

fn end_of_match(bytes: &[u8], start: usize, secret: &[u8]) -> Option<usize> {
    let mut at = start;
    for wanted in secret {
        // An encoded character takes precedence: a secret may contain the sign that marks one.
        at = match unescape(&bytes[at..]).filter(|(byte, _)| byte == wanted) {
            Some((_, length)) => at + length,
            None if bytes.get(at) == Some(wanted) => at + 1,
            None => return None,
        };
    }
    Some(at)
}

/// Returns the byte that an escape sequence stands for, and the length of the sequence.
fn unescape(bytes: &[u8]) -> Option<(u8, usize)> {
    let hexadecimal = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    match bytes {
        [b'%', first, second, ..] => Some((hexadecimal(&[*first, *second])?, 3)),
        [b'\\', b'u', b'0', b'0', first, second, ..] => Some((hexadecimal(&[*first, *second])?, 6)),
        [b'\\', escaped @ (b'"' | b'\\' | b'/'), ..] => Some((*escaped, 2)),
        _ => None,
    }
}

/// Returns what Base64 makes of a secret, for the three places in a group of bytes where it may begin, in both
/// alphabets. Characters that also depend on what surrounds the secret are left out.
fn in_base64(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for before in 0..3 {
        let mut text = vec![0; before];
        text.extend_from_slice(secret);
        // A last group that is incomplete ends with a character that depends on what follows.
        let (skipped, kept) = ([0, 2, 3][before], text.len() * 8 / 6);
        for encoding in &ENCODINGS {
            let form = encoding.encode(&text).into_bytes();
            forms.push(form[skipped..kept.min(form.len())].to_vec());
        }
    }
    forms.sort();
    forms.dedup();
    forms
}

/// Extends a range to the whole run of characters of Base64, because those around a secret hold parts of it.
fn word_around(bytes: &[u8], range: Range<usize>) -> Range<usize> {
    let is_part =
        |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=');
    let before = bytes[..range.start].iter().rev().take_while(is_part).count();
    let after = bytes[range.end..].iter().take_while(is_part).count();
    range.start - before..range.end + after
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use bowline_core::message::StopReason;
    use proptest::prelude::*;

    const KEY: &str = "sk-0123456789/ab+cd?e";

    fn redactor() -> Redactor {
        Redactor::new(&[Secret::new("none"), Secret::new(KEY), Secret::new(format!("Bearer {KEY}"))])
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(redactor().redact(text.to_owned()), expected);
    }

    #[test]
    fn secret_is_masked_in_every_form() {
        check("there is none", "there is none");
        check(&format!("bad key {KEY}!"), "bad key [redacted]!");
        check(&format!("Bearer {KEY}"), "[redacted]");
        check("?key=sk-0123456789%2Fab%2Bcd%3Fe&a=b", "?key=[redacted]&a=b");
        check("?key=%73k-0123456789%2fab+cd%3fe", "?key=[redacted]");
        check(r#"{"k":"sk-0123456789\/ab\u002bcd?e"}"#, r#"{"k":"[redacted]"}"#);
        check(&format!("Basic {}", STANDARD.encode(format!("me:{KEY}"))), "Basic [redacted]");
        for before in ["", "a", "ab", "abc"] {
            for after in ["", "x", "xy", "xyz"] {
                let text = format!("{before}{KEY}{after}");
                check(&format!("id <{}>", STANDARD.encode(&text)), "id <[redacted]>");
                check(&format!("id <{}>", URL_SAFE_NO_PAD.encode(&text)), "id <[redacted]>");
            }
        }
        assert!(!format!("{:?}", redactor()).contains("sk-"));
    }

    #[test]
    fn everything_beside_the_text_of_an_answer_is_masked() {
        let text = || format!("x{KEY}");
        let kind = BlockKind::ToolCall { id: text(), name: text() };
        let mut events = [
            StreamEvent::Started { response_id: Some(text()) },
            StreamEvent::BlockStart { index: 0, kind },
            StreamEvent::BlockEnd { index: 0, signature: Some(text()) },
            StreamEvent::Done { reason: StopReason::Stop, raw_reason: Some(text()) },
        ];
        redactor().redact_events(&mut events);
        assert!(!format!("{events:?}").contains(KEY), "{events:?}");
    }

    #[test]
    fn masked_bytes_keep_their_length() {
        let mut bytes = format!("a {KEY} b").into_bytes();
        redactor().mask(&mut bytes);
        assert_eq!(bytes, format!("a {} b", "*".repeat(KEY.len())).into_bytes());
    }

    proptest! {
        #[test]
        fn texts_without_the_secret_are_unchanged(text in "[ -z%\\\\\"é]{0,60}") {
            prop_assert_eq!(redactor().redact(text.clone()), text);
        }

        #[test]
        fn secret_is_found_in_any_surroundings(before in "\\PC{0,9}", after in "\\PC{0,9}") {
            let masked = redactor().redact(format!("{before}{KEY}{after}"));
            prop_assert!(!masked.contains(KEY), "{}", masked);
        }
    }
}
