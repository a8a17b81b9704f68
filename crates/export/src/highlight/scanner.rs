//! The tokenizer for languages with words, strings and comments.

use super::languages::{Language, Quirk, Quote};
use super::{Kind, Token, Tokens};

/// Returns the tokens of `code`.
pub(super) fn tokens<'a>(language: &Language, code: &'a str) -> Vec<Token<'a>> {
    let mut scanner = Scanner { language, code, position: 0, tokens: Tokens::new(code) };
    while scanner.position < code.len() {
        scanner.step();
    }
    scanner.tokens.finish()
}

struct Scanner<'a, 'l> {
    language: &'l Language,
    code: &'a str,
    position: usize,
    tokens: Tokens<'a>,
}

impl<'a> Scanner<'a, '_> {
    fn rest(&self) -> &'a str {
        &self.code[self.position..]
    }

    fn has(&self, quirk: Quirk) -> bool {
        self.language.quirks.contains(&quirk)
    }

    fn previous(&self) -> Option<char> {
        self.code[..self.position].chars().next_back()
    }

    /// Adds a token for the next `length` bytes.
    fn take(&mut self, kind: Kind, length: usize) {
        self.tokens.push(Kind::Plain, self.position);
        self.position += length;
        self.tokens.push(kind, self.position);
    }

    fn step(&mut self) {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return };
        let at_line_start = matches!(self.previous(), None | Some('\n'));
        if at_line_start && self.line_start() {
            return;
        }
        if let Some(length) = self.comment() {
            self.take(Kind::Comment, length);
        } else if let Some(length) = self.quoted() {
            let is_key = self.has(Quirk::TextBeforeColonIsKey)
                && rest[length..].trim_start_matches([' ', '\t', '\n']).starts_with(':');
            self.take(if is_key { Kind::Property } else { Kind::Text }, length);
        } else if self.special(first) {
        } else if first.is_ascii_digit() {
            let length = number_length(rest);
            self.take(Kind::Number, length);
        } else if self.is_word_start(first) {
            self.word();
        } else {
            self.position += first.len_utf8();
        }
    }

    /// Adds tokens that occur only at the start of a line.
    fn line_start(&mut self) -> bool {
        let line = self.rest().split('\n').next().unwrap_or_default();
        let indent = line.len() - line.trim_start_matches([' ', '\t', '-']).len();
        if self.has(Quirk::SectionsInBrackets) && line.trim_start().starts_with('[') {
            let end = line.rfind(']').map_or(line.len(), |end| end + 1);
            self.take(Kind::Heading, end);
            return true;
        }
        let separator = match () {
            () if self.has(Quirk::KeysBeforeColon) => ':',
            () if self.has(Quirk::KeysBeforeEquals) => '=',
            () => return false,
        };
        let is_key_character =
            |character: char| character.is_alphanumeric() || "_-./$@\" ".contains(character);
        let Some(end) = line[indent..].find(separator).map(|end| indent + end) else { return false };
        let key = line[indent..end].trim_end();
        let after = line[end + 1..].chars().next();
        if key.is_empty()
            || !key.chars().all(is_key_character)
            || !(separator == '=' || after.is_none_or(char::is_whitespace))
        {
            return false;
        }
        self.position += indent;
        self.take(Kind::Property, key.len());
        true
    }

    fn comment(&self) -> Option<usize> {
        let rest = self.rest();
        if let Some((open, close)) = self.language.block_comment
            && rest.starts_with(open)
        {
            let end = rest[open.len()..].find(close).map_or(rest.len(), |end| open.len() + end + close.len());
            return Some(end);
        }
        let starts = self.language.line_comments.iter().any(|start| {
            // `#` may be part of a word, so it starts a comment only after a space.
            rest.starts_with(start)
                && (*start != "#"
                    || self
                        .previous()
                        .is_none_or(|before| !before.is_alphanumeric() && !"$&\\{".contains(before)))
        });
        starts.then(|| rest.find('\n').unwrap_or(rest.len()))
    }

    fn quoted(&self) -> Option<usize> {
        let rest = self.rest();
        if self.has(Quirk::Rust)
            && let Some(length) = rust_text(rest, self.previous())
        {
            return Some(length);
        }
        let quote = self.language.quotes.iter().find(|quote| rest.starts_with(quote.mark))?;
        quoted_length(rest, quote)
    }

    /// Adds tokens that only some languages have.
    fn special(&mut self, first: char) -> bool {
        let rest = self.rest();
        match first {
            '\'' if self.has(Quirk::Rust) => self.take(Kind::Type, 1 + word_length(&rest[1..], "_")),
            '$' if self.has(Quirk::Shell) => self.take(Kind::Variable, variable_length(rest)),
            '@' if self.has(Quirk::Css) || self.has(Quirk::Decorators) => {
                self.take(Kind::Keyword, 1 + word_length(&rest[1..], "_-."));
            }
            '.' | '#' if self.has(Quirk::Css) => {
                let length = 1 + word_length(&rest[1..], "_-");
                let is_number =
                    first == '#' && rest[1..length].chars().all(|character| character.is_ascii_hexdigit());
                let kind = match length {
                    1 => Kind::Plain,
                    _ if is_number || rest[1..].starts_with(|next: char| next.is_ascii_digit()) => {
                        Kind::Number
                    }
                    _ => Kind::Type,
                };
                self.take(kind, length);
            }
            '#' if self.has(Quirk::Preprocessor) => {
                self.take(Kind::Keyword, 1 + word_length(&rest[1..], "_"));
            }
            _ => return false,
        }
        true
    }

    fn is_word_start(&self, first: char) -> bool {
        first.is_alphabetic() || first == '_' || (first == '-' && self.has(Quirk::Css))
    }

    fn word(&mut self) {
        let rest = self.rest();
        let inside = if self.has(Quirk::Css) || self.has(Quirk::Shell) { "_-" } else { "_" };
        let length = word_length(rest, inside).max(1);
        let word = &rest[..length];
        let after = rest[length..].trim_start_matches(' ').chars().next();
        let is_in = |list: &str| {
            let is_same = |entry: &str| {
                if self.has(Quirk::AnyCase) { entry.eq_ignore_ascii_case(word) } else { entry == word }
            };
            list.split(' ').any(is_same)
        };
        let follows_command = || {
            let before = self.code[..self.position].trim_end_matches([' ', '\t']);
            before.is_empty()
                || before.ends_with(['\n', ';', '|', '&', '(', '`'])
                || before.ends_with("do")
                || before.ends_with("then")
        };
        let kind = if is_in(self.language.keywords) {
            Kind::Keyword
        } else if is_in(self.language.types) {
            Kind::Type
        } else if self.has(Quirk::Css) && after == Some(':') {
            Kind::Property
        } else if self.has(Quirk::Shell) {
            if follows_command() && after != Some('=') { Kind::Function } else { Kind::Plain }
        } else if rest[length..].starts_with('(')
            || (self.has(Quirk::Rust) && rest[length..].starts_with("!("))
        {
            Kind::Function
        } else if self.has(Quirk::CapitalsAreTypes) && word.starts_with(char::is_uppercase) {
            Kind::Type
        } else {
            Kind::Plain
        };
        self.take(kind, length);
    }
}

fn word_length(text: &str, also: &str) -> usize {
    text.find(|character: char| !character.is_alphanumeric() && !also.contains(character))
        .unwrap_or(text.len())
}

fn number_length(text: &str) -> usize {
    let mut before = '0';
    let ends = |(_, character): &(usize, char)| {
        let goes_on = character.is_ascii_alphanumeric()
            || matches!(character, '_' | '%')
            || (*character == '.' && before != '.')
            || (matches!(character, '+' | '-') && matches!(before, 'e' | 'E') && !text.starts_with("0x"));
        before = *character;
        !goes_on
    };
    let end = text.char_indices().find(ends).map_or(text.len(), |(index, _)| index);
    // The dot belongs to a range or a sentence.
    text[..end].trim_end_matches('.').len().max(1)
}

fn variable_length(text: &str) -> usize {
    match text[1..].chars().next() {
        Some('{') => text.find('}').map_or(2, |end| end + 1),
        Some(next) if next.is_alphabetic() || next == '_' => 1 + word_length(&text[1..], "_"),
        Some(next) if next.is_ascii_digit() || "?!#@*$".contains(next) => 2,
        _ => 1,
    }
}

/// Returns the length of a string including its quotes. It ends at the end of the line unless it may span lines.
fn quoted_length(text: &str, quote: &Quote) -> Option<usize> {
    let mark = quote.mark;
    let mut position = mark.len();
    while position < text.len() {
        let rest = &text[position..];
        let next = rest.chars().next()?;
        if rest.starts_with(mark) {
            return Some(position + mark.len());
        }
        if next == '\n' && !quote.spans_lines {
            // Most likely an apostrophe.
            return (mark != "'").then_some(position);
        }
        position += next.len_utf8();
        if next == '\\' && quote.has_escapes {
            position += text[position..].chars().next().map_or(0, char::len_utf8);
        }
    }
    (quote.spans_lines || mark != "'").then_some(text.len())
}

/// Returns the length of a raw string or a character literal, as opposed to a lifetime.
fn rust_text(text: &str, before: Option<char>) -> Option<usize> {
    if let Some(rest) = text.strip_prefix('\'') {
        let mut characters = rest.chars();
        let first = characters.next()?;
        if first == '\\' {
            let end = rest.char_indices().skip(2).take(12).find(|(_, character)| *character == '\'');
            return end.map(|(index, _)| index + 2);
        }
        return (characters.next() == Some('\'')).then(|| 2 + first.len_utf8());
    }
    if before.is_some_and(|before| before.is_alphanumeric() || before == '_') {
        return None;
    }
    let raw = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = raw.len() - raw.trim_start_matches('#').len();
    let content = raw[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let start = text.len() - content.len();
    Some(content.find(&close).map_or(text.len(), |end| start + end + close.len()))
}
