//! The changes of an edit, for people: numbered lines and a patch.
//!
//! Only the lines around the replaced pieces are compared, so the cost is that of the edit and not of the file. What is
//! shown is limited: a change to one word can lie in a line of megabytes, and the result is stored and sent around.

use std::fmt::Write as _;
use std::ops::Range;
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use super::Replacement;

/// The number of unchanged lines shown around a change.
const CONTEXT: usize = 4;

/// The time after which the diff algorithm settles for a coarser result.
const TIME_LIMIT: Duration = Duration::from_millis(500);

/// The most bytes of a diff or a patch.
const SIZE_LIMIT: usize = 256 * 1024;

/// The most bytes of a line in a diff.
const LINE_LIMIT: usize = 8 * 1024;

/// The difference of two texts.
pub(super) struct Difference {
    /// Each line with a sign and its number.
    pub diff: String,
    /// The same as a unified patch.
    pub patch: String,
    /// The number, in the new text, of the first changed line.
    pub first_changed_line: Option<usize>,
    /// Whether the diff is shortened. There is no patch then: a shortened one could be applied by mistake.
    pub is_shortened: bool,
}

/// A region of whole lines with at least one replacement, and the same region afterwards. Ranges are in bytes.
struct Region<'a> {
    before: &'a str,
    after: &'a str,
    /// The number of lines before the region.
    lines_before: usize,
    lines_after: usize,
}

/// Returns the difference of two versions of a file. `replacements` are in the order of the file.
pub(super) fn between(path: &str, before: &str, after: &str, replacements: &[Replacement]) -> Difference {
    let regions = regions(before, after, replacements);
    let (old_lines, new_lines) = (before.lines().count(), after.lines().count());
    let width = old_lines.max(new_lines).to_string().len();
    let gap = format!(" {:width$} ...", "");
    let mut diff = Lines::default();
    let mut patch = format!("--- {path}\n+++ {path}\n");
    let mut first_changed_line = None;
    let mut shown_to = 0;
    let mut is_shortened = false;
    for region in regions {
        // A diff of lines that are not shown would be wasted.
        if diff.is_full() {
            is_shortened = true;
            break;
        }
        let changes = TextDiff::configure().timeout(TIME_LIMIT).diff_lines(region.before, region.after);
        for group in changes.grouped_ops(CONTEXT) {
            let start =
                region.lines_before + group.first().map_or(0, |operation| operation.old_range().start);
            if start > shown_to {
                diff.push(&gap);
            }
            let mut hunk = Hunk::default();
            for operation in &group {
                for change in changes.iter_changes(operation) {
                    let old = change.old_index().map(|index| region.lines_before + index);
                    let new = change.new_index().map(|index| region.lines_after + index);
                    let (sign, index) = match change.tag() {
                        ChangeTag::Equal => (' ', old),
                        ChangeTag::Delete => ('-', old),
                        ChangeTag::Insert => ('+', new),
                    };
                    let number = index.map_or(0, |index| index + 1);
                    let text = change.value().trim_end_matches(['\n', '\r']);
                    is_shortened |= diff.push_numbered(sign, number, width, text);
                    if !is_shortened && patch.len() + hunk.text.len() <= SIZE_LIMIT {
                        hunk.push(sign, old, new, change.value());
                    } else {
                        is_shortened = true;
                    }
                }
                if operation.tag() != similar::DiffTag::Equal {
                    first_changed_line.get_or_insert(region.lines_after + operation.new_range().start + 1);
                }
                shown_to = region.lines_before + operation.old_range().end;
            }
            patch.push_str(&hunk.with_header());
        }
    }
    if shown_to < old_lines {
        diff.push(&gap);
    }
    if is_shortened {
        patch = format!("--- {path}\n+++ {path}\n\\ The change is too large for a patch.\n");
    }
    Difference { diff: diff.text, patch, first_changed_line, is_shortened }
}

/// Returns the regions around the replacements, in order. Those that are close together are one.
fn regions<'a>(before: &'a str, after: &'a str, replacements: &[Replacement]) -> Vec<Region<'a>> {
    let mut regions: Vec<Region<'a>> = Vec::new();
    let mut group: Option<(Range<usize>, isize)> = None;
    // How much longer the new text is before the group, and how far lines were counted.
    let (mut growth, mut counted, mut lines_before, mut lines_after) = (0_isize, (0, 0), 0, 0);
    let mut close = |(range, change): (Range<usize>, isize)| {
        let start = range.start.saturating_add_signed(growth);
        growth += change;
        let end = range.end.saturating_add_signed(growth);
        lines_before += line_breaks(&before[counted.0..range.start]);
        lines_after += line_breaks(&after[counted.1..start]);
        counted = (range.start, start);
        regions.push(Region { before: &before[range], after: &after[start..end], lines_before, lines_after });
    };
    for replacement in replacements {
        let place = &replacement.place.range;
        let change = replacement.new.len().cast_signed() - place.len().cast_signed();
        let around = lines_around(before, place);
        group = Some(match group.take() {
            Some((range, earlier)) if around.start <= range.end => {
                (range.start..around.end, earlier + change)
            }
            Some(finished) => {
                close(finished);
                (around, change)
            }
            None => (around, change),
        });
    }
    if let Some(last) = group {
        close(last);
    }
    regions
}

/// Returns the lines of a place and those around it.
fn lines_around(text: &str, place: &Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let mut start = place.start;
    for _ in 0..=CONTEXT {
        let Some(end_of_previous) = start.checked_sub(1) else { break };
        start = memchr::memrchr(b'\n', &bytes[..end_of_previous]).map_or(0, |found| found + 1);
    }
    // The replaced piece may begin in the middle of a line.
    let mut end = place.end;
    for _ in 0..=CONTEXT {
        end = memchr::memchr(b'\n', &bytes[end..]).map_or(bytes.len(), |found| end + found + 1);
    }
    start..end
}

fn line_breaks(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

/// The lines of a diff, as many as fit.
#[derive(Default)]
struct Lines {
    text: String,
}

impl Lines {
    fn is_full(&self) -> bool {
        self.text.len() > SIZE_LIMIT
    }

    fn push(&mut self, line: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
    }

    /// Appends a line, or as much of it as fits. Returns whether something is missing.
    fn push_numbered(&mut self, sign: char, number: usize, width: usize, text: &str) -> bool {
        if self.is_full() {
            return true;
        }
        let shown = &text[..text.floor_char_boundary(LINE_LIMIT)];
        let is_cut = shown.len() < text.len();
        self.push(&format!("{sign}{number:>width$} {shown}{}", if is_cut { "…" } else { "" }));
        is_cut
    }
}

/// A hunk of a patch.
#[derive(Default)]
struct Hunk {
    text: String,
    old: Span,
    new: Span,
}

/// The lines of one version that a hunk is about.
#[derive(Default)]
struct Span {
    start: Option<usize>,
    count: usize,
}

impl Hunk {
    fn push(&mut self, sign: char, old: Option<usize>, new: Option<usize>, line: &str) {
        self.old.add(old);
        self.new.add(new);
        let _ = write!(self.text, "{sign}{line}");
        if !line.ends_with('\n') {
            self.text.push_str("\n\\ No newline at end of file\n");
        }
    }

    fn with_header(&self) -> String {
        if self.text.is_empty() {
            return String::new();
        }
        format!("@@ -{} +{} @@\n{}", self.old.shown(), self.new.shown(), self.text)
    }
}

impl Span {
    fn add(&mut self, index: Option<usize>) {
        if let Some(index) = index {
            self.start.get_or_insert(index);
            self.count += 1;
        }
    }

    fn shown(&self) -> String {
        // Without a line of its own, a version is named by the line before.
        let start = self.start.map_or(0, |start| start + 1);
        if self.count == 1 { start.to_string() } else { format!("{start},{}", self.count) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::matching::Match;

    /// Returns the difference that replacing each of these texts by another makes.
    fn difference(before: &str, edits: &[(&str, &str)]) -> Difference {
        let replacements: Vec<_> = edits
            .iter()
            .enumerate()
            .map(|(index, (old, new))| {
                let start = before.find(old).unwrap();
                let place = Match { range: start..start + old.len(), loose: false };
                Replacement { index, place, new: (*new).to_owned() }
            })
            .collect();
        between("a.txt", before, &crate::edit::apply(before, &replacements), &replacements)
    }

    fn numbered(lines: usize) -> String {
        (1..=lines).map(|line| format!("line {line}\n")).collect()
    }

    #[test]
    fn lines_are_numbered_and_gaps_are_marked() {
        let difference = difference(&numbered(20), &[("line 10\n", "ten\nand a half\n")]);
        let expected = "    ...\n  6 line 6\n  7 line 7\n  8 line 8\n  9 line 9\n-10 line 10\n+10 ten\n+11 and a half\n \
                        11 line 11\n 12 line 12\n 13 line 13\n 14 line 14\n    ...";
        assert_eq!(difference.diff, expected);
        assert_eq!(difference.first_changed_line, Some(10));
        let expected = "--- a.txt\n+++ a.txt\n@@ -6,9 +6,10 @@\n line 6\n line 7\n line 8\n line 9\n-line 10\n+ten\n\
                        +and a half\n line 11\n line 12\n line 13\n line 14\n";
        assert_eq!(difference.patch, expected);
    }

    #[test]
    fn change_to_the_only_line_has_no_gap() {
        let difference = difference("x", &[("x", "y")]);
        assert_eq!((difference.diff.as_str(), difference.first_changed_line), ("-1 x\n+1 y", Some(1)));
        let end = "\n\\ No newline at end of file\n";
        assert_eq!(difference.patch, format!("--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-x{end}+y{end}"));
    }

    /// The patch of the whole texts, which the one of the regions must equal.
    fn whole_patch(before: &str, edits: &[(&str, &str)]) -> String {
        let after = edits.iter().fold(before.to_owned(), |text, (old, new)| text.replacen(old, new, 1));
        let changes = TextDiff::from_lines(before, &after);
        changes.unified_diff().context_radius(CONTEXT).header("a.txt", "a.txt").to_string()
    }

    #[test]
    fn patch_of_the_regions_is_that_of_the_whole_file() {
        let before = numbered(100);
        let cases: [&[(&str, &str)]; 6] = [
            &[("line 2\n", ""), ("line 50\n", "fifty\n50\n"), ("line 90\n", "90\n")],
            &[("line 20", "twenty"), ("line 29\n", "x\n"), ("line 39", "y")],
            &[("line 100\n", "the end")],
            &[("line 1\nline 2\n", "start\n")],
            &[("ne 40\nli", "")],
            &[("line 30\n", "line 30\nmore\n"), ("line 31\n", ""), ("line 60\n", "")],
        ];
        for edits in cases {
            assert_eq!(difference(&before, edits).patch, whole_patch(&before, edits), "{edits:?}");
        }
    }

    #[test]
    fn large_change_is_shortened_and_has_no_patch() {
        let long = format!("word {}\n", "y".repeat(1_000_000));
        let many = "old\n".repeat(100_000);
        for (before, old, new) in [(&long, "word", "WORD"), (&many, &*many, &*"new\n".repeat(100_000))] {
            let difference = difference(before, &[(old, new)]);
            assert!(difference.is_shortened && difference.diff.len() < SIZE_LIMIT + LINE_LIMIT + 100);
            assert!(difference.patch.len() < 100 && !difference.patch.contains("@@"), "{}", difference.patch);
        }
    }
}
