//! The fields at the top of a Markdown file: lines between two lines `---`.
//!
//! The format is the part of YAML that such files use: texts with and without quotes, lists in either notation, and
//! blocks of text. A value that YAML would take for something else, such as `globs: *.ts`, is a text, because authors of
//! other agents' files write it so. Whatever has fields of its own is only known to exist.

use std::iter::Peekable;
use std::str::Chars;

/// The most fields that a file may have, and the most items of a list.
const MAX_FIELDS: usize = 64;
const MAX_ITEMS: usize = 256;

/// The longest text in quotes that goes over several lines: it is read again with each of them.
const MAX_QUOTED: usize = 8 * 1024;

const UNCLOSED: &str = "the closing quote is missing";

/// A file with its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document<'text> {
    pub fields: Fields,
    /// The text below the fields, or all of it if there are none.
    pub body: &'text str,
}

/// The fields of a file, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields(Vec<(String, Value)>);

/// The value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A text; numbers, booleans and a missing value too.
    Text(String),
    List(Vec<String>),
    /// Fields within the field, or lists within its list. They are not read.
    Nested,
}

/// Why fields cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct Error {
    /// The line of the file, starting at 1.
    pub line: usize,
    pub reason: String,
}

impl Fields {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the value of a field.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(field, _)| field == name).map(|(_, value)| value)
    }

    /// Returns the names of the fields.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the text of a field that has one.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Value::Text(text) => Some(text),
            Value::List(_) | Value::Nested => None,
        }
    }

    /// Returns the items of a field; a text that is not empty counts as one.
    pub fn items(&self, name: &str) -> &[String] {
        match self.get(name) {
            Some(Value::List(items)) => items,
            Some(Value::Text(text)) if !text.is_empty() => std::slice::from_ref(text),
            Some(Value::Text(_) | Value::Nested) | None => &[],
        }
    }

    /// Returns whether a field is `true` or `false`; `None` if it is missing or neither.
    pub fn flag(&self, name: &str) -> Option<bool> {
        match self.text(name)? {
            "true" | "True" | "TRUE" => Some(true),
            "false" | "False" | "FALSE" => Some(false),
            _ => None,
        }
    }
}

/// Reads the fields of a file. One that does not begin with a line `---` has none.
pub fn parse(text: &str) -> Result<Document<'_>, Error> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some((block, body)) = split(text)? else {
        return Ok(Document { fields: Fields::default(), body: text });
    };
    let fields = Reader { lines: block.lines().collect(), next: 0 }.fields()?;
    Ok(Document { fields, body })
}

/// Returns the lines between the two `---` and what follows them.
fn split(text: &str) -> Result<Option<(&str, &str)>, Error> {
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else { return Ok(None) };
    let mut end = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            return Ok(Some((&text[first.len()..end], &text[end + line.len()..])));
        }
        end += line.len();
    }
    Err(Error { line: 1, reason: "the fields have no end: a line with only --- is missing".to_owned() })
}

struct Reader<'text> {
    lines: Vec<&'text str>,
    next: usize,
}

impl<'text> Reader<'text> {
    fn fields(mut self) -> Result<Fields, Error> {
        let mut fields = Fields::default();
        while let Some(line) = self.take_content() {
            if indent(line) > 0 {
                return Err(self.error("this line is indented, but belongs to no field"));
            }
            let Some((name, rest)) = name_and_rest(line) else {
                return Err(self.error("this line is not `name: value`"));
            };
            if fields.get(&name).is_some() {
                return Err(self.error(format!("the field {name} appears twice")));
            }
            if fields.0.len() == MAX_FIELDS {
                return Err(self.error(format!("there are more than {MAX_FIELDS} fields")));
            }
            let value = self.value(rest)?;
            fields.0.push((name, value));
        }
        Ok(fields)
    }

    /// Reads a value whose first line has `rest` after the name.
    fn value(&mut self, rest: &'text str) -> Result<Value, Error> {
        match rest.chars().next() {
            None => self.block(),
            Some('|' | '>') if is_block_header(rest) => Ok(Value::Text(self.block_text(rest, 0))),
            Some('[') => self.bracketed(rest),
            Some('{') => {
                self.take_indented(0);
                Ok(Value::Nested)
            }
            Some('"' | '\'') => self.quoted(rest).map(Value::Text),
            Some(_) => Ok(Value::Text(self.plain(rest))),
        }
    }

    /// Reads what follows a field without a value on its line: a list, fields of its own, a text, or nothing.
    fn block(&mut self) -> Result<Value, Error> {
        let Some(first) = self.peek_content() else { return Ok(Value::Text(String::new())) };
        if item(first).is_some() {
            return self.list(indent(first));
        }
        if indent(first) == 0 {
            return Ok(Value::Text(String::new()));
        }
        if name_and_rest(first.trim_start()).is_some() {
            self.take_indented(0);
            return Ok(Value::Nested);
        }
        Ok(Value::Text(self.plain("")))
    }

    fn list(&mut self, depth: usize) -> Result<Value, Error> {
        let mut items = Vec::new();
        let mut is_nested = false;
        while let Some(line) = self.peek_content()
            && indent(line) >= depth
            && let Some(rest) = item(line)
        {
            self.take_content();
            is_nested |= indent(line) > depth;
            let text = match rest.chars().next() {
                Some('[' | '{') => None,
                Some('"' | '\'') => Some(self.quoted(rest)?),
                Some('|' | '>') if is_block_header(rest) => Some(self.block_text(rest, depth)),
                _ if item(rest).is_some() => None,
                _ => Some(self.plain(rest)),
            };
            is_nested |= text.is_none();
            items.extend(text);
            if items.len() > MAX_ITEMS {
                return Err(self.error(format!("the list has more than {MAX_ITEMS} items")));
            }
        }
        Ok(if is_nested { Value::Nested } else { Value::List(items) })
    }

    /// Reads a list in brackets, which may go over several lines.
    fn bracketed(&mut self, rest: &str) -> Result<Value, Error> {
        let mut text = rest.to_owned();
        for _ in 0..MAX_ITEMS {
            if let Some(value) = flow_list(&text).map_err(|reason| self.error(reason))? {
                return Ok(value);
            }
            let Some(line) = self.take_line() else { break };
            text.push(' ');
            text.push_str(line.trim());
        }
        Err(self.error("the list has no closing bracket"))
    }

    /// Reads a text without quotes. Lines that are indented below it continue it.
    fn plain(&mut self, rest: &str) -> String {
        let mut text = without_comment(rest).to_owned();
        while let Some(line) = self.lines.get(self.next)
            && indent(line) > 0
            && item(line).is_none()
        {
            self.next += 1;
            let more = without_comment(line.trim());
            if !more.is_empty() {
                if !text.is_empty() {
                    text.push(' ');
                }
                text.push_str(more);
            }
        }
        text
    }

    /// Reads a text in quotes. Lines that are indented below it continue it as long as the quote is open.
    fn quoted(&mut self, rest: &str) -> Result<String, Error> {
        let mut whole = rest.to_owned();
        loop {
            let mut chars = whole.chars().peekable();
            match unquote(&mut chars) {
                Ok(text) => {
                    let after = chars.collect::<String>();
                    let after = after.trim();
                    if after.is_empty() || after.starts_with('#') {
                        return Ok(text);
                    }
                    return Err(self.error("there is something after the closing quote"));
                }
                Err(UNCLOSED)
                    if let Some(line) = self.lines.get(self.next).filter(|line| indent(line) > 0) =>
                {
                    if whole.len() > MAX_QUOTED {
                        return Err(self.error(UNCLOSED));
                    }
                    self.next += 1;
                    whole.push(' ');
                    whole.push_str(line.trim());
                }
                Err(reason) => return Err(self.error(reason)),
            }
        }
    }

    /// Reads a block of text: as it is after `|`, its lines joined after `>`. Its lines are indented more than `depth`.
    fn block_text(&mut self, header: &str, depth: usize) -> String {
        let lines = self.take_indented(depth);
        let common = lines.iter().filter(|line| !line.trim().is_empty()).map(|line| indent(line)).min();
        let common = common.unwrap_or(0);
        let lines: Vec<_> =
            lines.iter().map(|line| line.get(common..).unwrap_or("").trim_end_matches('\r')).collect();
        let mut text = if header.starts_with('>') { fold(&lines) } else { lines.join("\n") };
        let end = text.trim_end_matches('\n').len();
        if !header.contains('+') {
            text.truncate(end);
        }
        if !header.contains('-') && end > 0 {
            text.push('\n');
        }
        text
    }

    /// Takes the lines that are indented more than `depth`, or empty.
    fn take_indented(&mut self, depth: usize) -> Vec<&'text str> {
        let start = self.next;
        while let Some(line) = self.lines.get(self.next)
            && (indent(line) > depth || line.trim().is_empty())
        {
            self.next += 1;
        }
        self.lines[start..self.next].to_vec()
    }

    fn take_line(&mut self) -> Option<&'text str> {
        let line = self.lines.get(self.next).copied();
        self.next += usize::from(line.is_some());
        line
    }

    /// Returns the next line that is neither empty nor a comment, without taking it.
    fn peek_content(&mut self) -> Option<&'text str> {
        while let Some(line) = self.lines.get(self.next) {
            let content = line.trim();
            if !content.is_empty() && !content.starts_with('#') {
                return Some(line);
            }
            self.next += 1;
        }
        None
    }

    fn take_content(&mut self) -> Option<&'text str> {
        let line = self.peek_content()?;
        self.next += 1;
        Some(line.trim_end())
    }

    /// Returns an error in the line that was taken last.
    fn error(&self, reason: impl Into<String>) -> Error {
        // The first line of the file is the `---`.
        Error { line: self.next + 1, reason: reason.into() }
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// Returns the name of a field and what follows it on its line.
fn name_and_rest(line: &str) -> Option<(String, &str)> {
    let (name, rest) = line.split_once(':')?;
    let name = name.trim_end();
    let name = name.strip_prefix(['"', '\'']).and_then(|name| name.strip_suffix(['"', '\''])).unwrap_or(name);
    let is_name = !name.is_empty()
        && name.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | ' '));
    let is_separated = rest.is_empty() || rest.starts_with([' ', '\t']);
    let rest = rest.trim();
    let rest = if rest.starts_with('#') { "" } else { rest };
    (is_name && is_separated).then(|| (name.to_owned(), rest))
}

/// Returns the text of an item of a list.
fn item(line: &str) -> Option<&str> {
    let rest = line.trim().strip_prefix('-')?;
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then(|| rest.trim())
}

/// Tells whether a value begins a block of text, as in `>-`, and is not a text that begins with such a character.
fn is_block_header(rest: &str) -> bool {
    let rest = without_comment(&rest[1..]);
    rest.len() <= 2 && rest.chars().all(|letter| matches!(letter, '+' | '-' | '1'..='9'))
}

/// Joins lines to paragraphs, which empty lines separate.
fn fold(lines: &[&str]) -> String {
    let mut text = String::new();
    let mut is_joined = false;
    for line in lines {
        if line.is_empty() {
            text.push('\n');
        } else {
            if is_joined {
                text.push(' ');
            }
            text.push_str(line);
        }
        is_joined = !line.is_empty();
    }
    text
}

/// Returns a text up to a comment, which is preceded by a space.
fn without_comment(text: &str) -> &str {
    if text.starts_with('#') {
        return "";
    }
    let end = text.find(" #").or_else(|| text.find("\t#")).unwrap_or(text.len());
    text[..end].trim_end()
}

/// Reads a text in quotes.
fn unquote(chars: &mut Peekable<Chars<'_>>) -> Result<String, &'static str> {
    let quote = chars.next().ok_or(UNCLOSED)?;
    let mut text = String::new();
    loop {
        match chars.next().ok_or(UNCLOSED)? {
            '\'' if quote == '\'' => {
                if chars.next_if_eq(&'\'').is_none() {
                    return Ok(text);
                }
                text.push('\'');
            }
            '"' if quote == '"' => return Ok(text),
            '\\' if quote == '"' => text.push(escape(chars)?),
            letter => text.push(letter),
        }
    }
}

/// Reads what follows a backslash in double quotes.
fn escape(chars: &mut Peekable<Chars<'_>>) -> Result<char, &'static str> {
    const UNKNOWN: &str = "unknown escape after \\ in double quotes; single quotes take \\ as it is";
    let digits = match chars.next().ok_or(UNKNOWN)? {
        'n' => return Ok('\n'),
        't' => return Ok('\t'),
        'r' => return Ok('\r'),
        '0' => return Ok('\0'),
        'e' => return Ok('\u{1b}'),
        same @ ('"' | '\\' | '/' | ' ') => return Ok(same),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return Err(UNKNOWN),
    };
    let hex: String = chars.by_ref().take(digits).collect();
    let code = (hex.len() == digits).then(|| u32::from_str_radix(&hex, 16).ok()).flatten();
    code.and_then(char::from_u32).ok_or(UNKNOWN)
}

/// Reads `[a, "b"]`. Returns `None` if the closing bracket is missing.
fn flow_list(text: &str) -> Result<Option<Value>, &'static str> {
    let mut chars = text.chars().peekable();
    chars.next();
    let (mut items, mut is_nested) = (Vec::new(), false);
    loop {
        while chars.next_if(|letter| letter.is_whitespace() || *letter == ',').is_some() {}
        match chars.peek() {
            None => return Ok(None),
            Some(']') => break,
            Some('[' | '{') => {
                is_nested = true;
                if !skip_brackets(&mut chars) {
                    return Ok(None);
                }
            }
            Some('"' | '\'') => match unquote(&mut chars) {
                Ok(item) => items.push(item),
                Err(reason) => return Err(reason),
            },
            Some(_) => {
                let mut item = String::new();
                while let Some(letter) = chars.next_if(|letter| !matches!(letter, ',' | ']')) {
                    item.push(letter);
                }
                items.push(item.trim().to_owned());
            }
        }
        if items.len() > MAX_ITEMS {
            return Err("the list has too many items");
        }
    }
    Ok(Some(if is_nested { Value::Nested } else { Value::List(items) }))
}

/// Skips brackets with what is in them. Returns whether they are closed.
fn skip_brackets(chars: &mut Peekable<Chars<'_>>) -> bool {
    let mut depth = 0_usize;
    for letter in chars {
        match letter {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn fields(lines: &str) -> Vec<(String, Value)> {
        parse(&format!("---\n{lines}\n---\nbody\n")).unwrap().fields.0
    }

    #[track_caller]
    fn check(lines: &str, expected: &[(&str, Value)]) {
        let expected: Vec<_> =
            expected.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        assert_eq!(fields(lines), expected, "{lines}");
    }

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    fn list(items: &[&str]) -> Value {
        Value::List(items.iter().map(|item| (*item).to_owned()).collect())
    }

    #[test]
    fn file_without_fields_is_all_body() {
        for whole in ["", "# Title\n---\nnot fields\n---\n", "----\nx\n---\n"] {
            let document = parse(whole).unwrap();
            assert!(document.fields.is_empty());
            assert_eq!(document.body, whole);
        }
    }

    #[test]
    fn body_begins_after_the_second_line_of_dashes() {
        let document = parse("\u{feff}---\r\nname: a\r\n---\r\n\r\nText\r\n---\r\n").unwrap();
        assert_eq!(document.body, "\r\nText\r\n---\r\n");
        assert_eq!(document.fields.text("name"), Some("a"));
        assert_eq!(parse("---\na: b\n---").unwrap().body, "");
    }

    #[test]
    fn texts_are_read_with_and_without_quotes() {
        check("a: some text # comment", &[("a", text("some text"))]);
        check("a: it's C# and: more", &[("a", text("it's C# and: more"))]);
        check(r#"a: "say \"x\"\n\u00e9" # comment"#, &[("a", text("say \"x\"\né"))]);
        check(r"a: 'it''s \d+'", &[("a", text(r"it's \d+"))]);
        check("a: \"over\n  two lines\"\nb: c", &[("a", text("over two lines")), ("b", text("c"))]);
        check("globs: **/*.ts,*.tsx", &[("globs", text("**/*.ts,*.tsx"))]);
        check(
            "a: one\n  two\n\nb:\nc: true",
            &[("a", text("one two")), ("b", text("")), ("c", text("true"))],
        );
    }

    #[test]
    fn lists_are_read_in_both_notations() {
        check("a: [x, 'y, z', \"w\"]", &[("a", list(&["x", "y, z", "w"]))]);
        check("a: [\n  x,\n  y,\n]\nb: c", &[("a", list(&["x", "y"])), ("b", text("c"))]);
        check(
            "a:\n  - x\n  # no\n  - 'y'\n\n  - z\nb: c",
            &[("a", list(&["x", "y", "z"])), ("b", text("c"))],
        );
        check("a:\n- x\n- y", &[("a", list(&["x", "y"]))]);
        check("a: []", &[("a", list(&[]))]);
    }

    #[test]
    fn blocks_keep_or_join_their_lines() {
        check(
            "a: |\n  one\n    two\n\n  three\nb: c",
            &[("a", text("one\n  two\n\nthree\n")), ("b", text("c"))],
        );
        check("a: |-\n  one\n", &[("a", text("one"))]);
        check("a: >-\n  one\n  two\n\n  three\n", &[("a", text("one two\nthree"))]);
        check("a: |x|", &[("a", text("|x|"))]);
        check("a:\n  - |-\n    x\n    y\n  - z", &[("a", list(&["x\ny", "z"]))]);
    }

    #[test]
    fn nested_fields_are_known_and_not_read() {
        check(
            "meta:\n  a: b\n  c:\n    - d\nflow: {a: b}\nrows: [[1], 2]\nname: x",
            &[("meta", Value::Nested), ("flow", Value::Nested), ("rows", Value::Nested), ("name", text("x"))],
        );
    }

    #[test]
    fn what_cannot_be_read_is_an_error_with_its_line() {
        let cases = [
            ("---\na: b\n", 1, "have no end"),
            ("---\na: b\nnonsense\n---\n", 3, "not `name: value`"),
            ("---\na: b\n\na: c\n---\n", 4, "twice"),
            ("---\na: 'b\n---\n", 2, "closing quote"),
            ("---\na: \"\\q\"\n---\n", 2, "unknown escape"),
            ("---\na: 'b' c\n---\n", 2, "after the closing quote"),
            ("---\na: [b\nc: d\n---\n", 3, "closing bracket"),
            ("---\n  a: b\n---\n", 2, "indented"),
        ];
        for (document, line, reason) in cases {
            let error = parse(document).unwrap_err();
            assert!(error.line == line && error.reason.contains(reason), "{document}: {error}");
        }
        let many: String = (0..65).map(|number| format!("f{number}: x\n")).collect();
        assert!(parse(&format!("---\n{many}---\n")).is_err());
        let long = format!("---\na: [{}]\n---\n", "x,".repeat(300));
        assert!(parse(&long).is_err());
    }

    #[test]
    fn accessors_take_what_fits() {
        let document = parse("---\na: x\nb: [y, z]\nc: true\nd: No\ne:\n---\n").unwrap();
        let fields = &document.fields;
        assert_eq!(fields.items("a"), ["x"]);
        assert_eq!(fields.items("b"), ["y", "z"]);
        assert!(fields.items("e").is_empty() && fields.items("none").is_empty());
        assert_eq!((fields.flag("c"), fields.flag("d"), fields.flag("none")), (Some(true), None, None));
        assert_eq!(fields.text("b"), None);
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_odd_to_be_refused(text in "(---\n)?([a-c]?:? ?[\\[\\]{}'\"|>#\\-, \\\\é]{0,6}\n){0,9}(---\n)?") {
            let _ = parse(&text);
        }
    }
}
