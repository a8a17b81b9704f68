//! Whether and when a failed call of the model is retried.

use std::time::Duration;

use bowline_core::stream::{FailureKind, StreamError};

use crate::settings::RetrySettings;

/// The part of a wait that is random.
const JITTER: f64 = 0.25;

/// Returns what a user reads of a failure that ends a run: what happened, and what to do about it.
pub(crate) fn final_error(error: &StreamError, retries: u32) -> String {
    let mut sentences = vec![error.message.clone()];
    if let Some(wait) = error.retry_after.filter(|_| retries == 0) {
        sentences.push(format!("The provider asks to wait {} s.", wait.as_secs()));
    }
    match retries {
        0 => {}
        1 => sentences.push("Given up after 1 retry.".to_owned()),
        _ => sentences.push(format!("Given up after {retries} retries.")),
    }
    sentences.extend(advice(error.kind).map(ToOwned::to_owned));
    // What a provider says does not always end like a sentence.
    if sentences.len() > 1 && !error.message.ends_with(['.', '!', '?', '…']) {
        sentences[0].push('.');
    }
    sentences.join(" ")
}

/// Returns what to do about a kind of failure, where its text does not say so already.
fn advice(kind: FailureKind) -> Option<&'static str> {
    match kind {
        FailureKind::Authentication => Some("Check the key (bowline auth check)."),
        FailureKind::Quota => Some("Add credit at the provider, or choose another model."),
        FailureKind::RateLimited => Some("Wait a while and send the prompt again, or choose another model."),
        FailureKind::Unavailable => {
            Some("The trouble is the provider's: send the prompt again later, or choose another model.")
        }
        FailureKind::Incomplete => Some("Send the prompt again."),
        FailureKind::ContextOverflow => Some("Start a new session, or choose a model with a larger window."),
        FailureKind::Connection
        | FailureKind::TimedOut
        | FailureKind::NotFound
        | FailureKind::Rejected
        | FailureKind::Protocol
        | FailureKind::TooLarge
        | FailureKind::TooSlow
        | FailureKind::Storage
        | FailureKind::Internal => None,
    }
}

impl RetrySettings {
    /// Returns how long to wait before retry number `attempt` (from 1), or `None` if there is to be none. `chance`,
    /// from 0 up to 1, makes the wait up to a quarter shorter, so that clients that failed together do not come back
    /// together.
    pub(crate) fn delay(&self, error: &StreamError, attempt: u32, chance: f64) -> Option<Duration> {
        if !self.is_due(error, attempt) {
            return None;
        }
        let doubled = self.base_delay.saturating_mul(2_u32.saturating_pow(attempt - 1));
        let delay = doubled.min(self.max_delay).mul_f64(1.0 - chance * JITTER);
        // Clients are told whole milliseconds, and that is what they get.
        let delay = Duration::from_millis(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
        Some(error.retry_after.map_or(delay, |asked| delay.max(asked)))
    }

    /// Tells whether a failure is worth retry number `attempt`.
    pub(crate) fn is_due(&self, error: &StreamError, attempt: u32) -> bool {
        // Asking again before the provider allows it only makes matters worse.
        let is_too_long = error.retry_after.is_some_and(|asked| asked > self.max_delay);
        self.enabled && attempt <= self.max_retries && error.kind.is_retryable() && !is_too_long
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: FailureKind, retry_after: Option<u64>, attempt: u32, expected: Option<u64>) {
        let mut error = StreamError::new(kind, "x");
        error.retry_after = retry_after.map(Duration::from_secs);
        let delay = RetrySettings::default().delay(&error, attempt, 0.0);
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

    #[test]
    fn chance_makes_a_wait_up_to_a_quarter_shorter_but_never_shorter_than_the_provider_asks() {
        let mut error = StreamError::new(FailureKind::Unavailable, "x");
        let delay = |error: &StreamError, chance| RetrySettings::default().delay(error, 2, chance).unwrap();
        assert_eq!(delay(&error, 0.0), Duration::from_secs(4));
        assert_eq!(delay(&error, 1.0), Duration::from_secs(3));
        error.retry_after = Some(Duration::from_secs(4));
        assert_eq!(delay(&error, 1.0), Duration::from_secs(4));
    }

    #[test]
    fn final_errors_say_what_to_do() {
        let error = StreamError::new(FailureKind::Unavailable, "529 overloaded_error: Overloaded.");
        let text = final_error(&error, 3);
        assert!(text.starts_with("529 overloaded_error: Overloaded. Given up after 3 retries. "), "{text}");
        let mut error = StreamError::new(FailureKind::RateLimited, "429 slow down.");
        error.retry_after = Some(Duration::from_secs(3600));
        assert!(final_error(&error, 0).contains("asks to wait 3600 s"));
    }
}
