//! Explains why a quoted text is not in a file, so that the next attempt can succeed.

/// The most characters of a line that are quoted back.
const LINE_LIMIT: usize = 120;

/// How many places that start like the quoted text are compared with all of it.
const CANDIDATES: usize = 100;

/// Returns a hint for the model.
pub(super) fn why_not_found(original: &str, old: &str, new: &str) -> String {
    if !new.trim().is_empty() && original.contains(new) {
        return "newText is in the file already, so this edit may have been made before.".to_owned();
    }
    let file: Vec<_> = original.lines().collect();
    let quoted: Vec<_> = old.lines().skip_while(|line| line.trim().is_empty()).collect();
    let Some(first) = quoted.first() else {
        return "Quote more than spaces and line breaks.".to_owned();
    };
    let Some((start, length)) = longest_match(&file, &quoted) else {
        return format!(
            "No line of the file is `{}`. Read the file again and copy the text exactly.",
            shorten(first)
        );
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
        check_hint("nowhere", "", "No line of the file is `nowhere`");
        check_hint("nowhere", "    two();", "newText is in the file already");
    }
}
