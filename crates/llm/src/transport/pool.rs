//! A client with the connections that it keeps, and what to do about one that was closed meanwhile.
//!
//! A server may close a connection that lies idle at any moment, also at the one at which a request sets out on it.
//! hyper sends again by itself what it had not begun to write. What was written may have been read, so it reports a
//! failure, and the usual way with failures is to wait and to tell. That is a lot for a server that closed a door in
//! time. Such a request is sent again at once, on a fresh connection, if all of this is true:
//!
//! - Its connection was a kept one. That is known: no connection was opened since the request set out.
//! - The connection was closed before the head of an answer came.
//! - That happened soon. A server that closes a door does so when the first bytes arrive; one that breaks off later had
//!   begun to work, and a model's work is paid for.
//!
//! It happens once, because a fresh connection is no kept one. A server that takes a request, breaks down at once and
//! yet charges for it cannot be told apart; the engine's retry would ask it again as well.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reqwest::{Client, ClientBuilder, RequestBuilder, Response};
use tokio::time::Instant;
use tower::util::MapRequestLayer;

use super::trouble::find;

/// How long after it was sent a request may still meet a closed door: a slow network's round trip, generously.
const SOON: Duration = Duration::from_secs(5);

/// A client and how many connections it has opened.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    pub(super) client: Client,
    opened: Arc<AtomicU64>,
}

impl Pool {
    /// Builds a client whose connections are counted.
    pub(super) fn build(builder: ClientBuilder) -> reqwest::Result<Self> {
        let opened = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&opened);
        let count = MapRequestLayer::new(move |target| {
            counter.fetch_add(1, Ordering::Relaxed);
            target
        });
        // Only one connection is kept for each host, so that a request that is sent again cannot take another old one.
        let client = builder.pool_max_idle_per_host(1).connector_layer(count).build()?;
        Ok(Self { client, opened })
    }

    /// Sends a request of this client; a second time if the kept connection that it took was closed.
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

/// Tells whether a connection was closed before an answer came.
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
