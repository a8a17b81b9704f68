//! What the tree needs of a line: the type, the id and the parent.
//!
//! Every known program writes these three first, without spaces and escapes. A line that starts so is read no further:
//! its content is decoded when it is needed, and damage in it costs this one entry its content, not its place in the
//! tree. Any other line is parsed completely.

use std::borrow::Cow;

use crate::decode::{Head, Text};

/// Returns the head of a line that starts as known programs write it.
pub(crate) fn skim(line: &[u8]) -> Option<Head<'_>> {
    let rest = line.strip_prefix(br#"{"type":""#)?;
    let (kind, rest) = string(rest)?;
    let (id, rest) = string(rest.strip_prefix(br#","id":""#)?)?;
    let rest = rest.strip_prefix(br#","parentId":"#)?;
    let (parent, rest) = match rest.strip_prefix(b"\"") {
        Some(rest) => string(rest).map(|(parent, rest)| (Some(parent), rest))?,
        None => (None, rest.strip_prefix(b"null")?),
    };
    let is_followed_by_fields = rest.starts_with(b",\"");
    (is_followed_by_fields || rest == b"}").then_some(Head { kind, id: Some(id), parent })
}

/// Reads a string without escapes, after its opening quote, and returns what follows the closing one.
fn string(line: &[u8]) -> Option<(Text<'_>, &[u8])> {
    // These strings are short, so a plain loop beats a search.
    let end = line.iter().position(|byte| *byte == b'"' || *byte == b'\\' || *byte < b' ')?;
    let (text, rest) = line.split_at(end);
    let rest = rest.strip_prefix(b"\"")?;
    Some((Text(Cow::Borrowed(str::from_utf8(text).ok()?)), rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fields<'a>(head: &'a Head<'_>) -> (&'a str, Option<&'a str>, Option<&'a str>) {
        let text = |text: &'a Option<Text<'_>>| text.as_ref().map(|text| text.0.as_ref());
        (head.kind.0.as_ref(), text(&head.id), text(&head.parent))
    }

    #[test]
    fn lines_that_start_otherwise_are_not_skimmed() {
        for line in [
            r#"{"type":"a","id":"b","parentId":null}"#,
            r#"{"type":"a","id":"b","parentId":"c","x":"#,
            r#"{"type":"","id":"","parentId":"ä","type":1}"#,
        ] {
            assert!(skim(line.as_bytes()).is_some(), "{line}");
        }
        for line in [
            "",
            "{",
            r#"{"type":"a","id":"b","parentId":null"#,
            r#"{"type":"a","id":"b","parentId":null,}"#,
            r#"{"type":"a","id":"b","parentId":null} "#,
            r#"{"type":"a","id":"b","parentId":nullx}"#,
            r#"{"type":"a","id":"\u0062","parentId":null}"#,
            r#"{"type":"a","id":"b","parentId":"c"#,
            r#"{"id":"b","type":"a","parentId":"c"}"#,
            r#"{ "type":"a","id":"b","parentId":"c"}"#,
            "{\"type\":\"a\",\"id\":\"\t\",\"parentId\":null}",
        ] {
            assert!(skim(line.as_bytes()).is_none(), "{line}");
        }
        assert!(skim(b"{\"type\":\"a\",\"id\":\"\xff\",\"parentId\":null}").is_none());
    }

    /// Returns a field of an entry, or of anything else.
    fn field() -> impl Strategy<Value = String> {
        let name = prop_oneof![
            4 => Just("type".to_owned()),
            4 => Just("id".to_owned()),
            4 => Just("parentId".to_owned()),
            1 => Just("i\\u0064".to_owned()),
            1 => Just("message".to_owned()),
        ];
        let value = prop_oneof![
            6 => "[a-c]{0,2}".prop_map(|text| format!("\"{text}\"")),
            2 => Just("null".to_owned()),
            1 => Just("\"\\u0061\\\"\\\\\"".to_owned()),
            1 => Just("\"\\ud800\"".to_owned()),
            1 => Just("123456789012345678901234567890e400".to_owned()),
            1 => Just(format!("{}{}", "[".repeat(500), "]".repeat(500))),
            1 => Just("{\"id\":\"x\",\"type\":[1,{\"parentId\":\"y\"}]}".to_owned()),
        ];
        let space = prop_oneof![8 => Just(""), 1 => Just(" ")];
        (name, space, value).prop_map(|(name, space, value)| format!("\"{name}\":{space}{value}"))
    }

    proptest! {
        /// Only a repeated field, which no program writes, is read differently: the first one counts.
        #[test]
        fn skimmed_heads_are_those_of_the_whole_line(fields_of_line in prop::collection::vec(field(), 0..6)) {
            let line = format!("{{{}}}", fields_of_line.join(","));
            if let Some(skimmed) = skim(line.as_bytes())
                && let Ok(parsed) = serde_json::from_str::<Head<'_>>(&line)
            {
                prop_assert_eq!(fields(&skimmed), fields(&parsed));
            }
        }

        #[test]
        fn written_heads_are_skimmed(kind in "[a-z_]{1,12}", id in "[^\"\\\\[:cntrl:]]{1,40}", parent: Option<u32>, cut in 0_usize..200) {
            let value = serde_json::json!({ "x": [id, { "id": "\"}" }] });
            let parent = serde_json::json!(parent.map(|parent| format!("{parent:08x}")));
            let line = format!("{{\"type\":\"{kind}\",\"id\":\"{id}\",\"parentId\":{parent},\"message\":{value}}}");
            let parsed: Head<'_> = serde_json::from_str(&line).unwrap();
            let skimmed = skim(line.as_bytes()).unwrap();
            prop_assert_eq!(fields(&skimmed), fields(&parsed));
            // Whatever is left of a line, its head is that of the whole line.
            let rest = &line.as_bytes()[..cut.min(line.len())];
            if let Some(skimmed) = skim(rest) {
                prop_assert_eq!(fields(&skimmed), fields(&parsed));
            }
        }
    }
}
