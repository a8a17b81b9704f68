//! Emphasis within a line of Markdown. A line is shown before its end has arrived, so whether a mark has a partner is not known:
//! what is more likely a part of a path or a formula than a mark stays.

use super::style::Style;

/// What can be escaped by a backslash: the marks. Other backslashes are those of paths and expressions.
const ESCAPABLE: &[char] = &['*', '_', '`', '#', '|', '~'];

/// The emphasis that is open.
#[derive(Debug, Default)]
pub(super) struct Marks {
    is_bold: bool,
    is_italic: bool,
    /// How many backticks the code that is open began with.
    code: Option<usize>,
}

impl Marks {
    /// Splits a word at its marks of emphasis, which are left out.
    pub fn split(&mut self, word: &str, base: Style) -> Vec<(Style, String)> {
        let mut pieces = Vec::new();
        let mut piece = String::new();
        let mut previous = None;
        let mut rest = word;
        while let Some(letter) = rest.chars().next() {
            let after = rest.trim_start_matches(letter);
            let count = (rest.len() - after.len()) / letter.len_utf8();
            let style = self.style(base);
            if let Some(escaped) = self.escaped(rest) {
                piece.push(escaped);
                (previous, rest) = (Some(escaped), &rest[1 + escaped.len_utf8()..]);
                continue;
            }
            let is_mark = match letter {
                '`' => self.toggle_code(count),
                '*' | '_' if self.code.is_none() => {
                    self.toggle_emphasis(letter, count, previous, after.chars().next())
                }
                _ => false,
            };
            let taken = if matches!(letter, '`' | '*' | '_') { count } else { 1 } * letter.len_utf8();
            if is_mark {
                pieces.push((style, std::mem::take(&mut piece)));
            } else {
                piece.push_str(&rest[..taken]);
            }
            (previous, rest) = (Some(letter), &rest[taken..]);
        }
        pieces.push((self.style(base), piece));
        pieces.retain(|(_, text)| !text.is_empty());
        pieces
    }

    /// Returns the mark that a text begins with, if a backslash says that it is none.
    fn escaped(&self, text: &str) -> Option<char> {
        let escaped = text.strip_prefix('\\')?.chars().next()?;
        (self.code.is_none() && ESCAPABLE.contains(&escaped)).then_some(escaped)
    }

    fn toggle_code(&mut self, count: usize) -> bool {
        match self.code {
            None => self.code = Some(count),
            Some(open) if open == count => self.code = None,
            Some(_) => return false,
        }
        true
    }

    /// Begins or ends emphasis, if marks between two characters do.
    fn toggle_emphasis(
        &mut self,
        mark: char,
        count: usize,
        previous: Option<char>,
        next: Option<char>,
    ) -> bool {
        let is_word = |neighbour: Option<char>| neighbour.is_some_and(char::is_alphanumeric);
        let is_ascii_word =
            |neighbour: Option<char>| neighbour.is_some_and(|letter| letter.is_ascii_alphanumeric());
        // `_` within a word is a part of it, and so are both around numbers.
        let is_within = match mark {
            '_' => is_word(previous) && is_word(next),
            _ => is_ascii_word(previous) && is_ascii_word(next),
        };
        let opens = !is_within
            && match mark {
                '_' => is_word(next) && !is_word(previous),
                _ => next.is_some_and(|next| is_word(Some(next)) || "`\"'([{<$@#+-“„«".contains(next)),
            };
        let closes = previous.is_some() && !(mark == '_' && is_word(next));
        match count {
            1 if self.is_italic && closes => self.is_italic = false,
            1 if !self.is_italic && opens => self.is_italic = true,
            2 if mark == '*' && self.is_bold && closes => self.is_bold = false,
            2 if mark == '*' && !self.is_bold && opens => self.is_bold = true,
            3 if mark == '*' && self.is_bold && closes => (self.is_bold, self.is_italic) = (false, false),
            3 if mark == '*' && !self.is_bold && opens => (self.is_bold, self.is_italic) = (true, true),
            _ => return false,
        }
        true
    }

    fn style(&self, base: Style) -> Style {
        match self {
            Self { code: Some(_), .. } => Style::Code,
            Self { is_bold: true, .. } => Style::Bold,
            Self { is_italic: true, .. } => Style::Italic,
            _ => base,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks what is left of a line, with its looks in brackets.
    #[track_caller]
    fn check(line: &str, expected: &str) {
        let mut marks = Marks::default();
        let word = |word: &str| {
            let pieces = marks.split(word, Style::Plain).into_iter();
            pieces
                .map(|(style, text)| match style {
                    Style::Plain => text,
                    style => format!("{style:?}({text})"),
                })
                .collect::<String>()
        };
        assert_eq!(line.split(' ').map(word).collect::<Vec<_>>().join(" "), expected, "{line}");
    }

    #[test]
    fn marks_are_looks() {
        check("**b** *i* _i_ `c` ***x***", "Bold(b) Italic(i) Italic(i) Code(c) Bold(x)");
        check("**a b** c", "Bold(a) Bold(b) c");
        check("x**y** 这是**粗体**的", "x**y** 这是Bold(粗体)的");
        check("**`code`**: **(a)**,", "Code(code): Bold((a)),");
        check("`` a`b `` c", " Code(a`b)  c");
        check("`*a*` `src/**/*.rs`", "Code(*a*) Code(src/**/*.rs)");
    }

    #[test]
    fn what_is_no_mark_stays() {
        check("src/**/*.rs *.rs **/*.md", "src/**/*.rs *.rs **/*.md");
        check("2*3*4 2**3 a * b ** c", "2*3*4 2**3 a * b ** c");
        check("snake_case_name __init__ d_e", "snake_case_name __init__ d_e");
        check("\\*a\\* C:\\new \\_x", "*a* C:\\new _x");
        check("**** ----", "**** ----");
    }
}
