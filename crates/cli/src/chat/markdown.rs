//! Markdown as it arrives, in rows for the terminal. A row is complete as soon as the next word does not fit on it, so a
//! long paragraph does not wait for its end.
//!
//! Nothing of the text reaches the terminal unseen: its control characters are escaped first.

use unicode_width::UnicodeWidthStr as _;

use super::style::{Palette, Style};
use crate::terminal::plain;

/// How much of a line without an end is kept back. A model that never ends its line is shown in pieces.
const LONGEST_LINE: usize = 64 * 1024;

/// Turns Markdown into rows.
#[derive(Debug)]
pub(super) struct Markdown {
    palette: Palette,
    width: usize,
    /// What has arrived and is not part of a row yet.
    pending: String,
    /// The paragraph or list item that goes on.
    flow: Option<Flow>,
    is_in_fence: bool,
    /// Whether the last row was empty, so that no other empty one follows.
    is_after_blank: bool,
}

/// A line of the source, which becomes one or several rows.
#[derive(Debug)]
struct Flow {
    /// What each row but the first begins with.
    indent: usize,
    base: Style,
    row: String,
    used: usize,
    /// Whether the row has a word.
    has_word: bool,
    marks: Marks,
}

/// The emphasis that is open.
#[derive(Debug, Default)]
struct Marks {
    is_bold: bool,
    is_italic: bool,
    is_code: bool,
}

impl Markdown {
    pub fn new(palette: Palette, width: usize) -> Self {
        Self {
            palette,
            width: width.max(20),
            pending: String::new(),
            flow: None,
            is_in_fence: false,
            is_after_blank: true,
        }
    }

    /// Uses another width from the next row on.
    pub fn set_width(&mut self, width: usize) {
        self.width = width.max(20);
    }

    /// Takes more of the text and returns the rows that are complete.
    pub fn feed(&mut self, text: &str) -> Vec<String> {
        self.pending.push_str(&plain(&text.replace('\r', "")).replace('\t', "    "));
        let mut rows = Vec::new();
        while let Some(end) = self.pending.find('\n') {
            let rest = self.pending.split_off(end + 1);
            let mut line = std::mem::replace(&mut self.pending, rest);
            line.pop();
            self.line(&line, &mut rows);
        }
        self.flow_on(&mut rows);
        rows
    }

    /// Ends the text and returns the rest of the rows.
    pub fn finish(&mut self) -> Vec<String> {
        let mut rows = Vec::new();
        let line = std::mem::take(&mut self.pending);
        if !line.is_empty() || self.flow.is_some() {
            self.line(&line, &mut rows);
        }
        self.is_in_fence = false;
        self.is_after_blank = true;
        rows
    }

    /// Takes the rest of a line.
    fn line(&mut self, line: &str, rows: &mut Vec<String>) {
        if self.flow.is_none() {
            if self.whole_line(line, rows) {
                return;
            }
            let rest = self.begin(line);
            self.words(&rest, rows);
        } else {
            self.words(line, rows);
        }
        if let Some(flow) = self.flow.take() {
            rows.push(flow.row);
        }
    }

    /// Takes a line that becomes one row as it is. Returns whether it is one.
    fn whole_line(&mut self, line: &str, rows: &mut Vec<String>) -> bool {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            self.is_in_fence = !self.is_in_fence;
            rows.push(self.palette.paint(Style::Faint, line));
        } else if self.is_in_fence {
            rows.push(self.palette.paint(Style::Code, line));
        } else if trimmed.is_empty() {
            if !self.is_after_blank {
                rows.push(String::new());
            }
            self.is_after_blank = true;
            return true;
        } else if trimmed.starts_with('|') {
            rows.push(line.to_owned());
        } else {
            self.is_after_blank = false;
            return false;
        }
        self.is_after_blank = false;
        true
    }

    /// Takes the words of a line that has not ended yet.
    fn flow_on(&mut self, rows: &mut Vec<String>) {
        if self.pending.len() > LONGEST_LINE {
            let line = std::mem::take(&mut self.pending);
            return self.line(&line, rows);
        }
        if self.flow.is_none() {
            // What kind of line it is shows at its first space, unless it is one that is taken whole.
            let trimmed = self.pending.trim_start();
            let is_whole = self.is_in_fence || trimmed.starts_with(['|', '`', '~']) || trimmed.is_empty();
            if is_whole || !trimmed.contains(' ') {
                return;
            }
            self.is_after_blank = false;
            let line = std::mem::take(&mut self.pending);
            self.pending = self.begin(&line);
        }
        // The last word may go on.
        if let Some(end) = self.pending.rfind(' ') {
            let rest = self.pending.split_off(end + 1);
            let words = std::mem::replace(&mut self.pending, rest);
            self.words(&words, rows);
        }
    }

    /// Begins a line with what it is: a heading, an item, a quote or a paragraph. Returns the rest of it.
    fn begin(&mut self, line: &str) -> String {
        let depth = line.len() - line.trim_start().len();
        let trimmed = line.trim_start();
        let (mark, rest) = trimmed.split_once(' ').unwrap_or((trimmed, ""));
        let is_number = mark.len() < 5
            && mark.strip_suffix(['.', ')']).is_some_and(|digits| {
                !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
            });
        let (shown, base, rest) = match mark {
            "#" | "##" | "###" | "####" | "#####" | "######" => (String::new(), Style::Heading, rest),
            "-" | "*" | "+" => ("• ".to_owned(), Style::Plain, rest),
            ">" => ("│ ".to_owned(), Style::Faint, rest),
            _ if is_number => (format!("{mark} "), Style::Plain, rest),
            _ => (String::new(), Style::Plain, trimmed),
        };
        let depth = depth.min(self.width / 4);
        let mut row = " ".repeat(depth);
        self.palette.add(&mut row, Style::Faint, &shown);
        let indent = depth + shown.width();
        self.flow = Some(Flow { indent, base, row, used: indent, has_word: false, marks: Marks::default() });
        rest.to_owned()
    }

    fn words(&mut self, text: &str, rows: &mut Vec<String>) {
        let (width, palette) = (self.width, self.palette);
        let Some(flow) = &mut self.flow else { return };
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            flow.word(word, width, palette, rows);
        }
    }
}

impl Flow {
    /// Adds a word, on a row of its own if it does not fit.
    fn word(&mut self, word: &str, width: usize, palette: Palette, rows: &mut Vec<String>) {
        let pieces = self.marks.split(word, self.base);
        let length: usize = pieces.iter().map(|(_, text)| text.width()).sum();
        if self.has_word && self.used + 1 + length > width {
            rows.push(std::mem::replace(&mut self.row, " ".repeat(self.indent)));
            (self.used, self.has_word) = (self.indent, false);
        }
        if self.has_word {
            self.row.push(' ');
            self.used += 1;
        }
        for (style, text) in pieces {
            palette.add(&mut self.row, style, &text);
        }
        self.used += length;
        self.has_word = true;
    }
}

impl Marks {
    /// Splits a word at its marks of emphasis, which are left out.
    fn split(&mut self, word: &str, base: Style) -> Vec<(Style, String)> {
        let mut pieces = Vec::new();
        let mut piece = String::new();
        let mut previous = None;
        let mut letters = word.chars().peekable();
        while let Some(letter) = letters.next() {
            let next = letters.peek().copied();
            let style = self.style(base);
            let is_mark = match letter {
                '`' => {
                    self.is_code = !self.is_code;
                    true
                }
                _ if self.is_code => false,
                '*' if next == Some('*') => {
                    letters.next();
                    self.is_bold = !self.is_bold;
                    true
                }
                '*' | '_' if self.is_bound(letter, previous, next) => {
                    self.is_italic = !self.is_italic;
                    true
                }
                _ => false,
            };
            if is_mark {
                pieces.push((style, std::mem::take(&mut piece)));
            } else {
                piece.push(letter);
            }
            previous = Some(letter);
        }
        pieces.push((self.style(base), piece));
        pieces.retain(|(_, text)| !text.is_empty());
        pieces
    }

    /// Tells whether a star or a line between two characters begins or ends emphasis.
    fn is_bound(&self, letter: char, previous: Option<char>, next: Option<char>) -> bool {
        let is_word = |neighbour: Option<char>| neighbour.is_some_and(char::is_alphanumeric);
        if self.is_italic {
            // `_` within a word is a part of it.
            letter == '*' || !is_word(next)
        } else {
            is_word(next) && !is_word(previous)
        }
    }

    fn style(&self, base: Style) -> Style {
        match self {
            Self { is_code: true, .. } => Style::Code,
            Self { is_bold: true, .. } => Style::Bold,
            Self { is_italic: true, .. } => Style::Italic,
            _ => base,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Palette = Palette { is_styled: false };
    const STYLED: Palette = Palette { is_styled: true };

    /// Returns the rows of a text that arrives in pieces of so many characters.
    fn rows(palette: Palette, text: &str, size: usize) -> Vec<String> {
        let mut markdown = Markdown::new(palette, 30);
        let letters: Vec<char> = text.chars().collect();
        let pieces = letters.chunks(size).map(|piece| piece.iter().collect::<String>());
        let mut rows: Vec<String> = pieces.flat_map(|piece| markdown.feed(&piece)).collect();
        rows.extend(markdown.finish());
        rows
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        for size in [1, 3, 7, 1000] {
            assert_eq!(rows(PLAIN, text, size), expected, "in pieces of {size}");
        }
    }

    #[test]
    fn paragraphs_and_items_are_wrapped_with_their_indent() {
        check("one two three four five six seven", &["one two three four five six", "seven"]);
        check(
            "- a point that is longer than a row\n  1. within\n> quoted",
            &["• a point that is longer than", "  a row", "  1. within", "│ quoted"],
        );
        check("# Title\n\n\ntext\n", &["Title", "", "text"]);
        check("世界世界世界世界 世界世界世界世界", &["世界世界世界世界", "世界世界世界世界"]);
    }

    #[test]
    fn code_and_tables_stay_as_they_are() {
        check(
            "```rust\nfn main() { let a  =  1; // longer than a row\n}\n```\n| a | b |",
            &["```rust", "fn main() { let a  =  1; // longer than a row", "}", "```", "| a | b |"],
        );
    }

    #[test]
    fn emphasis_is_shown_and_names_are_not_taken_for_it() {
        check("a **b** *c* `d_e` snake_case_name 2 * 3 * 4", &["a b c d_e snake_case_name 2 *", "3 * 4"]);
        assert_eq!(
            rows(STYLED, "a **b c** `d`", 2),
            ["a \u{1b}[1mb\u{1b}[0m \u{1b}[1mc\u{1b}[0m \u{1b}[36md\u{1b}[0m"]
        );
        assert_eq!(rows(STYLED, "_x_ y", 1), ["\u{1b}[3mx\u{1b}[0m y"]);
    }

    #[test]
    fn long_paragraph_does_not_wait_for_its_end() {
        let mut markdown = Markdown::new(PLAIN, 30);
        assert_eq!(markdown.feed("one two three four five six sev"), ["one two three four five six"; 0]);
        assert_eq!(markdown.feed("en "), ["one two three four five six"]);
        assert_eq!(markdown.finish(), ["seven"]);
        let mut endless = Markdown::new(PLAIN, 30);
        assert_eq!(endless.feed(&"x".repeat(LONGEST_LINE + 1)).len(), 1);
    }

    #[test]
    fn control_characters_of_a_model_are_shown_not_obeyed() {
        for size in [1, 2, 100] {
            let shown =
                rows(PLAIN, "a\u{1b}[2J\u{7} b\u{9b}31m\r\n\u{202e}c\n```\n\u{1b}]0;t\u{7}\n```", size)
                    .join("\n");
            assert!(shown.contains("\\u001b[2J\\u0007") && shown.contains("\\u202ec"), "{shown}");
            assert!(shown.chars().all(|letter| letter == '\n' || !letter.is_control()), "{shown}");
        }
    }
}
