//! Indexes a session file: reads it once from start to end and records where each entry is.

use std::io::{BufRead, ErrorKind};
use std::mem;
use std::path::Path;

use memchr::memchr;

use crate::decode::{Head, SessionInfo};
use crate::entry::{EntryId, Kind};
use crate::file::SessionFile;
use crate::header::Header;
use crate::line::{Accept, Line, is_object};
use crate::repair::repair_tail;
use crate::tree::{Node, Position, Tree};
use crate::{Clock, Error, validate_session_id};

/// What is known about a session after its file was read.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) header: Header,
    pub(crate) tree: Tree,
    /// The most recent name, exactly as written in the file.
    pub(crate) name: Option<String>,
    /// The number of lines that are not entries. They stay in the file.
    pub(crate) malformed_lines: usize,
}

/// Indexes `file`, repairs an incomplete last line, and writes a header into an empty file.
pub(crate) fn scan(file: &mut SessionFile, current_directory: &Path) -> Result<Scan, Error> {
    let mut scanner = Scanner::default();
    let tail = scanner.read_lines(file.reader()?, file.path())?;
    if !tail.is_empty() {
        let offset = file.length() - tail.len() as u64;
        if is_object(&tail) {
            scanner.line(&tail, offset, file.path())?;
        }
        repair_tail(file, offset, &tail, scanner.header.as_ref())?;
    }
    if scanner.header.is_none() && file.length() == 0 {
        let header = Header::new(id_of_file_name(file.path()), current_directory, None, &Clock::System);
        file.append(&header.line()?)?;
        scanner.header = Some(header);
    }
    scanner.finish(file.path())
}

/// Indexes the lines of `reader` without changing anything. A last line without a line feed counts if it is a JSON
/// object; otherwise a writer may still be busy with it. Returns the index and the length of what it covers.
pub(crate) fn scan_unlocked(
    reader: impl BufRead,
    accept: Accept,
    path: &Path,
) -> Result<(Scan, Coverage), Error> {
    let mut scanner = Scanner { accept, ..Scanner::default() };
    let tail = scanner.read_lines(reader, path)?;
    let mut coverage = Coverage { length: scanner.end, lacks_final_line_feed: false };
    if is_object(&tail) {
        scanner.line(&tail, coverage.length, path)?;
        coverage = Coverage { length: coverage.length + tail.len() as u64, lacks_final_line_feed: true };
    }
    Ok((scanner.finish(path)?, coverage))
}

/// Indexes lines that are about to become a file.
pub(crate) fn scan_content(content: &[u8], path: &Path) -> Result<Scan, Error> {
    let mut scanner = Scanner::default();
    scanner.read_lines(content, path)?;
    scanner.finish(path)
}

/// How much of a file an index covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Coverage {
    pub(crate) length: u64,
    /// Whether the last covered line has no line feed.
    pub(crate) lacks_final_line_feed: bool,
}

/// Returns the session id in a file name of the form `<time>_<id>.jsonl`.
fn id_of_file_name(path: &Path) -> Option<String> {
    let (_, id) = path.file_stem()?.to_str()?.split_once('_')?;
    validate_session_id(id).ok().map(|()| id.to_owned())
}

#[derive(Default)]
struct Scanner {
    accept: Accept,
    header: Option<Header>,
    tree: Tree,
    name: Option<String>,
    malformed_lines: usize,
    /// Where the last complete line ends.
    end: u64,
    /// Entries whose parent had not been read yet.
    orphans: Vec<(Position, EntryId)>,
}

impl Scanner {
    /// Reads all complete lines and returns the bytes after the last one.
    fn read_lines(&mut self, mut reader: impl BufRead, path: &Path) -> Result<Vec<u8>, Error> {
        // The start of a line that continues in the next block. All other lines are parsed in place.
        let mut beginning = Vec::new();
        loop {
            let block = match reader.fill_buf() {
                Ok([]) => return Ok(beginning),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                block => block.map_err(|error| Error::read(path, error))?,
            };
            let mut rest = block;
            while let Some(end) = memchr(b'\n', rest) {
                let line = if beginning.is_empty() {
                    &rest[..end]
                } else {
                    beginning.extend_from_slice(&rest[..end]);
                    &beginning
                };
                self.line(line, self.end, path)?;
                self.end += line.len() as u64 + 1;
                beginning.clear();
                rest = &rest[end + 1..];
            }
            beginning.extend_from_slice(rest);
            let length = block.len();
            reader.consume(length);
        }
    }

    fn line(&mut self, line: &[u8], offset: u64, path: &Path) -> Result<(), Error> {
        match Line::read(line, self.header.as_ref(), self.accept, path)? {
            Line::Blank | Line::RepeatedHeader => {}
            Line::Header(header) => self.header = Some(header),
            Line::Entry(head) => self.entry(&head, line, offset),
            Line::Malformed(_) => self.malformed_lines += 1,
        }
        Ok(())
    }

    fn entry(&mut self, head: &Head<'_>, line: &[u8], offset: u64) {
        let has_ids = self.header.as_ref().is_some_and(|header| header.version >= 2);
        let (id, parent) = match &head.id {
            Some(id) if has_ids => (EntryId::from(id.0.as_ref()), self.parent(head)),
            // Derived from the number, so that the id is the same each time the file is opened.
            _ => {
                let number = self.tree.nodes().len() + 1;
                (EntryId::from(format!("{number:08x}").as_str()), self.tree.leaf_position())
            }
        };
        let kind = Kind::from_name(&head.kind.0);
        if kind == Kind::SessionInfo {
            self.name = serde_json::from_slice::<SessionInfo>(line).ok().and_then(|info| info.name);
        }
        self.tree.push(Node { id, parent, kind, offset, length: line.len() });
    }

    fn parent(&mut self, head: &Head<'_>) -> Option<Position> {
        let id = head.parent.as_ref()?.0.as_ref();
        let parent = self.tree.position(id);
        if parent.is_none() {
            let child = Position::try_from(self.tree.nodes().len()).ok()?;
            self.orphans.push((child, EntryId::from(id)));
        }
        parent
    }

    fn finish(mut self, path: &Path) -> Result<Scan, Error> {
        let orphans = mem::take(&mut self.orphans);
        self.tree.adopt(&orphans);
        let Self { header, tree, name, malformed_lines, .. } = self;
        let header = header.ok_or_else(|| Error::NotASession { file: path.to_path_buf() })?;
        Ok(Scan { header, tree, name, malformed_lines })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::fixture::{Written, texts};
    use crate::{EntryBody, Session};

    #[test]
    fn a_file_that_is_not_a_session_is_rejected_unchanged() {
        let header = r#"{"type":"session","version":3,"id":"s"}"#;
        for content in ["hello", "{\"a\":1}\n", "{\"a\":1}", "[1]\n", "\n", &format!("{{}}\n{header}\n")] {
            let written = Written::new(&[]);
            fs::write(written.path(), content).unwrap();
            let result = Session::open(written.path(), Path::new("/"));
            assert!(matches!(result, Err(Error::NotASession { .. })), "{content}");
            assert_eq!(fs::read_to_string(written.path()).unwrap(), content);
        }
        let newer = Written::new(&[r#"{"type":"session","version":4,"id":"s"}"#]);
        assert!(matches!(Session::open(newer.path(), Path::new("/")), Err(Error::TooNew { version: 4, .. })));
        let missing = newer.path().with_file_name("typo.jsonl");
        assert!(matches!(Session::open(&missing, Path::new("/")), Err(Error::NotFound { .. })));
        assert!(!missing.exists());
    }

    #[test]
    fn malformed_lines_and_unknown_entries_stay_in_the_file() {
        let written = Written::new(&[
            "not json",
            r#"{"type":"session","version":3,"id":"s","timestamp":"","cwd":"/"}"#,
            r#"{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"a","timestamp":1}}"#,
            r#"{"type":"message","id":"#,
            "",
            r#"{"type":"from_the_future","id":"2","parentId":"1","anything":[1,2]}"#,
            r#"{"type":"message","parentId":"2","message":{}}"#,
            r#"{"type":"message","id":"3","parentId":"2","message":{"role":"user","content":"b","timestamp":1}}"#,
        ]);
        let before = fs::read(written.path()).unwrap();
        let mut session = written.open();
        assert_eq!((session.malformed_lines(), session.leaf().unwrap().as_str()), (3, "3"));
        assert_eq!(texts(&session), ["a", "b"]);
        session.append(EntryBody::SessionInfo { name: " n ".into() }).unwrap();
        assert_eq!(session.name(), Some("n"));
        let after = fs::read(written.path()).unwrap();
        assert!(after.starts_with(&before) && after.len() > before.len());
    }

    #[test]
    fn a_parent_may_come_after_its_child() {
        let written = Written::new(&[
            r#"{"type":"session","version":3,"id":"s","timestamp":"","cwd":"/"}"#,
            r#"{"type":"message","id":"2","parentId":"1","message":{"role":"user","content":"b","timestamp":1}}"#,
            r#"{"type":"message","id":"1","parentId":"gone","message":{"role":"user","content":"a","timestamp":1}}"#,
            r#"{"type":"label","id":"3","parentId":"2","targetId":"1"}"#,
        ]);
        assert_eq!(texts(&written.open()), ["a", "b"]);
    }
}
