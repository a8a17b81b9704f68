//! Numbers and times in a form for people.

use jiff::Timestamp;

/// Returns a number of tokens: `940`, `12.3k`, `1.2M`.
pub(crate) fn tokens(count: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let count_as_float = count as f64;
    match count {
        0..1_000 => count.to_string(),
        1_000..99_950 => format!("{:.1}k", count_as_float / 1e3),
        99_950..999_500 => format!("{:.0}k", count_as_float / 1e3),
        _ => format!("{:.1}M", count_as_float / 1e6),
    }
}

/// Returns an amount in dollars; small amounts have more digits.
pub(crate) fn dollars(amount: f64) -> String {
    match amount {
        amount if amount >= 0.995 => format!("${amount:.2}"),
        amount if amount >= 0.000_95 => format!("${amount:.3}"),
        amount if amount > 0.0 => format!("${amount:.5}"),
        _ => "$0".to_owned(),
    }
}

/// Returns a number of bytes: `940 B`, `12.3 KB`, `5.0 MB`.
pub(crate) fn bytes(count: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
    let count_as_float = count as f64;
    match count {
        0..1_024 => format!("{count} B"),
        1_024..1_048_576 => format!("{:.1} KB", count_as_float / 1_024.0),
        _ => format!("{:.1} MB", count_as_float / 1_048_576.0),
    }
}

/// Returns a count with its noun: `1 line`, `2 lines`, `12,345 lines`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let plural = match (count, noun.strip_suffix("ch")) {
        (1, _) => noun.to_owned(),
        (_, Some(_)) => format!("{noun}es"),
        _ => format!("{noun}s"),
    };
    format!("{grouped} {plural}")
}

/// Returns a `time` element in UTC; the script shows it in the reader's time zone.
pub(crate) fn time_element(time: Timestamp) -> String {
    format!(
        "<time datetime=\"{}\">{}</time>",
        time.strftime("%Y-%m-%dT%H:%M:%SZ"),
        time.strftime("%-d %b %H:%M UTC")
    )
}

/// Returns the time between two moments in its two largest units; none if there is no time between them.
pub(crate) fn duration(from: Timestamp, to: Timestamp) -> Option<String> {
    let milliseconds = to.as_millisecond().saturating_sub(from.as_millisecond());
    let seconds = milliseconds / 1_000;
    Some(match seconds {
        _ if milliseconds <= 0 => return None,
        0 => format!("{milliseconds} ms"),
        1..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_abbreviated() {
        assert_eq!(
            [0, 999, 1_000, 12_345, 123_456, 999_499, 999_500, 1_234_567].map(tokens),
            ["0", "999", "1.0k", "12.3k", "123k", "999k", "1.0M", "1.2M"]
        );
        assert_eq!(
            [0.0, 0.000_123, 0.0123, 1.0, 123.456].map(dollars),
            ["$0", "$0.00012", "$0.012", "$1.00", "$123.46"]
        );
        assert_eq!([7, 2_048, 5_242_880].map(bytes), ["7 B", "2.0 KB", "5.0 MB"]);
        assert_eq!(counted(1, "line"), "1 line");
        assert_eq!(counted(1_234_567, "branch"), "1,234,567 branches");
    }

    #[test]
    fn times_are_rendered_in_utc() {
        let time = Timestamp::from_millisecond(1_794_790_548_502).unwrap();
        assert_eq!(time_element(time), "<time datetime=\"2026-11-16T00:55:48Z\">16 Nov 00:55 UTC</time>");
        let after = |milliseconds| duration(time, time + jiff::SignedDuration::from_millis(milliseconds));
        assert_eq!(after(3_725_000).as_deref(), Some("1 h 2 min"));
        assert_eq!((after(999).as_deref(), after(1_999).as_deref()), (Some("999 ms"), Some("1 s")));
        assert_eq!((after(0), after(-5_000)), (None, None));
    }
}
