//! Reads a file as an exchange: a recording of ours, a session, a recording of the conformance tests, or plain lines of
//! JSON, as `--mode json` writes them.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use jiff::Timestamp;
use serde_json::Value;

use crate::Error;
use crate::lines::{LONGEST_LINE, LineBuffer, RawLine};
use crate::recorder::Recorder;
use crate::row::{From, Header, Row, TYPE, VERSION};

/// How much of a line of a file is kept: a row holds a line of the exchange, escaped as JSON.
const LONGEST_ROW: usize = 4 * LONGEST_LINE;

/// What a file is, as its first line tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Recording,
    Session,
    /// Objects with a member `in` or `out`.
    Directed,
    /// Lines of an agent.
    Plain,
}

/// Reads a file to its end.
pub(crate) fn read(path: &Path, mut recorder: Recorder) -> Result<(), Error> {
    let file = bowline_files::open(path)?;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let failed = |source| Error::Recording { path: path.to_owned(), source };
    let mut kind = None;
    let mut rows = 0_usize;
    let mut clock = Clock::default();
    while let Some(line) = next_line(&mut reader).map_err(failed)? {
        if line.text.trim().is_empty() {
            continue;
        }
        let value: Option<Value> = serde_json::from_str(&line.text).ok();
        let Some(kind) = kind else {
            let found = kind_of(value.as_ref()).ok_or_else(|| Error::NoRecords { path: path.to_owned() })?;
            kind = Some(found);
            recorder.begin(header_of(found, &line.text));
            if found != Kind::Recording {
                rows += 1;
                recorder.recorded(row_of(found, line, value.as_ref(), &mut clock));
            }
            continue;
        };
        rows += 1;
        recorder.recorded(row_of(kind, line, value.as_ref(), &mut clock));
    }
    if rows == 0 {
        return Err(Error::NoRecords { path: path.to_owned() });
    }
    recorder.finish().map_or(Ok(()), Err)
}

/// Reads a line. Memory is bounded whatever the file holds.
fn next_line(reader: &mut impl std::io::BufRead) -> std::io::Result<Option<RawLine>> {
    let mut buffer = LineBuffer::keeping(LONGEST_ROW);
    let mut found = None;
    let mut piece = Vec::new();
    loop {
        piece.clear();
        let count = reader.by_ref().take(1 << 16).read_until(b'\n', &mut piece)?;
        if count == 0 {
            return Ok(buffer.finish());
        }
        buffer.push(&piece, |line| found = Some(line));
        if found.is_some() {
            return Ok(found);
        }
    }
}

fn kind_of(first: Option<&Value>) -> Option<Kind> {
    let first = first?.as_object()?;
    let has = |name: &str| first.get(name).is_some_and(Value::is_object);
    Some(match first.get("type").and_then(Value::as_str) {
        Some(TYPE) if first.contains_key("version") => Kind::Recording,
        Some("session") => Kind::Session,
        None if has("in") || has("out") => Kind::Directed,
        _ => Kind::Plain,
    })
}

fn header_of(kind: Kind, first: &str) -> Header {
    let unknown = Header {
        r#type: TYPE.to_owned(),
        version: VERSION,
        started: None,
        command: Vec::new(),
        dialect: None,
    };
    match kind {
        Kind::Recording => serde_json::from_str(first).unwrap_or(unknown),
        _ => unknown,
    }
}

fn row_of(kind: Kind, line: RawLine, value: Option<&Value>, clock: &mut Clock) -> Row {
    if kind == Kind::Recording
        && let Ok(row) = serde_json::from_str(&line.text)
    {
        return row;
    }
    let RawLine { text, cut, unfinished: _, not_utf8 } = line;
    let directed = |name: &str| value.and_then(|value| value.get(name)).filter(|_| kind == Kind::Directed);
    let (from, line) = match (directed("in"), directed("out")) {
        (Some(line), _) => (From::Client, line.to_string()),
        (_, Some(line)) => (From::Agent, line.to_string()),
        _ if kind == Kind::Session => (From::Session, text),
        _ => (From::Agent, text),
    };
    let at = value.filter(|_| kind == Kind::Session).map_or(0.0, |entry| clock.at(entry));
    Row { at, from, line, cut, unfinished: false, not_utf8, event: None }
}

/// The times of the entries of a session.
#[derive(Default)]
struct Clock {
    first: Option<Timestamp>,
    last: f64,
}

impl Clock {
    /// Returns the time of an entry in milliseconds since the first one. Time does not go back.
    fn at(&mut self, entry: &Value) -> f64 {
        if let Some(time) = entry["timestamp"].as_str().and_then(|text| text.parse::<Timestamp>().ok()) {
            let first = *self.first.get_or_insert(time);
            let passed = time.duration_since(first).as_millis();
            self.last = self.last.max(i32::try_from(passed).map_or(f64::from(i32::MAX), f64::from));
        }
        self.last
    }
}
