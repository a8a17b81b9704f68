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
