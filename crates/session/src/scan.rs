//! Indexes a session file: reads it once from start to end and records where each entry is.

use std::io::{BufRead, ErrorKind};
use std::mem;
use std::path::Path;

use memchr::memchr;

use crate::decode::{Head, SessionInfo};
use crate::entry::{EntryId, Kind};
use crate::file::SessionFile;
use crate::header::Header;
use crate::line::{Accept, LINE_LIMIT, Line, is_object};
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
    /// The last entry before each line that is not an entry.
    gaps: Vec<Option<Position>>,
}

impl Scanner {
    /// Reads all complete lines and returns the bytes after the last one.
    fn read_lines(&mut self, mut reader: impl BufRead, path: &Path) -> Result<Vec<u8>, Error> {
        // The start of a line that continues in the next block. All other lines are parsed in place.
        let mut beginning = Vec::new();
        // The length of a line that is too long to be held; its end is still to come.
        let mut skipped = 0;
        loop {
            let block = match reader.fill_buf() {
                Ok([]) if skipped > 0 => {
                    self.skip(skipped);
                    return Ok(Vec::new());
                }
                Ok([]) => return Ok(beginning),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                block => block.map_err(|error| Error::read(path, error))?,
            };
            let mut rest = block;
            while let Some(end) = memchr(b'\n', rest) {
                if skipped > 0 {
                    self.skip(skipped + end + 1);
                    skipped = 0;
                    rest = &rest[end + 1..];
                    continue;
                }
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
            if skipped > 0 {
                skipped += rest.len();
            } else {
                beginning.extend_from_slice(rest);
            }
            if beginning.len() > LINE_LIMIT {
                skipped = mem::take(&mut beginning).len();
            }
            let length = block.len();
            reader.consume(length);
        }
    }

    fn line(&mut self, line: &[u8], offset: u64, path: &Path) -> Result<(), Error> {
        match Line::skim(line, self.header.as_ref(), self.accept, path)? {
            Line::Blank | Line::RepeatedHeader => {}
            Line::Header(header) => self.header = Some(header),
            Line::Entry(head) => {
                // Its content is lost, but not its place.
                self.malformed_lines += usize::from(!line.trim_ascii_end().ends_with(b"}"));
                self.entry(&head, line, offset);
            }
            Line::Malformed(_) => self.gap(),
        }
        Ok(())
    }

    /// Skips a line that is too long, with its line feed.
    fn skip(&mut self, length: usize) {
        self.gap();
        self.end += length as u64;
    }

    fn gap(&mut self) {
        self.malformed_lines += 1;
        self.gaps.push(self.tree.leaf_position());
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
        let (orphans, gaps) = (mem::take(&mut self.orphans), mem::take(&mut self.gaps));
        self.tree.adopt(&orphans, &gaps);
        let Self { header, tree, name, malformed_lines, .. } = self;
        let header = header.ok_or_else(|| Error::NotASession { file: path.to_path_buf() })?;
        Ok(Scan { header, tree, name, malformed_lines })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Write as _;

    use super::*;
    use crate::fixture::{HEADER, Written, texts, user};
    use crate::{Damage, EntryBody, Problem, Session};

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
    fn an_unreadable_line_costs_one_entry() {
        let mut lines: Vec<String> = (1..20).map(|id| user(id, id - 1)).collect();
        lines.insert(0, HEADER.to_owned());
        for damaged in 1..20 {
            let mut lines = lines.clone();
            lines[damaged] = "\u{0}\u{0}".to_owned();
            let written = Written::new(&lines.iter().map(String::as_str).collect::<Vec<_>>());
            let session = written.open();
            let rest = (1..20).filter(|id| *id != damaged).map(|id| format!("m{id}"));
            assert_eq!(texts(&session), rest.clone().collect::<Vec<_>>());
            let relinked = usize::from(damaged < 19);
            assert_eq!(session.damage(), Some(Damage { unreadable_lines: 1, relinked_entries: relinked }));
            // Clients that build the tree from the entries get the same conversation, and so does a copy.
            for entry in session.entries(None).unwrap() {
                let entry: serde_json::Value = serde_json::from_str(entry.get()).unwrap();
                assert!(
                    entry["parentId"] == "0"
                        || entry["parentId"].is_null()
                        || session.has_entry(entry["parentId"].as_str().unwrap())
                );
            }
            assert_eq!(texts(&session.clone_at_leaf().unwrap()), rest.collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped() {
        let written = Written::new(&[HEADER, &user(1, 0)]);
        let mut file = File::options().append(true).open(written.path()).unwrap();
        let length = LINE_LIMIT as u64 + 300_000;
        // A hole, so that the test writes nothing.
        file.set_len(file.metadata().unwrap().len() + length).unwrap();
        file.write_all(format!("\n{}\n", user(2, 1)).as_bytes()).unwrap();
        let mut session = written.open();
        assert_eq!((texts(&session), session.malformed_lines()), (vec!["m1".to_owned(), "m2".to_owned()], 1));
        let report = crate::check_file(written.path()).unwrap();
        assert_eq!(report.bad_lines.len(), 1);
        assert_eq!((report.bad_lines[0].problem, report.bad_lines[0].length), (Problem::TooLong, length));
        session.append(EntryBody::SessionInfo { name: "n".into() }).unwrap();
        assert_eq!(session.entries(None).unwrap().len(), 3);
    }

    #[test]
    fn hostile_files_open_in_linear_time() {
        let many = |line: &dyn Fn(u32) -> String| -> String {
            (0..20_000).map(|id| line(id) + "\n").collect::<String>()
        };
        let cycle = |id: u32| user(id, (id + 1) % 20_000);
        for lines in [
            many(&cycle),
            many(&|_| user(7, 7)),
            many(&|id| user(id, 1_000_000 + id)),
            many(&|id| if id % 2 == 0 { "x".to_owned() } else { user(id, 1_000_000 + id) }),
            many(&|id| user(id, id.wrapping_sub(1))),
        ] {
            let written = Written::new(&[HEADER, &lines]);
            let session = written.open();
            assert!(session.context().is_ok() && session.tree().is_ok());
            assert!(crate::check_file(written.path()).is_ok());
        }
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
