//! The arguments of a prompt template: how they are split, and where they go.

use std::borrow::Cow;

/// The longest placeholder in braces. Without a limit, a template of opening braces would take time in the square of its
/// length.
const LONGEST_PLACEHOLDER: usize = 4096;

/// Splits arguments at white space. What is between two single or two double quotes stays together and loses the quotes;
/// nothing is escaped, and an empty pair is an empty argument.
pub fn split(text: &str) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut current: Option<String> = None;
    let mut quote = None;
    for character in text.chars() {
        match quote {
            Some(open) if character == open => quote = None,
            Some(_) => current.get_or_insert_default().push(character),
            None if character == '"' || character == '\'' => {
                quote = Some(character);
                current.get_or_insert_default();
            }
            None if character.is_whitespace() => arguments.extend(current.take()),
            None => current.get_or_insert_default().push(character),
        }
    }
    arguments.extend(current);
    arguments
}

/// Replaces the placeholders of a template once: what an argument holds is never a placeholder. Returns `None` if the
/// result would be longer than `limit` bytes.
pub fn substitute(template: &str, arguments: &[String], limit: usize) -> Option<String> {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(place) = rest.find('$') {
        text.push_str(&rest[..place]);
        rest = &rest[place..];
        let (value, length) = match Placeholder::at(rest) {
            Some((placeholder, length)) => (placeholder.value(arguments), length),
            None => (Cow::Borrowed("$"), 1),
        };
        if text.len() + value.len() > limit {
            return None;
        }
        text.push_str(&value);
        rest = &rest[length..];
    }
    text.push_str(rest);
    (text.len() <= limit).then_some(text)
}

/// A place in a template that arguments go to.
#[derive(Debug, PartialEq, Eq)]
enum Placeholder<'text> {
    /// `$1`, `${1:-default}`: an argument by its number.
    One { number: usize, default: &'text str },
    /// `$@`, `$ARGUMENTS`, `${@:-default}`: all of them, with a space between.
    All { default: &'text str },
    /// `${@:2}`, `${@:2:3}`: those from a number on, at most so many.
    Some { first: usize, count: Option<usize> },
}

impl<'text> Placeholder<'text> {
    /// Returns the placeholder that a text begins with, and its length.
    fn at(text: &'text str) -> Option<(Self, usize)> {
        let after = text.strip_prefix('$')?;
        if let Some(braced) = after.strip_prefix('{') {
            let near = &braced[..braced.floor_char_boundary(LONGEST_PLACEHOLDER)];
            let end = near.find('}')?;
            return Some((Self::in_braces(&braced[..end])?, end + 3));
        }
        if after.starts_with('@') {
            return Some((Self::All { default: "" }, 2));
        }
        if after.starts_with("ARGUMENTS") {
            return Some((Self::All { default: "" }, 1 + "ARGUMENTS".len()));
        }
        let (number, _) = number_at(after)?;
        let digits = after.len() - after.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
        Some((Self::One { number, default: "" }, 1 + digits))
    }

    fn in_braces(inner: &'text str) -> Option<Self> {
        if let Some((name, default)) = inner.split_once(":-") {
            return match name {
                "@" | "ARGUMENTS" => Some(Self::All { default }),
                _ => match number_at(name)? {
                    (number, "") => Some(Self::One { number, default }),
                    _ => None,
                },
            };
        }
        let (first, rest) = number_at(inner.strip_prefix("@:")?)?;
        let count = match rest.strip_prefix(':') {
            Some(count) => match number_at(count)? {
                (count, "") => Some(count),
                _ => return None,
            },
            None if rest.is_empty() => None,
            None => return None,
        };
        // There is no argument before the first.
        Some(Self::Some { first: first.max(1), count })
    }

    fn value<'value>(&self, arguments: &'value [String]) -> Cow<'value, str>
    where
        'text: 'value,
    {
        let or = |value: Cow<'value, str>, default: &'text str| {
            if value.is_empty() { Cow::Borrowed(default) } else { value }
        };
        match *self {
            Self::One { number, default } => {
                let argument = number.checked_sub(1).and_then(|index| arguments.get(index));
                or(argument.map_or(Cow::Borrowed(""), |argument| Cow::Borrowed(argument.as_str())), default)
            }
            Self::All { default } => or(joined(arguments), default),
            Self::Some { first, count } => {
                let from = arguments.get(first - 1..).unwrap_or_default();
                joined(&from[..count.map_or(from.len(), |count| count.min(from.len()))])
            }
        }
    }
}

/// Returns the number that a text begins with, and the rest. One that is too large for any list counts as the largest.
fn number_at(text: &str) -> Option<(usize, &str)> {
    let rest = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let digits = &text[..text.len() - rest.len()];
    (!digits.is_empty()).then(|| (digits.parse().unwrap_or(usize::MAX), rest))
}

fn joined(arguments: &[String]) -> Cow<'_, str> {
    match arguments {
        [] => Cow::Borrowed(""),
        [one] => Cow::Borrowed(one),
        more => Cow::Owned(more.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn splits(text: &str, expected: &[&str]) {
        assert_eq!(split(text), expected, "{text}");
    }

    #[test]
    fn quotes_keep_words_together_and_vanish() {
        splits("", &[]);
        splits("  \t\n ", &[]);
        splits("one \"two words\" three", &["one", "two words", "three"]);
        splits("'it is' \"a 'b' c\"", &["it is", "a 'b' c"]);
        splits("a\"b c\"d", &["ab cd"]);
        splits("\"\" x ''", &["", "x", ""]);
        splits("\"never closed", &["never closed"]);
        splits("back\\ slash", &["back\\", "slash"]);
        splits("one\ntwo", &["one", "two"]);
    }

    #[track_caller]
    fn becomes(template: &str, arguments: &str, expected: &str) {
        assert_eq!(substitute(template, &split(arguments), 10_000).unwrap(), expected, "{template}");
    }

    #[test]
    fn placeholders_are_replaced_as_pi_does() {
        let words = "one \"two words\" three";
        becomes(
            "Do $1 and $@ and ${2:-two} and ${@:2} and ${@:1:1} $ARGUMENTS $9.",
            words,
            "Do one and one two words three and two words and two words three and one one two words three .",
        );
        for (template, expected) in [
            ("$1$2", "onetwo words"),
            ("$10", ""),
            ("$0", ""),
            ("${4:-four}", "four"),
            ("${1:-}", "one"),
            ("${@:-none}", "one two words three"),
            ("${ARGUMENTS:-none}", "one two words three"),
            ("${@:0}", "one two words three"),
            ("${@:3}", "three"),
            ("${@:4}", ""),
            ("${@:2:1}", "two words"),
            ("${@:2:0}", ""),
            ("${@:2:99999999999999999999999}", "two words three"),
            ("$99999999999999999999999", ""),
            // None of these is a placeholder.
            ("$", "$"),
            ("$$1", "$one"),
            (
                "a$b ${x} ${} ${1} ${@} ${@:x} ${@:1:x} ${1x:-d} ${1:-open",
                "a$b ${x} ${} ${1} ${@} ${@:x} ${@:1:x} ${1x:-d} ${1:-open",
            ),
        ] {
            becomes(template, words, expected);
        }
    }

    #[test]
    fn defaults_stand_for_missing_and_empty_arguments() {
        becomes("${1:-d}|${2:-e}|${3:-f g}", "\"\" x", "d|x|f g");
        becomes("${@:-all}", "", "all");
        becomes("${@:-all}", "''", "all");
    }

    #[test]
    fn arguments_are_not_expanded_again() {
        becomes("$1 $2", "$2 ${@:1}", "$2 ${@:1}");
        becomes("${3:-$1}", "x", "$1");
    }

    #[test]
    fn result_is_limited() {
        let arguments = vec!["x".repeat(100)];
        assert_eq!(substitute(&"$1".repeat(100), &arguments, 9_999), None);
        assert_eq!(substitute(&"$1".repeat(100), &arguments, 10_000).map(|text| text.len()), Some(10_000));
        let braces = "${".repeat(100_000) + ":-}";
        assert_eq!(substitute(&braces, &arguments, 1_000_000), Some(braces));
    }
}
