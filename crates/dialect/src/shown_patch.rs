//! The places of a patch, as texts before and after.

/// One place of a patch, with the lines around it.
#[derive(Debug, PartialEq)]
pub(crate) struct Hunk {
    pub before: String,
    pub after: String,
    /// In the text after, from 1.
    pub first_changed_line: u64,
}

/// Returns the places of a patch in the unified form. What is no patch has none.
pub(crate) fn hunks(patch: &str) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut line = 0;
    let mut is_changed = false;
    let mut last_mark = "";
    for row in patch.split_inclusive('\n') {
        if let Some(start) = first_line_after(row) {
            hunks.push(Hunk { before: String::new(), after: String::new(), first_changed_line: start });
            (line, is_changed) = (start, false);
            continue;
        }
        let Some(hunk) = hunks.last_mut() else { continue };
        let (mark, text) = row.split_at(row.chars().next().map_or(0, char::len_utf8));
        if matches!(mark, "+" | "-") && !std::mem::replace(&mut is_changed, true) {
            hunk.first_changed_line = line;
        }
        match mark {
            " " => {
                hunk.before.push_str(text);
                hunk.after.push_str(text);
                line += 1;
            }
            "+" => {
                hunk.after.push_str(text);
                line += 1;
            }
            "-" => hunk.before.push_str(text),
            // The line before this note has no end.
            "\\" => {
                let sides = [(&mut hunk.before, "+"), (&mut hunk.after, "-")];
                for (side, _) in sides.into_iter().filter(|(_, other)| *other != last_mark) {
                    side.truncate(side.strip_suffix('\n').map_or(side.len(), str::len));
                }
            }
            _ => {}
        }
        last_mark = mark;
    }
    hunks
}

/// Returns the first line of the text after, if a row begins a place.
fn first_line_after(row: &str) -> Option<u64> {
    let (_, after) = row.strip_prefix("@@ -")?.split_once(" +")?;
    after.split([',', ' ']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_texts_before_and_after() {
        let patch = "--- a\n+++ a\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -10 +10,2 @@\n x\n+y\n";
        let hunk = |before: &str, after: &str, first_changed_line| Hunk {
            before: before.to_owned(),
            after: after.to_owned(),
            first_changed_line,
        };
        assert_eq!(hunks(patch), [hunk("a\nb\nc\n", "a\nB\nc\n", 2), hunk("x\n", "x\ny\n", 11)]);
        assert_eq!(hunks("no patch"), []);
    }

    #[test]
    fn missing_line_end_is_missing_on_its_side() {
        let patch = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n";
        let hunk = hunks(patch).remove(0);
        assert_eq!((hunk.before.as_str(), hunk.after.as_str()), ("a", "b\n"));
    }
}
