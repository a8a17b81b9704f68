//! The summary of a session file in a list, extracted without parsing most of the file.
//!
//! Lines are recognised by how they start, since every known program writes the type first. Only lines that a summary
//! quotes, and lines that start differently, are parsed.

use std::io::{self, BufRead, BufReader};
use std::path::Path;

use bowline_core::reply::SessionSummary;
use memchr::memmem;

use crate::decode::{self, Head, SessionInfo};
use crate::entry::Kind;
use crate::header::Header;
use crate::line::read_line;
use crate::store::read_header;

/// The maximum number of characters of the first message in a summary.
const FIRST_MESSAGE_LENGTH: usize = 200;

/// The block size for reading a file.
const READ_SIZE: usize = 64 * 1024;

/// The start of an entry's line.
const ENTRY_START: &[u8] = br#"{"type":""#;

/// The text before the role in a message's line.
const ROLE_START: &[u8] = br#""message":{"role":""#;

/// How far into a line to look for the role. Only ids and a time come before it.
const ROLE_WITHIN: usize = 512;

/// Summarises a file; none if it is not a session or its header is not accepted.
pub(crate) fn summarize(
    path: &Path,
    modified: u64,
    accept: impl Fn(&Header) -> bool,
) -> Option<SessionSummary> {
    let mut reader = BufReader::with_capacity(READ_SIZE, bowline_files::open(path).ok()?);
    let header = read_header(&mut reader).filter(accept)?;
    let lines = Lines::read(reader).ok()?;
    Some(SessionSummary {
        id: header.id,
        path: path.to_path_buf(),
        working_directory: header.cwd.into(),
        name: lines.name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()),
        first_message: lines.first_message.unwrap_or_default(),
        message_count: lines.message_count,
        created: header.timestamp,
        modified,
    })
}

/// Returns whether `search`, in lower case, is part of the name, the id or the first message.
pub(crate) fn matches(summary: &SessionSummary, search: &str) -> bool {
    let texts = [Some(&summary.id), summary.name.as_ref(), Some(&summary.first_message)];
    texts.into_iter().flatten().any(|text| text.to_lowercase().contains(search))
}

/// Truncates the first message.
pub(crate) fn shorten(summary: &mut SessionSummary) {
    if let Some((end, _)) = summary.first_message.char_indices().nth(FIRST_MESSAGE_LENGTH) {
        summary.first_message.truncate(end);
    }
}

/// What is collected from the lines after the header.
#[derive(Debug, Default)]
struct Lines {
    name: Option<String>,
    first_message: Option<String>,
    message_count: u64,
}

impl Lines {
    fn read(mut reader: impl BufRead) -> io::Result<Self> {
        let mut lines = Self::default();
        let mut line = Vec::new();
        while read_line(&mut reader, &mut line)? > 0 {
            lines.add(line.trim_ascii());
            line.clear();
        }
        Ok(lines)
    }

    fn add(&mut self, line: &[u8]) {
        // An incomplete line.
        if !line.ends_with(b"}") {
            return;
        }
        match kind(line) {
            Some(Kind::Message) => self.add_message(line),
            Some(Kind::SessionInfo) => {
                self.name = serde_json::from_slice::<SessionInfo>(line).ok().and_then(|info| info.name);
            }
            _ => {}
        }
    }

    fn add_message(&mut self, line: &[u8]) {
        let head = &line[..line.len().min(ROLE_WITHIN)];
        let starts_with = |role: &[u8]| {
            let start = memmem::find(head, ROLE_START).map(|at| at + ROLE_START.len())?;
            Some(head[start..].starts_with(role))
        };
        let is = |role: &str| {
            starts_with(format!("{role}\"").as_bytes()).unwrap_or_else(|| decode::role_is(line, role))
        };
        // Newer programs store the system prompt as a message.
        if is("system") {
            return;
        }
        self.message_count += 1;
        if self.first_message.is_none() && is("user") {
            self.first_message = decode::user_text(Kind::Message, line).filter(|text| !text.is_empty());
        }
    }
}

/// Returns the kind of an entry.
fn kind(line: &[u8]) -> Option<Kind> {
    let name = line.strip_prefix(ENTRY_START).and_then(|rest| {
        let end = memchr::memchr(b'"', rest)?;
        std::str::from_utf8(&rest[..end]).ok()
    });
    match name {
        Some(name) => Some(Kind::from_name(name)),
        None => serde_json::from_slice::<Head<'_>>(line).ok().map(|head| Kind::from_name(&head.kind.0)),
    }
}
