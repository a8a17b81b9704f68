//! Keeping messages short: readers of clients have limits, and what is cut says so.

use bowline_core::json_length::length_of_json;
use bowline_core::message::Arguments;
use serde_json::{Map, Value};

/// The longest text of a message, as JSON.
pub(super) const LONGEST_TEXT: usize = 96 * 1024;

/// The longest texts of all changes of a call together, as JSON.
pub(super) const LONGEST_CHANGES: usize = 160 * 1024;

/// The longest arguments of a call that are repeated as they are.
const LONGEST_ARGUMENTS: usize = 32 * 1024;

/// The longest text within arguments that are not.
const LONGEST_ARGUMENT: usize = 4 * 1024;

/// The most members, items and levels of arguments that are not repeated as they are.
const MOST_MEMBERS: usize = 100;
const MOST_LEVELS: usize = 8;

/// Returns the number of bytes that a character takes in JSON.
fn cost(letter: char) -> usize {
    match letter {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        '\u{2028}' | '\u{2029}' => 6,
        letter if letter.is_control() => 6,
        letter => letter.len_utf8(),
    }
}

/// Returns the number of bytes that a text takes in JSON.
pub(super) fn size(text: &str) -> usize {
    text.chars().map(cost).sum()
}

/// Returns the end of a text that is too long, which is what matters of most output.
pub(super) fn end_of(text: &str, most: usize) -> String {
    let mut room = most;
    let mut start = text.len();
    for (at, letter) in text.char_indices().rev() {
        let cost = cost(letter);
        if cost > room {
            return format!("[{start} bytes are not shown]\n{}", &text[start..]);
        }
        room -= cost;
        start = at;
    }
    text.to_owned()
}

/// Returns the pieces of a text, none of which is too long.
pub(super) fn pieces(text: &str, most: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut length) = (0, 0);
    for (at, letter) in text.char_indices() {
        let cost = cost(letter);
        if length + cost > most {
            pieces.push(&text[start..at]);
            (start, length) = (at, 0);
        }
        length += cost;
    }
    pieces.push(&text[start..]);
    pieces
}

/// Returns the arguments of a call; what is long in them is cut.
pub(super) fn arguments(arguments: &Arguments) -> Map<String, Value> {
    if length_of_json(arguments) <= LONGEST_ARGUMENTS {
        return arguments.clone();
    }
    let mut room = LONGEST_ARGUMENTS;
    match shortened(&Value::Object(arguments.clone()), MOST_LEVELS, &mut room) {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn shortened(value: &Value, levels: usize, room: &mut usize) -> Value {
    if *room == 0 {
        return "[not shown]".into();
    }
    match value {
        Value::String(text) => {
            let shown = beginning_of(text, LONGEST_ARGUMENT.min(*room));
            *room = room.saturating_sub(size(&shown));
            shown.into()
        }
        Value::Array(_) | Value::Object(_) if levels == 0 => "[not shown]".into(),
        Value::Array(items) => {
            items.iter().take(MOST_MEMBERS).map(|item| shortened(item, levels - 1, room)).collect()
        }
        Value::Object(members) => {
            let members = members.iter().take(MOST_MEMBERS);
            let shown = members.map(|(name, value)| {
                *room = room.saturating_sub(name.len());
                (beginning_of(name, LONGEST_ARGUMENT), shortened(value, levels - 1, room))
            });
            Value::Object(shown.collect())
        }
        other => other.clone(),
    }
}

fn beginning_of(text: &str, most: usize) -> String {
    match pieces(text, most.max(6)).as_slice() {
        [whole] => (*whole).to_owned(),
        [first, ..] => format!("{first}[{} more bytes]", text.len() - first.len()),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn size_is_that_of_the_json() {
        for text in ["", "a\"\\\n\r\tb", "é𝄞", "\u{1}\u{1b}"] {
            assert_eq!(size(text) + 2, serde_json::to_string(text).unwrap().len(), "{text:?}");
        }
    }

    #[test]
    fn long_text_keeps_its_end_and_says_what_is_missing() {
        assert_eq!(end_of("abc", 3), "abc");
        assert_eq!(end_of("abcd\n", 4), "[2 bytes are not shown]\ncd\n");
        assert_eq!(end_of("é\u{1}", 5), "[3 bytes are not shown]\n");
    }

    #[test]
    fn pieces_are_the_whole_text() {
        for text in ["", "abc", "ab\u{1}\u{1}c", "éééé"] {
            let pieces = pieces(text, 6);
            assert_eq!(pieces.concat(), text);
            assert!(pieces.iter().all(|piece| size(piece) <= 6), "{pieces:?}");
        }
    }

    #[test]
    fn long_arguments_are_cut_and_short_ones_are_not() {
        let short = json!({ "path": "a", "edits": [{ "oldText": "b" }] });
        assert_eq!(json!(arguments(short.as_object().unwrap())), short);
        let mut deep = json!("x");
        for _ in 0..50 {
            deep = json!([deep]);
        }
        let long = json!({ "path": "a", "content": "x".repeat(1 << 20), "deep": deep, "many": vec!["y".repeat(999); 999] });
        let shown = json!(arguments(long.as_object().unwrap()));
        assert_eq!(shown["path"], "a");
        assert!(shown["content"].as_str().unwrap().ends_with("[1044480 more bytes]"), "{shown}");
        assert!(shown.to_string().len() < 2 * LONGEST_ARGUMENTS, "{}", shown.to_string().len());
    }
}
