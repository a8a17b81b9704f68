//! Changing one member of a JSON object as text. Everything else stays as it is, to the byte: indentation, order, how numbers
//! are written, and members that nobody here knows.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The members of an object as they are written, in order; a key may be there more than once, and the last one counts.
struct Members<'text>(Vec<(String, &'text RawValue)>);

impl<'text> Deserialize<'text> for Members<'text> {
    fn deserialize<D: Deserializer<'text>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'text> Visitor<'text> for Read {
            type Value = Members<'text>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'text>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Read)
    }
}

impl<'text> Members<'text> {
    /// Reads an object.
    fn read(text: &'text str) -> Result<Self, String> {
        serde_json::from_str(text)
            .map_err(|error| format!("it is not changed, because it is not a JSON object: {error}"))
    }

    /// Returns the value that counts, unless it is `null`, which is the same as none.
    fn value(&self, key: &str) -> Option<&'text RawValue> {
        let last = self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value);
        last.filter(|value| value.get() != "null")
    }
}

/// Returns the text without what some editors put before it, and `{}` for a file without content.
fn body(text: &str) -> &str {
    let body = text.trim_start_matches('\u{feff}');
    if body.trim().is_empty() { "{}" } else { body }
}

/// Returns a member as it is written; none if it is not there.
pub(crate) fn member<'text>(text: &'text str, key: &str) -> Result<Option<&'text str>, String> {
    Ok(Members::read(body(text))?.value(key).map(RawValue::get))
}

/// Returns a text in which a member has another value, which is JSON, or is not there any more. `keys` lead to it.
pub(crate) fn with_member(text: &str, keys: &[&str], value: Option<&str>) -> Result<String, String> {
    changed(body(text), keys, value, true)
}

fn changed(text: &str, keys: &[&str], value: Option<&str>, is_whole: bool) -> Result<String, String> {
    let Some((key, below)) = keys.split_first() else { return Ok(text.to_owned()) };
    let members = Members::read(text)?;
    let old = members.value(key);
    if below.is_empty() {
        return Ok(match value {
            Some(value) => put(text, &members, key, value, is_whole),
            None => without(text, key),
        });
    }
    match (old, value) {
        (Some(old), _) => {
            let problem = |_| format!("it is not changed, because \"{key}\" is not an object");
            let inner = serde_json::from_str::<Members<'_>>(old.get())
                .map_err(problem)
                .and_then(|_| changed(old.get(), below, value, false))?;
            let is_empty =
                value.is_none() && serde_json::from_str(&inner).is_ok_and(|Members(left)| left.is_empty());
            // A group that has lost its last member is of no use.
            Ok(if is_empty { without(text, key) } else { put(text, &members, key, &inner, is_whole) })
        }
        (None, Some(value)) => {
            let nested = below
                .iter()
                .rev()
                .fold(value.to_owned(), |inner, key| format!("{{{}: {inner}}}", Value::from(*key)));
            Ok(put(text, &members, key, &nested, is_whole))
        }
        (None, None) => Ok(text.to_owned()),
    }
}

/// Returns where a value is in the text that it was read from.
fn place(text: &str, value: &RawValue) -> (usize, usize) {
    let start = value.get().as_ptr() as usize - text.as_ptr() as usize;
    (start, start + value.get().len())
}

/// Replaces the value of a key, or adds the key at the end, written as the members before it are.
fn put(text: &str, members: &Members<'_>, key: &str, value: &str, is_whole: bool) -> String {
    if let Some((_, old)) = members.0.iter().rev().find(|(name, _)| name == key) {
        let (start, end) = place(text, old);
        return format!("{}{value}{}", &text[..start], &text[end..]);
    }
    let key = Value::from(key);
    let Some((_, last)) = members.0.last() else {
        return if is_whole { format!("{{\n  {key}: {value}\n}}\n") } else { format!("{{{key}: {value}}}") };
    };
    let (_, end) = place(text, last);
    let before_last =
        members.0.iter().rev().nth(1).map_or_else(|| opening(text), |(_, value)| place(text, value).1);
    let gap = &text[before_last..];
    let indentation = gap[..gap.find('"').unwrap_or_default()].rsplit(',').next().unwrap_or_default();
    let indentation = if indentation.is_empty() && members.0.len() == 1 { " " } else { indentation };
    format!("{},{indentation}{key}: {value}{}", &text[..end], &text[end..])
}

/// Removes a key wherever it is among the members.
fn without(text: &str, key: &str) -> String {
    let mut text = text.to_owned();
    while let Ok(Members(members)) = serde_json::from_str(&text)
        && let Some(at) = members.iter().position(|(name, _)| name == key)
    {
        let (_, end) = place(&text, members[at].1);
        let (from, to) = match at.checked_sub(1) {
            Some(before) => (place(&text, members[before].1).1, end),
            // What follows the comma stays, so the next member is where this one was.
            None if members.len() > 1 => {
                (opening(&text), end + text[end..].find(',').map_or(0, |comma| comma + 1))
            }
            None => (opening(&text), end + (text[end..].len() - text[end..].trim_start().len())),
        };
        text = format!("{}{}", &text[..from], &text[to..]);
    }
    text
}

/// Returns where the first member of an object may begin.
fn opening(text: &str) -> usize {
    text.find('{').map_or(0, |brace| brace + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, path: &str, value: Option<&str>, expected: &str) {
        let keys: Vec<_> = path.split('.').collect();
        let changed = with_member(text, &keys, value).unwrap();
        assert_eq!(changed, expected);
        serde_json::from_str::<Value>(&changed).unwrap();
    }

    #[test]
    fn rest_of_the_text_stays_to_the_byte() {
        let text = "{\n\t\"theme\" : \"dark\",\n\t\"n\": 1.50e3,\"big\": 12345678901234567890123,\n\t\"retry\" :{ \"enabled\":true }\n}";
        check(text, "n", Some("2"), &text.replace("1.50e3", "2"));
        check(text, "x", Some("[1]"), &text.replace("true }\n", "true },\n\t\"x\": [1]\n"));
        check(text, "retry.enabled", Some("false"), &text.replace("true", "false"));
        check(text, "retry.maxRetries", Some("5"), &text.replace("true }", "true, \"maxRetries\": 5 }"));
        check(text, "theme", None, &text.replace("\n\t\"theme\" : \"dark\",", ""));
        check(text, "big", None, &text.replace(",\"big\": 12345678901234567890123", ""));
        check(text, "retry.enabled", None, &text.replace(",\n\t\"retry\" :{ \"enabled\":true }", ""));
        check(text, "nothing.here", None, text);
    }

    #[test]
    fn members_are_added_as_the_others_are_written() {
        check("", "a", Some("1"), "{\n  \"a\": 1\n}\n");
        check("\u{feff}{}", "a.b", Some("1"), "{\n  \"a\": {\"b\": 1}\n}\n");
        check(r#"{"a": 1}"#, "b", Some("2"), r#"{"a": 1, "b": 2}"#);
        check("{\"a\": 1\n, \"b\": 2\n}", "c", Some("3"), "{\"a\": 1\n, \"b\": 2, \"c\": 3\n}");
        check(r#"{"a":1,"b":2}"#, "c", Some("3"), r#"{"a":1,"b":2,"c": 3}"#);
        check("{\n    \"a\": 1\n}\n", "b", Some("2"), "{\n    \"a\": 1,\n    \"b\": 2\n}\n");
        check(r#"{"a": {}}"#, "a.b", Some("2"), r#"{"a": {"b": 2}}"#);
        check(r#"{"a": null}"#, "a.b", Some("2"), r#"{"a": {"b": 2}}"#);
        check(r#"{"a": {"b": 1}}"#, "a.b", None, "{}");
        check(r#"{ "a": 1 }"#, "a", None, "{}");
        check(r#"{"é\"": 1, "b": 2}"#, "b", Some("\"ü\""), r#"{"é\"": 1, "b": "ü"}"#);
    }

    #[test]
    fn key_that_is_there_twice_is_changed_where_it_counts_and_removed_everywhere() {
        check(r#"{"a": 1, "b": 2, "a": 3}"#, "a", Some("4"), r#"{"a": 1, "b": 2, "a": 4}"#);
        check(r#"{"a": 1, "b": 2, "a": 3}"#, "a", None, r#"{ "b": 2}"#);
    }

    #[test]
    fn text_that_is_no_object_is_not_changed() {
        for text in ["[]", "{", "{\"a\": 1}", "// comment\n{}", "{\"a\": [1], }"] {
            assert!(with_member(text, &["a", "b"], Some("1")).is_err(), "{text}");
        }
    }
}
