//! The texts in the arguments of a tool call, read while their JSON arrives.
//!
//! A rule about code is written for code, not for code as a JSON string. So strings are unescaped as they come, and the
//! paths among them are kept, because a rule may be about some files only.

/// How deep the names of members are followed, and how much of a name or a path is kept.
const DEEPEST: usize = 32;
const LONGEST: usize = 4096;

/// The members that hold the file of a call.
const PATHS: [&str; 3] = ["path", "file_path", "paths"];

/// A reader of arguments that are still arriving.
#[derive(Debug, Default)]
pub(super) struct ArgumentReader {
    /// The objects and lists that are open.
    open: Vec<Container>,
    /// How many more are open than are followed.
    deeper: usize,
    string: Option<JsonString>,
    /// The paths that are complete.
    pub paths: Vec<String>,
}

#[derive(Debug)]
enum Container {
    /// The name of the current member, and whether its value comes next.
    Object {
        name: String,
        has_name: bool,
    },
    List,
}

/// A string that is being read.
#[derive(Debug)]
struct JsonString {
    role: Role,
    /// What of a name or a path has arrived.
    kept: String,
    escape: Escape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Name,
    Path,
    Value,
}

/// Where in an escape the reader is.
#[derive(Debug, Clone, Copy, Default)]
enum Escape {
    #[default]
    None,
    /// After a backslash.
    Begun,
    /// In `\uXXXX`: the digits so far, and the first half of a pair of surrogates.
    Unicode { digits: u8, code: u32, high: Option<u32> },
    /// After the first half of a pair, and after the backslash that follows it.
    Half { high: u32, is_begun: bool },
}

impl ArgumentReader {
    /// Reads more of the JSON. `value` is called with the name of the member and more of its text; a line feed ends the
    /// text.
    pub fn feed(&mut self, json: &str, mut value: impl FnMut(&str, &str)) {
        let mut text = String::new();
        for letter in json.chars() {
            if self.string.is_none() {
                self.structure(letter);
            } else if self.letter(letter, &mut text) {
                text.push('\n');
                self.flush(&mut text, &mut value);
                self.end_string();
            }
        }
        self.flush(&mut text, &mut value);
    }

    fn flush(&mut self, text: &mut String, value: &mut impl FnMut(&str, &str)) {
        let Some(string) = &mut self.string else { return };
        if string.role != Role::Value {
            let room = LONGEST.saturating_sub(string.kept.len());
            string.kept.extend(text.trim_end_matches('\n').chars().take(room));
        }
        if string.role != Role::Name && !text.is_empty() {
            value(self.member(), text);
        }
        text.clear();
    }

    /// Reads a character outside strings.
    fn structure(&mut self, letter: char) {
        match letter {
            '{' | '[' if self.open.len() == DEEPEST => self.deeper += 1,
            '{' => self.open.push(Container::Object { name: String::new(), has_name: false }),
            '[' => self.open.push(Container::List),
            '}' | ']' if self.deeper > 0 => self.deeper -= 1,
            '}' | ']' => {
                self.open.pop();
            }
            ',' if self.deeper == 0 => {
                if let Some(Container::Object { has_name, .. }) = self.open.last_mut() {
                    *has_name = false;
                }
            }
            '"' => {
                let role = self.next_role();
                self.string = Some(JsonString { role, kept: String::new(), escape: Escape::None });
            }
            _ => {}
        }
    }

    fn next_role(&self) -> Role {
        let is_name = matches!(self.open.last(), Some(Container::Object { has_name: false, .. }));
        let is_path = match &self.open[..] {
            [Container::Object { name, .. }] | [Container::Object { name, .. }, Container::List] => {
                PATHS.contains(&name.as_str())
            }
            _ => false,
        };
        match () {
            () if self.deeper > 0 => Role::Value,
            () if is_name => Role::Name,
            () if is_path => Role::Path,
            () => Role::Value,
        }
    }

    /// Returns the name of the member that the reader is in.
    fn member(&self) -> &str {
        let names = self.open.iter().rev().filter_map(|container| match container {
            Container::Object { name, .. } => Some(name.as_str()),
            Container::List => None,
        });
        names.into_iter().next().unwrap_or_default()
    }

    fn end_string(&mut self) {
        let Some(string) = self.string.take() else { return };
        match string.role {
            Role::Name => {
                if let Some(Container::Object { name, has_name }) = self.open.last_mut() {
                    *name = string.kept;
                    *has_name = true;
                }
            }
            Role::Path if self.paths.len() < DEEPEST => self.paths.push(string.kept),
            Role::Path | Role::Value => {}
        }
    }

    /// Reads a character of a string. Returns whether it ends the string.
    fn letter(&mut self, letter: char, text: &mut String) -> bool {
        let Some(string) = &mut self.string else { return false };
        let escape = &mut string.escape;
        match *escape {
            Escape::None => match letter {
                '"' => return true,
                '\\' => *escape = Escape::Begun,
                letter => text.push(letter),
            },
            Escape::Begun => {
                *escape = Escape::None;
                match letter {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    'b' => text.push('\u{8}'),
                    'f' => text.push('\u{c}'),
                    'u' => *escape = Escape::Unicode { digits: 0, code: 0, high: None },
                    letter => text.push(letter),
                }
            }
            Escape::Unicode { digits, code, high } => {
                let code = code * 16 + letter.to_digit(16).unwrap_or(0);
                if digits < 3 {
                    *escape = Escape::Unicode { digits: digits + 1, code, high };
                    return false;
                }
                *escape = match (high, code) {
                    (None, 0xD800..0xDC00) => Escape::Half { high: code, is_begun: false },
                    _ => Escape::None,
                };
                let whole = match (high, code) {
                    (Some(high), 0xDC00..0xE000) => {
                        Some(0x1_0000 + ((high - 0xD800) << 10) + (code - 0xDC00))
                    }
                    (_, code) => Some(code),
                };
                text.extend(whole.and_then(char::from_u32));
            }
            Escape::Half { high, is_begun: false } if letter == '\\' => {
                *escape = Escape::Half { high, is_begun: true };
            }
            Escape::Half { high, is_begun: true } if letter == 'u' => {
                *escape = Escape::Unicode { digits: 0, code: 0, high: Some(high) };
            }
            // Half a pair without the other half is no character.
            Escape::Half { is_begun, .. } => {
                *escape = if is_begun { Escape::Begun } else { Escape::None };
                return self.letter(letter, text);
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the texts by member, and the paths.
    fn read(pieces: &[&str]) -> (Vec<(String, String)>, Vec<String>) {
        let mut reader = ArgumentReader::default();
        let mut values: Vec<(String, String)> = Vec::new();
        let mut is_new = true;
        for piece in pieces {
            reader.feed(piece, |name, text| {
                if is_new {
                    values.push((name.to_owned(), String::new()));
                }
                is_new = text.ends_with('\n');
                values.last_mut().unwrap().1.push_str(text);
            });
        }
        (values, reader.paths)
    }

    #[test]
    fn strings_are_unescaped_wherever_the_json_is_cut() {
        let json = json!({
            "path": "src/a.ts",
            "edits": [{"oldText": "x", "newText": "say(\"hi\") \\ é 🎉\u{1}", "n": 3}, {"newText": "two"}],
            "nested": {"path": "not a path"},
        });
        let text = json.to_string().replace('🎉', "\\ud83c\\udf89");
        let expected = [
            ("path", "src/a.ts\n"),
            ("oldText", "x\n"),
            ("newText", "say(\"hi\") \\ é 🎉\u{1}\n"),
            ("newText", "two\n"),
            ("path", "not a path\n"),
        ];
        let expected: Vec<_> = expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let letters: Vec<_> = text.split("").collect();
        for pieces in [&[&*text][..], &letters] {
            assert_eq!(read(pieces), (expected.clone(), vec!["src/a.ts".to_owned()]));
        }
    }

    #[test]
    fn lists_of_paths_are_read_and_incomplete_paths_are_not() {
        assert_eq!(read(&[r#"{"paths":["a","b"]}"#]).1, ["a", "b"]);
        assert_eq!(read(&[r#"{"file_path":"abc"#]).1, [""; 0]);
    }

    #[test]
    fn broken_json_costs_no_more_than_its_length() {
        let deep = "[{\"a\":".repeat(10_000) + "\"text\"";
        assert_eq!(read(&[&deep]).0.last().unwrap().1, "text\n");
        read(&[r#"}}]]{"a" "b" \ud800 "\ud800x\ud800"\q""#]);
        read(&["\"\\u12", "\\\"", "]"]);
    }

    proptest::proptest! {
        #[test]
        fn texts_do_not_depend_on_the_pieces(json in "[\\[\\]{}\",:\\\\ud8c0a1é ]{0,60}", cut in 0..60_usize) {
            let cut = (0..=cut.min(json.len())).rev().find(|cut| json.is_char_boundary(*cut)).unwrap();
            let joined = |pieces: &[&str]| {
                let mut reader = ArgumentReader::default();
                let mut text = String::new();
                pieces.iter().for_each(|piece| reader.feed(piece, |_, more| text.push_str(more)));
                (text, reader.paths)
            };
            proptest::prop_assert_eq!(joined(&[&json]), joined(&[&json[..cut], &json[cut..]]));
        }
    }
}
