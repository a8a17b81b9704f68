//! Takes out of a session file what is no part of a session, without losing any of it.

use std::path::Path;

use crate::check::{Report, check};
use crate::file::SessionFile;
use crate::{BadLine, Error};

/// Repairs the session file at `path`: lines that are not entries, and a torn end, are moved to `<file>.bad`. The
/// file takes its new form in one step, and stays as it was under the name `<file>.bak`. One that is open, here or
/// in another process, is refused; one that needs no repair is left alone.
pub fn repair_file(path: &Path) -> Result<Report, Error> {
    let mut file = SessionFile::open(path)?;
    let mut report = check(file.reader()?, path)?;
    if !report.needs_repair() {
        return Ok(report);
    }
    let content = file.read(0, usize::try_from(file.length()).unwrap_or(usize::MAX))?;
    let (good, bad) = split(&content, &report.bad_lines);
    if !bad.is_empty() {
        report.set_aside = Some(file.keep_beside(".bad", &bad)?);
    }
    report.backup = Some(file.replace(&good, ".bak")?);
    Ok(report)
}

/// Returns what is not in the bad lines and what is, each as whole lines.
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

    use super::*;
    use crate::check_file;
    use crate::fixture::Written;

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

    #[test]
    fn bad_lines_are_set_aside_and_nothing_else_is_touched() {
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
    fn a_good_file_is_left_alone() {
        let written = Written::new(&[HEADER, FIRST]);
        let report = repair_file(written.path()).unwrap();
        assert_eq!((report.entries, report.backup, report.set_aside), (1, None, None));
        assert_eq!(fs::read_dir(written.path().parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_in_use_is_refused() {
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
