//! The table of languages, one row each.

use super::{Token, lines, markup, scanner};

/// A language, or several with the same syntax.
#[derive(Debug)]
pub(crate) struct Language {
    /// Its names in Markdown and its file name extensions; the first is the common name.
    pub(crate) names: &'static [&'static str],
    form: Form,
    pub(super) line_comments: &'static [&'static str],
    pub(super) block_comment: Option<(&'static str, &'static str)>,
    pub(super) quotes: &'static [Quote],
    /// Separated by spaces, like `types`.
    pub(super) keywords: &'static str,
    pub(super) types: &'static str,
    pub(super) quirks: &'static [Quirk],
}

/// A way to quote strings.
#[derive(Debug)]
pub(super) struct Quote {
    pub(super) mark: &'static str,
    pub(super) has_escapes: bool,
    pub(super) spans_lines: bool,
}

/// A syntax rule of only some languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quirk {
    CapitalsAreTypes,
    /// Keywords are case-insensitive.
    AnyCase,
    TextBeforeColonIsKey,
    KeysBeforeColon,
    KeysBeforeEquals,
    SectionsInBrackets,
    Rust,
    Shell,
    Css,
    /// `@word`
    Decorators,
    /// `#word`
    Preprocessor,
}

#[derive(Debug, Clone, Copy)]
enum Form {
    Words,
    Markup,
    Markdown,
    Diff,
}

impl Language {
    pub(super) fn tokens<'a>(&self, code: &'a str) -> Vec<Token<'a>> {
        match self.form {
            Form::Words => scanner::tokens(self, code),
            Form::Markup => markup::tokens(code),
            Form::Markdown => lines::markdown(code),
            Form::Diff => lines::diff(code),
        }
    }
}

/// Returns the language with this name in Markdown. Unknown names get the rules that most languages share.
pub(crate) fn of_name(name: &str) -> Option<&'static Language> {
    let name = name.split([' ', ',', '{', ':']).next().unwrap_or_default().to_ascii_lowercase();
    match name.as_str() {
        "" | "text" | "txt" | "plain" | "plaintext" | "console" | "output" | "log" => None,
        name => LANGUAGES.iter().find(|language| language.names.contains(&name)).or(Some(&OTHER)),
    }
}

/// Returns the language of a file by its name, if known.
pub(crate) fn of_path(path: &str) -> Option<&'static Language> {
    let file = path.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let extension = match file.as_str() {
        "dockerfile" | "makefile" | ".bashrc" | ".gitignore" | ".env" => "bash",
        "cargo.lock" => "toml",
        file => file.rsplit_once('.')?.1,
    };
    LANGUAGES.iter().find(|language| language.names.contains(&extension))
}

const fn quote(mark: &'static str, has_escapes: bool, spans_lines: bool) -> Quote {
    Quote { mark, has_escapes, spans_lines }
}

const DOUBLE: Quote = quote("\"", true, false);
const SINGLE: Quote = quote("'", true, false);
const BACKTICK: Quote = quote("`", true, true);

const PLAIN: Language = Language {
    names: &[],
    form: Form::Words,
    line_comments: &[],
    block_comment: None,
    quotes: &[],
    keywords: "",
    types: "",
    quirks: &[],
};

const C_FAMILY: Language = Language {
    line_comments: &["//"],
    block_comment: Some(("/*", "*/")),
    quotes: &[DOUBLE, SINGLE],
    quirks: &[Quirk::CapitalsAreTypes, Quirk::Decorators],
    ..PLAIN
};

/// The rules that most languages share.
static OTHER: Language = Language {
    names: &["code"],
    line_comments: &["//", "#"],
    block_comment: Some(("/*", "*/")),
    quotes: &[DOUBLE, SINGLE, BACKTICK],
    keywords: "abstract and as begin break case catch class const continue def default defer do else elseif \
            elsif end enum export extends extern false final fn for foreach fun func function guard if \
            implements import in interface is let local match module namespace new nil not null object \
            or override package private protected pub public require return self static struct super \
            switch then this throw trait true try type union use using val var when where while with \
            yield",
    quirks: &[Quirk::CapitalsAreTypes],
    ..PLAIN
};

/// All known languages.
pub(super) static LANGUAGES: &[Language] = &[
    Language {
        names: &["rust", "rs"],
        quotes: &[quote("\"", true, true)],
        keywords: "as async await break const continue crate dyn else enum extern false fn for if impl in let \
            loop match mod move mut pub ref return self static struct super trait true type unsafe use \
            where while",
        types: "Self bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize",
        quirks: &[Quirk::Rust, Quirk::CapitalsAreTypes],
        ..C_FAMILY
    },
    Language {
        names: &["python", "py", "py3", "pyi"],
        line_comments: &["#"],
        quotes: &[quote("\"\"\"", true, true), quote("'''", true, true), DOUBLE, SINGLE],
        keywords: "False None True and as assert async await break class continue def del elif else except \
            finally for from global if import in is lambda match nonlocal not or pass raise return self \
            try while with yield",
        types: "bool bytes dict float int list object set str tuple",
        quirks: &[Quirk::CapitalsAreTypes, Quirk::Decorators],
        ..PLAIN
    },
    Language {
        names: &["typescript", "ts", "tsx", "javascript", "js", "jsx", "mjs", "cjs", "mts", "cts", "node"],
        quotes: &[DOUBLE, SINGLE, BACKTICK],
        keywords: "abstract as async await break case catch class const continue debugger declare default \
            delete do else enum export extends false finally for from function get if implements import \
            in instanceof interface let new null of private protected public readonly return satisfies \
            set static super switch this throw true try type typeof undefined var void while with yield",
        types: "any bigint boolean never number string symbol unknown",
        ..C_FAMILY
    },
    Language {
        names: &["json", "jsonc", "json5", "jsonl", "ndjson", "webmanifest"],
        line_comments: &["//"],
        block_comment: Some(("/*", "*/")),
        quotes: &[DOUBLE],
        keywords: "true false null",
        quirks: &[Quirk::TextBeforeColonIsKey],
        ..PLAIN
    },
    Language {
        names: &[
            "bash",
            "sh",
            "shell",
            "zsh",
            "fish",
            "ksh",
            "powershell",
            "ps1",
            "dockerfile",
            "makefile",
            "mk",
        ],
        line_comments: &["#"],
        quotes: &[quote("\"", true, true), quote("'", false, true)],
        keywords: "case do done elif else esac export fi for function if in local readonly return set then \
            until while",
        quirks: &[Quirk::Shell],
        ..PLAIN
    },
    Language {
        names: &["html", "htm", "xml", "svg", "xhtml", "vue", "svelte", "plist"],
        form: Form::Markup,
        ..PLAIN
    },
    Language {
        names: &["css", "scss", "less", "sass"],
        block_comment: Some(("/*", "*/")),
        quotes: &[DOUBLE, SINGLE],
        quirks: &[Quirk::Css],
        ..PLAIN
    },
    Language {
        names: &["go", "golang"],
        quotes: &[DOUBLE, SINGLE, quote("`", false, true)],
        keywords: "break case chan const continue default defer else fallthrough false for func go goto if \
            import interface map nil package range return select struct switch true type var",
        types: "any bool byte error float32 float64 int int32 int64 rune string uint uint32 uint64 uint8",
        ..C_FAMILY
    },
    Language {
        names: &["c++", "cpp", "c", "h", "hpp", "cc", "cxx", "hh", "objc", "m", "cu"],
        keywords: "alignas auto break case catch class const constexpr continue decltype default delete do else \
            enum explicit extern false for friend goto if inline namespace new noexcept nullptr operator \
            private protected public return sizeof static struct switch template this throw true try \
            typedef typename union using virtual volatile while NULL",
        types: "bool char double float int int16_t int32_t int64_t int8_t long short signed size_t uint16_t \
            uint32_t uint64_t uint8_t unsigned void",
        quirks: &[Quirk::Preprocessor, Quirk::CapitalsAreTypes],
        ..C_FAMILY
    },
    Language {
        names: &["java", "groovy", "gradle", "scala", "csharp", "cs", "c#", "dart"],
        quotes: &[quote("\"\"\"", true, true), DOUBLE, SINGLE],
        keywords: "abstract assert async await base break case catch class const continue default do else enum \
            extends false final finally for foreach if implements import in instanceof interface \
            internal is namespace native new null out override package permits private protected public \
            readonly record return sealed static super switch synchronized this throw throws transient \
            true try using var virtual volatile while yield",
        types: "boolean bool byte char decimal double float int long object short string void",
        ..C_FAMILY
    },
    Language {
        names: &["toml", "ini", "cfg", "conf", "properties", "editorconfig"],
        line_comments: &["#", ";"],
        quotes: &[quote("\"\"\"", true, true), quote("'''", false, true), DOUBLE, SINGLE],
        keywords: "true false",
        quirks: &[Quirk::SectionsInBrackets, Quirk::KeysBeforeEquals],
        ..PLAIN
    },
    Language {
        names: &["yaml", "yml"],
        line_comments: &["#"],
        quotes: &[DOUBLE, SINGLE],
        keywords: "true false null yes no on off",
        quirks: &[Quirk::KeysBeforeColon],
        ..PLAIN
    },
    Language {
        names: &["sql", "psql", "mysql", "sqlite", "postgres", "postgresql"],
        line_comments: &["--"],
        block_comment: Some(("/*", "*/")),
        quotes: &[quote("'", false, true), quote("\"", false, false)],
        keywords: "add all alter and as asc begin between by case check column commit constraint create cross \
            default delete desc distinct drop else end exists explain false foreign from full group \
            having if in index inner insert into is join key left like limit not null offset on or order \
            outer over partition primary references returning right rollback select set table then true \
            union unique update using values view when where with",
        types: "bigint boolean char date decimal float int integer json jsonb numeric real serial smallint \
            text timestamp timestamptz uuid varchar",
        quirks: &[Quirk::AnyCase],
        ..PLAIN
    },
    Language { names: &["diff", "patch"], form: Form::Diff, ..PLAIN },
    Language { names: &["markdown", "md", "mdx"], form: Form::Markdown, ..PLAIN },
];
