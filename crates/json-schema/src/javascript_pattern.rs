//! Regular expressions that are written for JavaScript: those of JSON Schemas, and those of stream rules.

use std::str::Chars;

/// Translates an expression of JavaScript: its letters, digits and word boundaries are those of ASCII, a dot matches no end
/// of a line, and in a class only `^`, `-`, `\` and `]` are special.
pub fn translate(pattern: &str) -> String {
    let mut translated = String::with_capacity(pattern.len() + 16);
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => escape(&mut letters, false, &mut translated),
            '[' => class(&mut letters, &mut translated),
            '.' => translated.push_str(r"[^\n\r\x{2028}\x{2029}]"),
            _ => translated.push(letter),
        }
    }
    translated
}

/// Translates what follows a backslash.
fn escape(letters: &mut Chars<'_>, in_class: bool, translated: &mut String) {
    let Some(escaped) = letters.next() else { return translated.push('\\') };
    let text = match escaped {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        // U+0085 is no white space in JavaScript, but the mark of a byte order is.
        's' => r"[\s\x{feff}--\x85]",
        'S' => r"[^\s\x{feff}--\x85]",
        'b' if in_class => r"\x08",
        'b' => r"(?-u:\b)",
        'B' if !in_class => r"(?-u:\B)",
        // The end and the beginning of a word in Rust.
        '<' => "<",
        '>' => ">",
        '0' if !letters.as_str().starts_with(|next: char| next.is_ascii_digit()) => r"\x00",
        _ => return translated.extend(['\\', escaped]),
    };
    translated.push_str(text);
}

/// Translates a class whose bracket was read.
fn class(letters: &mut Chars<'_>, translated: &mut String) {
    for (whole, meaning) in [("^]", "(?s:.)"), ("]", r"[^\x00-\x{10FFFF}]")] {
        // Any character, and none.
        if let Some(rest) = letters.as_str().strip_prefix(whole) {
            *letters = rest.chars();
            return translated.push_str(meaning);
        }
    }
    translated.push('[');
    if let Some(rest) = letters.as_str().strip_prefix('^') {
        *letters = rest.chars();
        translated.push('^');
    }
    // Two lines would be a difference of sets.
    let (mut is_first, mut is_after_range) = (true, false);
    while let Some(letter) = letters.next() {
        let is_range = letter == '-' && !is_first && !is_after_range;
        match letter {
            ']' => return translated.push(']'),
            '\\' => escape(letters, true, translated),
            '[' | '&' | '~' | '^' => translated.extend(['\\', letter]),
            '-' if !is_range => translated.push_str(r"\-"),
            _ => translated.push(letter),
        }
        (is_first, is_after_range) = (false, is_range);
    }
}

/// Returns what is wrong with an expression. The innermost error has the position and spans several lines, of which the
/// last says what.
pub fn in_words(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let text = innermost.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

#[cfg(test)]
mod tests {
    use regex_automata::nfa::thompson::pikevm::PikeVM;

    use super::*;

    #[track_caller]
    fn check(pattern: &str, good: &[&str], bad: &[&str]) {
        let built = PikeVM::new(&translate(pattern)).unwrap();
        let is_match = |text: &str| built.is_match(&mut built.create_cache(), text);
        for text in good {
            assert!(is_match(text), "{pattern} matches {text:?}");
        }
        for text in bad {
            assert!(!is_match(text), "{pattern} does not match {text:?}");
        }
    }

    #[test]
    fn expressions_mean_what_they_mean_in_javascript() {
        check(r"^\d\w\s$", &["1a ", "1a\u{feff}", "1_\n"], &["١a ", "1é ", "1a\u{85}"]);
        check(r"^\D\W\S$", &["a-b", "é/\u{85}"], &["1-b", "a-\u{feff}"]);
        check("^.$", &["a", "世", "\u{85}"], &["\n", "\r", "\u{2028}", "\u{2029}"]);
        check("^[^]$", &["a", "\n"], &["", "ab"]);
        check("^[]?$", &[""], &["a"]);
        check(r"^[\d.\-]+$", &["1.2-3"], &["a", "\\"]);
        check(r"\bcat\b", &["a cat!", "écat"], &["cats"]);
        check(r"^\<a\>$", &["<a>"], &["a"]);
        check(r"^\0$", &["\0"], &["0"]);
        check(r"^\u0041\x42\/$", &["AB/"], &["u0041"]);
        check("^[a-c&&b]+$", &["abc&"], &["d"]);
        check("^[a~~b]+$", &["a~b"], &["-"]);
        check("^[+--]+$", &["+,-"], &["a", "."]);
        check("^[--9]+$", &["-.5/"], &["+", "a"]);
        check("^[^-a]+$", &["b+"], &["-", "a"]);
        check("^[a-z-]+$", &["a-b"], &["1"]);
        check(r"^[\w-.]+$", &["a-b.c"], &["/", "+"]);
        check("^[[:alpha:]]$", &[":]", "a]", "[]"], &["b"]);
        check("^[a^]+$", &["^a"], &["b"]);
        check(r"^[^\s\d-]+$", &["ab"], &["a b", "1", "-"]);
        check(r"^\p{Lu}+$", &["ÄB"], &["ab"]);
    }
}
