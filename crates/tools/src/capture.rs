//! The output of a command as it grows: its tail in memory, and all of it in a log file once it exceeds what a result
//! shows. Memory stays bounded however long the output is.

use std::path::{Path, PathBuf};

use tokio::fs::File;
use tokio::io::{AsyncWriteExt, BufWriter};
use uuid::Uuid;

use crate::platform;
use crate::truncate::{self, MAX_BYTES, MAX_LINES, Totals, Truncation};

/// Beyond this size the kept text is trimmed to `KEPT`.
const KEPT_LIMIT: usize = 4 * MAX_BYTES;
const KEPT: usize = 2 * MAX_BYTES;

/// The most that is written to a log, so that endless output does not fill the disk.
const LOG_LIMIT: usize = 1 << 30;

/// The output of one command so far.
#[derive(Debug, Default)]
pub(crate) struct Capture {
    /// The end of the output; all of it until it exceeds what a result shows.
    kept: String,
    bytes: usize,
    line_breaks: usize,
    /// The length of the unterminated last line.
    open_line: usize,
    /// The length of the last terminated line.
    closed_line: usize,
    log: Log,
    /// The directory of the log; without one there is no log.
    log_directory: Option<PathBuf>,
}

#[derive(Debug, Default)]
enum Log {
    #[default]
    Unneeded,
    Open {
        path: PathBuf,
        /// Buffered because each write goes through the blocking pool and commands print line by line.
        file: BufWriter<File>,
    },
    /// The log could not be created or written, or is full.
    Ended { path: Option<PathBuf> },
}

impl Capture {
    /// Returns an empty capture that keeps long output in `log_directory`.
    pub(crate) fn new(log_directory: Option<PathBuf>) -> Self {
        Self { log_directory, ..Self::default() }
    }

    /// Adds a piece of output.
    pub(crate) async fn push(&mut self, text: &str) {
        self.kept.push_str(text);
        self.bytes += text.len();
        self.count_lines(text.as_bytes());
        self.write_log(text).await;
        if self.kept.len() > KEPT_LIMIT {
            let start = self.kept.ceil_char_boundary(self.kept.len() - KEPT);
            self.kept.drain(..start);
        }
    }

    /// Returns the tail of the output so far.
    pub(crate) fn tail(&self) -> Truncation {
        truncate::tail(&self.kept, self.totals())
    }

    /// Returns the path of the log, if there is one.
    pub(crate) fn log_path(&self) -> Option<&Path> {
        match &self.log {
            Log::Open { path, .. } | Log::Ended { path: Some(path) } => Some(path),
            Log::Unneeded | Log::Ended { path: None } => None,
        }
    }

    /// Returns the length of the last line.
    pub(crate) fn last_line(&self) -> usize {
        if self.open_line > 0 { self.open_line } else { self.closed_line }
    }

    /// Writes what is still buffered to the log.
    pub(crate) async fn finish(&mut self) {
        if let Log::Open { file, .. } = &mut self.log
            && file.flush().await.is_err()
        {
            self.log = Log::Ended { path: None };
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
            self.log = match create_log(self.log_directory.as_deref()).await {
                Some((path, file)) => Log::Open { path, file: BufWriter::with_capacity(MAX_BYTES, file) },
                None => Log::Ended { path: None },
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
        let Log::Open { path, file } = &mut self.log else { return };
        if file.write_all(text.as_bytes()).await.is_err() {
            self.log = Log::Ended { path: None };
        } else if self.bytes > LOG_LIMIT {
            let _ = file.write_all(b"\n[bowline: output beyond 1 GiB is not kept]\n").await;
            let _ = file.flush().await;
            self.log = Log::Ended { path: Some(std::mem::take(path)) };
        }
    }
}

/// Creates a log that only this user can read; `None` if that fails.
async fn create_log(directory: Option<&Path>) -> Option<(PathBuf, File)> {
    let mut name = Uuid::new_v4().simple().to_string();
    name.truncate(16);
    let path = directory?.join(format!("bowline-bash-{name}.log"));
    let mut options = platform::private_file();
    options.write(true).create_new(true);
    let file = tokio::fs::OpenOptions::from(options).open(&path).await.ok()?;
    Some((path, file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn short_output_needs_no_log() {
        let mut capture = Capture::default();
        capture.push("a\nb").await;
        capture.push("c\n").await;
        capture.finish().await;
        assert_eq!(capture.tail().content, "a\nbc\n");
        assert_eq!((capture.tail().totals.lines, capture.log_path()), (2, None));
    }

    #[tokio::test]
    async fn long_output_is_bounded_in_memory_and_complete_in_the_log() {
        let directory = tempfile::tempdir().unwrap();
        let mut capture = Capture::new(Some(directory.path().to_owned()));
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
        let mut capture = Capture::default();
        for _ in 0..10 {
            capture.push(&"x".repeat(MAX_BYTES)).await;
        }
        capture.push("\n").await;
        capture.finish().await;
        assert_eq!(capture.log_path(), None, "no directory was given");
        assert!(capture.tail().last_line_partial);
        assert_eq!(capture.last_line(), 10 * MAX_BYTES);
    }
}
