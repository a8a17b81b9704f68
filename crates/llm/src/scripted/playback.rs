//! Plays a step of a script as a stream.

use std::collections::VecDeque;
use std::time::Duration;

use bowline_core::StreamEvent;
use bowline_core::message::StopReason;
use bowline_core::stream::{BlockKind, FailureKind, StreamError, TokenCounts};

use super::{CHUNK, Script, Scripts, Step, answers};
use crate::conversation;
use crate::output_limit::estimate;
use crate::request::{AnswerStream, ModelRequest};

/// How many events a batch holds when there is no delay between them.
const BATCH: usize = 64;

/// A step being played.
struct Playback {
    events: VecDeque<StreamEvent>,
    delay: Duration,
    /// Whether a delta has been sent; the delay is between deltas.
    has_sent_delta: bool,
    end: End,
}

enum End {
    Done,
    Fails(StreamError),
    /// Silence, then a timeout failure.
    Hangs(Duration),
}

/// Returns the stream of the next step.
pub(super) fn play(scripts: &Scripts, request: &ModelRequest, script: &Script) -> AnswerStream {
    let answers = answers(request);
    let (place, step) = script.step(answers);
    let mut events = VecDeque::from([StreamEvent::Started { response_id: None }]);
    let counts = counts(request, &step);
    events.push_back(StreamEvent::Tokens(TokenCounts { output: 0, ..counts }));
    write(&step, answers, &mut events);
    let end = match &step.error {
        Some(error) if scripts.fails(request, place, error) => {
            keep_deltas(&mut events, error.after_deltas);
            End::Fails(StreamError::new(error.kind, &error.message))
        }
        _ if step.hang => End::Hangs(scripts.idle),
        _ => {
            events.push_back(StreamEvent::Tokens(counts));
            let reason = if step.tool_calls.is_empty() { StopReason::Stop } else { StopReason::ToolUse };
            events.push_back(StreamEvent::Done { reason, raw_reason: None });
            End::Done
        }
    };
    let delay = Duration::from_millis(step.delay_ms);
    let playback = Playback { events, delay, has_sent_delta: false, end };
    Box::pin(futures_util::stream::unfold(Some(playback), |playback| async {
        let (item, rest) = playback?.next().await?;
        Some((item, rest))
    }))
}

impl Playback {
    async fn next(mut self) -> Option<(Result<Vec<StreamEvent>, StreamError>, Option<Self>)> {
        // The runtime has one thread, which a script without delays would occupy.
        tokio::task::yield_now().await;
        if self.events.is_empty() {
            let error = match self.end {
                End::Done => return None,
                End::Fails(error) => error,
                End::Hangs(idle) => {
                    tokio::time::sleep(idle).await;
                    StreamError::new(FailureKind::TimedOut, "The script went silent (timeout).")
                }
            };
            return Some((Err(error), None));
        }
        if self.delay.is_zero() {
            let length = self.events.len().min(BATCH);
            let batch = self.events.drain(..length).collect();
            return Some((Ok(batch), Some(self)));
        }
        if self.has_sent_delta {
            tokio::time::sleep(self.delay).await;
        }
        let mut batch = Vec::new();
        while let Some(event) = self.events.pop_front() {
            let is_delta = matches!(event, StreamEvent::Delta { .. });
            batch.push(event);
            if is_delta {
                self.has_sent_delta = true;
                break;
            }
        }
        Some((Ok(batch), Some(self)))
    }
}

/// Appends the blocks of a step.
fn write(step: &Step, answers: usize, events: &mut VecDeque<StreamEvent>) {
    let chunk = step.chunk.unwrap_or(CHUNK).max(1);
    let mut index = 0;
    let mut block = |kind: BlockKind, deltas: &mut dyn Iterator<Item = String>| {
        events.push_back(StreamEvent::BlockStart { index, kind });
        events.extend(deltas.map(|text| StreamEvent::Delta { index, text }));
        events.push_back(StreamEvent::BlockEnd { index, signature: None });
        index += 1;
    };
    if !step.thinking.is_empty() {
        block(BlockKind::Thinking, &mut chunks(&step.thinking, chunk));
    }
    match step.repeat {
        _ if step.text.is_empty() => {}
        Some(times) => block(BlockKind::Text, &mut std::iter::repeat_n(step.text.clone(), times)),
        None => block(BlockKind::Text, &mut chunks(&step.text, chunk)),
    }
    for (place, call) in step.tool_calls.iter().enumerate() {
        // The number of the answer makes the id unique in the session.
        let id = format!("call_{answers}_{place}");
        let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
        block(BlockKind::ToolCall { id, name: call.name.clone() }, &mut chunks(&arguments, chunk));
    }
}

/// Splits a text into chunks of `size` characters.
fn chunks(text: &str, length: usize) -> impl Iterator<Item = String> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(length).map_or(rest.len(), |(end, _)| end);
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then(|| piece.to_owned())
    })
}

/// Keeps only the events up to the given number of deltas.
fn keep_deltas(events: &mut VecDeque<StreamEvent>, deltas: usize) {
    let mut seen = 0;
    let end = events.iter().position(|event| {
        seen += usize::from(matches!(event, StreamEvent::Delta { .. }));
        seen > deltas || (deltas == 0 && matches!(event, StreamEvent::BlockStart { .. }))
    });
    events.truncate(end.unwrap_or(events.len()));
}

/// Returns the usage of a step: as written, or an estimate.
fn counts(request: &ModelRequest, step: &Step) -> TokenCounts {
    if let Some(usage) = step.usage {
        return TokenCounts { input: usage.input, output: usage.output, ..TokenCounts::default() };
    }
    let calls: usize = step
        .tool_calls
        .iter()
        .map(|call| call.name.len() + serde_json::to_string(&call.arguments).map_or(0, |text| text.len()))
        .sum();
    let written = step.thinking.len() + step.text.len() * step.repeat.unwrap_or(1) + calls;
    let turns = conversation::turns(request);
    TokenCounts { input: estimate(request, &turns), output: written as u64 / 4 + 1, ..TokenCounts::default() }
}
