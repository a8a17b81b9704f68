//! A part of a session's file as it is, for clients that follow a session while it is written.

use std::io::{BufReader, Seek, SeekFrom};
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Error;
use crate::depth::is_too_deep;
use crate::file::READ_SIZE;
use crate::line::{LINE_LIMIT, read_line};

/// The complete lines of a file from an offset on.
#[derive(Debug, Default)]
pub struct Part {
    /// Where the part begins, in bytes.
    pub from: u64,
    /// Where the next one begins: after the last complete line of this one.
    pub next: u64,
    /// Whether the file is shorter than the requested offset, so that the part begins at the start.
    pub is_reset: bool,
    /// The lines that are JSON objects, the header among them.
    pub entries: Vec<Box<RawValue>>,
    /// The messages in them.
    pub messages: Vec<Box<RawValue>>,
}

/// What is needed of a line.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
}

/// Reads about `limit` bytes of the file at `path`, at least a line if there is one. A file that does not exist yet is
/// empty. The file is not locked.
pub fn read_part(path: &Path, from: u64, limit: u64) -> Result<Part, Error> {
    let mut file = match bowline_files::open(path) {
        Err(error) if error.is_not_found() => return Ok(Part { from, next: from, ..Part::default() }),
        opened => opened.map_err(|error| Error::open(path, error))?,
    };
    let failed = |error| Error::read(path, error);
    let size = file.metadata().map_err(failed)?.len();
    let is_reset = from > size;
    let from = if is_reset { 0 } else { from };
    file.seek(SeekFrom::Start(from)).map_err(failed)?;
    let mut part = Part { from, next: from, is_reset, ..Part::default() };
    let mut reader = BufReader::with_capacity(READ_SIZE, file);
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = read_line(&mut reader, &mut line).map_err(failed)?;
        // A line that is being written, or longer than any that can be read again.
        let is_whole = line.last() == Some(&b'\n');
        if length == 0 || (!is_whole && line.len() < LINE_LIMIT) {
            return Ok(part);
        }
        part.next += length;
        if is_whole {
            part.add(&line);
        }
        if part.next - part.from >= limit {
            return Ok(part);
        }
    }
}

impl Part {
    /// Adds a line, if it can be passed on.
    fn add(&mut self, line: &[u8]) {
        let Ok(text) = std::str::from_utf8(line) else { return };
        if is_too_deep(line) {
            return;
        }
        let Ok(parsed) = serde_json::from_str::<Line<'_>>(text) else { return };
        let Ok(entry) = RawValue::from_string(text.trim().to_owned()) else { return };
        let is_message = parsed.kind.is_some_and(|kind| kind.get() == r#""message""#);
        if let Some(message) = parsed.message.filter(|_| is_message) {
            self.messages.push(message.to_owned());
        }
        self.entries.push(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &Path, from: u64, limit: u64, expected: (u64, u64, bool), entries: &[&str]) -> Part {
        let part = read_part(path, from, limit).unwrap();
        assert_eq!((part.from, part.next, part.is_reset), expected);
        let found: Vec<_> = part.entries.iter().map(|entry| entry.get()).collect();
        assert_eq!(found, entries);
        part
    }

    #[test]
    fn complete_lines_are_returned_page_by_page() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        check(&path, 7, 100, (7, 7, false), &[]);
        let (header, message) = (r#"{"type":"session"}"#, r#"{"type":"message","message":{"role":"user"}}"#);
        let text = format!("{header}\nno json\n{message}\n{{\"type\":\"half");
        std::fs::write(&path, &text).unwrap();
        let whole = (text.len() - "{\"type\":\"half".len()) as u64;
        let part = check(&path, 0, 1 << 20, (0, whole, false), &[header, message]);
        let messages: Vec<_> = part.messages.iter().map(|message| message.get()).collect();
        assert_eq!(messages, [r#"{"role":"user"}"#]);
        let first = header.len() as u64 + 1;
        check(&path, 0, 1, (0, first, false), &[header]);
        check(&path, first, 1 << 20, (first, whole, false), &[message]);
        check(&path, whole, 1 << 20, (whole, whole, false), &[]);
        // Offsets inside a line, and beyond the end of the file.
        check(&path, 3, 1 << 20, (3, whole, false), &[message]);
        check(&path, 1 << 30, 1, (0, first, true), &[header]);
    }
}
