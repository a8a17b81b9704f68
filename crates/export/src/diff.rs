//! Renders the diff of an edit: removed lines in red, added ones in green, and the changed part of a line marked.

use std::fmt::Write as _;
use std::ops::Range;

use bowline_session::display::Call;
use serde_json::Value;

use crate::code::LONGEST;
use crate::escape;
use crate::format;

/// The number of visible lines; the rest is folded.
const IN_SIGHT: usize = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Same,
    Old,
    New,
    /// Omitted lines.
    Gap,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Line<'a> {
    side: Side,
    number: Option<&'a str>,
    text: &'a str,
}

/// The changes that an edit made or requested.
#[derive(Debug)]
pub(crate) struct Diff<'a>(Vec<Line<'a>>);

impl<'a> Diff<'a> {
    /// Returns the changes in the details of an edit's result.
    pub fn of_details(details: &'a Value) -> Option<Self> {
        let field = |name: &str| details.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        match (field("diff"), field("patch")) {
            (Some(diff), _) if is_numbered(diff) => Some(Self(lines(diff).map(numbered_line).collect())),
            (_, Some(patch)) | (Some(patch), None) => Some(Self(unified_lines(patch))),
            (None, None) => None,
        }
    }

    /// Returns the changes in a patch of one file.
    pub fn of_patch(patch: &'a str) -> Self {
        Self(unified_lines(patch))
    }

    /// Returns the changes that a call requested, for calls whose result has no details.
    pub fn of_call(call: &'a Call) -> Option<Self> {
        let arguments = &call.arguments;
        let mut edits: Vec<&Value> = Vec::new();
        match arguments.get("edits") {
            Some(Value::Array(list)) => edits.extend(list),
            Some(edit) => edits.push(edit),
            None => {}
        }
        let text = |edit: &'a Value, name: &str| edit.get(name).and_then(Value::as_str);
        let mut pairs: Vec<_> = edits
            .into_iter()
            .filter_map(|edit| Some((text(edit, "oldText")?, text(edit, "newText")?)))
            .collect();
        let direct = |name: &str| arguments.get(name).and_then(Value::as_str);
        pairs.extend(direct("oldText").zip(direct("newText")));
        if pairs.is_empty() {
            return None;
        }
        let mut list = Vec::new();
        for (old, new) in pairs {
            if !list.is_empty() {
                list.push(Line { side: Side::Gap, number: None, text: "" });
            }
            list.extend(lines(old).map(|text| Line { side: Side::Old, number: None, text }));
            list.extend(lines(new).map(|text| Line { side: Side::New, number: None, text }));
        }
        Some(Self(list))
    }

    /// Returns the numbers of added and removed lines.
    pub fn counts(&self) -> (usize, usize) {
        let count = |side| self.0.iter().filter(|line| line.side == side).count();
        (count(Side::New), count(Side::Old))
    }

    /// Appends the diff to the page.
    pub fn push(&self, page: &mut String) {
        let fitting = self.fitting();
        let all = &self.0[..fitting];
        let in_sight = if all.len() > IN_SIGHT + 4 { IN_SIGHT } else { all.len() };
        push_lines(page, &all[..in_sight]);
        if in_sight < all.len() {
            let hidden = format::counted((all.len() - in_sight) as u64, "more line");
            let _ = write!(page, "<details class=\"more\"><summary class=\"chrome\">{hidden}</summary>");
            push_lines(page, &all[in_sight..]);
            page.push_str("</details>\n");
        }
        if fitting < self.0.len() {
            let left = format::counted((self.0.len() - fitting) as u64, "line");
            let _ = writeln!(page, "<p class=\"cut\">Cut here: {left} more are in the session file.</p>");
        }
    }

    /// Returns how many lines fit into the size limit.
    fn fitting(&self) -> usize {
        let mut room = LONGEST;
        let fits = |line: &&Line<'_>| {
            let fits = room >= line.text.len();
            room = room.saturating_sub(line.text.len() + 1);
            fits
        };
        self.0.iter().take_while(fits).count()
    }
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.strip_suffix('\n').unwrap_or(text).split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line))
}

/// Returns whether a diff has line numbers, rather than being a patch.
fn is_numbered(diff: &str) -> bool {
    !diff.starts_with("--- ") && diff.starts_with([' ', '+', '-']) && numbered_line(diff).number.is_some()
}

fn numbered_line(line: &str) -> Line<'_> {
    let (side, rest) = side_of(line);
    let padded = rest.trim_start_matches(' ');
    let digits = padded.find(|next: char| !next.is_ascii_digit()).unwrap_or(padded.len());
    let (number, text) = padded.split_at(digits);
    if number.is_empty() {
        return Line { side: Side::Gap, number: None, text: padded };
    }
    Line { side, number: Some(number), text: text.strip_prefix(' ').unwrap_or(text) }
}

fn unified_lines(patch: &str) -> Vec<Line<'_>> {
    let line = |line| match line {
        "" => Line { side: Side::Same, number: None, text: "" },
        line if line.starts_with("@@") => Line { side: Side::Gap, number: None, text: line },
        line => {
            let (side, text) = side_of(line);
            Line { side, number: None, text }
        }
    };
    // The heading already has the file name.
    let is_heading = |line: &&str| {
        line.starts_with("--- ")
            || line.starts_with("+++ ")
            || line.starts_with("Index: ")
            || line.starts_with("====")
    };
    lines(patch).skip_while(is_heading).map(line).collect()
}

fn side_of(line: &str) -> (Side, &str) {
    match line.as_bytes().first() {
        Some(b'+') => (Side::New, &line[1..]),
        Some(b'-') => (Side::Old, &line[1..]),
        Some(b' ') => (Side::Same, &line[1..]),
        _ => (Side::Same, line),
    }
}

fn push_lines(page: &mut String, lines: &[Line<'_>]) {
    page.push_str("<pre class=\"diff\"><code>");
    let mut index = 0;
    while index < lines.len() {
        let olds = run(&lines[index..], Side::Old);
        let news = run(&lines[index + olds..], Side::New);
        if olds == 0 || olds != news {
            let count = olds.max(1);
            lines[index..index + count].iter().for_each(|line| push_line(page, line, None));
            index += count;
            continue;
        }
        let (old, new) = lines[index..index + 2 * olds].split_at(olds);
        let parts: Vec<_> = old.iter().zip(new).map(|(old, new)| changed_parts(old.text, new.text)).collect();
        for (line, part) in old.iter().zip(&parts) {
            push_line(page, line, part.as_ref().map(|part| &part.0));
        }
        for (line, part) in new.iter().zip(&parts) {
            push_line(page, line, part.as_ref().map(|part| &part.1));
        }
        index += 2 * olds;
    }
    page.push_str("</code></pre>\n");
}

fn run(lines: &[Line<'_>], side: Side) -> usize {
    lines.iter().take_while(|line| line.side == side).count()
}

/// Returns the part of each of two lines that differs, if the lines have enough in common.
fn changed_parts(old: &str, new: &str) -> Option<(Range<usize>, Range<usize>)> {
    let prefix: usize = old
        .chars()
        .zip(new.chars())
        .take_while(|(old, new)| old == new)
        .map(|(next, _)| next.len_utf8())
        .sum();
    let same_end =
        old[prefix..].chars().rev().zip(new[prefix..].chars().rev()).take_while(|(old, new)| old == new);
    let suffix: usize = same_end.map(|(next, _)| next.len_utf8()).sum();
    let in_common = old[..prefix].trim().len() + suffix;
    let helps = in_common * 3 >= old.trim().len().max(new.trim().len());
    (helps && old != new).then(|| (prefix..old.len() - suffix, prefix..new.len() - suffix))
}

fn push_line(page: &mut String, line: &Line<'_>, changed: Option<&Range<usize>>) {
    let (class, sign) = match line.side {
        Side::Same => ("same", " "),
        Side::Old => ("old", "-"),
        Side::New => ("new", "+"),
        Side::Gap => ("gap", " "),
    };
    let _ = write!(page, "<span class=\"{class}\">");
    if let Some(number) = line.number {
        let _ = write!(page, "<i class=\"chrome\">{number}</i>");
    }
    let _ = write!(page, "<i class=\"sign chrome\">{sign}</i>");
    match changed {
        Some(part) => {
            escape::push_text(page, &line.text[..part.start]);
            page.push_str("<b>");
            escape::push_text(page, &line.text[part.clone()]);
            page.push_str("</b>");
            escape::push_text(page, &line.text[part.end..]);
        }
        None => escape::push_text(page, line.text),
    }
    page.push_str("\n</span>");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(details: &Value) -> Diff<'_> {
        Diff::of_details(details).unwrap()
    }

    #[test]
    fn diffs_with_line_numbers_are_parsed() {
        let details = json!({"diff": "  9 a\n-10 b\n+10 c\n 11 \n    ...\n-20 x"});
        let diff = of(&details);
        let sides: Vec<_> = diff.0.iter().map(|line| (line.side, line.number, line.text)).collect();
        assert_eq!(
            sides,
            [
                (Side::Same, Some("9"), "a"),
                (Side::Old, Some("10"), "b"),
                (Side::New, Some("10"), "c"),
                (Side::Same, Some("11"), ""),
                (Side::Gap, None, "..."),
                (Side::Old, Some("20"), "x"),
            ]
        );
        assert_eq!(diff.counts(), (1, 2));
    }

    #[test]
    fn patches_are_parsed_without_their_heading() {
        let details = json!({"patch": "--- a\n+++ a\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n"});
        let sides: Vec<_> = of(&details).0.iter().map(|line| (line.side, line.text)).collect();
        assert_eq!(
            sides,
            [(Side::Gap, "@@ -1,2 +1,2 @@"), (Side::Same, "1"), (Side::Old, "2"), (Side::New, "two")]
        );
    }

    #[test]
    fn a_call_without_details_shows_the_requested_changes() {
        let arguments = json!({"path": "p", "edits": [{"oldText": "a\nb", "newText": "c"}], "oldText": "d", "newText": "e"});
        let Value::Object(arguments) = arguments else { panic!() };
        let call = Call { id: String::new(), name: "edit".into(), arguments };
        assert_eq!(Diff::of_call(&call).unwrap().counts(), (2, 3));
    }

    #[test]
    fn changed_parts_are_marked_and_all_text_is_escaped() {
        let details = json!({"diff": "-1 let <a> = 1;\n+1 let <b> = 1;"});
        let mut page = String::new();
        of(&details).push(&mut page);
        assert!(
            page.contains("let &lt;<b>a</b>&gt; = 1;") && page.contains("let &lt;<b>b</b>&gt; = 1;"),
            "{page}"
        );
    }

    #[test]
    fn large_diffs_are_folded_and_truncated() {
        let details = json!({"diff": "+1 0123456789\n".repeat(60_000)});
        let mut page = String::new();
        of(&details).push(&mut page);
        assert!(page.contains("<details class=\"more\">") && page.contains("Cut here"));
        assert!(page.len() < 3_000_000);
    }
}
