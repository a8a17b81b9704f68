//! What an extension shows under a key. Only the newest counts, so an extension that updates one often is passed on now and
//! then.

use std::collections::HashMap;
use std::time::Duration;

use bowline_core::ui::Display;
use bowline_engine::{ExtensionInput, SessionLink};
use tokio::time::{Instant, sleep_until};

/// How long texts under the same key are counted, and how many are passed on at once meanwhile. A few in a row are no
/// flood, and clients see them as they were sent.
const INTERVAL: Duration = Duration::from_millis(50);
const AT_ONCE: u32 = 5;

/// The most keys that are remembered.
const MOST_KEYS: usize = 1000;

/// What was shown and what is still to be.
#[derive(Debug, Default)]
pub(crate) struct Displays {
    shown: HashMap<(&'static str, String), Recent>,
    waiting: Vec<((&'static str, String), Display)>,
    due: Option<Instant>,
}

/// How many texts were shown under a key since when.
#[derive(Debug)]
struct Recent {
    since: Instant,
    count: u32,
}

impl Displays {
    /// Shows something, or keeps it for a moment if much was shown under the same key.
    pub async fn show(&mut self, display: Display, link: &SessionLink) {
        let Some(key) = key(&display) else {
            self.flush(link).await;
            link.send(ExtensionInput::Display(display)).await;
            return;
        };
        let now = Instant::now();
        if self.shown.len() >= MOST_KEYS {
            self.shown.clear();
        }
        let recent = self.shown.entry(key.clone()).or_insert(Recent { since: now, count: 0 });
        if now.duration_since(recent.since) >= INTERVAL {
            *recent = Recent { since: now, count: 0 };
        }
        recent.count += 1;
        if recent.count > AT_ONCE {
            self.waiting.retain(|(waiting, _)| *waiting != key);
            self.waiting.push((key, display));
            self.due.get_or_insert(now + INTERVAL);
            return;
        }
        // It is newer than what waits under this key.
        self.waiting.retain(|(waiting, _)| *waiting != key);
        link.send(ExtensionInput::Display(display)).await;
    }

    /// Shows what waits.
    pub async fn flush(&mut self, link: &SessionLink) {
        self.due = None;
        for (_, display) in std::mem::take(&mut self.waiting) {
            link.send(ExtensionInput::Display(display)).await;
        }
    }

    /// Waits until something is to be shown.
    pub async fn become_due(&self) {
        match self.due {
            Some(due) => sleep_until(due).await,
            None => std::future::pending().await,
        }
    }
}

fn key(display: &Display) -> Option<(&'static str, String)> {
    match display {
        Display::Status { key, .. } => Some(("status", key.clone())),
        Display::Widget { key, .. } => Some(("widget", key.clone())),
        _ => None,
    }
}
