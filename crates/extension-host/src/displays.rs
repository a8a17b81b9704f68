//! What an extension shows under a key. Only the newest counts, so an extension that updates one often is passed on now and
//! then.

use std::collections::HashMap;
use std::time::Duration;

use bowline_core::ui::Display;
use bowline_engine::{ExtensionInput, SessionLink};
use tokio::time::{Instant, sleep_until};

/// How often a text under the same key is passed on.
const INTERVAL: Duration = Duration::from_millis(50);

/// The most keys that are remembered.
const MOST_KEYS: usize = 1000;

/// What was shown and what is still to be.
#[derive(Debug, Default)]
pub(crate) struct Displays {
    shown: HashMap<(&'static str, String), Instant>,
    waiting: Vec<((&'static str, String), Display)>,
    due: Option<Instant>,
}

impl Displays {
    /// Shows something, or keeps it until what is shown under the same key has been there for a moment.
    pub async fn show(&mut self, display: Display, link: &SessionLink) {
        let Some(key) = key(&display) else {
            self.flush(link).await;
            link.send(ExtensionInput::Display(display)).await;
            return;
        };
        let now = Instant::now();
        let is_recent = self.shown.get(&key).is_some_and(|shown| now.duration_since(*shown) < INTERVAL);
        if is_recent {
            self.waiting.retain(|(waiting, _)| *waiting != key);
            self.waiting.push((key, display));
            self.due.get_or_insert(now + INTERVAL);
            return;
        }
        if self.shown.len() >= MOST_KEYS {
            self.shown.clear();
        }
        self.shown.insert(key, now);
        link.send(ExtensionInput::Display(display)).await;
    }

    /// Shows what waits.
    pub async fn flush(&mut self, link: &SessionLink) {
        self.due = None;
        let now = Instant::now();
        for (key, display) in std::mem::take(&mut self.waiting) {
            self.shown.insert(key, now);
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
