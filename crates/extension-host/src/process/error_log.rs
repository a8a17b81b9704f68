//! What a process writes to stderr: its log, of which one of the last lines explains why it exited.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::process::connection::lock;

/// The longest line that is kept or passed on, in bytes.
const LONGEST_LINE: usize = 4096;

/// The most of a line that an error has, in characters.
const LAST_WORDS: usize = 300;

/// The most lines of the text of one error.
const LONGEST_TEXT: usize = 10;

/// How the lines begin that Node and Bun write after everything else. They say nothing about what happened.
const TRAILERS: [&str; 3] = ["Node.js v", "Bun v", "(Use `node --trace-"];

/// The end of what a process wrote to stderr.
#[derive(Debug, Clone, Default)]
pub(crate) struct ErrorLog(Arc<Mutex<LastLines>>);

/// The lines that may explain why a process exited.
#[derive(Debug, Default)]
struct LastLines {
    last: String,
    /// The last one that names an error, of which the lines after it may be the text and the stack.
    error: Option<String>,
    /// How many lines after that may be its text.
    text: usize,
}

impl LastLines {
    fn take(&mut self, line: &str) {
        if TRAILERS.iter().any(|beginning| line.starts_with(beginning)) {
            return;
        }
        if names_error(line) {
            (self.error, self.text) = (Some(line.to_owned()), 0);
        } else if !is_detail(line) {
            self.text += 1;
            if self.text >= LONGEST_TEXT {
                self.error = None;
            }
        }
        line.clone_into(&mut self.last);
    }

    /// Returns the line that explains best why the process exited: the last one, unless that is a detail of an error.
    fn best(&self) -> &str {
        self.error.as_deref().filter(|_| is_detail(&self.last)).unwrap_or(&self.last)
    }
}

/// Tells whether a line begins with the name of an error: `TypeError: …`, `Error [CODE]: …`, `FATAL ERROR: …`.
fn names_error(line: &str) -> bool {
    let line = line.trim_start_matches('[');
    let line = line.strip_prefix("Uncaught ").unwrap_or(line);
    let Some((head, _)) = line.split_once(':') else { return false };
    let name = head.split(" [").next().unwrap_or_default();
    let ends = ["Error", "Exception", "Rejection"].iter().any(|end| name.ends_with(end));
    (ends && !name.contains(' ')) || ["error", "FATAL ERROR"].contains(&name)
}

/// Tells whether a line says more about an error that a line before names: where it happened, or its members.
fn is_detail(line: &str) -> bool {
    line.starts_with(char::is_whitespace) || line.starts_with(['}', '^']) || line.starts_with("-----")
}

impl ErrorLog {
    /// Reads until the end, and passes on each line.
    pub async fn read(&self, mut input: impl AsyncRead + Unpin, on_line: impl Fn(&str)) {
        let mut buffer = vec![0; 8192];
        let mut line = Vec::new();
        while let Ok(length @ 1..) = input.read(&mut buffer).await {
            for byte in &buffer[..length] {
                if *byte == b'\n' {
                    self.take(&mut line, &on_line);
                } else if line.len() < LONGEST_LINE {
                    line.push(*byte);
                }
            }
        }
        self.take(&mut line, &on_line);
    }

    fn take(&self, line: &mut Vec<u8>, on_line: &impl Fn(&str)) {
        if !line.trim_ascii().is_empty() {
            let text = String::from_utf8_lossy(line);
            on_line(text.trim_end());
            lock(&self.0).take(text.trim_end());
        }
        line.clear();
    }

    /// Returns the line that explains best why the process exited, shortened.
    pub fn last_words(&self) -> String {
        lock(&self.0).best().trim().chars().take(LAST_WORDS).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn last_line_that_is_not_blank_is_kept_and_long_ones_are_cut() {
        let log = ErrorLog::default();
        let lines = Mutex::new(Vec::new());
        let input = format!("first\n{}\nlast \n\n  \n", "x".repeat(LONGEST_LINE + 5));
        log.read(input.as_bytes(), |line| lines.lock().unwrap().push(line.len())).await;
        assert_eq!(*lines.lock().unwrap(), [5, LONGEST_LINE, 4]);
        assert_eq!(log.last_words(), "last");
    }
    #[track_caller]
    fn check(written: &str, expected: &str) {
        let mut lines = LastLines::default();
        written.lines().filter(|line| !line.trim().is_empty()).for_each(|line| lines.take(line));
        assert_eq!(lines.best(), expected);
    }

    #[test]
    fn line_that_names_the_error_is_preferred_to_its_details() {
        check(
            "/a/b.mjs:3\nthrow new TypeError(\"x\")\n^\n\nTypeError: x\n    at main (/a/b.mjs:3:7)\n\nNode.js v22.23.3\n",
            "TypeError: x",
        );
        check(
            "node:internal/modules/esm/resolve:275\n          ^\n\nError [ERR_MODULE_NOT_FOUND]: Cannot find module '/x'\n\
             \u{20}   at resolve (node:internal:1) {\n  code: 'ERR_MODULE_NOT_FOUND'\n}\n\nNode.js v22.23.3",
            "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/x'",
        );
        check(
            "error: Cannot find it\n      at /a/b.ts:1:1\n\nBun v1.3.0 (Linux x64)",
            "error: Cannot find it",
        );
        check(
            "FATAL ERROR: heap out of memory\n----- Native stack trace -----\n 1: 0xb8 node",
            "FATAL ERROR: heap out of memory",
        );
        check("Error: one\nand two\n    at x", "Error: one");
        check(
            "text thrown\n(Use `node --trace-uncaught ...` to show where)\n\nNode.js v22.23.3",
            "text thrown",
        );
        check("  File \"a.py\", line 1\nValueError: x", "ValueError: x");
        check("Error: an old one\n    at x\nbye", "bye");
        check(&format!("Error: an old one\n{}  indented", "a line\n".repeat(LONGEST_TEXT)), "  indented");
    }
}
