//! When an extension that has exited is started again.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// The waits before the restarts within [`PERIOD`].
const DELAYS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(25)];

/// Restarts that are older do not count.
const PERIOD: Duration = Duration::from_mins(10);

/// The restarts of an extension.
#[derive(Debug, Default)]
pub(crate) struct Restarts(VecDeque<Instant>);

impl Restarts {
    /// Returns how long to wait before the next restart; `None` if there were too many.
    pub fn next(&mut self, now: Instant) -> Option<Duration> {
        while self.0.front().is_some_and(|first| now.duration_since(*first) > PERIOD) {
            self.0.pop_front();
        }
        let delay = *DELAYS.get(self.0.len())?;
        self.0.push_back(now);
        Some(delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_become_slower_and_end_until_the_first_is_long_ago() {
        let mut restarts = Restarts::default();
        let start = Instant::now();
        let seconds = |count| Duration::from_secs(count);
        assert_eq!(restarts.next(start), Some(seconds(1)));
        assert_eq!(restarts.next(start + seconds(100)), Some(seconds(5)));
        assert_eq!(restarts.next(start + seconds(200)), Some(seconds(25)));
        assert_eq!(restarts.next(start + seconds(300)), None);
        assert_eq!(restarts.next(start + seconds(601)), Some(seconds(25)));
    }
}
