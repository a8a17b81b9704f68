//! Measures the time that an extension takes, without the time during which it waits for the user or a model.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// How long most calls take at most. Those that are answered earlier share one timer.
const TICK: Duration = Duration::from_millis(200);

/// A clock that can be paused.
#[derive(Debug)]
pub(crate) struct PausableClock {
    pauses: watch::Sender<Pauses>,
    ticker: Arc<Ticker>,
}

/// Ends the waits of all who have come since it was started.
#[derive(Debug, Default)]
struct Ticker {
    is_started: AtomicBool,
    ticked: Notify,
}

impl Ticker {
    /// Waits for a part of [`TICK`].
    async fn tick(self: &Arc<Self>) {
        let ticked = self.ticked.notified();
        if !self.is_started.swap(true, Ordering::Relaxed) {
            let ticker = Arc::clone(self);
            tokio::spawn(async move {
                tokio::time::sleep(TICK).await;
                ticker.is_started.store(false, Ordering::Relaxed);
                ticker.ticked.notify_waiters();
            });
        }
        ticked.await;
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Pauses {
    /// How many things the extension waits for.
    open: usize,
    since: Option<Instant>,
    /// The pauses that are over.
    total: Duration,
}

impl Pauses {
    fn until(&self, now: Instant) -> Duration {
        self.total + self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }
}

/// A pause, until it is dropped.
#[derive(Debug)]
pub(crate) struct Pause<'clock>(&'clock PausableClock);

impl Default for PausableClock {
    fn default() -> Self {
        Self { pauses: watch::Sender::new(Pauses::default()), ticker: Arc::default() }
    }
}

impl PausableClock {
    /// Pauses the clock.
    pub fn pause(&self) -> Pause<'_> {
        self.pauses.send_modify(|pauses| {
            pauses.open += 1;
            pauses.since.get_or_insert_with(Instant::now);
        });
        Pause(self)
    }

    /// Waits until `limit` has passed, not counting pauses.
    pub async fn passes(&self, limit: Duration) {
        let started = Instant::now();
        let before = self.pauses.borrow().until(started);
        if limit > TICK {
            self.ticker.tick().await;
        }
        // In a box, because few calls come this far.
        Box::pin(self.rest_passes(limit, started, before)).await;
    }

    async fn rest_passes(&self, limit: Duration, started: Instant, before: Duration) {
        let mut pauses = self.pauses.subscribe();
        loop {
            let now = Instant::now();
            let current = *pauses.borrow_and_update();
            let used = now.saturating_duration_since(started).saturating_sub(current.until(now) - before);
            if current.open > 0 {
                // The sender is part of this clock, so it is there.
                let _ = pauses.changed().await;
            } else if used >= limit {
                return;
            } else {
                tokio::select! {
                    () = tokio::time::sleep(limit - used) => {}
                    _ = pauses.changed() => {}
                }
            }
        }
    }
}

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        self.0.pauses.send_modify(|pauses| {
            pauses.open -= 1;
            if pauses.open == 0
                && let Some(since) = pauses.since.take()
            {
                pauses.total += since.elapsed();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_in_which_the_extension_waits_does_not_count() {
        let clock = PausableClock::default();
        let begin = Instant::now();
        let second = Duration::from_secs(1);
        tokio::join!(clock.passes(3 * second), async {
            tokio::time::sleep(second).await;
            let outer = clock.pause();
            let inner = clock.pause();
            tokio::time::sleep(10 * second).await;
            drop(outer);
            tokio::time::sleep(10 * second).await;
            drop(inner);
        });
        assert_eq!(begin.elapsed(), 23 * second);
    }

    #[tokio::test(start_paused = true)]
    async fn pause_that_began_before_counts_only_from_the_start() {
        let clock = PausableClock::default();
        let second = Duration::from_secs(1);
        let pause = clock.pause();
        tokio::time::sleep(5 * second).await;
        let begin = Instant::now();
        tokio::join!(clock.passes(3 * second), async {
            tokio::time::sleep(second).await;
            drop(pause);
        });
        assert_eq!(begin.elapsed(), 4 * second);
    }
}
