//! Half of a surrogate pair in JSON, such as `"\ud83d"`. JavaScript writes it where a text was split within a character;
//! it stands for nothing, and JSON readers refuse it.

/// Returns the JSON with every half of a surrogate pair replaced by U+FFFD; `None` if there is none.
pub(crate) fn replaced(json: &[u8]) -> Option<Vec<u8>> {
    let mut repaired: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &json[at..]) {
        let start = at + found;
        at = start + 2;
        match surrogate(&json[start..]) {
            Some(Half::First)
                if surrogate(json.get(start + 6..).unwrap_or_default()) == Some(Half::Second) =>
            {
                at = start + 12;
            }
            Some(_) => {
                repaired.get_or_insert_with(|| json.to_vec())[start..start + 6].copy_from_slice(b"\\ufffd");
                at = start + 6;
            }
            None => {}
        }
        if at > json.len() {
            break;
        }
    }
    repaired
}

#[derive(PartialEq)]
enum Half {
    First,
    Second,
}

/// Returns which half an escape at the start of `json` is, if it is one.
fn surrogate(json: &[u8]) -> Option<Half> {
    let [b'\\', b'u', b'd' | b'D', second, third, fourth, ..] = json else { return None };
    if !third.is_ascii_hexdigit() || !fourth.is_ascii_hexdigit() {
        return None;
    }
    match second {
        b'8' | b'9' | b'a' | b'b' | b'A' | b'B' => Some(Half::First),
        b'c'..=b'f' | b'C'..=b'F' => Some(Half::Second),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: Option<&str>) {
        let repaired = replaced(json.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(repaired.as_deref(), expected);
        let text: String = serde_json::from_str(repaired.as_deref().unwrap_or(json)).unwrap();
        assert!(!text.is_empty());
    }

    #[test]
    fn only_halves_without_their_other_half_are_replaced() {
        check(r#""plain\n""#, None);
        check(r#""\ud83d\ude00""#, None);
        check(r#""\\ud83d""#, None);
        check(r#""\ud83d""#, Some(r#""\ufffd""#));
        check(r#""a\uDE00b""#, Some(r#""a\ufffdb""#));
        check(r#""\ud83d\ud83d\ude00\ud800""#, Some(r#""\ufffd\ud83d\ude00\ufffd""#));
        assert_eq!(replaced(br"\ud8"), None);
        assert_eq!(replaced(br"\"), None);
    }
}
