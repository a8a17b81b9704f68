//! The block of keys at the top of a Markdown file, between two lines of three hyphens.
//!
//! It is YAML, of which skills and templates use little: texts, plain, quoted or over several lines, and switches. The
//! rest (lists, nested objects) belongs to other programs and is skipped.

/// A file in two parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document<'text> {
    /// The keys at the top with their texts, in the order of the file.
    keys: Vec<(String, String)>,
    /// What follows, without the blank lines around it.
    pub body: &'text str,
}

impl<'text> Document<'text> {
    /// Splits a text. One that does not begin with a complete block is all body.
    pub fn parse(text: &'text str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match split(text) {
            Some((block, body)) => Self { keys: keys(block), body: body.trim() },
            None => Self { keys: Vec::new(), body: text.trim() },
        }
    }

    /// Returns the text of a key, unless it is empty.
    pub fn text(&self, key: &str) -> Option<&str> {
        let value = self.keys.iter().find(|(name, _)| name == key).map(|(_, value)| value.trim());
        value.filter(|value| !value.is_empty())
    }

    /// Returns whether a key is set to true.
    pub fn is_on(&self, key: &str) -> bool {
        self.text(key).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }
}

/// Returns the block and what follows it.
fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("---")?;
    let rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n'))?;
    let mut offset = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((&rest[..offset], &rest[offset + line.len()..]));
        }
        offset += line.len();
    }
    None
}

/// Reads the keys of a block that are not indented.
fn keys(block: &str) -> Vec<(String, String)> {
    let mut keys = Vec::new();
    let mut lines = block.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((key, first)) = key_of(line) else { continue };
        let mut more = Vec::new();
        // What is indented continues the value, and so do blank lines between such lines.
        while let Some(next) = lines.next_if(|next| next.trim().is_empty() || next.starts_with([' ', '\t'])) {
            more.push(next);
        }
        keys.push((key, value(first.trim(), &more)));
    }
    keys
}

/// Returns the key of a line and what follows it.
fn key_of(line: &str) -> Option<(String, &str)> {
    if line.starts_with([' ', '\t', '#', '-']) {
        return None;
    }
    let (key, value) = line.split_once(':')?;
    if !value.is_empty() && !value.starts_with([' ', '\t']) {
        return None;
    }
    let key = key.trim().trim_matches(['"', '\'']);
    (!key.is_empty()).then(|| (key.to_owned(), value))
}

/// Returns the text of a value, of which `more` are the lines after the first.
fn value(first: &str, more: &[&str]) -> String {
    let indicator = without_comment(first);
    match indicator.chars().next() {
        Some('|') if indicator.len() <= 3 => block_text(more, "\n"),
        Some('>') if indicator.len() <= 3 => block_text(more, " "),
        Some(quote @ ('"' | '\'')) => quoted(&joined(first, more), quote),
        // Lists and objects have no text.
        Some('[' | '{' | '&' | '*' | '!') => String::new(),
        Some(_) => more.iter().fold(indicator.to_owned(), |mut text, line| {
            let line = without_comment(line.trim());
            if !line.is_empty() {
                text.push(' ');
                text.push_str(line);
            }
            text
        }),
        None => plain_below(more),
    }
}

/// Returns a plain text that begins on the line after its key; a list or an object there has no text.
fn plain_below(more: &[&str]) -> String {
    let lines: Vec<_> = more.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
    let is_text = lines.first().is_some_and(|line| !line.starts_with("- ") && key_of(line).is_none());
    if is_text { lines.join(" ") } else { String::new() }
}

/// Joins the lines of a block text. In one that is folded, a blank line stands for a line break.
fn block_text(lines: &[&str], separator: &str) -> String {
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let margin = lines.iter().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    let mut text = String::new();
    for line in lines {
        let line = line.get(margin..).unwrap_or("").trim_end();
        let is_folded = separator == " ";
        if is_folded && line.is_empty() {
            text.push('\n');
            continue;
        }
        let continues_line = !is_folded || !text.ends_with('\n');
        if !text.is_empty() && continues_line {
            text.push_str(separator);
        }
        text.push_str(line);
    }
    text.trim().to_owned()
}

fn joined(first: &str, more: &[&str]) -> String {
    let lines = std::iter::once(first).chain(more.iter().map(|line| line.trim()));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns what is between the quotes; in double quotes a backslash escapes, in single ones a second quote does.
fn quoted(text: &str, quote: char) -> String {
    let mut inner = String::new();
    let mut rest = text.chars().skip(1).peekable();
    while let Some(character) = rest.next() {
        match character {
            '\\' if quote == '"' => match rest.next() {
                Some('n') => inner.push('\n'),
                Some('t') => inner.push('\t'),
                Some(other) => inner.push(other),
                None => {}
            },
            '\'' if quote == '\'' && rest.next_if_eq(&'\'').is_some() => inner.push('\''),
            character if character == quote => break,
            character => inner.push(character),
        }
    }
    inner
}

/// Returns a plain text without the comment at its end.
fn without_comment(text: &str) -> &str {
    if text.starts_with('#') {
        return "";
    }
    text.find(" #").map_or(text, |place| &text[..place]).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(block: &str, key: &str, expected: Option<&str>) {
        let text = format!("---\n{block}\n---\nbody\n");
        let document = Document::parse(&text);
        assert_eq!(document.text(key), expected, "{block}");
        assert_eq!(document.body, "body");
    }

    #[test]
    fn values_are_read_in_every_form_that_skills_use() {
        for (block, expected) in [
            ("d: plain text # a comment", "plain text"),
            ("d: a: colon, \"quotes\" and C#", "a: colon, \"quotes\" and C#"),
            ("d: \"double \\\"quoted\\\" # text\"", "double \"quoted\" # text"),
            ("d: 'it''s single' # comment", "it's single"),
            ("d: \"over\n  two lines\"", "over two lines"),
            ("d: plain\n  continued", "plain continued"),
            ("d:\n  on the next line", "on the next line"),
            ("d: >-\n  folded\n  text\n\n  paragraph", "folded text\nparagraph"),
            ("d: |\n  kept\n    lines", "kept\n  lines"),
            ("'d': quoted key", "quoted key"),
        ] {
            check(block, "d", Some(expected));
        }
    }

    #[test]
    fn lists_objects_comments_and_empty_values_have_no_text() {
        for block in [
            "d: [a, b]",
            "d: {a: b}",
            "d:\n  - a\n  - b",
            "d:\n  inner: x",
            "d:",
            "# d: comment",
            "other:\n  d: inner",
            "d:nospace",
            "d: # nothing",
        ] {
            check(block, "d", None);
        }
        check("x:\n  - a\nd: after a list", "d", Some("after a list"));
    }

    #[test]
    fn text_without_a_complete_block_is_all_body() {
        for text in ["just text", "---\nd: never closed", "----\nd: x\n---\n", "text\n---\nd: x\n---"] {
            let document = Document::parse(text);
            assert_eq!((document.text("d"), document.body), (None, text.trim()), "{text}");
        }
    }

    #[test]
    fn mark_of_byte_order_and_carriage_returns_are_accepted() {
        let document = Document::parse("\u{feff}---\r\nd: text\r\non: TRUE\r\n---\r\n\r\nbody\r\n");
        assert_eq!((document.text("d"), document.body), (Some("text"), "body"));
        assert!(document.is_on("on") && !document.is_on("d"));
    }

    #[test]
    fn any_text_is_parsed_without_a_panic() {
        for text in [
            "---\n---",
            "---\n|\n---\n",
            "---\nd: \"\n---",
            "---\nd: '\n---\n",
            "---\n\u{e9}: |\n \u{e9}\n---\n",
        ] {
            Document::parse(text);
        }
        check("d: |\n   \u{e9}\n  x", "d", Some("\u{e9}\nx"));
    }
}
