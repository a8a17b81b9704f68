//! The output of a command as it grows: its tail in memory, and all of it in a log file once it exceeds what a result
//! shows. Memory stays bounded however long the output is.
//!
//! A carriage return has the rest of a line replace its beginning, as on a terminal: of a progress bar, only the last
//! state counts. The log has all of them.

use std::path::{Path, PathBuf};

use tokio::fs::File;
use tokio::io::{AsyncWriteExt, BufWriter};

use crate::command_logs::LogPlace;
use crate::truncate::{self, MAX_BYTES, MAX_LINES, Totals, Truncation, format_size};

/// Beyond this size the kept text is trimmed to `KEPT`.
const KEPT_LIMIT: usize = 4 * MAX_BYTES;
const KEPT: usize = 2 * MAX_BYTES;

/// The most that is written to a log, so that endless output does not fill the disk.
const LOG_LIMIT: usize = 1 << 30;

/// The output of one command so far.
#[derive(Debug)]
pub(crate) struct Capture {
    /// The end of the output; all of it until it exceeds what a result shows.
    kept: String,
    bytes: usize,
    line_breaks: usize,
    /// The length of the unterminated last line.
    open_line: usize,
    /// The length of the last terminated line.
    closed_line: usize,
    /// Whether the next character replaces the open line.
    returned: bool,
    log: Log,
    log_place: LogPlace,
    log_limit: usize,
}

#[derive(Debug, Default)]
enum Log {
    #[default]
    Unneeded,
    Open {
        path: PathBuf,
        /// Buffered because each write goes through the blocking pool and commands print line by line.
        file: BufWriter<File>,
        bytes: usize,
    },
    /// The log is full; it has the beginning of the output.
    Cut { path: PathBuf },
    /// The log could not be created or written.
    Failed,
}

impl Capture {
    /// Returns an empty capture that keeps long output in a log.
    pub(crate) fn new(log_place: LogPlace) -> Self {
        Self {
            kept: String::new(),
            bytes: 0,
            line_breaks: 0,
            open_line: 0,
            closed_line: 0,
            returned: false,
            log: Log::Unneeded,
            log_place,
            log_limit: LOG_LIMIT,
        }
    }

    /// Adds a piece of output.
    pub(crate) async fn push(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.returned && !rest.starts_with(['\r', '\n']) {
                self.erase_open_line().await;
            }
            let (part, after) = match memchr::memchr(b'\r', rest.as_bytes()) {
                Some(at) => (&rest[..at], Some(&rest[at + 1..])),
                None => (rest, None),
            };
            if !part.is_empty() {
                self.returned = false;
                self.add(part).await;
            }
            self.returned |= after.is_some();
            rest = after.unwrap_or_default();
        }
    }

    async fn add(&mut self, text: &str) {
        self.kept.push_str(text);
        self.bytes += text.len();
        self.count_lines(text.as_bytes());
        self.write_log(text).await;
        if self.kept.len() > KEPT_LIMIT {
            let start = self.kept.ceil_char_boundary(self.kept.len() - KEPT);
            self.kept.drain(..start);
        }
    }

    async fn erase_open_line(&mut self) {
        self.kept.truncate(self.kept.len().saturating_sub(self.open_line));
        self.bytes -= self.open_line;
        self.open_line = 0;
        self.append("\r").await;
    }

    /// Returns the tail of the output so far.
    pub(crate) fn tail(&self) -> Truncation {
        truncate::tail(&self.kept, self.totals())
    }

    /// Returns the path of the log, if there is one.
    pub(crate) fn log_path(&self) -> Option<&Path> {
        match &self.log {
            Log::Open { path, .. } | Log::Cut { path } => Some(path),
            Log::Unneeded | Log::Failed => None,
        }
    }

    /// Returns how much of the output the log has; `None` if it has all.
    pub(crate) fn log_cut_at(&self) -> Option<usize> {
        matches!(self.log, Log::Cut { .. }).then_some(self.log_limit)
    }

    /// Returns the length of the last line.
    pub(crate) fn last_line(&self) -> usize {
        if self.open_line > 0 { self.open_line } else { self.closed_line }
    }

    /// Writes what is still buffered to the log.
    pub(crate) async fn finish(&mut self) {
        if let Log::Open { path, file, .. } = &mut self.log
            && file.flush().await.is_err()
        {
            let path = std::mem::take(path);
            self.give_up_log(&path).await;
        }
    }

    fn count_lines(&mut self, text: &[u8]) {
        let Some(last) = memchr::memrchr(b'\n', text) else {
            self.open_line += text.len();
            return;
        };
        self.line_breaks += memchr::memchr_iter(b'\n', text).count();
        self.closed_line = match memchr::memrchr(b'\n', &text[..last]) {
            Some(previous) => last - previous - 1,
            None => self.open_line + last,
        };
        self.open_line = text.len() - last - 1;
    }

    fn totals(&self) -> Totals {
        Totals { lines: self.line_breaks + usize::from(self.open_line > 0), bytes: self.bytes }
    }

    async fn write_log(&mut self, text: &str) {
        let totals = self.totals();
        if matches!(self.log, Log::Unneeded) && (totals.bytes > MAX_BYTES || totals.lines > MAX_LINES) {
            self.log = match self.log_place.create().await {
                Some((path, file)) => {
                    Log::Open { path, file: BufWriter::with_capacity(MAX_BYTES, file), bytes: 0 }
                }
                None => Log::Failed,
            };
            // The kept text is still the whole output, this piece included.
            let so_far = std::mem::take(&mut self.kept);
            self.append(&so_far).await;
            self.kept = so_far;
        } else {
            self.append(text).await;
        }
    }

    async fn append(&mut self, text: &str) {
        let limit = self.log_limit;
        let Log::Open { path, file, bytes } = &mut self.log else { return };
        let fitting = text.floor_char_boundary(limit - *bytes);
        *bytes += fitting;
        if file.write_all(&text.as_bytes()[..fitting]).await.is_err() {
            let path = std::mem::take(path);
            self.give_up_log(&path).await;
        } else if fitting < text.len() {
            let note = format!("\n[bowline: cut here; output beyond {} is not kept]\n", format_size(limit));
            let written = file.write_all(note.as_bytes()).await.is_ok() && file.flush().await.is_ok();
            let path = std::mem::take(path);
            if written {
                self.log = Log::Cut { path };
            } else {
                self.give_up_log(&path).await;
            }
        }
    }

    /// Removes a log that cannot be written, as on a full disk, where it would only take up room.
    async fn give_up_log(&mut self, path: &Path) {
        self.log = Log::Failed;
        let _ = tokio::fs::remove_file(path).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(directory: &tempfile::TempDir) -> LogPlace {
        LogPlace { directory: Some(directory.path().to_owned()), ..LogPlace::default() }
    }

    #[tokio::test]
    async fn short_output_needs_no_log() {
        let mut capture = Capture::new(LogPlace::default());
        capture.push("a\nb").await;
        capture.push("c\n").await;
        capture.finish().await;
        assert_eq!(capture.tail().content, "a\nbc\n");
        assert_eq!((capture.tail().totals.lines, capture.log_path()), (2, None));
    }

    #[tokio::test]
    async fn long_output_is_bounded_in_memory_and_complete_in_the_log() {
        let directory = tempfile::tempdir().unwrap();
        let mut capture = Capture::new(place(&directory));
        let mut expected = String::new();
        for line in 0..50_000 {
            let text = format!("line {line}\n");
            capture.push(&text).await;
            expected += &text;
            assert!(capture.kept.len() <= KEPT_LIMIT);
        }
        capture.finish().await;
        assert_eq!(std::fs::read_to_string(capture.log_path().unwrap()).unwrap(), expected);
        let tail = capture.tail();
        assert_eq!(tail.totals, Totals::of(&expected));
        assert!(tail.content.ends_with("line 49999") && tail.content.starts_with("line 48000\n"));
    }

    #[tokio::test]
    async fn length_of_a_giant_last_line_is_known() {
        let mut capture = Capture::new(LogPlace::default());
        for _ in 0..10 {
            capture.push(&"x".repeat(MAX_BYTES)).await;
        }
        capture.push("\n").await;
        capture.finish().await;
        assert_eq!(capture.log_path(), None, "no directory was given");
        assert!(capture.tail().last_line_partial);
        assert_eq!(capture.last_line(), 10 * MAX_BYTES);
    }

    #[tokio::test]
    async fn log_that_is_full_is_cut() {
        let directory = tempfile::tempdir().unwrap();
        let mut capture = Capture::new(place(&directory));
        capture.log_limit = 2 * MAX_BYTES;
        for _ in 0..10 {
            capture.push(&"é\n".repeat(MAX_BYTES / 4)).await;
        }
        capture.finish().await;
        assert_eq!(capture.log_cut_at(), Some(2 * MAX_BYTES));
        let log = std::fs::read_to_string(capture.log_path().unwrap()).unwrap();
        assert!(log.ends_with("\n[bowline: cut here; output beyond 100.0KB is not kept]\n"));
        assert!(log.len() < 2 * MAX_BYTES + 100);
    }

    async fn collapsed(pieces: &[&str]) -> String {
        let mut capture = Capture::new(LogPlace::default());
        for piece in pieces {
            capture.push(piece).await;
        }
        let tail = capture.tail();
        assert_eq!(tail.totals, Totals::of(&tail.content));
        tail.content
    }

    #[tokio::test]
    async fn carriage_return_replaces_the_line() {
        for (given, expected) in [
            ("10%\r20%\r100%\ndone\n", "100%\ndone\n"),
            ("one\r\ntwo\r\r\n", "one\ntwo\n"),
            ("a\nb\rc", "a\nc"),
            ("stays\r", "stays"),
            ("\rfirst\n", "first\n"),
        ] {
            assert_eq!(collapsed(&[given]).await, expected, "{given:?}");
            let pieces: Vec<_> = given.split_inclusive(|_| true).collect();
            assert_eq!(collapsed(&pieces).await, expected, "{given:?} in pieces");
        }
    }

    #[tokio::test]
    async fn long_progress_bar_does_not_push_out_other_lines() {
        let bar = "x".repeat(1000) + "\r";
        assert_eq!(collapsed(&["first\n", &bar.repeat(500), "end\n"]).await, "first\nend\n");
    }
}
