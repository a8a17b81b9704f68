//! Explains why a quoted text is not in a file, so that the next attempt can succeed.

use std::collections::HashMap;
use std::fmt::Write as _;

/// The most characters of a line that are quoted back.
const LINE_LIMIT: usize = 120;

/// How many places that start like the quoted text are compared with all of it.
const CANDIDATES: usize = 100;

/// The fewest characters of a new text that is taken for the result of an earlier edit: shorter ones, such as `}`, are in
/// many files.
const DISTINCTIVE: usize = 20;

/// How many similar lines are quoted back, and how similar they are at least: the share of the pairs of characters in the
/// wanted line that they have, too.
const SIMILAR_LINES: usize = 3;
const SIMILARITY: f64 = 0.6;

/// How much is compared: the characters of a line, and the lines of a file.
const COMPARED: usize = 1000;
const COMPARED_LINES: usize = 200_000;

/// Returns a hint for the model.
pub(super) fn why_not_found(original: &str, old: &str, new: &str) -> String {
    if is_there_already(original, new) {
        return "newText is in the file already, so this edit may have been made before.".to_owned();
    }
    let file: Vec<_> = original.lines().take(COMPARED_LINES).collect();
    let quoted: Vec<_> = old.lines().skip_while(|line| line.trim().is_empty()).collect();
    let Some(first) = quoted.first() else {
        return "Quote more than spaces and line breaks.".to_owned();
    };
    let Some((start, length)) = longest_match(&file, &quoted) else {
        return nothing_matches(&file, first, quoted.len() == 1);
    };
    match (quoted.get(length), file.get(start + length)) {
        (Some(quoted), Some(line)) => format!(
            "It matches the file from line {} on, but line {} is `{}`, not `{}`.",
            start + 1,
            start + length + 1,
            shorten(line),
            shorten(quoted),
        ),
        (Some(quoted), None) => format!(
            "It matches the file from line {} on, but the file ends before `{}`.",
            start + 1,
            shorten(quoted)
        ),
        (None, _) => format!(
            "It matches lines {}-{} except for spaces. Copy the indentation as it is in the file.",
            start + 1,
            start + length
        ),
    }
}

/// Returns whether the new text is distinctive and in the file once.
fn is_there_already(original: &str, new: &str) -> bool {
    let new = new.trim();
    let is_distinctive = new.chars().filter(|character| !character.is_whitespace()).count() >= DISTINCTIVE;
    is_distinctive && original.matches(new).take(2).count() == 1
}

/// Returns a hint for a text of which not even the first line is in the file.
fn nothing_matches(file: &[&str], first: &str, is_one_line: bool) -> String {
    let verb = if is_one_line { "has" } else { "is" };
    let mut hint = format!("No line of the file {verb} `{}`.", shorten(first));
    let similar = similar_lines(file, first);
    if similar.is_empty() {
        return hint + " Read the file again and copy the text exactly.";
    }
    hint += if similar.len() == 1 { " The nearest is" } else { " The nearest are" };
    for (place, index) in similar.iter().enumerate() {
        let separator = if place == 0 { "" } else { "," };
        let _ = write!(hint, "{separator} line {}: `{}`", index + 1, shorten(file[*index]));
    }
    hint + ". Copy the text exactly."
}

/// Returns the lines that have the most pairs of characters in common with the wanted one, the most similar first.
fn similar_lines(file: &[&str], wanted: &str) -> Vec<usize> {
    let pairs = |line: &str| {
        let characters: Vec<_> = line.trim().chars().take(COMPARED).collect();
        characters.windows(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>()
    };
    // Each pair with the line in which it was last seen, so that a line counts it once.
    let mut seen: HashMap<_, _> = pairs(wanted).into_iter().map(|pair| (pair, usize::MAX)).collect();
    if seen.len() < 3 {
        return Vec::new();
    }
    let mut ranked: Vec<(usize, usize, usize)> = Vec::new();
    for (index, line) in file.iter().enumerate() {
        let found = pairs(line);
        let mut shared = 0;
        for pair in &found {
            if let Some(last) = seen.get_mut(pair)
                && *last != index
            {
                *last = index;
                shared += 1;
            }
        }
        if shared as f64 >= SIMILARITY * seen.len() as f64 {
            // Of two lines with as much in common, the shorter one is more similar.
            ranked.push((usize::MAX - shared, found.len(), index));
            ranked.sort_unstable();
            ranked.truncate(SIMILAR_LINES);
        }
    }
    ranked.into_iter().map(|(.., index)| index).collect()
}

/// Returns where the most consecutive lines match the quoted ones, ignoring surrounding spaces, and how many.
fn longest_match(file: &[&str], quoted: &[&str]) -> Option<(usize, usize)> {
    let agreement = |start: usize| {
        file[start..].iter().zip(quoted).take_while(|(line, quoted)| line.trim() == quoted.trim()).count()
    };
    let begins = |start: &usize| quoted.first().is_some_and(|first| file[*start].trim() == first.trim());
    let candidates = (0..file.len()).filter(begins).take(CANDIDATES).map(|start| (start, agreement(start)));
    candidates.max_by_key(|(start, length)| (*length, std::cmp::Reverse(*start)))
}

fn shorten(line: &str) -> String {
    match line.char_indices().nth(LINE_LIMIT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "fn a() {\n    one();\n    two();\n}\n";

    #[track_caller]
    fn check_hint(old: &str, new: &str, expected: &str) {
        let told = why_not_found(FILE, old, new);
        assert!(told.contains(expected), "{told}");
    }

    #[test]
    fn hint_names_the_difference() {
        check_hint("one();\ntwo();", "", "lines 2-3 except for spaces");
        check_hint("fn a() {\n    one();\n    three();\n}", "", "line 3 is `    two();`, not `    three();`");
        check_hint("}\nmore", "", "the file ends before `more`");
        check_hint("nowhere", "", "No line of the file has `nowhere`. Read the file again");
    }

    #[test]
    fn only_a_distinctive_new_text_counts_as_an_earlier_edit() {
        check_hint("nowhere", "}", "No line of the file has `nowhere`");
        let file = "let total = sum(&prices) * rate;\nlet total = sum(&prices) * rate;\n";
        let hint = |file: &str| why_not_found(file, "nowhere", "let total = sum(&prices) * rate;");
        assert!(hint(file).starts_with("No line"), "{}", hint(file));
        assert!(hint(&file[..33]).starts_with("newText is in the file already"));
    }

    #[test]
    fn similar_lines_are_shown_for_a_line_that_is_not_there() {
        let file =
            "fn main() {\n    let total = compute_total(&items);\n    let tax = compute_tax(total);\n}\n";
        let told = why_not_found(file, "let total = compute_totals(items);", "x");
        assert!(
            told.contains("The nearest are line 2: `    let total = compute_total(&items);`, line 3: `"),
            "{told}"
        );
        // Of a text with several lines, the first is looked for.
        let told = why_not_found(file, "let total = compute_totals();\nmore", "x");
        assert!(told.contains("is `let total") && told.contains("line 2: `"), "{told}");
        let told = why_not_found(file, "entirely unrelated words", "x");
        assert!(!told.contains("nearest"), "{told}");
    }
}
