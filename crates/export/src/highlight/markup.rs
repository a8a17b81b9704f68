//! The tokenizer for HTML and XML.

use super::{Kind, Token, Tokens};

/// Returns the tokens of `code`.
pub(super) fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Tokens::new(code);
    let mut position = 0;
    while let Some(open) = code[position..].find('<').map(|open| position + open) {
        let rest = &code[open..];
        tokens.push(Kind::Plain, open);
        position = if rest.starts_with("<!--") {
            let end = rest.find("-->").map_or(code.len(), |end| open + end + 3);
            tokens.push(Kind::Comment, end);
            end
        } else if rest[1..].starts_with(|next: char| next.is_ascii_alphabetic() || "/!?".contains(next)) {
            tag(&mut tokens, code, open)
        } else {
            open + 1
        };
    }
    tokens.finish()
}

/// Adds the tokens of a tag and returns its end.
fn tag(tokens: &mut Tokens<'_>, code: &str, open: usize) -> usize {
    let is_name = |character: char| character.is_alphanumeric() || "-_:.".contains(character);
    let after_name =
        |from: usize| code[from..].find(|next| !is_name(next)).map_or(code.len(), |end| from + end);
    let mut position = after_name(open + 2);
    tokens.push(Kind::Keyword, position);
    while let Some(next) = code[position..].chars().next() {
        match next {
            '>' => {
                tokens.push(Kind::Plain, position);
                tokens.push(Kind::Keyword, position + 1);
                return position + 1;
            }
            '<' => return position,
            '"' | '\'' => {
                tokens.push(Kind::Plain, position);
                position = code[position + 1..].find(next).map_or(code.len(), |end| position + end + 2);
                tokens.push(Kind::Text, position);
            }
            next if is_name(next) => {
                tokens.push(Kind::Plain, position);
                position = after_name(position);
                tokens.push(Kind::Property, position);
            }
            next => position += next.len_utf8(),
        }
    }
    position
}
