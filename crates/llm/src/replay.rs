//! The provider `replay`: plays a recording back, exchange by exchange, without a key or a network.
//!
//! Requests are matched by their order. The conversation in each is also compared with the recorded one, because an
//! answer to another question would only confuse; `--replay-loose` skips the comparison.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bowline_core::Model;
use bowline_core::stream::{FailureKind, StreamError};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use crate::api::{self, Endpoint, Variables};
use crate::credentials::{Credential, Scheme};
use crate::error::Error;
use crate::limits::RECORDING_BYTES;
use crate::recording;
use crate::request::ModelRequest;
use crate::scripted::failure_kind;
use crate::secret::Secret;

/// The provider's name.
pub(crate) const PROVIDER: &str = "replay";

/// The members of a request that hold the conversation, across all APIs.
const CONVERSATION: &[&str] = &["messages", "input", "contents"];

/// How much of a text is shown where it differs.
const SHOWN: usize = 80;

/// An answer from a recording.
#[derive(Debug, Clone)]
pub(crate) struct RecordedAnswer {
    /// Status and headers; absent if it failed before.
    pub(crate) head: Option<(u16, Vec<(String, String)>)>,
    pub(crate) chunks: VecDeque<Bytes>,
    pub(crate) end: RecordedEnd,
    /// The origin of the key, which a refusal names.
    pub(crate) key_origin: Option<String>,
}

/// How an answer ended.
#[derive(Debug, Clone)]
pub(crate) enum RecordedEnd {
    Complete,
    Failed(StreamError),
    Left,
}

/// Whether a request must contain the recorded conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Comparison {
    #[default]
    Strict,
    /// Any conversation gets the recorded answer.
    Loose,
}

/// The recordings being played.
#[derive(Debug, Default)]
pub(crate) struct Replays {
    /// By path.
    playing: Mutex<HashMap<String, Playing>>,
    comparison: Comparison,
}

#[derive(Debug)]
struct Playing {
    exchanges: Arc<[Exchange]>,
    /// How many of them have been played.
    next: usize,
}

#[derive(Debug)]
struct Exchange {
    model: Model,
    body: Value,
    answer: RecordedAnswer,
}

/// A line of the file.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line {
    Recording {
        version: u64,
    },
    #[serde(rename_all = "camelCase")]
    Request {
        exchange: u64,
        model: Box<Model>,
        body: Value,
        key_from: Option<String>,
    },
    Response {
        exchange: u64,
        status: u16,
        #[serde(default)]
        headers: HashMap<String, String>,
    },
    Chunk {
        exchange: u64,
        text: Option<String>,
        base64: Option<String>,
    },
    End {
        exchange: u64,
        #[serde(flatten)]
        end: End,
    },
}

#[derive(Deserialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
enum End {
    Complete,
    Left,
    Failed {
        #[serde(deserialize_with = "failure_kind")]
        kind: FailureKind,
        status: Option<u16>,
        message: String,
    },
}

impl RecordedEnd {
    /// Returns the failure of an answer that never started.
    pub(crate) fn into_failure(self) -> StreamError {
        match self {
            Self::Failed(error) => error,
            Self::Complete | Self::Left => StreamError::new(
                FailureKind::Incomplete,
                "The recording has no answer to this request: it was stopped before one arrived.",
            ),
        }
    }
}

/// Returns the model of a recording: the first that was requested, under the recording's name.
pub(crate) fn model(id: &str) -> Result<Arc<Model>, Error> {
    let exchanges = load(id)?;
    let first = exchanges.first().ok_or_else(|| wrong(id, "it holds no exchange"))?;
    Ok(Arc::new(renamed(&first.model, id)))
}

/// Returns a recorded model as one of this provider, so that its earlier answers count as its own.
fn renamed(model: &Model, id: &str) -> Model {
    Model { provider: PROVIDER.to_owned(), id: id.to_owned(), ..model.clone() }
}

impl Replays {
    /// Returns a player of recordings.
    pub(crate) fn new(comparison: Comparison) -> Self {
        Self { playing: Mutex::default(), comparison }
    }

    /// Returns the API and the answer of the next exchange.
    pub(crate) fn next(
        &self,
        request: &ModelRequest,
    ) -> Result<(&'static api::Api, RecordedAnswer), StreamError> {
        let refuse = |message: String| StreamError::new(FailureKind::Rejected, message);
        let path = &request.model.id;
        let (exchanges, place) = self.advance(path).map_err(|error| refuse(error.to_string()))?;
        let number = place + 1;
        let Some(exchange) = exchanges.get(place) else {
            let message = format!(
                "The recording {path} is over: it has {} exchanges, and this is request {number}. Record it again with what is asked now.",
                exchanges.len()
            );
            return Err(refuse(message));
        };
        let api = api::find(&exchange.model.api).ok_or_else(|| {
            refuse(format!(
                "Exchange {number} of {path} is on the API \"{}\", which is not supported.",
                exchange.model.api
            ))
        })?;
        if self.comparison == Comparison::Strict {
            let now = rebuild(api, request, exchange)?;
            if let Some(difference) = differing_conversation(&exchange.body, &now) {
                let message = format!(
                    "Request {number} is not the one that was recorded in {path}: {difference}. Record it again, or play it all the same with --replay-loose."
                );
                return Err(refuse(message));
            }
        }
        Ok((api, exchange.answer.clone()))
    }

    fn advance(&self, path: &str) -> Result<(Arc<[Exchange]>, usize), Error> {
        let mut all = self.playing.lock().unwrap_or_else(PoisonError::into_inner);
        let playing = match all.entry(path.to_owned()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Playing { exchanges: load(path)?.into(), next: 0 }),
        };
        playing.next += 1;
        Ok((Arc::clone(&playing.exchanges), playing.next - 1))
    }
}

/// Builds the request as it would be sent to the recorded model.
fn rebuild(api: &api::Api, request: &ModelRequest, exchange: &Exchange) -> Result<Value, StreamError> {
    let model = renamed(&exchange.model, &request.model.id);
    let credential =
        Credential { secret: Secret::new("replayed"), scheme: Scheme::Key, origin: PROVIDER.to_owned() };
    let endpoint = Endpoint {
        base_url: model.base_url.clone(),
        headers: Vec::new(),
        credential: Some(credential),
        auth_header: false,
        variables: Variables::default(),
    };
    let request = ModelRequest { model: Arc::new(model), ..request.clone() };
    let http = (api.request)(&request, &endpoint)?;
    Ok(serde_json::from_slice(&http.body).unwrap_or_default())
}

/// Returns the first difference between two conversations. Instructions are ignored: they contain the folder and the
/// date.
fn differing_conversation(recorded: &Value, now: &Value) -> Option<String> {
    let spoken = |body: &Value, member: &str| -> Value {
        let is_instruction = |entry: &Value| matches!(entry["role"].as_str(), Some("system" | "developer"));
        match body.get(member) {
            Some(Value::Array(entries)) => {
                entries.iter().filter(|entry| !is_instruction(entry)).cloned().collect()
            }
            other => other.cloned().unwrap_or_default(),
        }
    };
    CONVERSATION.iter().find_map(|member| difference(member, &spoken(recorded, member), &spoken(now, member)))
}

/// Returns where two values first differ, and how.
fn difference(place: &str, recorded: &Value, now: &Value) -> Option<String> {
    match (recorded, now) {
        _ if recorded == now => None,
        (Value::Array(one), Value::Array(other)) => {
            let pairs = one.iter().zip(other).enumerate();
            let inside = |(index, (one, other))| difference(&format!("{place}[{index}]"), one, other);
            pairs
                .map(inside)
                .find_map(std::convert::identity)
                .or_else(|| Some(format!("{place} had {} entries and now has {}", one.len(), other.len())))
        }
        (Value::Object(one), Value::Object(other)) => {
            let names = one.keys().chain(other.keys().filter(|name| !one.contains_key(*name)));
            let absent = Value::Null;
            names.into_iter().find_map(|name| {
                let (one, other) = (one.get(name).unwrap_or(&absent), other.get(name).unwrap_or(&absent));
                difference(&format!("{place}.{name}"), one, other)
            })
        }
        _ => Some(format!("{place} was {} and is now {}", shorten(recorded), shorten(now))),
    }
}

fn shorten(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn wrong(id: &str, reason: impl Into<String>) -> Error {
    Error::Recording { recording: id.to_owned(), reason: reason.into() }
}

fn load(id: &str) -> Result<Vec<Exchange>, Error> {
    let text = bowline_files::read_text(Path::new(id), RECORDING_BYTES)
        .map_err(|error| wrong(id, error.into_io().to_string()))?;
    let mut exchanges: Vec<(u64, Exchange)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let place = |reason: String| wrong(id, format!("line {}: {reason}", index + 1));
        let line: Line = serde_json::from_str(line).map_err(|error| place(error.to_string()))?;
        if index == 0 && !matches!(line, Line::Recording { version: recording::VERSION }) {
            return Err(wrong(id, "it is not a recording of this version of bowline"));
        }
        take(&mut exchanges, line).map_err(place)?;
    }
    exchanges.sort_by_key(|(number, _)| *number);
    Ok(exchanges.into_iter().map(|(_, exchange)| exchange).collect())
}

fn take(exchanges: &mut Vec<(u64, Exchange)>, line: Line) -> Result<(), String> {
    match line {
        Line::Recording { .. } => {}
        Line::Request { exchange, model, body, key_from } => {
            let answer = RecordedAnswer {
                head: None,
                chunks: VecDeque::new(),
                end: RecordedEnd::Failed(StreamError::new(
                    FailureKind::Rejected,
                    "The recording stops within this answer: it reached its limit, or the disk was full.",
                )),
                key_origin: key_from,
            };
            exchanges.push((exchange, Exchange { model: *model, body, answer }));
        }
        Line::Response { exchange, status, headers } => {
            answer_of(exchanges, exchange)?.head = Some((status, headers.into_iter().collect()));
        }
        Line::Chunk { exchange, text, base64 } => {
            let bytes = match (text, base64) {
                (Some(text), _) => Bytes::from(text),
                (None, Some(code)) => BASE64.decode(code).map_err(|error| error.to_string())?.into(),
                (None, None) => return Err("a chunk needs \"text\" or \"base64\"".to_owned()),
            };
            answer_of(exchanges, exchange)?.chunks.push_back(bytes);
        }
        Line::End { exchange, end } => {
            answer_of(exchanges, exchange)?.end = match end {
                End::Complete => RecordedEnd::Complete,
                End::Left => RecordedEnd::Left,
                End::Failed { kind, status, message } => {
                    RecordedEnd::Failed(StreamError { status, ..StreamError::new(kind, message) })
                }
            };
        }
    }
    Ok(())
}

fn answer_of(exchanges: &mut [(u64, Exchange)], number: u64) -> Result<&mut RecordedAnswer, String> {
    let found = exchanges.iter_mut().rev().find(|(known, _)| *known == number);
    found.map(|(_, exchange)| &mut exchange.answer).ok_or_else(|| format!("exchange {number} has no request"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(recorded: &Value, now: &Value, expected: Option<&str>) {
        assert_eq!(differing_conversation(recorded, now).as_deref(), expected);
    }

    #[test]
    fn first_difference_of_a_conversation_is_named() {
        let said = |text: &str| json!({"model": "m", "system": "s", "messages": [{"role": "user", "content": text}]});
        check(&said("a"), &said("a"), None);
        check(&said("a"), &said("b"), Some("messages[0].content was \"a\" and is now \"b\""));
        check(&said("a"), &json!({"messages": []}), Some("messages had 1 entries and now has 0"));
        check(
            &json!({"input": [{"a": 1}]}),
            &json!({"input": [{"b": 1}]}),
            Some("input[0].a was 1 and is now null"),
        );
        let told = |text: &str| json!({"messages": [{"role": "system", "content": text}]});
        check(&told("today"), &told("tomorrow"), None);
    }

    #[test]
    fn non_recording_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("r.jsonl");
        let id = path.to_str().unwrap();
        let head = r#"{"type": "recording", "version": 1}"#;
        for (content, reason) in [
            ("{}\n".to_owned(), "line 1"),
            (r#"{"type": "recording", "version": 9}"#.to_owned(), "not a recording"),
            (head.to_owned(), "no exchange"),
            (format!("{head}\n{{\"type\": \"chunk\", \"exchange\": 1, \"text\": \"\"}}"), "no request"),
        ] {
            std::fs::write(&path, content).unwrap();
            let error = model(id).unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains(id), "{error}");
        }
        assert!(matches!(model("/nonexistent"), Err(Error::Recording { .. })));
    }
}
