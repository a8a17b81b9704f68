//! The looks of a text on the terminal, if there may be any.

use std::fmt::Write as _;

/// How a text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    /// What is there but not what matters.
    Faint,
    Bold,
    Italic,
    Code,
    Heading,
    Added,
    Removed,
    Good,
    Bad,
    /// What waits for the user.
    Question,
}

impl Style {
    /// Returns the parameters of the escape sequence that begins it.
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Faint => "2",
            Self::Bold => "1",
            Self::Italic => "3",
            Self::Code => "36",
            Self::Heading => "1;4",
            Self::Added | Self::Good => "32",
            Self::Removed | Self::Bad => "31",
            Self::Question => "33",
        }
    }
}

/// Whether texts have looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Palette {
    pub is_styled: bool,
}

impl Palette {
    /// Returns a text as it is sent to the terminal. It must have no control characters of its own.
    pub fn paint(self, style: Style, text: &str) -> String {
        let mut painted = String::with_capacity(text.len() + 8);
        self.add(&mut painted, style, text);
        painted
    }

    /// Appends a text.
    pub fn add(self, row: &mut String, style: Style, text: &str) {
        match style.code() {
            code if self.is_styled && !code.is_empty() && !text.is_empty() => {
                // Writing to a string cannot fail.
                let _ = write!(row, "\u{1b}[{code}m{text}\u{1b}[0m");
            }
            _ => row.push_str(text),
        }
    }
}
