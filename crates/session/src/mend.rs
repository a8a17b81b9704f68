//! Makes decodable what JavaScript writes and strict decoders refuse: halves of surrogate pairs, which become U+FFFD, and
//! bytes that are not UTF-8.

use memchr::memmem;

/// Returns a line in which every string can be decoded.
pub(crate) fn mend(line: Vec<u8>) -> Vec<u8> {
    let mut line = match String::from_utf8(line) {
        Ok(line) => line.into_bytes(),
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned().into_bytes(),
    };
    if memmem::find(&line, b"\\ud").is_some() || memmem::find(&line, b"\\uD").is_some() {
        replace_lone_surrogates(&mut line);
    }
    line
}

fn replace_lone_surrogates(line: &mut [u8]) {
    let mut at = 0;
    while let Some(escape) = memchr::memchr(b'\\', &line[at..]) {
        at += escape;
        match (unit(&line[at..]), line.get(at + 6..).and_then(unit)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => at += 12,
            (Some(0xd800..0xe000), _) => {
                line[at + 2..at + 6].copy_from_slice(b"fffd");
                at += 6;
            }
            // Also over an escaped backslash, so that what follows it is not taken for an escape.
            _ => at = (at + 2).min(line.len()),
        }
    }
}

/// Returns the UTF-16 unit of an escape of the form `\uXXXX`.
fn unit(line: &[u8]) -> Option<u16> {
    let digits = line.strip_prefix(b"\\u")?.get(..4)?;
    // A sign would be accepted as a part of the number.
    let digits =
        str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        assert_eq!(String::from_utf8(mend(line.into())).unwrap(), expected);
    }

    #[test]
    fn lone_surrogates_are_replaced_and_pairs_stay() {
        check(r#""\ud83d\ude00""#, r#""\ud83d\ude00""#);
        check(r#""\uD83D""#, r#""\ufffd""#);
        check(r#""\ude00\ud83d\ude00\ud83d""#, r#""\ufffd\ud83d\ude00\ufffd""#);
        check(r#""\\ud83d\\\ud83dx""#, r#""\\ud83d\\\ufffdx""#);
        check(r#""\ud83"#, r#""\ud83"#);
        check("\"\\ud83d\\", "\"\\ufffd\\");
        assert_eq!(mend(b"a\xffb".to_vec()), "a\u{fffd}b".as_bytes());
    }

    proptest! {
        #[test]
        fn strings_of_any_units_can_be_decoded(units: Vec<u16>) {
            let line: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let decoded: String = serde_json::from_slice(&mend(format!("\"{line}\"").into_bytes())).unwrap();
            prop_assert_eq!(decoded, String::from_utf16_lossy(&units));
        }

        #[test]
        fn any_bytes_become_text(bytes: Vec<u8>) {
            prop_assert!(String::from_utf8(mend(bytes)).is_ok());
        }
    }
}
