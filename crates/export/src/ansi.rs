//! Renders terminal output: colours become classes, other escape sequences are removed.

use crate::escape;

const ESCAPE: char = '\u{1b}';

/// Returns whether a text has escape sequences.
pub(crate) fn has_sequences(text: &str) -> bool {
    text.contains(ESCAPE)
}

/// The attributes of the text that follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Look {
    /// 1 to 8 for the standard colours, 0 for the default.
    colour: u8,
    is_bold: bool,
}

/// Appends terminal output as content of an element, and updates `look` for the output after it.
pub(crate) fn push_terminal_text(page: &mut String, text: &str, look: &mut Look) {
    let mut pieces = text.split(ESCAPE);
    if let Some(first) = pieces.next() {
        push_piece(page, first, *look);
    }
    for piece in pieces {
        match sequence_length(piece) {
            Some(length) => {
                let (sequence, rest) = piece.split_at(length);
                if let Some(codes) = sequence.strip_prefix('[').and_then(|codes| codes.strip_suffix('m')) {
                    apply(look, codes);
                }
                push_piece(page, rest, *look);
            }
            // Not a sequence: shown like any invisible character.
            None => {
                push_piece(page, "\u{1b}", *look);
                push_piece(page, piece, *look);
            }
        }
    }
}

/// Returns the length of the escape sequence at the start of `text`, which follows an escape character.
fn sequence_length(text: &str) -> Option<usize> {
    match text.as_bytes().first()? {
        b'[' => {
            let end = text[1..].find(|next: char| !matches!(next, '0'..='9' | ';' | ':' | '?' | ' '))?;
            text[1 + end..].starts_with(|next: char| next.is_ascii_alphabetic()).then_some(end + 2)
        }
        // A title or a link.
        b']' => text.find('\u{7}').map(|end| end + 1),
        b'(' | b')' => text.get(..2).map(str::len),
        b'\\' | b'=' | b'>' | b'7' | b'8' | b'M' => Some(1),
        _ => None,
    }
}

fn apply(look: &mut Look, codes: &str) {
    let mut codes = codes.split([';', ':']).map(|code| code.parse::<u16>().unwrap_or(0));
    while let Some(code) = codes.next() {
        match code {
            0 => *look = Look::default(),
            1 => look.is_bold = true,
            22 => look.is_bold = false,
            #[expect(clippy::cast_possible_truncation, reason = "at most 8")]
            30..=37 => look.colour = (code - 29) as u8,
            #[expect(clippy::cast_possible_truncation, reason = "at most 8")]
            90..=97 => look.colour = (code - 89) as u8,
            39 => look.colour = 0,
            // Extended colours have no class.
            38 | 48 => {
                let parts = if codes.next() == Some(2) { 3 } else { 1 };
                codes.by_ref().take(parts).for_each(drop);
            }
            _ => {}
        }
    }
}

fn push_piece(page: &mut String, text: &str, look: Look) {
    if text.is_empty() {
        return;
    }
    if look == Look::default() {
        escape::push_text(page, text);
        return;
    }
    page.push_str("<span class=\"");
    page.push_str(match look.colour {
        1 | 8 => "a0",
        2 => "a1",
        3 => "a2",
        4 => "a3",
        5 => "a4",
        6 => "a5",
        7 => "a6",
        _ => "a",
    });
    page.push_str(if look.is_bold { " ab\">" } else { "\">" });
    escape::push_text(page, text);
    page.push_str("</span>");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn terminal_text(text: &str) -> String {
        let mut page = String::new();
        push_terminal_text(&mut page, text, &mut Look::default());
        page
    }

    #[test]
    fn colours_become_classes() {
        assert_eq!(
            terminal_text("a\u{1b}[1;31mb<\u{1b}[0mc\u{1b}[38;5;200md\u{1b}[2K"),
            "a<span class=\"a1 ab\">b&lt;</span>cd"
        );
        assert_eq!(terminal_text("\u{1b}]0;title\u{7}x\u{1b}(B"), "x");
    }

    #[test]
    fn incomplete_sequences_are_shown() {
        assert_eq!(terminal_text("a\u{1b}b\u{1b}["), "a\u{241b}b\u{241b}[");
    }

    proptest! {
        #[test]
        fn all_text_is_escaped(text in "([a-z<\"\u{1b}\\[\\];m0-9é\u{7}]){0,40}") {
            let page = terminal_text(&text);
            let without_spans = page.replace("</span>", "").replace("<span class=\"a", "");
            prop_assert!(!without_spans.contains('<'), "{}", page);
        }
    }
}
