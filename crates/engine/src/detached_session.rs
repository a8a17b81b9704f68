//! A link to extensions without a session behind it, for trying extensions out.

use std::sync::Arc;

use bowline_core::SessionTag;
use tokio::sync::mpsc;

use crate::extension::{ExtensionInput, HostId, SessionLink};
use crate::input::{Inputs, Report, Tagged};

/// How much may wait to be received.
const CAPACITY: usize = 64;

/// Receives what extensions send to a session that does not exist.
#[derive(Debug)]
pub struct DetachedSession {
    receiver: mpsc::Receiver<Tagged>,
    /// The link is open while this is there.
    _alive: Arc<()>,
}

impl DetachedSession {
    /// Returns a link for a host, and what receives from it.
    pub fn new() -> (SessionLink, Self) {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        let alive = Arc::new(());
        let inputs = Inputs::new(SessionTag::default(), sender);
        let link = SessionLink::new(inputs, Arc::downgrade(&alive), HostId { place: 0, attachment: 0 });
        (link, Self { receiver, _alive: alive })
    }

    /// Waits for what an extension sends next; `None` if no host is left.
    pub async fn next(&mut self) -> Option<ExtensionInput> {
        loop {
            if let Report::Extension { input, .. } = self.receiver.recv().await?.report {
                return Some(*input);
            }
        }
    }
}
