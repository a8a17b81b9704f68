//! What a line of a session file is. The scanner asks for what the tree needs, the check for the truth about the whole
//! line: an entry with damaged content is an entry to the first and damage to the second.

use std::io::{self, BufRead, ErrorKind};
use std::path::Path;

use memchr::memchr;

use serde::de::IgnoredAny;

use crate::decode::Head;
use crate::head::skim;
use crate::header::{self, CURRENT_VERSION, Header};
use crate::{Error, Problem};

/// The most bytes of a line. A command has up to 64 MiB, and becomes one line.
pub(crate) const LINE_LIMIT: usize = 128 * 1024 * 1024;

/// Reads a line, with its line feed, into `line`, but no more than [`LINE_LIMIT`] bytes of it. Returns its whole length;
/// 0 at the end of the file.
pub(crate) fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<u64> {
    let mut length = 0;
    loop {
        let block = match reader.fill_buf() {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            block => block?,
        };
        let end = memchr(b'\n', block).map_or(block.len(), |end| end + 1);
        let is_complete = end == 0 || block[end - 1] == b'\n';
        let room = LINE_LIMIT.saturating_sub(line.len());
        line.extend_from_slice(&block[..end.min(room)]);
        reader.consume(end);
        length += end as u64;
        if is_complete {
            return Ok(length);
        }
    }
}

/// A complete line of a session file.
#[derive(Debug)]
pub(crate) enum Line<'a> {
    Blank,
    Header(Header),
    /// A header after the first one, which is ignored.
    RepeatedHeader,
    Entry(Head<'a>),
    /// Anything else. It is skipped and stays in the file.
    Malformed(Problem),
}

/// Which headers a reader accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Accept {
    /// Complete headers of a supported version.
    #[default]
    Supported,
    /// Every header, for readers that only show the session.
    Any,
}

impl<'a> Line<'a> {
    /// Classifies `line` like [`Line::read`], but reads no more of it than its head if it starts like an entry.
    pub(crate) fn skim(
        line: &'a [u8],
        header: Option<&Header>,
        accept: Accept,
        path: &Path,
    ) -> Result<Self, Error> {
        // Older versions are converted line by line, so each line has to be complete.
        if header.is_some_and(|header| header.version >= CURRENT_VERSION)
            && let Some(head) = skim(line)
        {
            let is_header = head.kind.0 == header::TYPE;
            return Ok(if is_header { Self::RepeatedHeader } else { Self::Entry(head) });
        }
        Self::read(line, header, accept, path)
    }

    /// Classifies `line`, given the header if it came before. Fails if the first JSON object in the file at `path` is
    /// not an accepted header.
    pub(crate) fn read(
        line: &'a [u8],
        header: Option<&Header>,
        accept: Accept,
        path: &Path,
    ) -> Result<Self, Error> {
        if line.trim_ascii().is_empty() {
            return Ok(Self::Blank);
        }
        let Some(head) = read_head(line) else {
            return match is_object(line) {
                true if header.is_none() => read_odd_header(line, accept, path).map(Self::Header),
                true => Ok(Self::Malformed(Problem::NotAnEntry)),
                false => Ok(Self::Malformed(Problem::NotJson)),
            };
        };
        let Some(header) = header else {
            return read_header(&head, line, accept, path).map(Self::Header);
        };
        if head.kind.0 == header::TYPE {
            return Ok(Self::RepeatedHeader);
        }
        // Version 1 had no ids.
        if header.version >= 2 && head.id.is_none() {
            return Ok(Self::Malformed(Problem::NotAnEntry));
        }
        Ok(Self::Entry(head))
    }
}

/// Returns whether a line is a JSON object.
pub(crate) fn is_object(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"{") && serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

fn read_head(line: &[u8]) -> Option<Head<'_>> {
    // serde would also read an array as a struct.
    line.trim_ascii_start().starts_with(b"{").then(|| serde_json::from_slice(line).ok())?
}

/// Reads a header whose fields may be missing or of the wrong type, if such headers are accepted.
fn read_odd_header(line: &[u8], accept: Accept, path: &Path) -> Result<Header, Error> {
    let header = if accept == Accept::Any { Header::read_leniently(line) } else { None };
    header.ok_or_else(|| Error::NotASession { file: path.to_path_buf() })
}

fn read_header(head: &Head<'_>, line: &[u8], accept: Accept, path: &Path) -> Result<Header, Error> {
    let file = path.to_path_buf();
    if head.kind.0 != header::TYPE {
        return Err(Error::NotASession { file });
    }
    if accept == Accept::Any {
        return read_odd_header(line, accept, path);
    }
    let Ok(header) = serde_json::from_slice::<Header>(line) else {
        return Err(Error::NotASession { file });
    };
    if header.version > CURRENT_VERSION {
        return Err(Error::TooNew { file, version: header.version });
    }
    Ok(header)
}
