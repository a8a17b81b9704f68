//! JSON as it goes out: compact, and without the two characters that some clients take for line ends.
//!
//! U+2028 and U+2029 may stand in a JSON string, but programs that split their input with a general-purpose line
//! reader break there. Written as escapes they mean the same and harm nobody.

use serde::Serialize;
use serde_json::Serializer;

/// The first byte of both separators; most records have none.
const HEAD: u8 = 0xE2;

/// Appends `value` to `out`.
pub(crate) fn write(out: &mut Vec<u8>, value: &impl Serialize) {
    let start = out.len();
    // Nothing that is encoded here can fail to be: no map has keys that are not text, and memory takes all bytes.
    let _ = value.serialize(&mut Serializer::new(&mut *out));
    // In JSON the separators can only stand in strings, so the finished bytes are searched once instead of every
    // string for itself; that also finds them in what was not encoded here.
    if out[start..].contains(&HEAD) {
        escape_separators(out, start);
    }
}

/// Returns `value` as one record's bytes, without a line end.
pub(crate) fn to_line(value: &impl Serialize) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    write(&mut out, value);
    out
}

/// Returns what stands between the quotes when `text` is written as a JSON string. The pieces of two texts, put one
/// after the other, are the piece of the joined text.
pub(crate) fn string_body(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 16);
    write(&mut out, &text);
    out.pop();
    out.drain(..1);
    out
}

/// Writes the separators from `start` on as escapes.
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
    fn line_separators_are_escaped_and_mean_the_same() {
        let text = "a\u{2028}b\u{2029}\u{2030}c\"\n";
        let line = String::from_utf8(to_line(&text)).unwrap();
        assert_eq!(line, r#""a\u2028b\u2029‰c\"\n""#);
        assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
    }

    #[test]
    fn bodies_of_pieces_join_to_the_body_of_the_whole() {
        let text = "tab\t \u{1f600} \"q\" \u{2028} end";
        for cut in text.char_indices().map(|(at, _)| at) {
            let (head, tail) = text.split_at(cut);
            assert_eq!([string_body(head), string_body(tail)].concat(), string_body(text));
        }
    }
}
