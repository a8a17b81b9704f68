//! Repairs session files. This is the only module that takes bytes out of a file, and it deletes none of them: an
//! incomplete last line goes to `<file>.torn` when a session is opened, and on request ([`repair_file`]) every line that
//! is not a readable entry goes to `<file>.bad`, and the entries after it are linked to those before it.
//!
//! What counts as damage is decided in `line` and reported by `check`.

use std::collections::HashSet;
use std::path::Path;

use crate::check::{Report, check};
use crate::decode::Head;
use crate::entries::with_parent;
use crate::file::SessionFile;
use crate::header::Header;
use crate::line::{Accept, is_object};
use crate::scan::scan_unlocked;
use crate::tree::{Node, Tree};
use crate::{BadLine, EntryId, Error};

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

/// Repairs the session file at `path`: moves lines that are not readable entries, and a torn last line, to `<file>.bad`,
/// and gives entries whose parent is gone the one that they have in the opened session. The file is replaced atomically,
/// and the original is kept as `<file>.bak`. A file that is open, in this or another process, is refused; one that needs
/// no repair is not changed.
pub fn repair_file(path: &Path) -> Result<Report, Error> {
    let mut file = SessionFile::open(path)?;
    let mut report = check(file.reader()?, path)?;
    if !report.needs_repair() {
        return Ok(report);
    }
    let content = file.read(0, usize::try_from(file.length()).unwrap_or(usize::MAX))?;
    let (scan, _) = scan_unlocked(content.as_slice(), Accept::Supported, path)?;
    let (good, bad) = split(&content, &report.bad_lines, &scan.tree)?;
    if !bad.is_empty() {
        report.set_aside = Some(file.append_beside(".bad", &bad)?);
    }
    report.backup = Some(file.replace(&good, ".bak")?);
    Ok(report)
}

/// Splits `content` into its good and its bad lines, each ending in a line feed. Good entries are linked as in `tree`,
/// past the bad ones.
fn split(content: &[u8], bad_lines: &[BadLine], tree: &Tree) -> Result<(Vec<u8>, Vec<u8>), Error> {
    let (mut good, mut bad) = (Vec::with_capacity(content.len()), Vec::new());
    let mut bad_lines = bad_lines.iter().map(|line| line.offset).peekable();
    let is_bad: HashSet<u64> = bad_lines.clone().collect();
    let mut nodes = tree.nodes().iter().peekable();
    let mut offset = 0;
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        let node = nodes.next_if(|node| node.offset == offset);
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        if bad_lines.next_if_eq(&offset).is_some() {
            bad.extend_from_slice(text);
            bad.push(b'\n');
        } else {
            match node {
                Some(node) => good.extend_from_slice(&relinked(text, node, tree, &is_bad)?),
                None => good.extend_from_slice(text),
            }
            good.push(b'\n');
        }
        offset += line.len() as u64;
    }
    Ok((good, bad))
}

/// Returns the line of a good entry with its nearest good ancestor as its parent.
fn relinked(line: &[u8], node: &Node, tree: &Tree, is_bad: &HashSet<u64>) -> Result<Vec<u8>, Error> {
    let mut ancestors = tree.upwards(node.parent).map(|position| tree.node(position));
    let parent = ancestors.find(|ancestor| !is_bad.contains(&ancestor.offset)).map(|parent| &parent.id);
    let head: Option<Head<'_>> = serde_json::from_slice(line).ok();
    let written = head.as_ref().and_then(|head| head.parent.as_ref()).map(|parent| parent.0.as_ref());
    if head.as_ref().is_none_or(|head| head.id.is_none()) || written == parent.map(EntryId::as_str) {
        return Ok(line.to_vec());
    }
    with_parent(line.to_vec(), node, parent)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use bowline_core::Message;

    use super::*;
    use crate::fixture::{Written, texts, user};
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
    fn entries_after_a_bad_line_are_linked_to_those_before_it() {
        let entry = |id: u32, parent: &str| user(id, 0).replace(r#""0""#, parent);
        for bad in ["\u{0}", r#"{"type":"message","id":"2","parentId":"1","message":{"role"}"#] {
            let lines = [
                HEADER.to_owned(),
                entry(1, "null"),
                bad.to_owned(),
                entry(3, r#""2""#),
                entry(4, r#""2""#),
                entry(5, r#""gone""#),
            ];
            let repaired =
                [&lines[0], &lines[1], &entry(3, r#""1""#), &entry(4, r#""1""#), &entry(5, r#""4""#)];
            let text = |lines: &[&String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            check(&text(&lines.each_ref()), &text(&repaired), Some(&format!("{bad}\n")));
        }
        // A line that was deleted leaves nothing to set aside.
        let lost = format!("{HEADER}\n{}\n{}\n", entry(1, "null"), entry(3, r#""2""#));
        check(&lost, &lost.replace(r#""parentId":"2""#, r#""parentId":"1""#), None);
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
