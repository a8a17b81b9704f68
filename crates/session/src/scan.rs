//! Reads a session file once from start to end and notes where everything is.

use std::io::{BufRead, ErrorKind};
use std::mem;
use std::path::Path;

use memchr::memchr;
use serde::de::IgnoredAny;

use crate::decode::{Head, SessionInfo};
use crate::entry::{EntryId, Kind};
use crate::file::SessionFile;
use crate::header::{self, CURRENT_VERSION, Header};
use crate::tree::{Node, Position, Tree};
use crate::{Error, validate_session_id};

/// How the header line of every session file starts.
const HEADER_START: &[u8] = br#"{"type":"session""#;

/// What is known of a session after its file was read.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) header: Header,
    pub(crate) tree: Tree,
    /// The name that was given last, as it stands in the file.
    pub(crate) name: Option<String>,
    /// How many lines are not entries of a session. They stay in the file.
    pub(crate) malformed_lines: usize,
}

/// Reads `file`, repairs its end if a write was cut off there, and gives it a header if it has nothing at all.
pub(crate) fn scan(file: &mut SessionFile, current_directory: &Path) -> Result<Scan, Error> {
    let mut scanner = Scanner::default();
    let tail = scanner.read_lines(file.reader()?, file.path())?;
    if !tail.is_empty() {
        repair(&mut scanner, file, &tail)?;
    }
    if scanner.header.is_none() && file.length() == 0 {
        let header = Header::new(id_of_file_name(file.path()), current_directory, None);
        file.append(&header.line()?)?;
        scanner.header = Some(header);
    }
    scanner.finish(file.path())
}

/// Reads what will be the content of a file.
pub(crate) fn scan_content(content: &[u8], path: &Path) -> Result<Scan, Error> {
    let mut scanner = Scanner::default();
    scanner.read_lines(content, path)?;
    scanner.finish(path)
}

/// Makes the file end in a whole line. `tail` is what stands after the last line feed.
fn repair(scanner: &mut Scanner, file: &mut SessionFile, tail: &[u8]) -> Result<(), Error> {
    let offset = file.length() - tail.len() as u64;
    if is_object(tail) {
        scanner.line(tail, offset, file.path())?;
        if scanner.header.is_some() {
            file.append(b"\n")?;
        }
        return Ok(());
    }
    let is_torn_header = offset == 0 && (tail.starts_with(HEADER_START) || HEADER_START.starts_with(tail));
    // A file that is not a session is none of our business, torn or not.
    if scanner.header.is_some() || is_torn_header {
        file.set_aside(offset)?;
    }
    Ok(())
}

/// Tells whether a line is a JSON object.
pub(crate) fn is_object(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"{") && serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

/// Returns what the index needs of a line, unless the line is none of a session.
pub(crate) fn read_head(line: &[u8]) -> Option<Head<'_>> {
    // Else a list would do for an object.
    line.trim_ascii_start().starts_with(b"{").then(|| serde_json::from_slice(line).ok())?
}

/// Returns the session id in a file name of the form `<time>_<id>.jsonl`.
fn id_of_file_name(path: &Path) -> Option<String> {
    let (_, id) = path.file_stem()?.to_str()?.split_once('_')?;
    validate_session_id(id).ok().map(|()| id.to_owned())
}

#[derive(Default)]
struct Scanner {
    header: Option<Header>,
    tree: Tree,
    name: Option<String>,
    malformed_lines: usize,
    /// Entries whose parent has not been seen when they were.
    orphans: Vec<(Position, EntryId)>,
}

impl Scanner {
    /// Reads all whole lines and returns what follows the last one.
    fn read_lines(&mut self, mut reader: impl BufRead, path: &Path) -> Result<Vec<u8>, Error> {
        // The beginning of a line that goes on in the next block. All other lines are looked at where they are.
        let mut beginning = Vec::new();
        let mut offset = 0;
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
                self.line(line, offset, path)?;
                offset += line.len() as u64 + 1;
                beginning.clear();
                rest = &rest[end + 1..];
            }
            beginning.extend_from_slice(rest);
            let length = block.len();
            reader.consume(length);
        }
    }

    fn line(&mut self, line: &[u8], offset: u64, path: &Path) -> Result<(), Error> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let Some(head) = read_head(line) else {
            // The first JSON object must be a header; an object without even a type is none.
            if self.header.is_none() && is_object(line) {
                return Err(Error::NotASession { file: path.to_path_buf() });
            }
            self.malformed_lines += 1;
            return Ok(());
        };
        if self.header.is_none() {
            self.header = Some(read_header(&head, line, path)?);
        } else if head.kind.0 != header::TYPE {
            self.entry(&head, line, offset);
        }
        Ok(())
    }

    fn entry(&mut self, head: &Head<'_>, line: &[u8], offset: u64) {
        let number = self.tree.nodes().len();
        let is_first_generation = self.header.as_ref().is_some_and(|header| header.version < 2);
        let (id, parent) = if is_first_generation {
            // Made from the number, so that it is the same whenever the file is opened.
            (EntryId::from(format!("{:08x}", number + 1).as_str()), self.tree.leaf_position())
        } else {
            let Some(id) = &head.id else {
                self.malformed_lines += 1;
                return;
            };
            (EntryId::from(id.0.as_ref()), self.parent(head))
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
        for (child, parent) in mem::take(&mut self.orphans) {
            if let Some(parent) = self.tree.position(parent.as_str()) {
                self.tree.set_later_parent(child, parent);
            }
        }
        let Self { header, tree, name, malformed_lines, .. } = self;
        let header = header.ok_or_else(|| Error::NotASession { file: path.to_path_buf() })?;
        Ok(Scan { header, tree, name, malformed_lines })
    }
}

/// Reads the line that must be the header.
pub(crate) fn read_header(head: &Head<'_>, line: &[u8], path: &Path) -> Result<Header, Error> {
    let file = path.to_path_buf();
    if head.kind.0 != header::TYPE {
        return Err(Error::NotASession { file });
    }
    let Ok(header) = serde_json::from_slice::<Header>(line) else {
        return Err(Error::NotASession { file });
    };
    if header.version > CURRENT_VERSION {
        return Err(Error::TooNew { file, version: header.version });
    }
    Ok(header)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use bowline_core::Message;

    use super::*;
    use crate::fixture::{Written, texts};
    use crate::{EntryBody, Location, NewSession, Session};

    fn three_messages() -> (tempfile::TempDir, Vec<u8>) {
        let directory = tempfile::tempdir().unwrap();
        let mut session = Session::create(NewSession {
            working_directory: "/work".into(),
            location: Location::Directory(directory.path().into()),
            id: None,
            parent: None,
        })
        .unwrap();
        for text in ["one", "zwei", "три"] {
            session.append(EntryBody::Message(Arc::new(Message::user(text, Vec::new(), 7)))).unwrap();
        }
        let content = fs::read(session.file().unwrap()).unwrap();
        (directory, content)
    }

    #[test]
    fn a_file_cut_at_any_byte_opens_and_keeps_every_whole_line() {
        let (directory, content) = three_messages();
        let path = directory.path().join("2026_cut.jsonl");
        for cut in 0..=content.len() {
            fs::write(&path, &content[..cut]).unwrap();
            let mut session = Session::open(&path, Path::new("/here")).unwrap();
            let line_ends = content.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
            // A line that lacks nothing but its line feed is whole.
            let whole = line_ends.filter(|(end, _)| *end <= cut).count().saturating_sub(1);
            let mut expected = ["one", "zwei", "три"][..whole].to_vec();
            assert_eq!(texts(&session), expected, "cut at {cut}");

            session.append(EntryBody::Message(Arc::new(Message::user("more", Vec::new(), 8)))).unwrap();
            drop(session);
            expected.push("more");
            let session = Session::open(&path, Path::new("/here")).unwrap();
            assert_eq!(texts(&session), expected, "cut at {cut}");
            assert_eq!(session.malformed_lines(), 0, "cut at {cut}");
        }
    }

    #[test]
    fn torn_bytes_are_set_aside_and_not_deleted() {
        let written = Written::new(&[r#"{"type":"session","version":3,"id":"s","timestamp":"","cwd":"/"}"#]);
        let whole = fs::read(written.path()).unwrap();
        for torn in [r#"{"type":"mess"#, "\0\0\0"] {
            fs::write(written.path(), [&whole, torn.as_bytes()].concat()).unwrap();
            written.open();
            assert_eq!(fs::read(written.path()).unwrap(), whole);
        }
        let set_aside = fs::read(written.path().with_extension("jsonl.torn")).unwrap();
        assert_eq!(set_aside, b"{\"type\":\"mess\n\0\0\0\n");
    }

    #[test]
    fn a_file_that_is_no_session_is_refused_and_left_alone() {
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
    fn a_parent_may_stand_after_its_child() {
        let written = Written::new(&[
            r#"{"type":"session","version":3,"id":"s","timestamp":"","cwd":"/"}"#,
            r#"{"type":"message","id":"2","parentId":"1","message":{"role":"user","content":"b","timestamp":1}}"#,
            r#"{"type":"message","id":"1","parentId":"gone","message":{"role":"user","content":"a","timestamp":1}}"#,
            r#"{"type":"label","id":"3","parentId":"2","targetId":"1"}"#,
        ]);
        assert_eq!(texts(&written.open()), ["a", "b"]);
    }
}
