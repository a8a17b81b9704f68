//! An incoming answer: from the network, optionally recorded, or from a recording.

use std::collections::BTreeMap;
use std::time::Duration;

use bowline_core::stream::StreamError;
use bytes::Bytes;
use futures_util::FutureExt;
use reqwest::Response;
use tokio::time::timeout;

use super::trouble;
use crate::recording::{Exchange, Outcome};
use crate::replay::{RecordedAnswer, RecordedEnd};

/// How long to wait for the end of a finished answer, so that the connection can be reused.
const DRAIN_LIMIT: Duration = Duration::from_secs(1);

/// An answer whose head has arrived.
pub(super) struct Incoming {
    status: u16,
    /// The names are in lower case.
    headers: Vec<(String, String)>,
    source: Source,
    /// The recording of this answer.
    exchange: Option<Exchange>,
}

enum Source {
    Network(Response),
    Recorded(RecordedAnswer),
}

impl Incoming {
    /// Wraps a network response.
    pub(super) fn new(response: Response, mut exchange: Option<Exchange>) -> Self {
        let status = response.status().as_u16();
        let readable = response
            .headers()
            .iter()
            .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())));
        let headers: Vec<_> = readable.collect();
        if let Some(exchange) = &mut exchange {
            exchange.answered(status, &headers);
        }
        Self { status, headers, source: Source::Network(response), exchange }
    }

    /// Wraps a recorded answer; one that failed before it started fails again.
    pub(super) fn recorded(mut answer: RecordedAnswer) -> Result<Self, StreamError> {
        let Some((status, headers)) = answer.head.take() else { return Err(answer.end.into_failure()) };
        Ok(Self { status, headers, source: Source::Recorded(answer), exchange: None })
    }

    pub(super) fn status(&self) -> u16 {
        self.status
    }

    /// Returns all headers.
    pub(super) fn headers(&self) -> BTreeMap<String, String> {
        self.headers.iter().cloned().collect()
    }

    /// Returns the value of a header; `name` is in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns whether this may be a stream of events. Some servers send an error with a success status.
    pub(super) fn is_stream(&self) -> bool {
        let kind = self.header("content-type");
        let is_document =
            kind.is_some_and(|kind| kind.starts_with("application/json") || kind.starts_with("text/html"));
        (200..300).contains(&self.status) && !is_document
    }

    /// Returns the next bytes; `None` at the end.
    pub(super) async fn chunk(&mut self, host: &str) -> Result<Option<Bytes>, StreamError> {
        let chunk = match &mut self.source {
            Source::Network(response) => {
                response.chunk().await.map_err(|error| trouble::within_answer(&error, host))?
            }
            Source::Recorded(answer) => next_recorded(answer).await?,
        };
        if let (Some(exchange), Some(bytes)) = (&mut self.exchange, &chunk) {
            exchange.received(bytes);
        }
        Ok(chunk)
    }

    /// Returns the next bytes if they are already available.
    pub(super) fn chunk_now(&mut self, host: &str) -> Option<Result<Option<Bytes>, StreamError>> {
        self.chunk(host).now_or_never()
    }

    /// Reads a body up to a limit; an interrupted body ends there.
    pub(super) async fn read_up_to(&mut self, limit: usize) -> Vec<u8> {
        let mut body = Vec::new();
        while let Ok(Some(bytes)) = self.chunk("").await {
            let room = limit - body.len();
            body.extend_from_slice(&bytes[..bytes.len().min(room)]);
            if body.len() == limit {
                break;
            }
        }
        body
    }

    /// Reads the end of a finished answer. It is usually available already; a connection whose answer was not read to
    /// the end cannot be reused.
    pub(super) fn drain(mut self) -> Result<(), StreamError> {
        let ended = matches!(self.chunk_now(""), Some(Ok(None) | Err(_)));
        if let Some(exchange) = self.exchange.take() {
            exchange.finish(Outcome::Complete)?;
        }
        if let (false, Source::Network(mut response)) = (ended, self.source) {
            tokio::spawn(timeout(
                DRAIN_LIMIT,
                async move { while let Ok(Some(_)) = response.chunk().await {} },
            ));
        }
        Ok(())
    }

    /// Records how the answer ended.
    pub(super) fn finish(self, outcome: Outcome<'_>) -> Result<(), StreamError> {
        self.exchange.map_or(Ok(()), |exchange| exchange.finish(outcome))
    }
}

async fn next_recorded(answer: &mut RecordedAnswer) -> Result<Option<Bytes>, StreamError> {
    // The runtime has one thread, and a recording never waits.
    tokio::task::yield_now().await;
    match (answer.chunks.pop_front(), &answer.end) {
        (Some(bytes), _) => Ok(Some(bytes)),
        (None, RecordedEnd::Complete) => Ok(None),
        (None, RecordedEnd::Failed(error)) => Err(error.clone()),
        // The consumer dropped the answer when it was recorded, and will do so again.
        (None, RecordedEnd::Left) => std::future::pending().await,
    }
}
