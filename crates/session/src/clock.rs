//! The source of times, ids and random numbers, and the format of times in session files: ISO 8601 in UTC with
//! milliseconds, as in JavaScript.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bowline_core::ui::UiToken;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use uuid::{Builder, Uuid};

/// The time of a fixed clock in milliseconds since 1970: the start of 2025.
const FIXED: u64 = 1_735_689_600_000;

/// The source of everything that differs between two identical runs. Clones share one counter.
#[derive(Debug, Clone, Default)]
pub enum Clock {
    #[default]
    System,
    /// The time stands still and ids count up, so that identical runs produce identical output.
    Fixed(Arc<AtomicU64>),
}

impl Clock {
    /// Returns a fixed clock.
    pub fn fixed() -> Self {
        Self::Fixed(Arc::default())
    }

    /// Returns the time in milliseconds since 1970.
    pub fn milliseconds(&self) -> u64 {
        match self {
            Self::System => since_1970(SystemTime::now()),
            Self::Fixed(_) => FIXED,
        }
    }

    /// Returns today's date in the user's time zone.
    pub fn today(&self) -> String {
        match self {
            Self::System => timestamp(self.milliseconds()).to_zoned(TimeZone::system()).date().to_string(),
            Self::Fixed(_) => self.text().chars().take(10).collect(),
        }
    }

    /// Returns the time since `started`; zero for a fixed clock.
    pub fn since(&self, started: Instant) -> Duration {
        match self {
            Self::System => started.elapsed(),
            Self::Fixed(_) => Duration::ZERO,
        }
    }

    /// Returns a random number from 0 up to 1; 0 for a fixed clock.
    #[expect(clippy::cast_precision_loss, reason = "53 random bits are enough")]
    pub fn chance(&self) -> f64 {
        match self {
            Self::System => (Uuid::new_v4().as_u128() >> 75) as f64 / (1_u64 << 53) as f64,
            Self::Fixed(_) => 0.0,
        }
    }

    /// Returns the random part of an id on the wire.
    pub fn token(&self) -> UiToken {
        match self {
            Self::System => UiToken(Uuid::new_v4().as_u128()),
            Self::Fixed(counter) => {
                let number = counter.fetch_add(1, Ordering::Relaxed);
                UiToken(Builder::from_u128(number.into()).into_uuid().as_u128())
            }
        }
    }

    /// Returns the current time in the format of headers and entries.
    pub(crate) fn text(&self) -> String {
        text(self.milliseconds())
    }

    /// Returns a new session id.
    pub(crate) fn session_id(&self) -> String {
        match self {
            Self::System => {
                let mut random = [0; 10];
                random.copy_from_slice(&Uuid::new_v4().as_bytes()[6..]);
                Builder::from_unix_timestamp_millis(self.milliseconds(), &random).into_uuid().to_string()
            }
            Self::Fixed(count) => format!("00000000-0000-7000-8000-{:012x}", next(count)),
        }
    }

    /// Returns eight hexadecimal digits for the id of an entry.
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

/// Returns a time in milliseconds since 1970: 0 for a clock that is set to an earlier time, and the end of the calendar
/// for one that is set beyond it.
fn since_1970(time: SystemTime) -> u64 {
    let milliseconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let end = u64::try_from(Timestamp::MAX.as_millisecond()).unwrap_or(u64::MAX);
    u64::try_from(milliseconds).map_or(end, |milliseconds| milliseconds.min(end))
}

/// Returns a time; one beyond the calendar becomes its end.
fn timestamp(milliseconds: u64) -> Timestamp {
    let time = i64::try_from(milliseconds).ok().and_then(|time| Timestamp::from_millisecond(time).ok());
    time.unwrap_or(Timestamp::MAX)
}

/// Returns a time in milliseconds since 1970 in the format of session files.
pub(crate) fn text(milliseconds: u64) -> String {
    timestamp(milliseconds).strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Returns a time from a session file in a form that is valid in file names on every system.
pub(crate) fn for_file_name(time: &str) -> String {
    time.replace([':', '.'], "-")
}

/// Returns a time from a session file in milliseconds since 1970; 0 if it cannot be parsed.
pub(crate) fn milliseconds(time: &str) -> u64 {
    let parsed = time.parse::<Timestamp>().map(Timestamp::as_millisecond);
    parsed.ok().and_then(|milliseconds| u64::try_from(milliseconds).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_utc_with_milliseconds() {
        let time = Clock::System.text();
        assert_eq!((time.len(), &time[10..11], &time[19..20], &time[23..]), (24, "T", ".", "Z"));
        assert!(milliseconds(&time) > 1_700_000_000_000);
        assert_eq!(milliseconds("1970-01-01T00:00:01.234Z"), 1234);
        assert_eq!(milliseconds("yesterday"), 0);
        assert_eq!(for_file_name("2026-11-16T00:55:48.502Z"), "2026-11-16T00-55-48-502Z");
    }

    #[test]
    fn clocks_beyond_the_calendar_give_its_ends() {
        let long = Duration::from_secs(400_000_000_000);
        assert_eq!(since_1970(UNIX_EPOCH - Duration::from_secs(1)), 0);
        assert_eq!(text(since_1970(UNIX_EPOCH - Duration::from_secs(1))), "1970-01-01T00:00:00.000Z");
        assert!(text(since_1970(UNIX_EPOCH + long)).starts_with("9999-12-30T"));
        assert_eq!(text(since_1970(UNIX_EPOCH + long)), text(u64::MAX));
        for time in ["1969-12-31T23:59:59Z", "-009999-01-02T01:59:59Z", "+010000-01-01T00:00:00Z", "9e99"] {
            assert_eq!(milliseconds(time), 0, "{time}");
        }
    }

    #[test]
    fn session_ids_are_version_7_and_in_the_order_of_time() {
        let id = Uuid::parse_str(&Clock::System.session_id()).unwrap();
        assert_eq!(id.get_version_num(), 7);
        let (seconds, _) = id.get_timestamp().unwrap().to_unix();
        assert!(seconds.abs_diff(Clock::System.milliseconds() / 1000) < 60);
    }

    #[test]
    fn fixed_clocks_produce_identical_values() {
        let values = || {
            let clock = Clock::fixed();
            let other = clock.clone();
            (clock.text(), clock.today(), clock.session_id(), clock.entry_id(), other.entry_id())
        };
        assert_eq!(values(), values());
        let (time, today, session, first, second) = values();
        assert_eq!((time.as_str(), today.as_str()), ("2025-01-01T00:00:00.000Z", "2025-01-01"));
        assert_eq!(session, "00000000-0000-7000-8000-000000000001");
        assert_eq!((first.as_str(), second.as_str()), ("00000002", "00000003"));
    }

    #[test]
    fn chance_is_between_zero_and_one() {
        let chances: Vec<f64> = (0..100).map(|_| Clock::System.chance()).collect();
        assert!(chances.iter().all(|chance| (0.0..1.0).contains(chance)));
        assert!(chances.iter().any(|chance| *chance > 0.5) && chances.iter().any(|chance| *chance < 0.5));
    }
}
