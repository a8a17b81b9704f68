//! Measures the time that an extension takes, without the time during which it waits for the user or a model.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// A clock that can be paused.
#[derive(Debug)]
pub(crate) struct PausableClock(watch::Sender<Pauses>);

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
        Self(watch::Sender::new(Pauses::default()))
    }
}

impl PausableClock {
    /// Pauses the clock.
    pub fn pause(&self) -> Pause<'_> {
        self.0.send_modify(|pauses| {
            pauses.open += 1;
            pauses.since.get_or_insert_with(Instant::now);
        });
        Pause(self)
    }

    /// Waits until `limit` has passed, not counting pauses.
    pub async fn passes(&self, limit: Duration) {
        let mut pauses = self.0.subscribe();
        let started = Instant::now();
        let before = pauses.borrow_and_update().until(started);
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
        self.0.0.send_modify(|pauses| {
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
