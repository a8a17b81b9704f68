//! Whether and when a failed call of the model is tried again.

use std::time::Duration;

use bowline_core::stream::StreamError;

use crate::settings::RetrySettings;

impl RetrySettings {
    /// Returns how long to wait before retry number `attempt` (from 1), or `None` if there is to be none.
    pub(crate) fn delay(&self, error: &StreamError, attempt: u32) -> Option<Duration> {
        if !self.enabled || attempt > self.max_retries || !error.kind.is_retryable() {
            return None;
        }
        let doubled = self.base_delay.saturating_mul(2_u32.saturating_pow(attempt - 1));
        let delay = doubled.min(self.max_delay);
        match error.retry_after {
            // Asking again before the provider allows it only makes matters worse.
            Some(asked) if asked > self.max_delay => None,
            Some(asked) => Some(delay.max(asked)),
            None => Some(delay),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_core::stream::FailureKind;

    #[track_caller]
    fn check(kind: FailureKind, retry_after: Option<u64>, attempt: u32, expected: Option<u64>) {
        let mut error = StreamError::new(kind, "x");
        error.retry_after = retry_after.map(Duration::from_secs);
        let delay = RetrySettings::default().delay(&error, attempt);
        assert_eq!(delay, expected.map(Duration::from_secs));
    }

    #[test]
    fn delays_double_and_honour_the_provider() {
        check(FailureKind::Unavailable, None, 1, Some(2));
        check(FailureKind::Unavailable, None, 3, Some(8));
        check(FailureKind::Unavailable, None, 4, None);
        check(FailureKind::RateLimited, Some(5), 1, Some(5));
        check(FailureKind::RateLimited, Some(3600), 1, None);
        check(FailureKind::Authentication, None, 1, None);
        check(FailureKind::Quota, None, 1, None);
    }
}
