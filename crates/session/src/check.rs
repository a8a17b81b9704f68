//! Checks a session file and reports what is wrong with it, without changing it. `repair` acts on the report.

use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::decode::{self, Compaction, ContextEdit, Head};
use crate::entry::Kind;
use crate::header::Header;
use crate::line::{Accept, LINE_LIMIT, Line, is_object, read_line};
use crate::mend::mend;
use crate::{EntryId, Error};

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    pub id: String,
    /// The format version.
    pub version: u32,
    pub entries: u64,
    /// The lines that are not entries. They are skipped when the session is opened.
    pub bad_lines: Vec<BadLine>,
    /// Whether the last line is complete except for its line feed.
    pub lacks_final_line_feed: bool,
    /// The ids of several entries each: such an id refers to the last of them.
    pub duplicate_ids: Vec<EntryId>,
    /// Entries whose parent, the second of the pair, is not in the file: they follow the entry before the missing one.
    pub missing_parents: Vec<(EntryId, EntryId)>,
    /// The unknown entry types and their counts. They are harmless.
    pub unknown_types: BTreeMap<String, u64>,
    /// The file that a repair moved the bad lines to.
    pub set_aside: Option<PathBuf>,
    /// The copy of the original file that a repair kept.
    pub backup: Option<PathBuf>,
}

/// A line that is not an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadLine {
    /// The line number, from 1.
    pub number: u64,
    /// The byte offset of the line.
    pub offset: u64,
    /// The length of the line in bytes, without its line feed.
    pub length: u64,
    pub problem: Problem,
}

/// Why a line is not an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// It is the last line, and its write was interrupted.
    Torn,
    NotJson,
    /// It is JSON, but lacks the type or the id of an entry.
    NotAnEntry,
    /// It is an entry, but its content cannot be decoded.
    Unreadable,
    /// It is too long to be read.
    TooLong,
}

impl Report {
    /// Returns whether a repair would change the file.
    pub fn needs_repair(&self) -> bool {
        !self.bad_lines.is_empty() || self.lacks_final_line_feed || !self.missing_parents.is_empty()
    }
}

/// Checks the session file at `path`, which may be in use.
pub fn check_file(path: &Path) -> Result<Report, Error> {
    let file = bowline_files::open(path).map_err(|error| Error::open(path, error))?;
    check(BufReader::with_capacity(256 * 1024, file), path)
}

/// Checks the lines of the file at `path`.
pub(crate) fn check(mut reader: impl BufRead, path: &Path) -> Result<Report, Error> {
    let mut check = Check::default();
    let mut line = Vec::new();
    let mut offset = 0;
    loop {
        line.clear();
        let length = read_line(&mut reader, &mut line).map_err(|error| Error::read(path, error))?;
        if length == 0 {
            return check.finish(path);
        }
        if length > LINE_LIMIT as u64 {
            check.skip(offset, length - 1);
            offset += length;
            continue;
        }
        let line_feed = line.pop_if(|last| *last == b'\n');
        let ending = if line_feed.is_some() { Ending::LineFeed } else { Ending::EndOfFile };
        check.line(&line, offset, ending, path)?;
        offset += length;
    }
}

/// What ends a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    LineFeed,
    EndOfFile,
}

#[derive(Default)]
struct Check {
    report: Report,
    header: Option<Header>,
    lines: u64,
    ids: HashSet<EntryId>,
    /// The entries whose parent had not been read yet, with that parent.
    orphans: Vec<(EntryId, EntryId)>,
}

impl Check {
    /// Reports a line that was not read.
    fn skip(&mut self, offset: u64, length: u64) {
        self.lines += 1;
        let (number, problem) = (self.lines, Problem::TooLong);
        self.report.bad_lines.push(BadLine { number, offset, length, problem });
    }

    fn line(&mut self, line: &[u8], offset: u64, ending: Ending, path: &Path) -> Result<(), Error> {
        self.lines += 1;
        if line.trim_ascii().is_empty() && ending == Ending::LineFeed {
            return Ok(());
        }
        let problem = match Line::read(line, self.header.as_ref(), Accept::Supported, path)? {
            _ if ending == Ending::EndOfFile && !is_object(line) => Some(Problem::Torn),
            Line::Malformed(problem) => Some(problem),
            Line::Header(header) => {
                self.header = Some(header);
                None
            }
            Line::Entry(head) if !is_readable(Kind::from_name(&head.kind.0), line) => {
                Some(Problem::Unreadable)
            }
            Line::Entry(head) => {
                self.entry(head);
                None
            }
            Line::Blank | Line::RepeatedHeader => None,
        };
        match problem {
            Some(problem) => {
                let (number, length) = (self.lines, line.len() as u64);
                self.report.bad_lines.push(BadLine { number, offset, length, problem });
            }
            None => self.report.lacks_final_line_feed = ending == Ending::EndOfFile,
        }
        Ok(())
    }

    fn entry(&mut self, head: Head<'_>) {
        self.report.entries += 1;
        if let Some(id) = head.id.filter(|_| self.header.as_ref().is_some_and(|header| header.version >= 2)) {
            self.identify(EntryId::from(id.0.as_ref()), head.parent.as_ref().map(|parent| parent.0.as_ref()));
        }
        if Kind::from_name(&head.kind.0) == Kind::Unknown {
            *self.report.unknown_types.entry(head.kind.0.into_owned()).or_default() += 1;
        }
    }

    fn identify(&mut self, id: EntryId, parent: Option<&str>) {
        // The first line of a part that was cut out of another session names a parent that was left there.
        let is_first = self.ids.is_empty() && self.report.bad_lines.is_empty();
        if let Some(parent) = parent.filter(|parent| !is_first && !self.ids.contains(*parent)) {
            self.orphans.push((id.clone(), EntryId::from(parent)));
        }
        if !self.ids.insert(id.clone()) {
            self.report.duplicate_ids.push(id);
        }
    }

    fn finish(self, path: &Path) -> Result<Report, Error> {
        let Self { mut report, header, ids, orphans, .. } = self;
        let header = header.ok_or_else(|| Error::NotASession { file: path.to_path_buf() })?;
        report.missing_parents = orphans.into_iter().filter(|(_, parent)| !ids.contains(parent)).collect();
        report.duplicate_ids.sort();
        report.duplicate_ids.dedup();
        report.id = header.id;
        report.version = header.version;
        Ok(report)
    }
}

/// Returns whether the content of an entry can be decoded.
fn is_readable(kind: Kind, line: &[u8]) -> bool {
    let line = mend(line.to_vec());
    match kind {
        Kind::Compaction => serde_json::from_slice::<Compaction>(&line).is_ok(),
        Kind::ContextEdit => serde_json::from_slice::<ContextEdit>(&line).is_ok(),
        kind => decode::message(kind, &line).is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::fixture::Written;

    #[test]
    fn a_report_lists_every_irregularity() {
        let written = Written::new(&[
            "before the header",
            r#"{"type":"session","version":3,"id":"s"}"#,
            r#"{"type":"custom","id":"2","parentId":"1"}"#,
            r#"{"type":"custom","id":"1","parentId":null}"#,
            "",
            r#"{"type":"from_the_future","id":"2","parentId":"gone"}"#,
            r#"{"type":"message"}"#,
            r#"["custom","5",null]"#,
            r#"{"a":1}"#,
        ]);
        let mut content = fs::read(written.path()).unwrap();
        let complete = content.len() as u64;
        content.extend_from_slice(br#"{"type":"mess"#);
        fs::write(written.path(), &content).unwrap();
        let report = check_file(written.path()).unwrap();
        assert_eq!((report.id.as_str(), report.version, report.entries), ("s", 3, 3));
        assert_eq!(report.duplicate_ids, ["2".into()]);
        assert_eq!(report.missing_parents, [("2".into(), "gone".into())]);
        assert_eq!(report.unknown_types, BTreeMap::from([("from_the_future".to_owned(), 1)]));
        let problems: Vec<_> = report.bad_lines.iter().map(|line| (line.number, line.problem)).collect();
        assert_eq!(
            problems,
            [
                (1, Problem::NotJson),
                (7, Problem::NotAnEntry),
                (8, Problem::NotJson),
                (9, Problem::NotAnEntry),
                (10, Problem::Torn)
            ]
        );
        let torn = report.bad_lines.last().unwrap();
        assert_eq!((torn.offset, torn.length), (complete, 13));
        assert_eq!(fs::read(written.path()).unwrap(), content);
    }

    #[test]
    fn a_file_in_use_can_be_checked() {
        let entry = r#"{"type":"custom","id":"1","parentId":null}"#;
        let written = Written::new(&[r#"{"type":"session","version":3,"id":"s"}"#, entry]);
        let _session = written.open();
        let report = check_file(written.path()).unwrap();
        assert!(!report.needs_repair() && report.entries == 1);
    }

    #[test]
    fn a_file_that_is_not_a_session_is_rejected() {
        for lines in [&[r#"{"a":1}"#][..], &["text"], &[]] {
            let result = check_file(Written::new(lines).path());
            assert!(matches!(result, Err(Error::NotASession { .. })), "{lines:?}");
        }
        assert!(matches!(check_file(Path::new("/no/such/file")), Err(Error::NotFound { .. })));
    }
}
