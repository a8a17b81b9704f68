//! Regular expressions that are written for JavaScript: those of JSON Schemas, and those of stream rules.

/// Translates an expression of JavaScript: its letters, digits and word boundaries are those of ASCII, and in a class
/// only `^`, `-`, `\` and `]` are special.
pub fn translate(pattern: &str) -> String {
    let mut translated = String::with_capacity(pattern.len() + 16);
    let mut letters = pattern.chars();
    let mut in_class = false;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('d') => translated.push_str("[0-9]"),
                Some('D') => translated.push_str("[^0-9]"),
                Some('w') => translated.push_str("[0-9A-Za-z_]"),
                Some('W') => translated.push_str("[^0-9A-Za-z_]"),
                Some('b') if in_class => translated.push_str(r"\x08"),
                Some('b') => translated.push_str(r"(?-u:\b)"),
                Some('B') if !in_class => translated.push_str(r"(?-u:\B)"),
                Some(escaped) => translated.extend(['\\', escaped]),
                None => translated.push('\\'),
            },
            '[' if in_class => translated.push_str(r"\["),
            '&' | '~' if in_class => translated.extend(['\\', letter]),
            '[' => {
                in_class = true;
                translated.push('[');
                if letters.as_str().starts_with("^]") || letters.as_str().starts_with(']') {
                    // Any character, and none.
                    let is_any = letters.as_str().starts_with('^');
                    letters = letters.as_str()[if is_any { 2 } else { 1 }..].chars();
                    translated.pop();
                    translated.push_str(if is_any { "(?s:.)" } else { r"[^\x00-\x{10FFFF}]" });
                    in_class = false;
                }
            }
            ']' if in_class => {
                in_class = false;
                translated.push(']');
            }
            _ => translated.push(letter),
        }
    }
    translated
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
