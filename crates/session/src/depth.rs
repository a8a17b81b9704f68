//! How deeply a line is nested.
//!
//! serde_json decodes values of up to 127 levels. Readers that wrap a line, such as responses with entries, need a few of
//! them, so lines are limited to less.

use memchr::memchr2;

/// The most levels of a line that is written, or passed on to clients.
pub(crate) const DEPTH_LIMIT: usize = 120;

/// Returns whether a line of JSON has more than [`DEPTH_LIMIT`] levels.
pub(crate) fn is_too_deep(line: &[u8]) -> bool {
    depth(line) > DEPTH_LIMIT
}

/// Returns the number of levels of a line of JSON; beyond [`DEPTH_LIMIT`] they are not counted.
pub(crate) fn depth(line: &[u8]) -> usize {
    let (mut deepest, mut depth) = (0, 0_usize);
    let mut rest = line;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'"' => rest = after_string(after),
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
                if deepest > DEPTH_LIMIT {
                    break;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Returns what follows the closing quote of a string.
fn after_string(mut rest: &[u8]) -> &[u8] {
    while let Some(end) = memchr2(b'"', b'\\', rest) {
        if rest[end] == b'"' {
            return &rest[end + 1..];
        }
        rest = rest.get(end + 2..).unwrap_or_default();
    }
    &[]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn depth_of(value: &Value) -> usize {
        match value {
            Value::Array(values) => 1 + values.iter().map(depth_of).max().unwrap_or(0),
            Value::Object(values) => 1 + values.values().map(depth_of).max().unwrap_or(0),
            _ => 0,
        }
    }

    fn nested(levels: usize, core: Value) -> Value {
        (0..levels).fold(core, |inner, level| match level % 2 {
            0 => json!([inner, "]}"]),
            _ => json!({ "a\"{[": inner, "b": [] }),
        })
    }

    proptest! {
        #[test]
        fn depth_is_that_of_the_value(levels in 100_usize..140, text in ".*") {
            let value = nested(levels, Value::String(text));
            prop_assert_eq!(is_too_deep(&serde_json::to_vec(&value).unwrap()), depth_of(&value) > DEPTH_LIMIT);
        }

        #[test]
        fn any_bytes_are_scanned(bytes: Vec<u8>) {
            is_too_deep(&bytes);
        }
    }

    #[test]
    fn a_line_at_the_limit_can_be_decoded_within_a_response() {
        let value = nested(DEPTH_LIMIT, Value::Null);
        let line = serde_json::to_string(&value).unwrap();
        assert!(!is_too_deep(line.as_bytes()));
        let response = format!("{{\"type\":\"response\",\"data\":{{\"entries\":[{line}]}}}}");
        assert!(serde_json::from_str::<Value>(&response).is_ok());
        assert!(is_too_deep(&b"[".repeat(1_000_000)));
    }
}
