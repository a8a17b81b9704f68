//! The stream of events of a connection.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::Stream;

use crate::error::Error;
use crate::fan_out::FanOut;
use crate::generated::Event;

/// Every record of the agent that is not a response, from the moment of the subscription on.
///
/// A stream that nobody reads slows the agent down, and is closed with [`Error::Lagged`] if the connection cannot wait:
/// drop it when you are done.
#[derive(Debug)]
pub struct Events {
    fan_out: Arc<FanOut>,
    number: u64,
}

impl Events {
    pub(crate) fn new(fan_out: Arc<FanOut>, number: u64) -> Self {
        Self { fan_out, number }
    }

    /// Returns the next event, and nothing once the agent was stopped.
    ///
    /// Fails once if the agent ends unexpectedly; if it is restarted, the next call waits for its events.
    /// Can be cancelled without losing an event.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        poll_fn(|context| self.fan_out.poll(self.number, context)).await.transpose()
    }
}

impl Stream for Events {
    type Item = Result<Event, Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.fan_out.poll(self.number, context)
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.fan_out.unsubscribe(self.number);
    }
}
