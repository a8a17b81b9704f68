//! A text normalised so that small differences disappear. Every place in the normal form maps back to the original, so
//! that everything outside a match stays unchanged, byte for byte.

use std::ops::Range;

use crate::paths::is_unusual_space;

/// Which differences are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leniency {
    /// Line endings.
    LineEnds,
    /// Also trailing spaces, and typographic quotes, dashes and spaces.
    Typography,
}

/// A text in its normal form.
pub(super) struct NormalForm {
    pub text: String,
    segments: Vec<Segment>,
}

/// A piece of the normal form and its origin.
struct Segment {
    normal: Range<usize>,
    original: Range<usize>,
    /// Whether the piece was copied, so that each byte maps back. Otherwise it is indivisible.
    copied: bool,
}

impl NormalForm {
    pub(super) fn of(original: &str, leniency: Leniency) -> Self {
        let mut form = Self { text: String::with_capacity(original.len()), segments: Vec::new() };
        let mut place = 0;
        for line in original.split_inclusive('\n') {
            let end = if line.ends_with("\r\n") {
                "\r\n"
            } else if line.ends_with('\n') {
                "\n"
            } else {
                ""
            };
            let body = &line[..line.len() - end.len()];
            match leniency {
                Leniency::LineEnds => form.copy(body, place),
                Leniency::Typography => form.add_plain(body.trim_end(), place),
            }
            match end {
                "\r\n" => form.substitute("\n", place + body.len()..place + line.len()),
                end => form.copy(end, place + body.len()),
            }
            place += line.len();
        }
        form
    }

    fn add_plain(&mut self, body: &str, place: usize) {
        for (index, character) in body.char_indices() {
            let (start, length) = (place + index, character.len_utf8());
            match plain(character) {
                Some(plain) => self.substitute(plain.as_str(), start..start + length),
                None => self.copy(&body[index..index + length], start),
            }
        }
    }

    fn copy(&mut self, piece: &str, place: usize) {
        if piece.is_empty() {
            return;
        }
        let normal = self.text.len()..self.text.len() + piece.len();
        self.text.push_str(piece);
        match self.segments.last_mut() {
            Some(last) if last.copied && last.original.end == place => {
                last.normal.end = normal.end;
                last.original.end += piece.len();
            }
            _ => self.segments.push(Segment { normal, original: place..place + piece.len(), copied: true }),
        }
    }

    fn substitute(&mut self, piece: &str, original: Range<usize>) {
        let normal = self.text.len()..self.text.len() + piece.len();
        self.text.push_str(piece);
        self.segments.push(Segment { normal, original, copied: false });
    }

    /// Returns the place in the original of the piece that starts at `start`; `None` inside a character.
    pub(super) fn original_start(&self, start: usize) -> Option<usize> {
        let segment = self.segment_of(start)?;
        let within = start - segment.normal.start;
        (segment.copied || within == 0).then_some(segment.original.start + within)
    }

    /// Returns the place in the original of the end of the piece that ends at `end`.
    pub(super) fn original_end(&self, end: usize) -> Option<usize> {
        let Some(last) = end.checked_sub(1) else { return Some(0) };
        let segment = self.segment_of(last)?;
        if segment.copied {
            Some(segment.original.start + (end - segment.normal.start))
        } else {
            (segment.normal.end == end).then_some(segment.original.end)
        }
    }

    fn segment_of(&self, byte: usize) -> Option<&Segment> {
        let index = self.segments.partition_point(|segment| segment.normal.end <= byte);
        self.segments.get(index)
    }
}

/// The plain form of a character.
enum Plain {
    Text(&'static str),
    Letter([u8; 1]),
}

impl Plain {
    fn as_str(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Letter(letter) => std::str::from_utf8(letter).unwrap_or_default(),
        }
    }
}

/// Returns the plain form of a typographic character; `None` if it is plain already.
fn plain(character: char) -> Option<Plain> {
    let text = match character {
        _ if character.is_ascii() => return None,
        '\u{2018}'..='\u{201b}' | '\u{2032}' => "'",
        '\u{201c}'..='\u{201f}' | '\u{2033}' => "\"",
        '\u{2010}'..='\u{2015}' | '\u{2212}' => "-",
        '\u{2026}' => "...",
        '\u{fb00}' => "ff",
        '\u{fb01}' => "fi",
        '\u{fb02}' => "fl",
        // Full-width ASCII characters.
        '\u{ff01}'..='\u{ff5e}' => {
            let letter = u8::try_from(u32::from(character) - 0xff01 + 0x21).ok()?;
            return Some(Plain::Letter([letter]));
        }
        _ if is_unusual_space(character) => " ",
        _ => return None,
    };
    Some(Plain::Text(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_maps_back() {
        let original = "a “b” \r\nc…\u{a0}ｄ\t\n";
        let form = NormalForm::of(original, Leniency::Typography);
        assert_eq!(form.text, "a \"b\"\nc... d\n");
        let piece = |text: &str| {
            let start = form.text.find(text).unwrap();
            let range = form.original_start(start)?..form.original_end(start + text.len())?;
            Some(&original[range])
        };
        assert_eq!(piece("\"b\""), Some("“b”"));
        assert_eq!(piece("b\"\nc"), Some("b” \r\nc"));
        assert_eq!(piece("c... d\n"), Some("c…\u{a0}ｄ\t\n"));
        assert_eq!(piece(".. d"), None, "a part of a character");
    }

    #[test]
    fn strict_form_changes_only_line_endings() {
        let form = NormalForm::of("“a” \r\nb", Leniency::LineEnds);
        assert_eq!(form.text, "“a” \nb");
    }
}
