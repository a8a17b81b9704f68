//! The formats of texts that are checked.

use std::net::{Ipv4Addr, Ipv6Addr};

/// A format: its name, and whether a text has it.
pub(crate) type Format = (&'static str, fn(&str) -> bool);

/// All formats that are checked.
pub(crate) const FORMATS: &[Format] = &[
    ("date-time", is_date_time),
    ("date", is_date),
    ("time", is_time),
    ("email", is_email),
    ("uri", is_uri),
    ("uuid", is_uuid),
    ("ipv4", |text| text.parse::<Ipv4Addr>().is_ok()),
    ("ipv6", |text| text.parse::<Ipv6Addr>().is_ok()),
];

/// Returns the format with this name.
pub(crate) fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|(known, _)| *known == name)
}

fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else { return false };
    is_date(date) && is_time(time)
}

fn is_date(text: &str) -> bool {
    let parts: Vec<_> = text.split('-').collect();
    let &[year, month, day] = &parts[..] else { return false };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2)) else {
        return false;
    };
    let is_leap_year = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(is_leap_year),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// A time of day with its offset, as in RFC 3339. A leap second is one of any minute.
fn is_time(text: &str) -> bool {
    let Some(place) = text.find(['Z', 'z', '+', '-']) else { return false };
    let (time, offset) = text.split_at(place);
    let (whole, fraction) = time.split_once('.').map_or((time, None), |(whole, rest)| (whole, Some(rest)));
    let has_fraction = fraction
        .is_none_or(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()));
    let limits = [23, 59, 60];
    let parts: Vec<_> = whole.split(':').collect();
    let is_whole = parts.len() == 3 && parts.iter().zip(limits).all(|(part, most)| is_at_most(part, most));
    let is_offset = match offset.strip_prefix(['+', '-']) {
        Some(offset) => offset
            .split_once(':')
            .is_some_and(|(hours, minutes)| is_at_most(hours, 23) && is_at_most(minutes, 59)),
        None => matches!(offset, "Z" | "z"),
    };
    has_fraction && is_whole && is_offset
}

/// Tells whether a text is of two digits, and its number at most this.
fn is_at_most(text: &str, most: u32) -> bool {
    digits(text, 2).is_some_and(|number| number <= most)
}

/// Returns the number of a text of this many digits.
fn digits(text: &str, count: usize) -> Option<u32> {
    let is_number = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let is_plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && !part.ends_with('.')
            && !part.contains("..")
            && !part.contains(|letter: char| letter.is_whitespace() || letter.is_control() || letter == '@')
    };
    is_plain(local) && is_plain(domain)
}

fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter));
    let is_excluded =
        |letter: char| !letter.is_ascii() || letter.is_ascii_control() || " \"<>\\^`{|}".contains(letter);
    is_scheme && !rest.is_empty() && !rest.contains(is_excluded)
}

fn is_uuid(text: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let parts: Vec<_> = text.split('-').collect();
    parts.len() == lengths.len()
        && parts
            .iter()
            .zip(lengths)
            .all(|(part, length)| part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, good: &[&str], bad: &[&str]) {
        let (_, has) = find(name).unwrap();
        for text in good {
            assert!(has(text), "{text} is a {name}");
        }
        for text in bad {
            assert!(!has(text), "{text} is no {name}");
        }
    }

    #[test]
    fn formats_are_those_of_their_specifications() {
        check(
            "date",
            &["2024-02-29", "1999-12-31"],
            &["2023-02-29", "2024-13-01", "24-01-01", "2024-1-1", "x"],
        );
        check("time", &["23:59:60Z", "01:02:03.5+02:00"], &["24:00:00Z", "01:02:03", "1:2:3Z", "01:02:03.Z"]);
        check("date-time", &["2024-01-01T00:00:00Z"], &["2024-01-01", "2024-01-01 00:00:00Z"]);
        check("email", &["a.b@c.example"], &["a", "@b", "a@", "a b@c", "a..b@c"]);
        check("uri", &["https://example.org/a?b#c", "mailto:x"], &["/a", "1a:b", "a:", "a:b c", "a:é"]);
        check(
            "uuid",
            &["123e4567-e89b-12d3-a456-426614174000"],
            &["123e4567", "g23e4567-e89b-12d3-a456-426614174000"],
        );
        check("ipv4", &["127.0.0.1"], &["127.0.0.256", "1.2.3"]);
        check("ipv6", &["::1"], &["1.2.3.4", ":"]);
    }
}
