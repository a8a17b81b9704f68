//! JSON as it is written: compact, and with the two characters escaped that some clients mistake for line ends.
//!
//! U+2028 and U+2029 are allowed in JSON strings, but programs that split their input with a general-purpose line reader
//! break there. The escapes are equivalent and safe.

use std::time::Duration;

use serde::Serialize;
use serde_json::Serializer;
use serde_json::value::RawValue;

/// The first byte of both separators; most records contain neither.
const HEAD: u8 = 0xE2;

/// Appends `value` to `out`.
pub fn write(out: &mut Vec<u8>, value: &impl Serialize) {
    let start = out.len();
    // Cannot fail: every map that is encoded here has text keys, and memory accepts all bytes.
    let _ = value.serialize(&mut Serializer::new(&mut *out));
    // In JSON the separators can only occur in strings, so one search of the finished bytes replaces one per string. It
    // also finds them in text that was not encoded here, such as a client's id.
    if memchr::memchr(HEAD, &out[start..]).is_some() {
        escape_separators(out, start);
    }
}

/// Returns `value` as the bytes of one record, without a line end.
pub fn to_line(value: &impl Serialize) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    write(&mut out, value);
    out
}

/// Returns the characters between the quotes of `text` as a JSON string. The bodies of two texts, concatenated, are the
/// body of the concatenated texts.
pub(crate) fn string_body(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 16);
    write(&mut out, &text);
    out.pop();
    out.drain(..1);
    out
}

/// Returns JSON text, such as a client's id, as a value that is written unchanged.
pub(crate) fn verbatim(text: &str) -> Option<&RawValue> {
    serde_json::from_str(text).ok()
}

/// Returns a duration as records have it.
pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Escapes the separators from `start` on.
fn escape_separators(out: &mut Vec<u8>, start: usize) {
    let escape_of = |bytes: &[u8]| match bytes {
        [HEAD, 0x80, 0xA8, ..] => Some(br"\u2028"),
        [HEAD, 0x80, 0xA9, ..] => Some(br"\u2029"),
        _ => None,
    };
    let Some(first) = (start..out.len()).find(|at| escape_of(&out[*at..]).is_some()) else { return };
    let mut rest = out.split_off(first).into_iter();
    while let Some(byte) = rest.as_slice().first().copied() {
        match escape_of(rest.as_slice()) {
            Some(escape) => {
                out.extend_from_slice(escape);
                rest.nth(2);
            }
            None => {
                out.push(byte);
                rest.next();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_escaped_without_changing_the_text() {
        let text = "a\u{2028}b\u{2029}\u{2030}c\"\n";
        let line = String::from_utf8(to_line(&text)).unwrap();
        assert_eq!(line, r#""a\u2028b\u2029‰c\"\n""#);
        assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
    }

    #[test]
    fn separators_in_verbatim_json_are_escaped() {
        assert_eq!(to_line(&verbatim("[ \"\u{2028}\" ]")), br#"[ "\u2028" ]"#);
    }

    #[test]
    fn bodies_of_parts_concatenate_to_the_body_of_the_whole() {
        let text = "tab\t \u{1f600} \"q\" \u{2028} end";
        for at in text.char_indices().map(|(at, _)| at) {
            let (head, tail) = text.split_at(at);
            assert_eq!([string_body(head), string_body(tail)].concat(), string_body(text));
        }
    }
}
