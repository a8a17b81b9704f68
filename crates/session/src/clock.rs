//! Points in time as the session file spells them: ISO 8601 in UTC with milliseconds, as JavaScript does.

use jiff::Timestamp;

/// Returns the current time as it stands in a header or an entry.
pub(crate) fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
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
        let time = now();
        assert_eq!((time.len(), &time[10..11], &time[19..20], &time[23..]), (24, "T", ".", "Z"));
        assert!(milliseconds(&time) > 1_700_000_000_000);
        assert_eq!(milliseconds("1970-01-01T00:00:01.234Z"), 1234);
        assert_eq!(milliseconds("yesterday"), 0);
        assert_eq!(for_file_name("2026-11-16T00:55:48.502Z"), "2026-11-16T00-55-48-502Z");
    }
}
