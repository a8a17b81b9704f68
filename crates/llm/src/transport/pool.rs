//! A client with its kept-alive connections, and the handling of one that the server closed meanwhile.
//!
//! A server may close an idle connection at any moment, even while a request is being sent on it. hyper resends by
//! itself what it had not started to write. What was written may have been read, so it reports a failure, which would
//! normally be reported to the client and retried after a delay. That is too much for a server that merely closed an
//! idle connection. Such a request is sent again at once, on a fresh connection, if all of this is true:
//!
//! - Its connection was a kept-alive one. That is known: no connection was opened since the request was sent.
//! - The connection was closed before the head of an answer arrived.
//! - That happened soon. A server that closes an idle connection does so when the first bytes arrive; one that fails
//!   later had started to work, and a model's work is charged.
//!
//! It happens once, because a fresh connection is not a kept-alive one. A server that accepts a request, fails at once
//! and still charges for it cannot be distinguished; the engine's retry would ask it again as well.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reqwest::{Client, ClientBuilder, RequestBuilder, Response};
use tokio::time::Instant;
use tower::util::MapRequestLayer;

use super::trouble::find;

/// How long after it was sent a request may still meet a closed connection: the round trip of a slow network,
/// generously.
const SOON: Duration = Duration::from_secs(5);

/// A client and the number of connections it has opened.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    pub(super) client: Client,
    opened: Arc<AtomicU64>,
}

impl Pool {
    /// Builds a client that counts its connections.
    pub(super) fn build(builder: ClientBuilder) -> reqwest::Result<Self> {
        let opened = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&opened);
        let count = MapRequestLayer::new(move |target| {
            counter.fetch_add(1, Ordering::Relaxed);
            target
        });
        // Only one connection is kept per host, so that a request that is sent again cannot use another old one.
        let client = builder.pool_max_idle_per_host(1).connector_layer(count).build()?;
        Ok(Self { client, opened })
    }

    /// Sends a request; a second time if its kept-alive connection was closed.
    pub(super) async fn send(&self, request: RequestBuilder) -> reqwest::Result<Response> {
        let again = request.try_clone();
        let opened = self.opened.load(Ordering::Relaxed);
        let began = Instant::now();
        let outcome = request.send().await;
        let met_a_closed_door = |error: &reqwest::Error| {
            self.opened.load(Ordering::Relaxed) == opened && began.elapsed() < SOON && is_closed(error)
        };
        match (outcome, again) {
            (Err(error), Some(again)) if met_a_closed_door(&error) => again.send().await,
            (outcome, _) => outcome,
        }
    }
}

/// Returns whether a connection was closed before an answer arrived.
fn is_closed(error: &reqwest::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let broke = |error: &io::Error| {
        matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
    };
    let ended =
        |error: &hyper::Error| error.is_incomplete_message() || error.is_canceled() || error.is_closed();
    error.is_request() && (find(error).is_some_and(broke) || find(error).is_some_and(ended))
}

#[cfg(test)]
mod tests;
