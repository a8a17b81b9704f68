//! Repairs session files. This is the only module that takes bytes out of a file, and it deletes none of them: an
//! incomplete last line goes to `<file>.torn` when a session is opened, and on request ([`repair_file`]) every line that
//! is not an entry goes to `<file>.bad`.
//!
//! What counts as damage is decided in `line` and reported by `check`.

use std::path::Path;

use crate::check::{Report, check};
use crate::file::SessionFile;
use crate::header::Header;
use crate::line::is_object;
use crate::{BadLine, Error};

/// The start of the header line of every session file.
const HEADER_START: &[u8] = br#"{"type":"session""#;

/// Makes `file` end in a complete line. `tail` is what follows the last line feed, from `offset` on; `header` is that of
/// the file, if it has one.
pub(crate) fn repair_tail(
    file: &mut SessionFile,
    offset: u64,
    tail: &[u8],
    header: Option<&Header>,
) -> Result<(), Error> {
    let is_torn_header = || offset == 0 && (tail.starts_with(HEADER_START) || HEADER_START.starts_with(tail));
    match (header, is_object(tail)) {
        (Some(_), true) => file.append(b"\n").map(drop),
        (Some(_), false) => move_tail_aside(file, offset, tail),
        (None, false) if is_torn_header() => move_tail_aside(file, offset, tail),
        // Not a session, so not ours to change.
        (None, _) => Ok(()),
    }
}

/// Moves `tail` from the end of the file to `<file>.torn`.
fn move_tail_aside(file: &mut SessionFile, offset: u64, tail: &[u8]) -> Result<(), Error> {
    file.append_beside(".torn", &[tail, b"\n"].concat())?;
    file.truncate(offset)
}

/// Repairs the session file at `path`: moves lines that are not entries, and a torn last line, to `<file>.bad`. The file
/// is replaced atomically, and the original is kept as `<file>.bak`. A file that is open, in this or another process, is
/// refused; one that needs no repair is not changed.
pub fn repair_file(path: &Path) -> Result<Report, Error> {
    let mut file = SessionFile::open(path)?;
    let mut report = check(file.reader()?, path)?;
    if !report.needs_repair() {
        return Ok(report);
    }
    let content = file.read(0, usize::try_from(file.length()).unwrap_or(usize::MAX))?;
    let (good, bad) = split(&content, &report.bad_lines);
    if !bad.is_empty() {
        report.set_aside = Some(file.append_beside(".bad", &bad)?);
    }
    report.backup = Some(file.replace(&good, ".bak")?);
    Ok(report)
}

/// Splits `content` into its good and its bad lines, each ending in a line feed.
fn split(content: &[u8], bad_lines: &[BadLine]) -> (Vec<u8>, Vec<u8>) {
    let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX).min(content.len());
    let (mut good, mut bad) = (Vec::with_capacity(content.len()), Vec::new());
    let mut end = 0;
    for line in bad_lines {
        good.extend_from_slice(&content[end..place(line.offset)]);
        bad.extend_from_slice(&content[place(line.offset)..place(line.offset + line.length)]);
        bad.push(b'\n');
        end = place(line.offset + line.length + 1);
    }
    good.extend_from_slice(&content[end..]);
    if !good.ends_with(b"\n") {
        good.push(b'\n');
    }
    (good, bad)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use bowline_core::Message;

    use super::*;
    use crate::fixture::{Written, texts};
    use crate::{EntryBody, Location, NewSession, Session, check_file};

    const HEADER: &str = r#"{"type":"session","version":3,"id":"s"}"#;
    const FIRST: &str = r#"{"type":"custom","id":"1","parentId":null}"#;
    const SECOND: &str = r#"{"type":"from_the_future","id":"2","parentId":"1"}"#;

    #[track_caller]
    fn check(content: &str, repaired: &str, set_aside: Option<&str>) {
        let written = Written::new(&[]);
        fs::write(written.path(), content).unwrap();
        let report = repair_file(written.path()).unwrap();
        assert_eq!(fs::read_to_string(written.path()).unwrap(), repaired);
        let bad = report.set_aside.map(|file| fs::read_to_string(file).unwrap());
        assert_eq!(bad.as_deref(), set_aside);
        assert_eq!(report.backup.map(|file| fs::read_to_string(file).unwrap()).as_deref(), Some(content));
        assert!(!check_file(written.path()).unwrap().needs_repair());
        assert_eq!(written.open().malformed_lines(), 0);
    }

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
    fn a_file_truncated_at_any_byte_opens_with_every_complete_line() {
        let (directory, content) = three_messages();
        let path = directory.path().join("2026_truncated.jsonl");
        for length in 0..=content.len() {
            fs::write(&path, &content[..length]).unwrap();
            let mut session = Session::open(&path, Path::new("/here")).unwrap();
            let line_ends = content.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
            // A line that lacks only its line feed is complete.
            let complete = line_ends.filter(|(end, _)| *end <= length).count().saturating_sub(1);
            let mut expected = ["one", "zwei", "три"][..complete].to_vec();
            assert_eq!(texts(&session), expected, "truncated to {length}");

            session.append(EntryBody::Message(Arc::new(Message::user("more", Vec::new(), 8)))).unwrap();
            drop(session);
            expected.push("more");
            let session = Session::open(&path, Path::new("/here")).unwrap();
            assert_eq!(texts(&session), expected, "truncated to {length}");
            assert_eq!(session.malformed_lines(), 0, "truncated to {length}");
        }
    }

    #[test]
    fn torn_bytes_are_moved_to_a_file_beside() {
        let written = Written::new(&[r#"{"type":"session","version":3,"id":"s","timestamp":"","cwd":"/"}"#]);
        let complete = fs::read(written.path()).unwrap();
        for torn in [r#"{"type":"mess"#, "\0\0\0"] {
            fs::write(written.path(), [&complete, torn.as_bytes()].concat()).unwrap();
            written.open();
            assert_eq!(fs::read(written.path()).unwrap(), complete);
        }
        let set_aside = fs::read(written.path().with_extension("jsonl.torn")).unwrap();
        assert_eq!(set_aside, b"{\"type\":\"mess\n\0\0\0\n");
    }

    #[test]
    fn bad_lines_are_moved_and_good_ones_are_unchanged() {
        let good = format!("{HEADER}\n{FIRST}\n{SECOND}\n");
        check(&format!("x\n{HEADER}\ny\n{FIRST}\n{{}}\n{SECOND}\nz"), &good, Some("x\ny\n{}\nz\n"));
        check(&format!("{HEADER}\n{FIRST}\n{SECOND}"), &good, None);
        check(&format!("{HEADER}\n{FIRST}\nx\n{SECOND}"), &good, Some("x\n"));
        check(
            &format!("{HEADER}\n\n{FIRST}\n{{\"type"),
            &format!("{HEADER}\n\n{FIRST}\n"),
            Some("{\"type\n"),
        );
    }

    #[test]
    fn an_undamaged_file_is_not_changed() {
        let written = Written::new(&[HEADER, FIRST]);
        let report = repair_file(written.path()).unwrap();
        assert_eq!((report.entries, report.backup, report.set_aside), (1, None, None));
        assert_eq!(fs::read_dir(written.path().parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_in_use_is_rejected() {
        let written = Written::new(&[HEADER, "bad"]);
        let session = written.open();
        assert!(matches!(repair_file(written.path()), Err(Error::Locked { .. })));
        drop(session);
        assert_eq!(repair_file(written.path()).unwrap().bad_lines.len(), 1);
    }

    #[test]
    fn earlier_backups_and_bad_lines_are_kept() {
        let written = Written::new(&[HEADER, "one"]);
        repair_file(written.path()).unwrap();
        fs::write(written.path(), format!("{HEADER}\ntwo\n")).unwrap();
        let report = repair_file(written.path()).unwrap();
        assert_eq!(fs::read_to_string(report.set_aside.unwrap()).unwrap(), "one\ntwo\n");
        assert!(report.backup.unwrap().to_str().unwrap().ends_with(".bak2"));
    }
}
