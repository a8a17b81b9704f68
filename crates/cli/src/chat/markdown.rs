//! Markdown as it arrives, in rows for the terminal. A row is complete as soon as the next word does not fit on it, so a
//! long paragraph does not wait for its end. Only a table does, because its columns are aligned.
//!
//! Nothing of the text reaches the terminal unseen: its control characters are escaped first.

use unicode_width::UnicodeWidthStr as _;

use super::flow::{Flow, gap};
use super::style::{Palette, Style};
use super::table;
use crate::terminal::plain;

/// How much of a line without an end is kept back, and of a table. A model that never ends them is shown in pieces.
const LONGEST_LINE: usize = 64 * 1024;
const LARGEST_TABLE: usize = 64 * 1024;

/// The most columns of a line between two parts.
const LONGEST_RULE: usize = 40;

/// Turns Markdown into rows.
#[derive(Debug)]
pub(super) struct Markdown {
    palette: Palette,
    width: usize,
    /// What has arrived and is not part of a row yet.
    pending: String,
    /// The paragraph or list item that goes on.
    flow: Option<Flow>,
    fence: Option<Fence>,
    /// The lines of a table that has not ended.
    table: Vec<String>,
    /// Whether the last row was empty, so that no other empty one follows.
    is_after_blank: bool,
}

/// What a block of code began with: only as much of the same ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    /// Returns the fence that a line begins with.
    fn opened_by(trimmed: &str) -> Option<Self> {
        let mark = trimmed.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let rest = trimmed.trim_start_matches(mark);
        let length = trimmed.len() - rest.len();
        // Code within a line has its end there.
        (length >= 3 && !(mark == '`' && rest.contains('`'))).then_some(Self { mark, length })
    }

    fn is_closed_by(self, trimmed: &str) -> bool {
        let rest = trimmed.trim_start_matches(self.mark);
        trimmed.len() - rest.len() >= self.length && rest.trim().is_empty()
    }
}

impl Markdown {
    pub fn new(palette: Palette, width: usize) -> Self {
        Self {
            palette,
            width: width.max(20),
            pending: String::new(),
            flow: None,
            fence: None,
            table: Vec::new(),
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
        if text.contains('\n') {
            let text = std::mem::take(&mut self.pending);
            let mut rest = text.as_str();
            while let Some((line, after)) = rest.split_once('\n') {
                self.line(line, &mut rows);
                rest = after;
            }
            rest.clone_into(&mut self.pending);
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
        self.end_table(&mut rows);
        self.fence = None;
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
        rows.extend(self.flow.take().map(Flow::end));
    }

    /// Takes a line that is not made of words. Returns whether it is one.
    fn whole_line(&mut self, line: &str, rows: &mut Vec<String>) -> bool {
        let trimmed = line.trim_start();
        if let Some(fence) = self.fence {
            let is_end = fence.is_closed_by(trimmed);
            self.fence = Some(fence).filter(|_| !is_end);
            rows.push(self.palette.paint(if is_end { Style::Faint } else { Style::Code }, line));
        } else if trimmed.starts_with('|') {
            self.table.push(line.to_owned());
            if self.table.iter().map(String::len).sum::<usize>() > LARGEST_TABLE {
                self.end_table(rows);
            }
        } else {
            self.end_table(rows);
            if let Some(fence) = Fence::opened_by(trimmed) {
                self.fence = Some(fence);
                rows.push(self.palette.paint(Style::Faint, line));
            } else if is_rule(trimmed) {
                rows.push(self.palette.paint(Style::Faint, &"─".repeat(self.width.min(LONGEST_RULE))));
            } else if trimmed.is_empty() {
                if !self.is_after_blank {
                    rows.push(String::new());
                }
                self.is_after_blank = true;
                return true;
            } else {
                self.is_after_blank = false;
                return false;
            }
        }
        self.is_after_blank = false;
        true
    }

    fn end_table(&mut self, rows: &mut Vec<String>) {
        if !self.table.is_empty() {
            rows.extend(table::rows(self.palette, &std::mem::take(&mut self.table), self.width));
        }
    }

    /// Takes the words of a line that has not ended yet.
    fn flow_on(&mut self, rows: &mut Vec<String>) {
        if self.pending.len() > LONGEST_LINE {
            let line = std::mem::take(&mut self.pending);
            return self.line(&line, rows);
        }
        if self.flow.is_none() {
            // What kind of line it is shows at its first space, or when no mark could be as long, unless it is one that is
            // taken whole.
            let trimmed = self.pending.trim_start();
            let may_be_fence = |mark: char| trimmed.chars().take(3).all(|letter| letter == mark);
            let is_whole = self.fence.is_some()
                || trimmed.is_empty()
                || trimmed.starts_with('|')
                || may_be_fence('`')
                || may_be_fence('~');
            if is_whole || !trimmed.contains(' ') && trimmed.width() <= self.width {
                return;
            }
            self.end_table(rows);
            self.is_after_blank = false;
            let line = std::mem::take(&mut self.pending);
            self.pending = self.begin(&line);
        }
        // The last word may go on. In scripts without spaces it is as long as the paragraph.
        let end = self.pending.rfind(' ').map(|space| space + 1);
        let is_long = |rest: &str| rest.len() > 3 * self.width;
        let end = match end {
            Some(end) if !is_long(&self.pending[end..]) => Some(end),
            end => gap(&self.pending).or(end),
        };
        if let Some(end) = end {
            let rest = self.pending.split_off(end);
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
        let depth = " ".repeat(depth.min(self.width / 4));
        let first = format!("{depth}{}", self.palette.paint(Style::Faint, &shown));
        let others = match mark {
            ">" => first.clone(),
            _ => format!("{depth}{}", " ".repeat(shown.width())),
        };
        self.flow = Some(Flow::new(self.palette, base, first, others, depth.len() + shown.width()));
        rest.to_owned()
    }

    fn words(&mut self, text: &str, rows: &mut Vec<String>) {
        if let Some(flow) = &mut self.flow {
            flow.words(text, self.width, rows);
        }
    }
}

/// Tells whether a line separates two parts.
fn is_rule(line: &str) -> bool {
    let mut marks = line.chars().filter(|letter| *letter != ' ');
    let first = marks.next().filter(|mark| matches!(mark, '-' | '*' | '_'));
    first.is_some_and(|first| marks.clone().count() >= 2 && marks.all(|mark| mark == first))
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
        check("> a quote that is longer than a row", &["│ a quote that is longer than", "│ a row"]);
        check("a\n\n---\n***\n", &["a", "", &"─".repeat(30), &"─".repeat(30)]);
    }

    #[test]
    fn scripts_without_spaces_are_wrapped_at_any_letter() {
        check("世界世界世界世界 世界世界世界世界", &["世界世界世界世界 世界世界世界", "世界"]);
        check(
            &"世界".repeat(20),
            &["世界".repeat(7) + "世", "界".to_owned() + &"世界".repeat(7), "世界".repeat(5)]
                .each_ref()
                .map(String::as_str),
        );
        let mut markdown = Markdown::new(PLAIN, 30);
        assert_eq!(
            markdown.feed(&"世".repeat(40)),
            ["世".repeat(15), "世".repeat(15)],
            "it does not wait for the end"
        );
        check(
            "https://example.org/a/path/that/is/longer/than/a/row x",
            &["https://example.org/a/path/that/is/longer/than/a/row", "x"],
        );
    }

    #[test]
    fn code_stays_as_it_is() {
        check(
            "```rust\nfn main() { let a  =  1; // longer than a row\n}\n```\n| a | b |",
            &["```rust", "fn main() { let a  =  1; // longer than a row", "}", "```", "| a | b |"],
        );
        check("````\n```\n````\nx  y", &["````", "```", "````", "x y"]);
        check("~~~\n```\n~~~ \n`a` b", &["~~~", "```", "~~~ ", "a b"]);
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
    fn tables_are_aligned_when_they_have_ended() {
        check("| a | b |\n|---|--:|\n| long | 1 |\n\nx", &["a    │ b", "─────┼──", "long │ 1", "", "x"]);
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
