//! Slows down an extension that sends more than anybody can use.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// How many records that nobody asked for are taken in a second.
const MOST_PER_SECOND: u32 = 1000;

/// Returns what is reported of an extension that sends more.
pub(crate) fn too_many() -> String {
    format!("it sends more than {MOST_PER_SECOND} records a second and is slowed down")
}

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
        self.begin_second();
        self.count += 1;
        self.is_over() && self.is_news()
    }

    /// Counts a record if there is room for it in this second, and returns whether there is.
    pub fn admits(&mut self) -> bool {
        self.begin_second();
        let has_room = self.count < MOST_PER_SECOND;
        self.count += u32::from(has_room);
        has_room
    }

    /// Returns whether it is the first time that there are too many.
    pub fn is_news(&mut self) -> bool {
        !std::mem::replace(&mut self.is_reported, true)
    }

    /// Returns the end of the second.
    pub fn ends(&self) -> Instant {
        self.since + SECOND
    }

    fn begin_second(&mut self) {
        let now = Instant::now();
        if now.duration_since(self.since) >= SECOND {
            (self.since, self.count) = (now, 0);
        }
    }

    /// Waits for the end of the second if there are too many.
    pub async fn wait(&self) {
        if self.is_over() {
            sleep_until(self.ends()).await;
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
