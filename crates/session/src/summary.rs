//! One session file as a list shows it, found out without parsing the file.
//!
//! A line is told by how it starts: every program of the family writes the type first. Only the lines that a
//! summary quotes are parsed, and those that start in some other way.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use bowline_core::reply::SessionSummary;
use memchr::memmem;

use crate::decode::{self, Head, SessionInfo};
use crate::entry::Kind;
use crate::header::Header;
use crate::store::read_header;

/// How many characters of the first message a summary has.
const FIRST_MESSAGE_LENGTH: usize = 200;

/// How much of the file is read at a time.
const READ_SIZE: usize = 64 * 1024;

/// How every line of an entry starts, as far as we know.
const ENTRY_START: &[u8] = br#"{"type":""#;

/// What stands between the base of a message's entry and its role.
const ROLE_START: &[u8] = br#""message":{"role":""#;

/// How far into its line a message's role is looked for. Only ids and a time come before it.
const ROLE_WITHIN: usize = 512;

/// Summarises a file; one that is no session, or whose header is not accepted, has no summary.
pub(crate) fn summarize(
    path: &Path,
    modified: u64,
    accept: impl Fn(&Header) -> bool,
) -> Option<SessionSummary> {
    let mut reader = BufReader::with_capacity(READ_SIZE, File::open(path).ok()?);
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

/// Tells whether `search`, in lower case, is part of the name, the id or the first message.
pub(crate) fn matches(summary: &SessionSummary, search: &str) -> bool {
    let texts = [Some(&summary.id), summary.name.as_ref(), Some(&summary.first_message)];
    texts.into_iter().flatten().any(|text| text.to_lowercase().contains(search))
}

/// Shortens the first message to what a list shows.
pub(crate) fn shorten(summary: &mut SessionSummary) {
    if let Some((end, _)) = summary.first_message.char_indices().nth(FIRST_MESSAGE_LENGTH) {
        summary.first_message.truncate(end);
    }
}

/// What the lines after the header say.
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
        while reader.read_until(b'\n', &mut line)? > 0 {
            lines.add(line.trim_ascii());
            line.clear();
        }
        Ok(lines)
    }

    fn add(&mut self, line: &[u8]) {
        // The end of a line that was torn.
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
        // The prompt that newer programs store is not something that was said.
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
