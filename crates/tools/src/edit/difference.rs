//! The changes of an edit, for people: numbered lines and a patch.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// The number of unchanged lines shown around a change.
const CONTEXT: usize = 4;

/// The time after which the diff algorithm settles for a coarser result.
const TIME_LIMIT: Duration = Duration::from_millis(500);

/// The difference of two texts.
pub(super) struct Difference {
    /// Each line with a sign and its number.
    pub diff: String,
    /// The same as a unified patch.
    pub patch: String,
    /// The number, in the new text, of the first changed line.
    pub first_changed_line: Option<usize>,
}

/// Returns the difference of two versions of a file.
pub(super) fn between(path: &str, before: &str, after: &str) -> Difference {
    let changes = TextDiff::configure().timeout(TIME_LIMIT).diff_lines(before, after);
    let patch = changes.unified_diff().context_radius(CONTEXT).header(path, path).to_string();
    let (old_lines, new_lines) = (changes.old_slices().len(), changes.new_slices().len());
    let width = old_lines.max(new_lines).to_string().len();
    let gap = format!(" {:width$} ...", "");

    let mut lines = Vec::new();
    let mut first_changed_line = None;
    let mut shown_to = 0;
    for group in changes.grouped_ops(CONTEXT) {
        if group.first().is_some_and(|operation| operation.old_range().start > shown_to) {
            lines.push(gap.clone());
        }
        for operation in &group {
            for change in changes.iter_changes(operation) {
                let (sign, index) = match change.tag() {
                    ChangeTag::Equal => (' ', change.old_index()),
                    ChangeTag::Delete => ('-', change.old_index()),
                    ChangeTag::Insert => ('+', change.new_index()),
                };
                let number = index.map_or(0, |index| index + 1);
                let text = change.value().trim_end_matches(['\n', '\r']);
                lines.push(format!("{sign}{number:>width$} {text}"));
            }
            if operation.tag() != similar::DiffTag::Equal {
                first_changed_line.get_or_insert(operation.new_range().start + 1);
            }
            shown_to = operation.old_range().end;
        }
    }
    if shown_to < old_lines {
        lines.push(gap);
    }
    Difference { diff: lines.join("\n"), patch, first_changed_line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_gaps_are_marked() {
        let before: String = (1..=20).map(|line| format!("line {line}\n")).collect();
        let after = before.replace("line 10\n", "ten\nand a half\n");
        let difference = between("a.txt", &before, &after);
        let expected = "    ...\n  6 line 6\n  7 line 7\n  8 line 8\n  9 line 9\n-10 line 10\n+10 ten\n+11 and a half\n \
                        11 line 11\n 12 line 12\n 13 line 13\n 14 line 14\n    ...";
        assert_eq!(difference.diff, expected);
        assert_eq!(difference.first_changed_line, Some(10));
        assert!(
            difference.patch.starts_with("--- a.txt\n+++ a.txt\n@@ -6,9 +6,10 @@\n line 6\n"),
            "{}",
            difference.patch
        );
    }

    #[test]
    fn change_to_the_only_line_has_no_gap() {
        let difference = between("a", "x", "y");
        assert_eq!((difference.diff.as_str(), difference.first_changed_line), ("-1 x\n+1 y", Some(1)));
    }
}
