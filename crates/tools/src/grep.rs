//! The tool `grep`: the lines that match a regular expression, with path and line number.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use bowline_core::message::Arguments;
use bowline_core::tool::{ToolDisplay, ToolTraits};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;

use crate::builtin::{Builtin, Call, described, search, unprepared};
use crate::closed_paths;
use crate::error::Error;
use crate::glob::Glob;
use crate::parameters::{Kind, Parameter, boolean, integer, text};
use crate::paths;
use crate::tool::Outcome;
use crate::truncate::{self, MAX_BYTES, Totals};
use crate::walk::{LEFT_OUT_NAMES, Walk};

const DEFAULT_LIMIT: usize = 100;

/// The most characters of a line that are shown.
const LINE_LIMIT: usize = 500;

/// The longest line that is searched; the rest of a file with a longer one is skipped.
const HEAP_LIMIT: usize = 64 << 20;

/// The most lines around a match.
const MAX_CONTEXT: usize = 1000;

/// The most memory, in bytes, that a compiled pattern may take, and again for its cache while searching.
const PATTERN_LIMIT: usize = 16 << 20;

/// The search stops once further matches would not be shown.
const FOUND_LIMIT: usize = 4 * MAX_BYTES;

pub(crate) static TOOL: Builtin = Builtin {
    traits: ToolTraits {
        name: "grep",
        mutates: false,
        path_argument: Some("path"),
        display: ToolDisplay::Search,
    },
    description: "Search files for a regular expression. Prints path:line: text. Skips what .gitignore excludes.",
    parameters: &[
        Parameter::required("pattern", Kind::Text, ""),
        Parameter::optional("path", Kind::Text, "File or directory (default: .)"),
        Parameter::optional("glob", Kind::Text, "Only files such as *.ts"),
        Parameter::optional("ignoreCase", Kind::Boolean, ""),
        Parameter::optional("literal", Kind::Boolean, "Treat pattern as plain text"),
        Parameter::optional("context", Kind::Integer, "Lines around each match (default: 0)"),
        Parameter::optional("limit", Kind::Integer, "Most matches (default: 100)"),
    ],
    enabled_by_default: false,
    describe: described,
    prepare: unprepared,
    run: |call| Box::pin(search(call, grep)),
};

fn grep(call: &Call, cancel: &CancellationToken) -> Result<Outcome, Error> {
    let arguments = &call.arguments;
    let matcher = matcher(arguments)?;
    let glob = text(arguments, "glob").map(Glob::new).transpose()?;
    let given = text(arguments, "path").unwrap_or(".");
    let root = call.resolve(given)?;
    if !root.exists() {
        return Err(paths::not_found(&root));
    }
    let around = integer(arguments, "context").unwrap_or(0).min(MAX_CONTEXT);
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .before_context(around)
        .after_context(around)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(HEAP_LIMIT))
        .build();
    let mut found = Found::new(integer(arguments, "limit").unwrap_or(DEFAULT_LIMIT).max(1), cancel);
    let mut search = |path: &Path, file: File| {
        found.enter(paths::relative(&call.context.working_directory, path));
        // What cannot be read is skipped, as the walk skips unreadable directories.
        let _ = searcher.search_reader(&matcher, Cancellable { file, cancel }, &mut found);
        found.full()
    };
    if !root.is_dir() {
        search(&root, call.open(&root, given)?);
    } else {
        let mut walk = Walk::new(call, TOOL.traits.name, root.clone(), cancel);
        for entry in walk.by_ref().filter(|entry| entry.kind.is_file()) {
            let below = entry.path.strip_prefix(&root).unwrap_or(&entry.path);
            if glob.as_ref().is_none_or(|glob| glob.matches(below))
                && let Ok(file) = call.open(&entry.path, given)
                && search(&entry.path, file)
            {
                break;
            }
        }
        found.left_out_names = walk.left_out_names();
        found.closed = walk.closed();
    }
    if cancel.is_cancelled() {
        return Err(Error::Aborted);
    }
    Ok(found.outcome())
}

/// A file that ends with an error when the call is cancelled: a large one without matches is not read to its end.
struct Cancellable<'a> {
    file: File,
    cancel: &'a CancellationToken,
}

impl Read for Cancellable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::ErrorKind::Other.into());
        }
        self.file.read(buffer)
    }
}

fn matcher(arguments: &Arguments) -> Result<RegexMatcher, Error> {
    RegexMatcherBuilder::new()
        .case_insensitive(boolean(arguments, "ignoreCase"))
        .fixed_strings(boolean(arguments, "literal"))
        .line_terminator(Some(b'\n'))
        .size_limit(PATTERN_LIMIT)
        .dfa_size_limit(PATTERN_LIMIT)
        .build(text(arguments, "pattern").unwrap_or_default())
        .map_err(|error| {
            let reason = error.to_string();
            if reason.contains("size limit") {
                Error::PatternTooLarge { reason }
            } else {
                Error::Pattern { reason }
            }
        })
}

/// The lines found so far.
struct Found<'a> {
    lines: String,
    /// The file being searched.
    path: String,
    /// Context before the next match, which is discarded if the limit is reached first.
    before: Vec<String>,
    gap: bool,
    matches: usize,
    limit: usize,
    /// Whether there is a match beyond the limit.
    limit_reached: bool,
    lines_shortened: bool,
    /// Whether a folder had too many names to search all of its files.
    left_out_names: bool,
    /// How many files and folders a rule closes.
    closed: usize,
    cancel: &'a CancellationToken,
}

impl<'a> Found<'a> {
    fn new(limit: usize, cancel: &'a CancellationToken) -> Self {
        Self {
            lines: String::new(),
            path: String::new(),
            before: Vec::new(),
            gap: false,
            matches: 0,
            limit,
            limit_reached: false,
            lines_shortened: false,
            left_out_names: false,
            closed: 0,
            cancel,
        }
    }

    fn enter(&mut self, path: &Path) {
        self.path = paths::shown(path);
        self.before.clear();
        self.gap = false;
    }

    fn full(&self) -> bool {
        self.limit_reached || self.lines.len() > FOUND_LIMIT
    }

    fn line(&mut self, mark: char, number: Option<u64>, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        let shown = match text.char_indices().nth(LINE_LIMIT) {
            Some((end, _)) => {
                self.lines_shortened = true;
                format!("{}…", &text[..end])
            }
            None => text.to_owned(),
        };
        format!("{}{mark}{}{mark} {shown}\n", self.path, number.unwrap_or_default())
    }

    fn outcome(self) -> Outcome {
        if self.matches == 0 {
            let names = self.left_out_names.then(|| LEFT_OUT_NAMES.to_owned());
            let notes: Vec<_> = names.into_iter().chain(closed_paths::note(self.closed)).collect();
            let notes = if notes.is_empty() { String::new() } else { format!("\n\n[{}]", notes.join(" ")) };
            return Outcome::text(format!("No matches found.{notes}"));
        }
        let shown = truncate::head(&self.lines, Totals::of(&self.lines));
        let mut notes = Vec::new();
        let mut details = Map::new();
        if self.limit_reached {
            let (limit, more) = (self.limit, self.limit * 2);
            notes.push(format!(
                "There are more than {limit} matches. Set limit={more} for more, or narrow the pattern."
            ));
            details.insert("matchLimitReached".to_owned(), json!(limit));
        }
        if shown.limit.is_some() {
            notes.push("Truncated to 2000 lines or 50KB; narrow the pattern.".to_owned());
            details.insert("truncation".to_owned(), shown.details());
        }
        if self.lines_shortened {
            notes.push(format!(
                "Lines are shortened to {LINE_LIMIT} characters; use read to see a whole line."
            ));
            details.insert("linesTruncated".to_owned(), json!(true));
        }
        if self.left_out_names {
            notes.push(LEFT_OUT_NAMES.to_owned());
        }
        notes.extend(closed_paths::note(self.closed));
        let mut text = shown.content;
        text.truncate(text.trim_end_matches('\n').len());
        if !notes.is_empty() {
            text += &format!("\n\n[{}]", notes.join(" "));
        }
        Outcome::text(text).with_details(details.into())
    }
}

impl Sink for Found<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, matched: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.matches == self.limit {
            self.limit_reached = true;
            return Ok(false);
        }
        self.matches += 1;
        if std::mem::take(&mut self.gap) {
            self.lines.push_str("--\n");
        }
        for line in std::mem::take(&mut self.before) {
            self.lines.push_str(&line);
        }
        let line = self.line(':', matched.line_number(), matched.bytes());
        self.lines.push_str(&line);
        Ok(!self.full() && !self.cancel.is_cancelled())
    }

    fn context(&mut self, _searcher: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        let line = self.line('-', context.line_number(), context.bytes());
        if *context.kind() == SinkContextKind::Before {
            self.before.push(line);
        } else {
            self.lines.push_str(&line);
        }
        Ok(!self.full() && !self.cancel.is_cancelled())
    }

    fn context_break(&mut self, _searcher: &Searcher) -> Result<bool, io::Error> {
        self.gap = true;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::testing::{Workshop, text as text_of};

    #[track_caller]
    fn check_finds(files: &[(&str, &str)], arguments: Value, expected: &str) {
        let workshop = Workshop::with(files);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(workshop.succeed("grep", arguments)), expected);
    }

    const FILES: [(&str, &str); 7] = [
        ("b.rs", "fn one() {}\nfn two() {}\r\n"),
        ("a/x.rs", "// fn\nlet fn_ = 1;\n"),
        ("a/x.txt", "fn(x)\n"),
        (".hidden", "fn hidden\n"),
        (".gitignore", "ignored\n"),
        ("ignored/y.rs", "fn ignored\n"),
        (".git/config", "fn git\n"),
    ];

    #[test]
    fn matches_come_in_order_without_what_is_ignored() {
        check_finds(
            &FILES,
            json!({"pattern": "^fn"}),
            ".hidden:1: fn hidden\na/x.txt:1: fn(x)\nb.rs:1: fn one() {}\nb.rs:2: fn two() {}",
        );
        check_finds(&FILES, json!({"pattern": "nowhere"}), "No matches found.");
    }

    #[test]
    fn arguments_narrow_the_search() {
        check_finds(&FILES, json!({"pattern": "fn(", "literal": true}), "a/x.txt:1: fn(x)");
        check_finds(&FILES, json!({"pattern": "FN O", "ignoreCase": true}), "b.rs:1: fn one() {}");
        check_finds(&FILES, json!({"pattern": "fn", "glob": "*.txt"}), "a/x.txt:1: fn(x)");
        check_finds(&FILES, json!({"pattern": "let", "path": "./a"}), "a/x.rs:2: let fn_ = 1;");
        for path in ["ignored", "ignored/y.rs"] {
            check_finds(&FILES, json!({"pattern": "fn", "path": path}), "ignored/y.rs:1: fn ignored");
        }
    }

    #[test]
    fn lines_around_a_match_are_marked() {
        let text = "1\n2\nx\n4\n5\n6\n7\nx\n9\n";
        check_finds(
            &[("f", text)],
            json!({"pattern": "x", "context": 1}),
            "f-2- 2\nf:3: x\nf-4- 4\n--\nf-7- 7\nf:8: x\nf-9- 9",
        );
        let workshop = Workshop::with(&[("f", text)]);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let shown =
            runtime.block_on(workshop.succeed("grep", json!({"pattern": "x", "context": 1, "limit": 1})));
        assert!(shown.starts_with("f-2- 2\nf:3: x\nf-4- 4\n\n[There are more than 1"), "{shown}");
    }

    #[tokio::test]
    async fn limits_are_noted_and_reported() {
        let workshop = Workshop::with(&[("f", &format!("x\n{}\nx\n", "x".repeat(600)))]);
        let outcome = workshop.call("grep", json!({"pattern": "x", "limit": 2})).await;
        let text = text_of(&outcome);
        assert!(text.contains("limit=4") && text.contains(&format!("f:2: {}…\n", "x".repeat(500))), "{text}");
        assert_eq!(outcome.details, Some(json!({"matchLimitReached": 2, "linesTruncated": true})));
        let outcome = workshop.call("grep", json!({"pattern": "^x$", "limit": 2})).await;
        assert_eq!(outcome.details, None, "exactly as many as the limit");
    }

    #[tokio::test]
    async fn endless_matches_are_truncated() {
        let workshop = Workshop::with(&[("f", &"some line\n".repeat(100_000))]);
        let outcome = workshop.call("grep", json!({"pattern": "line", "limit": 1_000_000})).await;
        assert_eq!(outcome.details.unwrap()["truncation"]["truncatedBy"], "lines");
    }

    #[tokio::test]
    async fn invalid_arguments_are_explained() {
        let workshop = Workshop::with(&[("src/main.rs", "")]);
        let error = workshop.fail("grep", json!({"pattern": "fn("})).await;
        assert!(error.contains("set literal to true"), "{error}");
        let error = workshop.fail("grep", json!({"pattern": "x", "path": "srcs"})).await;
        assert!(error.contains("src?"), "{error}");
        assert!(workshop.fail("grep", json!({"pattern": "x", "glob": "{a"})).await.contains("`{a`"));
    }

    #[tokio::test]
    async fn binary_file_is_skipped() {
        let workshop = Workshop::with(&[("binary", "\0match\n"), ("text", "match\n")]);
        assert_eq!(workshop.succeed("grep", json!({"pattern": "match"})).await, "text:1: match");
    }

    #[tokio::test]
    async fn pattern_that_takes_too_much_memory_is_refused() {
        let workshop = Workshop::with(&[("f", "a\n")]);
        let error = workshop.fail("grep", json!({"pattern": "(a{1000}){1000}"})).await;
        assert!(error.starts_with("pattern takes too much memory"), "{error}");
    }

    #[tokio::test]
    async fn context_is_limited() {
        let workshop = Workshop::with(&[("f", &format!("{}end\n", "x\n".repeat(5000)))]);
        let arguments = json!({"pattern": "end", "context": 1_000_000_000_000_u64});
        let shown = workshop.succeed("grep", arguments).await;
        assert_eq!(shown.lines().count(), MAX_CONTEXT + 1);
    }

    #[tokio::test]
    async fn file_name_is_always_one_line() {
        let workshop = Workshop::with(&[("a\nb", "needle\n"), ("\u{1b}[2Jc", "needle\n")]);
        let found = workshop.succeed("grep", json!({"pattern": "needle"})).await;
        assert_eq!(found, "\\u{1b}[2Jc:1: needle\na\\nb:1: needle");
        assert_eq!(workshop.succeed("find", json!({"pattern": "*"})).await, "\\u{1b}[2Jc\na\\nb");
        assert_eq!(workshop.succeed("ls", json!({})).await, "\\u{1b}[2Jc\na\\nb");
    }

    #[tokio::test]
    async fn path_that_is_too_long_is_not_repeated() {
        let workshop = Workshop::new();
        for tool in ["grep", "find", "ls", "read", "write", "edit"] {
            let path = "z".repeat(100_000);
            let arguments =
                json!({"path": path, "pattern": "x", "content": "", "oldText": "a", "newText": "b"});
            let error = workshop.fail(tool, arguments).await;
            assert!(error.starts_with("The path is too long"), "{tool}: {}", error.len());
        }
    }
}
