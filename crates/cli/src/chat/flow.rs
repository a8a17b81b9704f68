//! A line of Markdown, which becomes one or several rows: its words and their emphasis.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::emphasis::Marks;
use super::style::{Palette, Style};

/// Joins two characters to one.
const JOINER: char = '\u{200d}';

/// A line of the source.
#[derive(Debug)]
pub(super) struct Flow {
    palette: Palette,
    base: Style,
    /// What each row but the first begins with, and its columns.
    prefix: String,
    indent: usize,
    row: String,
    used: usize,
    /// Whether the row has a word.
    has_word: bool,
    /// Whether the next word goes on with the last one.
    is_glued: bool,
    marks: Marks,
}

/// What stays together on a row, with its looks.
struct Unit {
    pieces: Vec<(Style, String)>,
    width: usize,
}

impl Flow {
    /// Begins a line with something that takes `indent` columns, as `prefix` does before its other rows.
    pub fn new(palette: Palette, base: Style, first: String, prefix: String, indent: usize) -> Self {
        let (row, marks) = (first, Marks::default());
        Self { palette, base, prefix, indent, row, used: indent, has_word: false, is_glued: false, marks }
    }

    /// Takes words, and adds the rows that are complete.
    pub fn words(&mut self, text: &str, width: usize, rows: &mut Vec<String>) {
        self.is_glued &= !text.starts_with(' ');
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            self.word(word, width, rows);
        }
        self.is_glued = self.has_word && !text.is_empty() && !text.ends_with(' ');
    }

    /// Returns the last row.
    pub fn end(self) -> String {
        self.row
    }

    fn word(&mut self, word: &str, width: usize, rows: &mut Vec<String>) {
        let mut needs_space = self.has_word && !std::mem::take(&mut self.is_glued);
        for unit in units(self.marks.split(word, self.base)) {
            if self.has_word && self.used + usize::from(needs_space) + unit.width > width {
                rows.push(std::mem::replace(&mut self.row, self.prefix.clone()));
                (self.used, needs_space) = (self.indent, false);
            }
            if std::mem::take(&mut needs_space) {
                self.row.push(' ');
                self.used += 1;
            }
            for (style, text) in unit.pieces {
                self.palette.add(&mut self.row, style, &text);
            }
            self.used += unit.width;
            self.has_word = true;
        }
    }
}

/// Splits a word where a row can end: before and after letters of two columns.
fn units(pieces: Vec<(Style, String)>) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut previous = None;
    for (style, text) in pieces {
        let mut start = 0;
        for (place, letter) in text.char_indices() {
            if previous.is_some_and(|previous| is_gap(previous, letter)) {
                add(&mut units, style, &text[start..place]);
                start = place;
                units.push(Unit { pieces: Vec::new(), width: 0 });
            }
            previous = Some(letter);
        }
        add(&mut units, style, &text[start..]);
    }
    units
}

/// Adds a piece to the last unit.
fn add(units: &mut Vec<Unit>, style: Style, text: &str) {
    if units.is_empty() {
        units.push(Unit { pieces: Vec::new(), width: 0 });
    }
    if let Some(unit) = units.last_mut().filter(|_| !text.is_empty()) {
        unit.width += text.width();
        unit.pieces.push((style, text.to_owned()));
    }
}

/// Tells whether a row can end between two letters.
fn is_gap(previous: char, next: char) -> bool {
    let is_wide = |letter: char| letter.width() == Some(2);
    let is_joined = previous == JOINER || next == JOINER || next.width() == Some(0);
    !is_joined && (is_wide(previous) || previous.width() == Some(0)) && is_wide(next)
}

/// Returns the last place in a text where a row can end within a word.
pub(super) fn gap(text: &str) -> Option<usize> {
    let mut next: Option<(usize, char)> = None;
    for (place, letter) in text.char_indices().rev() {
        if let Some((after, _)) = next.filter(|(_, next)| is_gap(letter, *next)) {
            return Some(after);
        }
        next = Some((place, letter));
    }
    None
}
