//! Looks for what is wrong with a session file.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::entry::Kind;
use crate::header::{self, Header};
use crate::scan::{is_object, read_head, read_header};
use crate::{EntryId, Error};

/// What a check has found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    pub id: String,
    /// The version of the format.
    pub version: u32,
    pub entries: u64,
    /// The lines that are not entries. They are passed over when the session is opened.
    pub bad_lines: Vec<BadLine>,
    /// Whether the last line is whole but for its end.
    pub lacks_final_line_feed: bool,
    /// The ids that more than one entry has: they mean the last of those.
    pub duplicate_ids: Vec<EntryId>,
    /// Entries whose parent, named second, is not in the file: they are taken as roots.
    pub missing_parents: Vec<(EntryId, EntryId)>,
    /// The types of entry that this program does not know, and how many there are. They do no harm.
    pub unknown_types: BTreeMap<String, u64>,
    /// Where a repair has put the bad lines.
    pub set_aside: Option<PathBuf>,
    /// Where a repair has left the file as it was.
    pub backup: Option<PathBuf>,
}

/// A line that is not an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadLine {
    /// The first line is number 1.
    pub number: u64,
    /// Where the line starts.
    pub offset: u64,
    /// How long the line is, without its line feed.
    pub length: u64,
    pub problem: Problem,
}

/// Why a line is not an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// It is the end of the file, and a write was cut off in it.
    Torn,
    NotJson,
    /// It is JSON, but without the type or the id that an entry has.
    NotAnEntry,
}

impl Report {
    /// Tells whether there is something that a repair would change.
    pub fn needs_repair(&self) -> bool {
        !self.bad_lines.is_empty() || self.lacks_final_line_feed
    }
}

/// Reads the session file at `path` and reports what is wrong with it. The file may be in use meanwhile.
pub fn check_file(path: &Path) -> Result<Report, Error> {
    let file = File::open(path).map_err(|error| Error::read(path, error))?;
    check(BufReader::with_capacity(256 * 1024, file), path)
}

/// Reports what is wrong with the lines of the file at `path`.
pub(crate) fn check(mut reader: impl BufRead, path: &Path) -> Result<Report, Error> {
    let mut check = Check::default();
    let mut line = Vec::new();
    let mut offset = 0;
    loop {
        line.clear();
        let length = reader.read_until(b'\n', &mut line).map_err(|error| Error::read(path, error))?;
        if length == 0 {
            return check.finish(path);
        }
        let is_whole = line.pop_if(|last| *last == b'\n').is_some();
        check.line(&line, offset, is_whole, path)?;
        offset += length as u64;
    }
}

#[derive(Default)]
struct Check {
    report: Report,
    header: Option<Header>,
    lines: u64,
    ids: HashSet<EntryId>,
    /// The entries whose parent had not been seen when they were, and that parent.
    orphans: Vec<(EntryId, EntryId)>,
}

impl Check {
    fn line(&mut self, line: &[u8], offset: u64, is_whole: bool, path: &Path) -> Result<(), Error> {
        self.lines += 1;
        if line.trim_ascii().is_empty() && is_whole {
            return Ok(());
        }
        let problem = self.content(line, path)?;
        let problem = if is_whole || is_object(line) { problem } else { Some(Problem::Torn) };
        match problem {
            Some(problem) => {
                let (number, length) = (self.lines, line.len() as u64);
                self.report.bad_lines.push(BadLine { number, offset, length, problem });
            }
            None => self.report.lacks_final_line_feed = !is_whole,
        }
        Ok(())
    }

    /// Takes in a line, and returns what is wrong with it.
    fn content(&mut self, line: &[u8], path: &Path) -> Result<Option<Problem>, Error> {
        let Some(head) = read_head(line) else {
            return match is_object(line) {
                true if self.header.is_none() => Err(Error::NotASession { file: path.to_path_buf() }),
                true => Ok(Some(Problem::NotAnEntry)),
                false => Ok(Some(Problem::NotJson)),
            };
        };
        let Some(header) = &self.header else {
            self.header = Some(read_header(&head, line, path)?);
            return Ok(None);
        };
        if head.kind.0 == header::TYPE {
            return Ok(None);
        }
        if header.version >= 2 {
            let Some(id) = &head.id else { return Ok(Some(Problem::NotAnEntry)) };
            self.identify(EntryId::from(id.0.as_ref()), head.parent.as_ref().map(|parent| parent.0.as_ref()));
        }
        self.report.entries += 1;
        if Kind::from_name(&head.kind.0) == Kind::Unknown {
            *self.report.unknown_types.entry(head.kind.0.into_owned()).or_default() += 1;
        }
        Ok(None)
    }

    fn identify(&mut self, id: EntryId, parent: Option<&str>) {
        if let Some(parent) = parent.filter(|parent| !self.ids.contains(*parent)) {
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::fixture::Written;

    #[test]
    fn a_report_names_everything_that_is_odd() {
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
        let whole = content.len() as u64;
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
        assert_eq!((torn.offset, torn.length), (whole, 13));
        assert_eq!(fs::read(written.path()).unwrap(), content);
    }

    #[test]
    fn a_file_in_use_can_be_checked_and_a_good_one_needs_nothing() {
        let entry = r#"{"type":"custom","id":"1","parentId":null}"#;
        let written = Written::new(&[r#"{"type":"session","version":3,"id":"s"}"#, entry]);
        let _session = written.open();
        let report = check_file(written.path()).unwrap();
        assert!(!report.needs_repair() && report.entries == 1);
    }

    #[test]
    fn what_is_no_session_is_not_checked() {
        for lines in [&[r#"{"a":1}"#][..], &["text"], &[]] {
            let result = check_file(Written::new(lines).path());
            assert!(matches!(result, Err(Error::NotASession { .. })), "{lines:?}");
        }
        assert!(matches!(check_file(Path::new("/no/such/file")), Err(Error::NotFound { .. })));
    }
}
