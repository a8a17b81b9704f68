//! Finds a quoted text in a file: exactly, or else ignoring line endings, or else ignoring small differences that models
//! make when they quote.

use std::ops::Range;

use super::normal_form::{Leniency, NormalForm};

/// How many places of an ambiguous text are listed.
const PLACES_NAMED: usize = 5;

/// A place in the file, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Match {
    pub range: Range<usize>,
    /// Whether the text there differs slightly from the quoted one.
    pub loose: bool,
}

/// The places that match a quoted text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Matches {
    None,
    One(Match),
    Many { count: usize, lines: Vec<usize> },
}

/// Finds `old` by the strictest comparison that matches anything.
pub(super) fn find(original: &str, old: &str) -> Matches {
    let mut found = Places::of(occurrences(original, old).map(|start| start..start + old.len()));
    if found.count == 0 {
        found = find_normal(original, old, Leniency::LineEnds);
    }
    let loose = found.count == 0;
    if loose {
        found = find_normal(original, old, Leniency::Typography);
    }
    match found.first.as_slice() {
        [] => Matches::None,
        [range] => Matches::One(Match { range: range.clone(), loose }),
        several => {
            let lines = several.iter().map(|range| line_at(original, range.start)).collect();
            Matches::Many { count: found.count, lines }
        }
    }
}

/// The first places that match, and how many there are: in a large file, a short text can have millions.
#[derive(Default)]
struct Places {
    first: Vec<Range<usize>>,
    count: usize,
}

impl Places {
    fn of(found: impl Iterator<Item = Range<usize>>) -> Self {
        let mut places = Self::default();
        for range in found {
            places.count += 1;
            if places.first.len() < PLACES_NAMED {
                places.first.push(range);
            }
        }
        places
    }
}

fn find_normal(original: &str, old: &str, leniency: Leniency) -> Places {
    if leniency == Leniency::LineEnds && !original.contains('\r') && !old.contains('\r') {
        return Places::default();
    }
    let form = NormalForm::of(original, leniency);
    let piece = NormalForm::of(old, leniency).text;
    if piece.trim().is_empty() {
        return Places::default();
    }
    let edges = Edges::of(old, leniency);
    let found = occurrences(&form.text, &piece);
    Places::of(found.filter_map(|start| edges.fit(&form, start..start + piece.len())))
}

/// What was trimmed from the ends of a quoted text. Trailing spaces on its last line stand for the end of a line, so the
/// match must end there; a blank first line stands for a whole line. Otherwise the shorter text would match inside other
/// words.
struct Edges {
    begins_line: bool,
    ends_line: bool,
}

impl Edges {
    fn of(old: &str, leniency: Leniency) -> Self {
        if leniency == Leniency::LineEnds {
            return Self { begins_line: false, ends_line: false };
        }
        let (first, last) = (old.split('\n').next().unwrap_or(old), old.rsplit('\n').next().unwrap_or(old));
        let first = first.strip_suffix('\r').unwrap_or(first);
        Self {
            begins_line: !first.is_empty() && first.trim_end().is_empty(),
            ends_line: last.trim_end().len() < last.len(),
        }
    }

    /// Returns the range in the original of a match in the normal form, if the match is valid.
    fn fit(&self, form: &NormalForm, place: Range<usize>) -> Option<Range<usize>> {
        let (before, after) = (&form.text[..place.start], &form.text[place.end..]);
        let start = if self.begins_line {
            if !(before.is_empty() || before.ends_with('\n')) {
                return None;
            }
            form.original_end(place.start)?
        } else {
            form.original_start(place.start)?
        };
        let end = if self.ends_line {
            match after.chars().next() {
                Some('\n') => form.original_start(place.end)?,
                Some(_) => return None,
                None => form.original_end(place.end)?,
            }
        } else {
            form.original_end(place.end)?
        };
        Some(start..end)
    }
}

/// Returns where `piece` starts in `text`, including overlapping occurrences.
fn occurrences<'a>(text: &'a str, piece: &'a str) -> impl Iterator<Item = usize> + 'a {
    let step = piece.chars().next().map_or(1, char::len_utf8);
    let finder = memchr::memmem::Finder::new(piece.as_bytes());
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + finder.find(text.as_bytes().get(from..)?)?;
        from = start + step;
        Some(start)
    })
}

/// Returns the number of the line at a place, from 1.
pub(super) fn line_at(text: &str, place: usize) -> usize {
    memchr::memchr_iter(b'\n', &text.as_bytes()[..place]).count() + 1
}

/// Returns `new` with the line endings used at that place of the file, or else by its first line.
pub(super) fn with_line_endings_of(original: &str, range: &Range<usize>, new: &str) -> String {
    let first_end = |text: &str| {
        let position = text.find('\n')?;
        Some(text[..position].ends_with('\r'))
    };
    let Some(carriage_return) = first_end(&original[range.clone()]).or_else(|| first_end(original)) else {
        return new.to_owned();
    };
    let plain = new.replace("\r\n", "\n");
    if carriage_return { plain.replace('\n', "\r\n") } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_finds(original: &str, old: &str, expected: Option<&str>) {
        let found = match find(original, old) {
            Matches::One(place) => Some(&original[place.range]),
            _ => None,
        };
        assert_eq!(found, expected, "{old:?} in {original:?}");
    }

    #[test]
    fn strictest_comparison_takes_precedence() {
        check_finds("say “hi” and \"hi\"", "\"hi\"", Some("\"hi\""));
        check_finds("say “hi”", "\"hi\"", Some("“hi”"));
        check_finds("a  \r\nb", "a\nb", Some("a  \r\nb"));
        check_finds("a\r\nb", "a\nb", Some("a\r\nb"));
        check_finds("a—b", "a-b", Some("a—b"));
    }

    #[test]
    fn trimmed_spaces_do_not_make_a_text_match_elsewhere() {
        check_finds("foobar", "foo ", None);
        check_finds("foo\nfoobar", "foo ", Some("foo"));
        check_finds("foo\t\nbar", "foo ", Some("foo\t"));
        check_finds("x\nfoo", "  \nfoo", None);
        check_finds("x\n\t\nfoo", "  \nfoo", Some("\t\nfoo"));
        check_finds("x y", "  ", None);
    }

    #[test]
    fn overlapping_places_count_as_two() {
        assert_eq!(find("\naaa", "aa"), Matches::Many { count: 2, lines: vec![2, 2] });
    }

    #[test]
    fn new_text_takes_the_line_endings_of_its_place() {
        assert_eq!(with_line_endings_of("a\r\nb\n", &(0..1), "x\ny"), "x\r\ny");
        assert_eq!(with_line_endings_of("a\r\nb\nc", &(3..6), "x\r\ny"), "x\ny");
        assert_eq!(with_line_endings_of("a", &(0..1), "x\r\ny"), "x\r\ny");
    }
}
