//! JSON as it goes out: compact, and without the two characters that some clients take for line ends.
//!
//! U+2028 and U+2029 may stand in a JSON string, but programs that split their input with a general-purpose line
//! reader break there. Written as escapes they mean the same and harm nobody.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

/// Both separators are encoded as this pair and one more byte.
const SEPARATOR_HEAD: [u8; 2] = [0xE2, 0x80];

/// Appends `value` to `out`.
pub(crate) fn write(out: &mut Vec<u8>, value: &impl Serialize) {
    // Nothing that is encoded here can fail to be: no map has keys that are not text, and memory takes all bytes.
    let _ = value.serialize(&mut Serializer::with_formatter(out, LineFormatter));
}

/// Returns `value` as one record's bytes, without a line end.
pub(crate) fn to_line(value: &impl Serialize) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
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

struct LineFormatter;

impl Formatter for LineFormatter {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        if !has_separator(fragment.as_bytes()) {
            return CompactFormatter.write_string_fragment(writer, fragment);
        }
        let mut rest = fragment;
        while let Some(at) = rest.find(['\u{2028}', '\u{2029}']) {
            let (before, from) = rest.split_at(at);
            let escape = if from.starts_with('\u{2028}') { "\\u2028" } else { "\\u2029" };
            writer.write_all(before.as_bytes())?;
            writer.write_all(escape.as_bytes())?;
            rest = &from['\u{2028}'.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }
}

fn has_separator(bytes: &[u8]) -> bool {
    // Looking for one byte first is many times faster, and most texts do not have it.
    bytes.contains(&SEPARATOR_HEAD[0]) && bytes.windows(2).any(|pair| pair == SEPARATOR_HEAD)
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
