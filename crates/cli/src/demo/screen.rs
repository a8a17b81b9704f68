//! What the demo writes: coloured lines that fit the terminal.

use std::io::IsTerminal as _;

use crate::failure::Failure;
use crate::terminal::{columns, say_exactly};

/// The width of lines if stdout is not a terminal.
const WIDTH: usize = 100;

/// The narrowest width that lines are fitted to.
const NARROWEST: usize = 40;

/// How near to the edge a line breaks after a word.
const NEAR_THE_EDGE: usize = 9;

/// The styles of the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Bold,
    Dim,
    Green,
    Yellow,
    Cyan,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "0",
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Cyan => "36",
        }
    }
}

/// Stdout, with the column that the next character goes to.
#[derive(Debug)]
pub(super) struct Screen {
    in_colour: bool,
    width: usize,
    column: usize,
}

impl Screen {
    #[expect(clippy::disallowed_methods, reason = "the demo runs before the environment is read")]
    pub fn new() -> Self {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let is_terminal = std::io::stdout().is_terminal();
        let width = variable("COLUMNS").and_then(|columns| columns.parse().ok()).or_else(columns);
        Self {
            in_colour: is_terminal && variable("NO_COLOR").is_none(),
            width: width.unwrap_or(WIDTH).max(NARROWEST),
            column: 0,
        }
    }

    /// Writes a text, which continues below `indent` where it reaches the edge.
    pub fn write(&mut self, style: Style, text: &str, indent: usize) -> Result<(), Failure> {
        let wrapped = self.wrap(text, indent);
        say_exactly(&self.paint(style, &wrapped))
    }

    /// Ends the line.
    pub fn end_line(&mut self) -> Result<(), Failure> {
        self.column = 0;
        say_exactly("\n")
    }

    /// Writes a line as it is.
    pub fn line(&mut self, style: Style, text: &str) -> Result<(), Failure> {
        say_exactly(&self.paint(style, text))?;
        self.end_line()
    }

    /// Writes a paragraph, broken between words.
    pub fn paragraph(&mut self, style: Style, text: &str) -> Result<(), Failure> {
        let mut lines = vec![String::new()];
        for word in text.split(' ') {
            let last =
                lines.last_mut().filter(|line| line.chars().count() + word.chars().count() < self.width);
            match last {
                Some(line) if line.is_empty() => line.push_str(word),
                Some(line) => line.push_str(&format!(" {word}")),
                None => lines.push(word.to_owned()),
            }
        }
        for line in lines {
            self.line(style, &line)?;
        }
        Ok(())
    }

    fn paint(&self, style: Style, text: &str) -> String {
        if !self.in_colour || style == Style::Plain || text.is_empty() {
            return text.to_owned();
        }
        // Line by line, so that pagers show it correctly.
        let (begin, end) = (format!("\x1b[{}m", style.code()), "\x1b[0m");
        let lines: Vec<_> = text.split('\n').collect();
        format!("{begin}{}{end}", lines.join(&format!("{end}\n{begin}")))
    }

    /// Breaks a text where it reaches the edge.
    fn wrap(&mut self, text: &str, indent: usize) -> String {
        let mut wrapped = String::new();
        for character in text.chars() {
            if character == '\n' {
                self.column = 0;
            } else if self.column >= self.width {
                wrapped.push('\n');
                wrapped.extend(std::iter::repeat_n(' ', indent));
                self.column = indent + 1;
            } else {
                self.column += 1;
            }
            wrapped.push(character);
            // More of a streamed text may follow, so it breaks where a word ends near the edge.
            if matches!(character, ' ' | ',' | ':') && self.column + NEAR_THE_EDGE > self.width {
                wrapped.push('\n');
                wrapped.extend(std::iter::repeat_n(' ', indent));
                self.column = indent;
            }
        }
        wrapped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_continue_below_their_indent() {
        let mut screen = Screen { in_colour: false, width: 20, column: 0 };
        assert_eq!(screen.wrap("12345", 4), "12345");
        assert_eq!(screen.wrap("67890abcdefghijklmnop", 4), "67890abcdefghij\n    klmnop");
        assert_eq!(screen.wrap("q rs", 4), "q \n    rs");
        assert_eq!(screen.paint(Style::Bold, "x"), "x");
        let in_colour = Screen { in_colour: true, ..screen };
        assert_eq!(in_colour.paint(Style::Bold, "x\ny"), "\u{1b}[1mx\u{1b}[0m\n\u{1b}[1my\u{1b}[0m");
    }
}
