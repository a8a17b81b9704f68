//! Keeps an answer that an [`AnswerSource`](crate::AnswerSource) writes within the limits of any other answer: its blocks
//! are numbered and closed, its size and its time are bounded, and it ends once.

use std::time::Duration;

use bowline_core::StreamEvent;
use bowline_core::message::StopReason;
use bowline_core::stream::{FailureKind, StreamError};
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use tokio::time::{Instant, timeout};

use crate::blocks::Blocks;
use crate::limits::{ERROR_TEXT, NOTE_TEXT, shorten};
use crate::redaction::Redactor;
use crate::request::AnswerStream;
use crate::secret::Secret;
use crate::transport::Timeouts;

/// An answer in progress.
struct Checked {
    answer: AnswerStream,
    provider: String,
    blocks: Blocks,
    has_call: bool,
    has_begun: bool,
    timeouts: Timeouts,
    /// When the answer must have ended.
    deadline: Option<Instant>,
    /// The keys that whoever answers was given, for what it says when it fails.
    secrets: BoxFuture<'static, Vec<Secret>>,
}

/// Returns the answer of a provider, checked.
pub(crate) fn check(
    answer: AnswerStream,
    provider: &str,
    timeouts: Timeouts,
    secrets: BoxFuture<'static, Vec<Secret>>,
) -> AnswerStream {
    let checked = Checked {
        answer,
        provider: provider.to_owned(),
        blocks: Blocks::default(),
        has_call: false,
        has_begun: false,
        timeouts,
        secrets,
        deadline: timeouts.total.and_then(|total| Instant::now().checked_add(total)),
    };
    Box::pin(futures_util::stream::unfold(Some(checked), |checked| async { checked?.next().await }))
}

type Batch = Result<Vec<StreamEvent>, StreamError>;

impl Checked {
    /// Returns the next batch, and the rest unless the answer has ended.
    async fn next(mut self) -> Option<(Batch, Option<Self>)> {
        loop {
            let events = match timeout(self.limit(), self.answer.next()).await {
                _ if self.limit().is_zero() => return Some((Err(self.overdue()), None)),
                Err(_) => return Some((Err(self.overdue()), None)),
                Ok(None) => return Some((Err(self.incomplete()), None)),
                Ok(Some(Err(mut error))) => {
                    let redactor = Redactor::new(&(&mut self.secrets).await);
                    error.message = shorten(&redactor.redact(error.message), ERROR_TEXT);
                    return Some((Err(error), None));
                }
                Ok(Some(Ok(events))) => events,
            };
            self.has_begun = true;
            let mut out = Vec::with_capacity(events.len());
            let mut is_done = false;
            for event in events {
                is_done = self.take(event, &mut out);
                if let Err(error) = self.blocks.check() {
                    return Some((Err(error), None));
                }
                if is_done {
                    break;
                }
            }
            if is_done {
                return Some((Ok(out), None));
            }
            if !out.is_empty() {
                return Some((Ok(out), Some(self)));
            }
        }
    }

    /// Takes an event. Returns whether it is the last.
    fn take(&mut self, event: StreamEvent, out: &mut Vec<StreamEvent>) -> bool {
        match event {
            StreamEvent::Started { response_id } => {
                let response_id = response_id.map(|id| shorten(&id, NOTE_TEXT));
                out.push(StreamEvent::Started { response_id });
            }
            StreamEvent::BlockStart { index, kind } => {
                // A block that was not ended is over when the next one of its number begins.
                self.blocks.close(index, out);
                self.has_call |= matches!(kind, bowline_core::stream::BlockKind::ToolCall { .. });
                self.blocks.start(index, kind, out);
            }
            StreamEvent::Delta { index, text } => self.blocks.extend(index, text, out),
            StreamEvent::BlockEnd { index, signature } => {
                if let Some(signature) = signature {
                    self.blocks.sign(index, &signature);
                }
                self.blocks.close(index, out);
            }
            StreamEvent::Tokens(counts) => out.push(StreamEvent::Tokens(counts)),
            StreamEvent::Done { reason, raw_reason } => {
                self.blocks.close_all(out);
                // Calls are carried out whatever the reason is said to be.
                let reason =
                    if self.has_call && reason == StopReason::Stop { StopReason::ToolUse } else { reason };
                let raw_reason = raw_reason.map(|reason| shorten(&reason, NOTE_TEXT));
                out.push(StreamEvent::Done { reason, raw_reason });
                return true;
            }
        }
        false
    }

    fn limit(&self) -> Duration {
        let limit = if self.has_begun { self.timeouts.idle } else { self.timeouts.first_byte };
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        left.map_or(limit, |left| limit.min(left))
    }

    fn overdue(&self) -> StreamError {
        let provider = &self.provider;
        if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            let seconds = self.timeouts.total.unwrap_or_default().as_secs_f32();
            let message = format!(
                "The answer of the provider \"{provider}\" took more than {seconds} s in all and was stopped; what had arrived is kept. Raise httpTotalTimeoutMs in settings.json if it needs longer."
            );
            return StreamError::new(FailureKind::TooSlow, message);
        }
        let limit = if self.has_begun { self.timeouts.idle } else { self.timeouts.first_byte };
        let seconds = limit.as_secs_f32();
        let message = format!("The provider \"{provider}\" sent nothing for {seconds} s (timeout).");
        StreamError::new(FailureKind::TimedOut, message)
    }

    fn incomplete(&self) -> StreamError {
        let message = format!("The provider \"{}\" ended its answer without saying so.", self.provider);
        StreamError::new(FailureKind::Incomplete, message)
    }
}

#[cfg(test)]
mod tests {
    use bowline_core::stream::BlockKind;

    use super::*;

    fn timeouts() -> Timeouts {
        let short = Duration::from_millis(30);
        Timeouts { first_byte: short, idle: short, total: Some(Duration::from_millis(200)), connect: short }
    }

    async fn collect(batches: Vec<Batch>) -> (Vec<StreamEvent>, Option<FailureKind>) {
        let answer: AnswerStream = Box::pin(futures_util::stream::iter(batches));
        drain(answer).await
    }

    async fn drain(answer: AnswerStream) -> (Vec<StreamEvent>, Option<FailureKind>) {
        let mut checked = check(answer, "own", timeouts(), Box::pin(std::future::ready(Vec::new())));
        let (mut events, mut failure) = (Vec::new(), None);
        while let Some(batch) = checked.next().await {
            match batch {
                Ok(batch) => events.extend(batch),
                Err(error) => failure = Some(error.kind),
            }
        }
        (events, failure)
    }

    fn delta(index: usize, text: &str) -> StreamEvent {
        StreamEvent::Delta { index, text: text.to_owned() }
    }

    fn start(index: usize) -> StreamEvent {
        StreamEvent::BlockStart { index, kind: BlockKind::Text }
    }

    fn done() -> StreamEvent {
        StreamEvent::Done { reason: StopReason::Stop, raw_reason: None }
    }

    #[tokio::test]
    async fn blocks_are_numbered_and_closed_and_nothing_follows_the_end() {
        let call = BlockKind::ToolCall { id: "c".into(), name: "ls".into() };
        let events = vec![
            Ok(vec![start(7), delta(7, "a"), delta(9, "lost")]),
            Ok(vec![
                StreamEvent::BlockStart { index: 8, kind: call.clone() },
                delta(8, "{}"),
                done(),
                start(9),
            ]),
            Ok(vec![delta(9, "late")]),
        ];
        let (seen, failure) = collect(events).await;
        let end = |index| StreamEvent::BlockEnd { index, signature: None };
        let last = StreamEvent::Done { reason: StopReason::ToolUse, raw_reason: None };
        let begins = StreamEvent::BlockStart { index: 1, kind: call };
        assert_eq!(seen, [start(0), delta(0, "a"), begins, delta(1, "{}"), end(0), end(1), last]);
        assert_eq!(failure, None);
    }

    #[tokio::test]
    async fn key_is_masked_in_what_a_failure_says() {
        let key = "key-that-nobody-may-see";
        let error = StreamError::new(FailureKind::Authentication, format!("401: bad key {key}"));
        let answer: AnswerStream = Box::pin(futures_util::stream::iter([Err(error)]));
        let secrets = vec![Secret::new(key)];
        let mut checked = check(answer, "own", timeouts(), Box::pin(std::future::ready(secrets)));
        let failed = checked.next().await.unwrap().unwrap_err();
        assert_eq!(failed.message, "401: bad key [redacted]");
    }

    #[tokio::test]
    async fn answer_without_an_end_is_incomplete() {
        let (seen, failure) = collect(vec![Ok(vec![start(0), delta(0, "a")])]).await;
        assert_eq!((seen.len(), failure), (2, Some(FailureKind::Incomplete)));
    }

    #[tokio::test]
    async fn size_is_bounded() {
        let long = "x".repeat(1024 * 1024);
        let mut batches = vec![Ok(vec![start(0)])];
        batches.extend((0..20).map(|_| Ok(vec![delta(0, &long)])));
        assert_eq!(collect(batches).await.1, Some(FailureKind::TooLarge));
        let many = (0..2000).map(|index| Ok(vec![start(index)])).collect();
        assert_eq!(collect(many).await.1, Some(FailureKind::TooLarge));
    }

    #[tokio::test]
    async fn silence_and_endless_answers_are_ended() {
        let (_, failure) = drain(Box::pin(futures_util::stream::pending())).await;
        assert_eq!(failure, Some(FailureKind::TimedOut));
        let drip = futures_util::stream::repeat_with(|| Ok(vec![StreamEvent::Tokens(Default::default())]));
        let drip = drip.then(|batch| async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            batch
        });
        assert_eq!(drain(Box::pin(drip)).await.1, Some(FailureKind::TooSlow));
    }
}
