//! Syntax highlighting: one table-driven tokenizer per family of languages. They do not parse, and they keep every
//! character of the code.

mod languages;
mod lines;
mod markup;
mod scanner;

pub(crate) use languages::{Language, of_name, of_path};

use crate::escape;

/// How many bytes of code are highlighted at most, because every token costs the browser an element.
pub(crate) const LIMIT: usize = 32 * 1024;

/// The kind of a token, which determines its class on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    Comment,
    Text,
    Number,
    Keyword,
    Type,
    Function,
    Property,
    Variable,
    Heading,
    Inserted,
    Deleted,
}

/// A token of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
}

impl Kind {
    fn class(self) -> Option<&'static str> {
        Some(match self {
            Self::Plain => return None,
            Self::Comment => "hc",
            Self::Text => "hs",
            Self::Number => "hn",
            Self::Keyword => "hk",
            Self::Type => "ht",
            Self::Function => "hf",
            Self::Property => "hp",
            Self::Variable => "hv",
            Self::Heading => "hh",
            Self::Inserted => "hi",
            Self::Deleted => "hd",
        })
    }
}

/// Returns the tokens of `code`; without a language, a single one.
pub(crate) fn tokens<'a>(code: &'a str, language: Option<&Language>) -> Vec<Token<'a>> {
    tokens_of_beginning(code, language, LIMIT)
}

/// Returns the tokens of `code`; the last one holds everything after the lines within the first `limit` bytes.
pub(crate) fn tokens_of_beginning<'a>(
    code: &'a str,
    language: Option<&Language>,
    limit: usize,
) -> Vec<Token<'a>> {
    let Some(language) = language else { return vec![Token { kind: Kind::Plain, text: code }] };
    if code.len() <= limit {
        return language.tokens(code);
    }
    let end = code[..code.floor_char_boundary(limit)].rfind('\n').map_or(0, |end| end + 1);
    let (highlighted, rest) = code.split_at(end);
    let mut tokens = language.tokens(highlighted);
    tokens.push(Token { kind: Kind::Plain, text: rest });
    tokens
}

/// Appends tokens as content of an element.
pub(crate) fn push_tokens(page: &mut String, tokens: &[Token<'_>]) {
    for token in tokens {
        match token.kind.class() {
            Some(class) => {
                page.push_str("<span class=\"");
                page.push_str(class);
                page.push_str("\">");
                escape::push_text(page, token.text);
                page.push_str("</span>");
            }
            None => escape::push_text(page, token.text),
        }
    }
}

/// Splits tokens after the given number of lines.
pub(crate) fn split_at_line<'a>(tokens: &[Token<'a>], lines: usize) -> (Vec<Token<'a>>, Vec<Token<'a>>) {
    let mut left = lines;
    for (index, token) in tokens.iter().enumerate() {
        for (offset, _) in token.text.match_indices('\n') {
            left = left.saturating_sub(1);
            if left == 0 {
                let (before, after) = token.text.split_at(offset + 1);
                let mut first = tokens[..index].to_vec();
                first.push(Token { text: before, ..*token });
                let mut rest = vec![Token { text: after, ..*token }];
                rest.extend_from_slice(&tokens[index + 1..]);
                return (first, rest);
            }
        }
    }
    (tokens.to_vec(), Vec::new())
}

/// Collects tokens; adjacent ones of the same kind are merged.
struct Tokens<'a> {
    code: &'a str,
    list: Vec<Token<'a>>,
    /// The start of the code that is not in a token yet.
    from: usize,
}

impl<'a> Tokens<'a> {
    fn new(code: &'a str) -> Self {
        Self { code, list: Vec::new(), from: 0 }
    }

    /// Adds a token for everything up to `to`.
    fn push(&mut self, kind: Kind, to: usize) {
        if to <= self.from {
            return;
        }
        match self.list.last_mut() {
            Some(last) if last.kind == kind => {
                last.text = &self.code[self.from - last.text.len()..to];
            }
            _ => self.list.push(Token { kind, text: &self.code[self.from..to] }),
        }
        self.from = to;
    }

    fn finish(mut self) -> Vec<Token<'a>> {
        self.push(Kind::Plain, self.code.len());
        self.list
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::languages::LANGUAGES;
    use super::*;

    #[track_caller]
    fn check(language: &str, code: &str, expected: &[(Kind, &str)]) {
        let tokens = tokens(code, of_name(language));
        let found: Vec<_> = tokens
            .iter()
            .filter(|token| token.kind != Kind::Plain)
            .map(|token| (token.kind, token.text))
            .collect();
        assert_eq!(found, expected, "{language}: {code}");
    }

    #[test]
    fn languages_are_highlighted() {
        use Kind::*;
        check(
            "rust",
            "let s: &'a str = r#\"a\"b\"#; // 'x'",
            &[(Keyword, "let"), (Type, "'a"), (Type, "str"), (Text, "r#\"a\"b\"#"), (Comment, "// 'x'")],
        );
        check(
            "rs",
            "Foo::new('\\'', 0x1f_u8)",
            &[(Type, "Foo"), (Function, "new"), (Text, "'\\''"), (Number, "0x1f_u8")],
        );
        check(
            "python",
            "def f(x):\n    '''a\n#b''' # c",
            &[(Keyword, "def"), (Function, "f"), (Text, "'''a\n#b'''"), (Comment, "# c")],
        );
        check(
            "json",
            "{\"a\" : \"b\", \"c\": [1.5e3, true]}",
            &[
                (Property, "\"a\""),
                (Text, "\"b\""),
                (Property, "\"c\""),
                (Number, "1.5e3"),
                (Keyword, "true"),
            ],
        );
        check(
            "sh",
            "echo \"$HOME\" a#b ${x} # done",
            &[(Function, "echo"), (Text, "\"$HOME\""), (Variable, "${x}"), (Comment, "# done")],
        );
        check(
            "yaml",
            "a-b: 1 # c\n- d: 'e'",
            &[(Property, "a-b"), (Number, "1"), (Comment, "# c"), (Property, "d"), (Text, "'e'")],
        );
        check("toml", "[a.b]\nc = \"d\"", &[(Heading, "[a.b]"), (Property, "c"), (Text, "\"d\"")]);
        check("sql", "select 1 -- x", &[(Keyword, "select"), (Number, "1"), (Comment, "-- x")]);
        check(
            "html",
            "<a href=\"x\">fn</a><!-- b -->",
            &[
                (Keyword, "<a"),
                (Property, "href"),
                (Text, "\"x\""),
                (Keyword, ">"),
                (Keyword, "</a>"),
                (Comment, "<!-- b -->"),
            ],
        );
        check(
            "css",
            ".a { color: #fff; width: 10px }",
            &[(Type, ".a"), (Property, "color"), (Number, "#fff"), (Property, "width"), (Number, "10px")],
        );
        check(
            "diff",
            "@@ -1 +1 @@\n-a\n+b\n c",
            &[(Heading, "@@ -1 +1 @@\n"), (Deleted, "-a\n"), (Inserted, "+b\n")],
        );
        check("md", "# A\n`b` c", &[(Heading, "# A\n"), (Text, "`b`")]);
        check("kotlin", "fun f() = \"x\"", &[(Keyword, "fun"), (Function, "f"), (Text, "\"x\"")]);
    }

    #[test]
    fn lines_are_split_inside_tokens() {
        let code = "/* a\nb\nc */ d\n";
        let tokens = tokens(code, of_name("c"));
        let (first, rest) = split_at_line(&tokens, 2);
        let join = |tokens: &[Token<'_>]| tokens.iter().map(|token| token.text).collect::<String>();
        assert_eq!((join(&first).as_str(), join(&rest).as_str()), ("/* a\nb\n", "c */ d\n"));
        assert_eq!(rest[0].kind, Kind::Comment);
        assert_eq!(split_at_line(&tokens, 9).1, []);
    }

    #[test]
    fn languages_are_found_by_name_and_by_file_name() {
        assert_eq!(of_name("Rust,ignore").map(|language| language.names[0]), Some("rust"));
        assert_eq!(of_path("src/a.test.TSX").map(|language| language.names[0]), Some("typescript"));
        assert_eq!(of_path("Dockerfile").map(|language| language.names[0]), Some("bash"));
        assert!(of_name("").is_none() && of_name("text").is_none() && of_path("README").is_none());
    }

    fn without_tags(language: &Language, code: &str) -> String {
        let mut page = String::new();
        push_tokens(&mut page, &language.tokens(code));
        escape::tests::without_tags(&page)
    }

    proptest! {
        #[test]
        fn tokens_keep_all_code(code in "([a-z$<>/'\"`#\\\\*=:;.&!\\-+@{}() \n0-9é]|r#|//|/\\*|\"\"\"){0,60}") {
            for language in LANGUAGES {
                prop_assert_eq!(
                    without_tags(language, &code),
                    escape::tests::without_tags(&escape::text(&code)),
                    "{}", language.names[0]
                );
            }
        }

        #[test]
        fn nothing_is_lost_of_any_text(code in any::<String>()) {
            for language in LANGUAGES {
                prop_assert_eq!(without_tags(language, &code), escape::tests::without_tags(&escape::text(&code)));
            }
        }
    }
}
