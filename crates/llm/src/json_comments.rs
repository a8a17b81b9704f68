//! JSON as people write it: with comments, trailing commas and a byte order mark.

/// Returns `text` as plain JSON: everything else is replaced by spaces, byte for byte, so that positions in a JSON
/// error are those of the file.
pub(crate) fn blank(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    if bytes.starts_with(b"\xEF\xBB\xBF") {
        bytes[..3].fill(b' ');
    }
    let mut at = 0;
    // The position of the last comma, while only white space and comments have followed it.
    let mut comma = None;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at = end_of_string(&bytes, at);
                comma = None;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                let end = bytes[at..]
                    .iter()
                    .position(|byte| *byte == b'\n')
                    .map_or(bytes.len(), |length| at + length);
                bytes[at..end].fill(b' ');
                at = end;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let end = bytes[at + 2..].windows(2).position(|pair| pair == b"*/");
                let end = end.map_or(bytes.len(), |length| at + 2 + length + 2);
                bytes[at..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
                at = end;
                continue;
            }
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    bytes[comma] = b' ';
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at += 1;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the position after the string that starts at `start`.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'"' => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_removed_and_positions_kept() {
        let text = "\u{feff}{ // one\n \"a\": \"// no, /* no */ ,]\\\"\", /* two\n lines é */ \"b\": [1, 2, /* x */ ],\n}";
        let plain = blank(text);
        assert_eq!(plain.len(), text.len());
        let value: serde_json::Value = serde_json::from_str(&plain).unwrap();
        assert_eq!(value, serde_json::json!({"a": "// no, /* no */ ,]\"", "b": [1, 2]}));
    }

    #[test]
    fn invalid_texts_stay_invalid_without_panics() {
        for text in ["", "\"", "\"\\", "/*", "//", "[,]", "{,,}", ","] {
            assert_eq!(blank(text).len(), text.len());
        }
        assert!(serde_json::from_str::<serde_json::Value>(&blank("[1,,]")).is_err());
    }
}
