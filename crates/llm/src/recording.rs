//! `--record`: writes every exchange with a provider to a file for replay, with the keys masked.
//!
//! The file is JSON lines: `recording` once, then for each exchange `request`, `response`, its `chunk`s and `end`. An
//! exchange is written at once when it has ended, because a key that a server repeats may be split between chunks.

use std::fs::File;
use std::io::{BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bowline_core::stream::{FailureKind, StreamError};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::error::Error;
use crate::failure::KINDS;
use crate::limits::RECORDING_BYTES;
use crate::redaction::Redactor;
use crate::transport::Outgoing;

/// The version of the file format.
pub(crate) const VERSION: u64 = 1;

/// The chunks of an answer that are told apart; those after them count as one.
const MOST_CHUNKS: usize = 100_000;

/// The request headers whose values are not secret.
const PLAIN_HEADERS: &[&str] = &["content-type", "accept", "anthropic-version", "anthropic-beta"];

/// The response headers that matter for replay.
const KEPT_HEADERS: &[&str] = &[
    "content-type",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
    "location",
    "request-id",
    "x-request-id",
];

/// The file that exchanges are written to.
#[derive(Debug, Clone)]
pub(crate) struct Recorder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    /// How much was written, and how much may be.
    bytes: u64,
    limit: u64,
    /// The number of exchanges started.
    exchanges: u64,
}

/// An exchange being recorded.
#[derive(Debug)]
pub(crate) struct Exchange {
    recorder: Recorder,
    number: u64,
    started: Instant,
    redactor: Redactor,
    lines: Vec<Value>,
    /// What was received, and when each chunk of it arrived and how long it is.
    received: Vec<u8>,
    chunks: Vec<(u64, usize)>,
    is_written: bool,
}

/// How an exchange ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Outcome<'a> {
    Complete,
    Failed(&'a StreamError),
    /// The consumer dropped the answer.
    Left,
}

impl Recorder {
    /// Starts a recording, replacing the file. Only the user may read it, because it contains conversations.
    pub(crate) fn create(path: &Path) -> Result<Self, Error> {
        let failed =
            |error: std::io::Error| Error::Unwritable { path: path.to_owned(), reason: error.to_string() };
        let opened = bowline_files::open_by(bowline_files::private_file().write(true).create(true), path);
        let mut file = opened.map_err(|error| failed(error.into_io()))?;
        bowline_files::restrict(&file).and_then(|()| file.set_len(0)).map_err(failed)?;
        let head = json!({ "type": "recording", "version": VERSION, "bowline": env!("CARGO_PKG_VERSION") });
        let head = format!("{head}\n");
        file.write_all(head.as_bytes()).map_err(failed)?;
        let state = State { file, bytes: head.len() as u64, limit: RECORDING_BYTES, exchanges: 0 };
        Ok(Self(Arc::new(Inner { path: path.to_owned(), state: Mutex::new(state) })))
    }

    /// Starts recording an exchange.
    pub(crate) fn begin(&self, outgoing: &Outgoing, redactor: &Redactor) -> Exchange {
        let number = {
            let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.exchanges += 1;
            state.exchanges
        };
        let http = &outgoing.http;
        let shown = |name: &str| PLAIN_HEADERS.iter().any(|plain| plain.eq_ignore_ascii_case(name));
        let headers: serde_json::Map<String, Value> = http
            .headers
            .iter()
            .map(|(name, value)| {
                let value = if shown(name) { value.expose() } else { "[redacted]" };
                (name.to_lowercase(), json!(value))
            })
            .collect();
        let body = serde_json::from_slice(&http.body)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&http.body).into_owned()));
        let request = json!({ "type": "request", "exchange": number, "url": http.url, "headers": headers,
            "keyFrom": outgoing.key_origin(), "model": &*outgoing.model, "body": body });
        Exchange {
            recorder: self.clone(),
            number,
            started: Instant::now(),
            redactor: redactor.clone(),
            lines: vec![request],
            received: Vec::new(),
            chunks: Vec::new(),
            is_written: false,
        }
    }
}

impl Exchange {
    /// Records the head of the response.
    pub(crate) fn answered(&mut self, status: u16, headers: &[(String, String)]) {
        let kept = headers.iter().filter(|(name, _)| KEPT_HEADERS.contains(&name.as_str()));
        let headers: serde_json::Map<String, Value> =
            kept.map(|(name, value)| (name.clone(), json!(value))).collect();
        let line = json!({ "type": "response", "exchange": self.number, "atMs": self.now(), "status": status,
            "headers": headers });
        self.lines.push(line);
    }

    /// Records more of the response.
    pub(crate) fn received(&mut self, bytes: &Bytes) {
        let now = self.now();
        // A server that sends single bytes must not cost more than they do.
        let is_full = self.chunks.len() >= MOST_CHUNKS;
        match self.chunks.last_mut().filter(|_| is_full) {
            Some((_, length)) => *length += bytes.len(),
            None => self.chunks.push((now, bytes.len())),
        }
        self.received.extend_from_slice(bytes);
    }

    /// Writes the exchange to the file.
    pub(crate) fn finish(mut self, outcome: Outcome<'_>) -> Result<(), StreamError> {
        self.write(outcome).map_err(|error| {
            let path = self.recorder.0.path.display();
            let message = format!(
                "The recording {path} cannot be written: {error}. Free some space, or run without --record."
            );
            StreamError::new(FailureKind::Storage, message)
        })
    }

    fn write(&mut self, outcome: Outcome<'_>) -> std::io::Result<()> {
        self.is_written = true;
        let mut end = json!({ "type": "end", "exchange": self.number, "atMs": self.now() });
        match outcome {
            Outcome::Complete => end["outcome"] = json!("complete"),
            Outcome::Left => end["outcome"] = json!("left"),
            Outcome::Failed(error) => {
                let name = KINDS.iter().find(|(_, kind)| *kind == error.kind).map(|(name, _)| *name);
                end["outcome"] = json!("failed");
                end["kind"] = json!(name);
                end["status"] = json!(error.status);
                end["message"] = json!(error.message);
            }
        }
        let mut received = std::mem::take(&mut self.received);
        // The whole at once, because a secret may be split between chunks.
        self.redactor.mask(&mut received);
        let mut rest = received.as_slice();
        let chunks = std::mem::take(&mut self.chunks).into_iter().map(|(at, length)| {
            let (bytes, after) = rest.split_at(length);
            rest = after;
            chunk_line(self.number, at, bytes)
        });
        let lines = std::mem::take(&mut self.lines).into_iter().chain(chunks).chain([end]);
        let lines = lines.map(|line| self.redactor.redact(format!("{line}\n")));
        let mut state = self.recorder.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.append(lines)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if !self.is_written {
            // There is no one to report a failure to.
            let _ = self.write(Outcome::Left);
        }
    }
}

impl State {
    /// Appends lines, all or none: a part of an exchange would make the rest of the file unreadable.
    fn append(&mut self, lines: impl Iterator<Item = String>) -> std::io::Result<()> {
        let start = self.bytes;
        let outcome = self.write(lines);
        if outcome.is_err() {
            self.bytes = start;
            // The failure that is reported is the one of the write.
            let _ = self.file.set_len(start).and_then(|()| self.file.seek(SeekFrom::Start(start)));
        }
        outcome
    }

    fn write(&mut self, lines: impl Iterator<Item = String>) -> std::io::Result<()> {
        let mut file = BufWriter::new(&self.file);
        for line in lines {
            self.bytes += line.len() as u64;
            if self.bytes > self.limit {
                let limit = self.limit / (1024 * 1024);
                // What is in the buffer is not worth writing.
                let (_, _) = file.into_parts();
                return Err(std::io::Error::other(format!(
                    "it would be larger than {limit} MiB; record to another file"
                )));
            }
            file.write_all(line.as_bytes())?;
        }
        file.flush()
    }
}

/// Returns the line of a chunk.
fn chunk_line(exchange: u64, at: u64, bytes: &[u8]) -> Value {
    let mut line = json!({ "type": "chunk", "exchange": exchange, "atMs": at });
    match std::str::from_utf8(bytes) {
        Ok(text) => line["text"] = json!(text),
        Err(_) => line["base64"] = json!(BASE64.encode(bytes)),
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    fn exchange(recorder: &Recorder, secrets: &[Secret]) -> Exchange {
        Exchange {
            recorder: recorder.clone(),
            number: 1,
            started: Instant::now(),
            redactor: Redactor::new(secrets),
            lines: Vec::new(),
            received: Vec::new(),
            chunks: Vec::new(),
            is_written: false,
        }
    }

    #[test]
    fn secret_split_between_chunks_is_masked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.jsonl");
        let recorder = Recorder::create(&path).unwrap();
        let mut exchange = exchange(&recorder, &[Secret::new("sk-0123456789")]);
        exchange.received(&Bytes::from("your key sk-01234"));
        exchange.received(&Bytes::from("56789 is bad"));
        exchange.finish(Outcome::Complete).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let chunks: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(
            (&chunks[1]["text"], &chunks[2]["text"]),
            (&json!("your key ********"), &json!("***** is bad"))
        );
    }

    #[test]
    fn recording_stops_at_its_limit_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.jsonl");
        let recorder = Recorder::create(&path).unwrap();
        recorder.0.state.lock().unwrap().limit = 2000;
        let mut large = exchange(&recorder, &[]);
        large.received(&Bytes::from("x".repeat(3000)));
        let error = large.finish(Outcome::Complete).unwrap_err();
        assert_eq!(error.kind, FailureKind::Storage);
        assert!(error.message.contains("record to another file"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 1, "no part of it is kept");
        exchange(&recorder, &[]).finish(Outcome::Complete).unwrap();
    }
}
