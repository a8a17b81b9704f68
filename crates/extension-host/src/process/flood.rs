//! Slows down an extension that sends more than anybody can use.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// How many records that nobody asked for are taken in a second.
pub(crate) const MOST_PER_SECOND: u32 = 1000;

const SECOND: Duration = Duration::from_secs(1);

/// Counts the records of an extension.
#[derive(Debug)]
pub(crate) struct Flood {
    since: Instant,
    count: u32,
    is_reported: bool,
}

impl Default for Flood {
    fn default() -> Self {
        Self { since: Instant::now(), count: 0, is_reported: false }
    }
}

impl Flood {
    /// Counts a record. Returns whether there are too many for the first time.
    pub fn count(&mut self) -> bool {
        let now = Instant::now();
        if now.duration_since(self.since) >= SECOND {
            (self.since, self.count) = (now, 0);
        }
        self.count += 1;
        self.is_over() && !std::mem::replace(&mut self.is_reported, true)
    }

    /// Waits for the end of the second if there are too many.
    pub async fn wait(&self) {
        if self.is_over() {
            sleep_until(self.since + SECOND).await;
        }
    }

    fn is_over(&self) -> bool {
        self.count > MOST_PER_SECOND
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn records_over_the_limit_wait_and_are_reported_once() {
        let mut flood = Flood::default();
        let begin = Instant::now();
        let mut reports = 0;
        for _ in 0..3 * MOST_PER_SECOND {
            reports += u32::from(flood.count());
            flood.wait().await;
        }
        assert_eq!(reports, 1);
        assert_eq!(begin.elapsed().as_secs(), 2);
    }
}
