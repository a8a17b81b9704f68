//! What a line of a session file is. The scanner and the check both ask here, so that they agree on which lines are
//! entries.

use std::path::Path;

use serde::de::IgnoredAny;

use crate::decode::Head;
use crate::header::{self, CURRENT_VERSION, Header};
use crate::{Error, Problem};

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
