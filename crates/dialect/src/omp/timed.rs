//! Messages with how long they took.

use bowline_core::message::{Message, Timing};
use serde::Serialize;

use crate::family::records::milliseconds;

/// A message, and, where it is an answer of a model, its timing.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Timed<'event> {
    #[serde(flatten)]
    message: &'event Message,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<u64>,
    /// The time to the first token.
    #[serde(skip_serializing_if = "Option::is_none")]
    ttft: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<u64>,
}

impl<'event> Timed<'event> {
    pub fn complete(message: &'event Message) -> Self {
        let timing = message.as_assistant().and_then(|answer| answer.timing);
        Self {
            message,
            duration: timing.map(|timing| milliseconds(timing.duration)),
            ttft: timing.and_then(|Timing { first_piece, .. }| first_piece).map(milliseconds),
            completed_at: timing.map(|timing| timing.completed_at),
        }
    }
}
