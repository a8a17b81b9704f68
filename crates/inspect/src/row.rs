//! A row of a recording: one line of the exchange, or what happened beside it, as one line of JSON.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// What the first row of a recording has as its type.
pub(crate) const TYPE: &str = "exchange";

/// The version of the format.
pub(crate) const VERSION: u32 = 1;

/// The first row of a recording.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Header {
    pub r#type: String,
    pub version: u32,
    /// When the exchange began, in UTC. A file without times has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// The command line of the agent.
    #[serde(default)]
    pub command: Vec<String>,
    /// The dialect, if it is known from the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<String>,
}

/// Where a line is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum From {
    Client,
    Agent,
    /// What the agent wrote to its stderr.
    Stderr,
    /// The command box of the page.
    Page,
    /// The entries of a session file.
    Session,
    /// What the inspector itself has to say: what was lost, and the end.
    Inspector,
}

/// A row. Members that say nothing are left out.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Row {
    /// The time in milliseconds since the start.
    #[serde(default)]
    pub at: f64,
    pub from: From,
    #[serde(default)]
    pub line: String,
    /// The length of the whole line in bytes, if only its beginning is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<u64>,
    /// Whether the line has no line feed at its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
    /// Whether bytes that are not UTF-8 were replaced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_utf8: bool,
    /// What happened, in rows of the inspector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<Event>,
}

/// What the inspector says of the exchange.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Event {
    /// Bytes of one direction are missing: the disk was slower than the exchange.
    RecordingFellBehind { of: From, bytes: u64 },
    /// From here on nothing is kept: the temporary file has reached its limit, or the disk is full.
    RecordingFull { reason: String },
    /// One side has closed its end.
    Closed { of: From },
    /// The command has ended.
    Ended {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<i32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
    },
}

impl Row {
    /// Returns a row of the inspector.
    pub fn of_event(micros: u64, event: Event) -> Self {
        Self {
            at: milliseconds(micros),
            from: From::Inspector,
            line: String::new(),
            cut: None,
            unfinished: false,
            not_utf8: false,
            event: Some(event),
        }
    }

    /// Returns the row as one line of JSON, without a line feed.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Returns microseconds as milliseconds, with as many digits as that needs.
pub(crate) fn milliseconds(micros: u64) -> f64 {
    let mut text = String::new();
    let _ = write!(text, "{}.{:03}", micros / 1000, micros % 1000);
    text.parse().unwrap_or_default()
}
