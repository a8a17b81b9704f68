//! The tokenizers for formats in which the first characters of a line determine its kind.

use super::{Kind, Token, Tokens};

/// Returns the tokens of a diff.
pub(super) fn diff(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Tokens::new(code);
    let mut position = 0;
    for line in code.split_inclusive('\n') {
        position += line.len();
        let kind = match line.as_bytes().first() {
            Some(b'+') if !line.starts_with("+++ ") => Kind::Inserted,
            Some(b'-') if !line.starts_with("--- ") => Kind::Deleted,
            Some(b'@') => Kind::Heading,
            Some(b' ') | None => Kind::Plain,
            Some(_) => Kind::Comment,
        };
        tokens.push(kind, position);
    }
    tokens.finish()
}

/// Returns the tokens of Markdown.
pub(super) fn markdown(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Tokens::new(code);
    let mut is_in_code = false;
    let mut start = 0;
    for line in code.split_inclusive('\n') {
        let end = start + line.len();
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            is_in_code = !is_in_code;
            tokens.push(Kind::Comment, end);
        } else if is_in_code {
            tokens.push(Kind::Text, end);
        } else if line.starts_with('#') {
            tokens.push(Kind::Heading, end);
        } else if trimmed.starts_with('>') {
            tokens.push(Kind::Comment, end);
        } else {
            markdown_line(&mut tokens, line, start);
            tokens.push(Kind::Plain, end);
        }
        start = end;
    }
    tokens.finish()
}

fn markdown_line(tokens: &mut Tokens<'_>, line: &str, start: usize) {
    let indent = line.len() - line.trim_start().len();
    if ["- ", "* ", "+ "].iter().any(|marker| line[indent..].starts_with(marker)) {
        tokens.push(Kind::Plain, start + indent);
        tokens.push(Kind::Keyword, start + indent + 1);
    }
    let mut from = 0;
    while let Some(open) = line[from..].find('`').map(|open| from + open) {
        let Some(close) = line[open + 1..].find('`').map(|close| open + 1 + close) else { return };
        tokens.push(Kind::Plain, start + open);
        tokens.push(Kind::Text, start + close + 1);
        from = close + 1;
    }
}
