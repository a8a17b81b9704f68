//! Extracts plain text from terminal output: removes escape sequences and control characters, keeps line breaks and tabs
//! and, if asked to, carriage returns. A sequence may be split between pieces.

/// Removes terminal control from a text.
#[derive(Debug, Default)]
pub(crate) struct Cleaner {
    state: State,
    keeps_returns: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate character, as when selecting a character set.
    Intermediate,
    /// In a control sequence, such as a colour.
    Control,
    /// In a string for the terminal, such as its title.
    Command,
    /// After ESC in such a string.
    CommandEscape,
}

impl Cleaner {
    /// Returns a cleaner that keeps carriage returns.
    pub(crate) fn keeping_returns() -> Self {
        Self { keeps_returns: true, ..Self::default() }
    }

    /// Returns the text in `piece`.
    pub(crate) fn push(&mut self, piece: String) -> String {
        // Most output is plain, and looking at bytes is many times as fast as looking at characters.
        if self.state == State::Text && piece.bytes().all(is_plain) {
            return piece;
        }
        piece.chars().filter(|&character| self.keeps(character)).collect()
    }

    fn keeps(&mut self, character: char) -> bool {
        let (state, keep) = match (self.state, character) {
            // A line break ends every sequence, so that an unterminated one does not swallow everything after it.
            (_, '\n') => (State::Text, true),
            (State::Command, '\x1b') => (State::CommandEscape, false),
            (State::Command, '\x07' | '\u{9c}') => (State::Text, false),
            (State::Command, _) => (State::Command, false),
            (State::CommandEscape, '\\') => (State::Text, false),
            (_, '\x1b') => (State::Escape, false),
            (State::Escape | State::CommandEscape, '[') => (State::Control, false),
            (State::Escape | State::CommandEscape, ']' | 'P' | 'X' | '^' | '_') => (State::Command, false),
            (State::Escape | State::CommandEscape | State::Intermediate, ' '..='/') => {
                (State::Intermediate, false)
            }
            (State::Escape | State::CommandEscape | State::Intermediate, _) => (State::Text, false),
            (State::Control, '@'..='~') => (State::Text, false),
            (State::Control, ' '..='?') => (State::Control, false),
            (_, '\u{9b}') => (State::Control, false),
            (_, '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}') => (State::Command, false),
            (_, '\t') => (State::Text, true),
            (_, '\r') => (State::Text, self.keeps_returns),
            (_, other) => (State::Text, !other.is_control()),
        };
        self.state = state;
        keep
    }
}

/// Tells whether a byte of UTF-8 is certainly no part of a control character. The last exception begins those beyond ASCII.
fn is_plain(byte: u8) -> bool {
    (byte >= b' ' && byte != 0x7f && byte != 0xc2) || byte == b'\n' || byte == b'\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_cleans(given: &str, expected: &str) {
        assert_eq!(Cleaner::default().push(given.to_owned()), expected);
        let mut cleaner = Cleaner::default();
        let in_pieces: String = given.chars().map(|character| cleaner.push(character.to_string())).collect();
        assert_eq!(in_pieces, expected, "in pieces");
    }

    #[test]
    fn only_text_remains() {
        check_cleans("\x1b[1;31mred\x1b[0m\r\n\tok\x08\x07\x00", "red\n\tok");
        check_cleans("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\u{9b}2Kc", "abc");
        check_cleans("\x1b(Bplain \x1b=x\x1bPdata\x1b\\y", "plain xy");
        check_cleans("\x1b]never ends\nnext", "\nnext");
        check_cleans("grüße 🎉", "grüße 🎉");
    }

    #[test]
    fn carriage_returns_remain_if_asked_for() {
        let given = "\x1b[2K1%\r\x1b[32m2%\x1b[0m\r\n".to_owned();
        assert_eq!(Cleaner::keeping_returns().push(given), "1%\r2%\r\n");
    }
}
