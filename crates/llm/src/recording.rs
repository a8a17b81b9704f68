//! `--record`: writes every exchange with a provider to a file for replay, with the keys masked.
//!
//! The file is JSON lines: `recording` once, then for each exchange `request`, `response`, its `chunk`s and `end`. An
//! exchange is written at once when it has ended, because a key that a server repeats may be split between chunks.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
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
use crate::private_files;
use crate::redaction::Redactor;
use crate::transport::Outgoing;

/// The version of the file format.
pub(crate) const VERSION: u64 = 1;

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
    /// The file, and the number of exchanges started.
    state: Mutex<(File, u64)>,
}

/// An exchange being recorded.
#[derive(Debug)]
pub(crate) struct Exchange {
    recorder: Recorder,
    number: u64,
    started: Instant,
    redactor: Redactor,
    lines: Vec<Value>,
    /// The chunks so far, with their arrival times.
    chunks: Vec<(u64, Bytes)>,
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
        let opened = bowline_files::open_by(&mut private_files::options(), path);
        let mut file = opened.map_err(|error| failed(error.into_io()))?;
        private_files::restrict(&file).and_then(|()| file.set_len(0)).map_err(failed)?;
        let head = json!({ "type": "recording", "version": VERSION, "bowline": env!("CARGO_PKG_VERSION") });
        file.write_all(format!("{head}\n").as_bytes()).map_err(failed)?;
        Ok(Self(Arc::new(Inner { path: path.to_owned(), state: Mutex::new((file, 0)) })))
    }

    /// Starts recording an exchange.
    pub(crate) fn begin(&self, outgoing: &Outgoing, redactor: &Redactor) -> Exchange {
        let number = {
            let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.1 += 1;
            state.1
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
        self.chunks.push((now, bytes.clone()));
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
        let mut text = String::new();
        for line in std::mem::take(&mut self.lines) {
            text.push_str(&format!("{line}\n"));
        }
        for (at, bytes) in masked(&self.chunks, &self.redactor) {
            let mut line = json!({ "type": "chunk", "exchange": self.number, "atMs": at });
            match std::str::from_utf8(&bytes) {
                Ok(text) => line["text"] = json!(text),
                Err(_) => line["base64"] = json!(BASE64.encode(&bytes)),
            }
            text.push_str(&format!("{line}\n"));
        }
        text.push_str(&format!("{end}\n"));
        let text = self.redactor.redact(text);
        let mut state = self.recorder.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        append(&mut state.0, text.as_bytes())
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

/// Appends to a file, wholly or not at all: a part of an exchange would make the rest of the file unreadable.
fn append(file: &mut File, bytes: &[u8]) -> std::io::Result<()> {
    let start = file.stream_position()?;
    file.write_all(bytes).inspect_err(|_| {
        // The failure that is reported is the one of the write.
        let _ = file.set_len(start).and_then(|()| file.seek(SeekFrom::Start(start)));
    })
}

/// Returns the chunks with every secret overwritten, including those split between chunks.
fn masked(chunks: &[(u64, Bytes)], redactor: &Redactor) -> Vec<(u64, Vec<u8>)> {
    let mut all: Vec<u8> = chunks.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
    redactor.mask(&mut all);
    let mut rest = all.as_slice();
    let mut take = |length: usize| {
        let (chunk, after) = rest.split_at(length);
        rest = after;
        chunk.to_vec()
    };
    chunks.iter().map(|(at, bytes)| (*at, take(bytes.len()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    #[test]
    fn secret_split_between_chunks_is_masked() {
        let chunks = vec![(1, Bytes::from("your key sk-01234")), (2, Bytes::from("56789 is bad"))];
        let masked = masked(&chunks, &Redactor::new(&[Secret::new("sk-0123456789")]));
        let texts: Vec<_> =
            masked.iter().map(|(at, bytes)| (*at, String::from_utf8_lossy(bytes).into_owned())).collect();
        assert_eq!(texts, [(1, "your key ********".to_owned()), (2, "***** is bad".to_owned())]);
    }
}
