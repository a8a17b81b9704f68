//! Times as people read them: in the time zone of the machine, to the minute.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Returns a time in milliseconds since 1970; empty if it is beyond the calendar.
pub(crate) fn of_milliseconds(milliseconds: u64) -> String {
    let time = i64::try_from(milliseconds).ok().and_then(|time| Timestamp::from_millisecond(time).ok());
    time.map(of_timestamp).unwrap_or_default()
}

/// Returns a time as it is written in session files; one that cannot be read is returned as it is.
pub(crate) fn of_text(text: &str) -> String {
    text.parse().map_or_else(|_| text.to_owned(), of_timestamp)
}

/// Returns a time.
pub(crate) fn of_timestamp(time: Timestamp) -> String {
    time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_beyond_the_calendar_are_no_panic() {
        assert_eq!(of_milliseconds(u64::MAX), "");
        assert_eq!(of_milliseconds(i64::MAX as u64), "");
        assert_eq!(of_text("someday"), "someday");
        assert_eq!(of_text("+292277026-12-04T15:30:07Z"), "+292277026-12-04T15:30:07Z");
        for text in ["-009999-01-02T01:59:59Z", "9999-12-30T22:00:00.999Z", "1969-12-31T23:59:59Z"] {
            assert!(!of_text(text).is_empty());
        }
    }
}
