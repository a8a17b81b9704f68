//! Where times, ids and chance come from, and how the session file spells times: ISO 8601 in UTC with milliseconds, as
//! JavaScript does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use uuid::Uuid;

/// When it always is for a fixed clock, in milliseconds since 1970: the first moment of 2025.
const FIXED: u64 = 1_735_689_600_000;

/// What differs between two runs that do the same. A clone goes on with the same count.
#[derive(Debug, Clone, Default)]
pub enum Clock {
    #[default]
    System,
    /// It is always the same moment, and ids count up: two runs that do the same say the same.
    Fixed(Arc<AtomicU64>),
}

impl Clock {
    /// Returns a clock that stands still.
    pub fn fixed() -> Self {
        Self::Fixed(Arc::default())
    }

    /// Tells whether this stands still.
    pub fn is_fixed(&self) -> bool {
        matches!(self, Self::Fixed(_))
    }

    /// Returns the time in milliseconds since 1970.
    pub fn milliseconds(&self) -> u64 {
        match self {
            Self::System => u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default(),
            Self::Fixed(_) => FIXED,
        }
    }

    /// Returns the day where the user is.
    pub fn today(&self) -> String {
        match self {
            Self::System => jiff::Zoned::now().date().to_string(),
            Self::Fixed(_) => self.text().chars().take(10).collect(),
        }
    }

    /// Returns how long it is since `started`.
    pub fn since(&self, started: Instant) -> Duration {
        match self {
            Self::System => started.elapsed(),
            Self::Fixed(_) => Duration::ZERO,
        }
    }

    /// Returns a number from 0 up to 1 that nobody can foresee; 0 for a fixed clock.
    #[expect(clippy::cast_precision_loss, reason = "chance needs no more than 53 bits")]
    pub fn chance(&self) -> f64 {
        match self {
            Self::System => (Uuid::new_v4().as_u128() >> 75) as f64 / (1_u64 << 53) as f64,
            Self::Fixed(_) => 0.0,
        }
    }

    /// Returns the current time as it stands in a header or an entry.
    pub(crate) fn text(&self) -> String {
        let milliseconds = i64::try_from(self.milliseconds()).unwrap_or_default();
        let time = Timestamp::from_millisecond(milliseconds).unwrap_or_default();
        time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
    }

    /// Returns an id that no other session has.
    pub(crate) fn session_id(&self) -> String {
        match self {
            Self::System => Uuid::now_v7().to_string(),
            Self::Fixed(count) => format!("00000000-0000-7000-8000-{:012x}", next(count)),
        }
    }

    /// Returns eight hexadecimal digits that an entry can be known by.
    pub(crate) fn entry_id(&self) -> String {
        match self {
            Self::System => Uuid::new_v4().simple().to_string()[..8].to_owned(),
            Self::Fixed(count) => format!("{:08x}", next(count)),
        }
    }
}

fn next(count: &AtomicU64) -> u64 {
    count.fetch_add(1, Ordering::Relaxed) + 1
}

/// Returns a time of the file in the form that a file name may have on every system.
pub(crate) fn for_file_name(time: &str) -> String {
    time.replace([':', '.'], "-")
}

/// Returns a time of the file in milliseconds since 1970, as messages have it; 0 if it cannot be read.
pub(crate) fn milliseconds(time: &str) -> u64 {
    let parsed = time.parse::<Timestamp>().map(Timestamp::as_millisecond);
    parsed.ok().and_then(|milliseconds| u64::try_from(milliseconds).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_milliseconds_and_are_utc() {
        let time = Clock::System.text();
        assert_eq!((time.len(), &time[10..11], &time[19..20], &time[23..]), (24, "T", ".", "Z"));
        assert!(milliseconds(&time) > 1_700_000_000_000);
        assert_eq!(milliseconds("1970-01-01T00:00:01.234Z"), 1234);
        assert_eq!(milliseconds("yesterday"), 0);
        assert_eq!(for_file_name("2026-11-16T00:55:48.502Z"), "2026-11-16T00-55-48-502Z");
    }

    #[test]
    fn a_fixed_clock_repeats_itself() {
        let said = || {
            let clock = Clock::fixed();
            let other = clock.clone();
            (clock.text(), clock.today(), clock.session_id(), clock.entry_id(), other.entry_id())
        };
        assert_eq!(said(), said());
        let (time, today, session, first, second) = said();
        assert_eq!((time.as_str(), today.as_str()), ("2025-01-01T00:00:00.000Z", "2025-01-01"));
        assert_eq!(session, "00000000-0000-7000-8000-000000000001");
        assert_eq!((first.as_str(), second.as_str()), ("00000002", "00000003"));
    }

    #[test]
    fn chance_is_between_nothing_and_one() {
        let chances: Vec<f64> = (0..100).map(|_| Clock::System.chance()).collect();
        assert!(chances.iter().all(|chance| (0.0..1.0).contains(chance)));
        assert!(chances.iter().any(|chance| *chance > 0.5) && chances.iter().any(|chance| *chance < 0.5));
    }
}
