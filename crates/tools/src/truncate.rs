//! Limits a text for a model to 2000 lines or 50 KB, whichever is reached first, keeping its head (files, lists) or its
//! tail (command output), and describes the truncation for clients.

use serde_json::{Value, json};

/// The most lines that a result shows.
pub(crate) const MAX_LINES: usize = 2000;

/// The most bytes that a result shows.
pub(crate) const MAX_BYTES: usize = 50 * 1024;

/// The size of a text before truncation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Totals {
    pub lines: usize,
    pub bytes: usize,
}

/// The limit that a text exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    Lines,
    Bytes,
}

/// The part of a text that fits, and the size of the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Truncation {
    pub content: String,
    /// Absent when the whole text fits.
    pub limit: Option<Limit>,
    pub totals: Totals,
    pub output_lines: usize,
    /// Whether only the end of the last line is kept, because that line alone is too long.
    pub last_line_partial: bool,
    /// Whether nothing is kept, because the first line alone is too long.
    pub first_line_exceeds_limit: bool,
}

impl Totals {
    /// Returns the size of `text`; a final line break does not start another line.
    pub(crate) fn of(text: &str) -> Self {
        Self { lines: text.lines().count(), bytes: text.len() }
    }

    fn fits(self) -> bool {
        self.lines <= MAX_LINES && self.bytes <= MAX_BYTES
    }
}

impl Truncation {
    fn whole(text: &str, totals: Totals) -> Self {
        Self {
            content: text.to_owned(),
            limit: None,
            totals,
            output_lines: totals.lines,
            last_line_partial: false,
            first_line_exceeds_limit: false,
        }
    }

    /// Returns the object `details.truncation`.
    pub(crate) fn details(&self) -> Value {
        let limit = self.limit.map(|limit| match limit {
            Limit::Lines => "lines",
            Limit::Bytes => "bytes",
        });
        json!({
            "content": self.content,
            "truncated": self.limit.is_some(),
            "truncatedBy": limit,
            "totalLines": self.totals.lines,
            "totalBytes": self.totals.bytes,
            "outputLines": self.output_lines,
            "outputBytes": self.content.len(),
            "lastLinePartial": self.last_line_partial,
            "firstLineExceedsLimit": self.first_line_exceeds_limit,
            "maxLines": MAX_LINES,
            "maxBytes": MAX_BYTES,
        })
    }
}

/// Returns the complete lines at the head of a text that fit. `kept` is the text, or more of its head than the limit;
/// `totals` is the size of the whole text.
pub(crate) fn head(kept: &str, totals: Totals) -> Truncation {
    if totals.fits() && kept.len() <= MAX_BYTES {
        return Truncation::whole(kept, totals);
    }
    let (mut end, mut lines, mut limit) = (0, 0, Limit::Bytes);
    for line in kept.split_inclusive('\n') {
        if lines == MAX_LINES {
            limit = Limit::Lines;
            break;
        }
        if end + line.trim_end_matches('\n').len() > MAX_BYTES {
            break;
        }
        end += line.len();
        lines += 1;
    }
    let content = kept[..end].strip_suffix('\n').unwrap_or(&kept[..end]);
    Truncation {
        content: content.to_owned(),
        limit: Some(limit),
        totals,
        output_lines: lines,
        last_line_partial: false,
        first_line_exceeds_limit: lines == 0,
    }
}

/// A text for a model that fits, and the details of what was cut from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Limited {
    pub text: String,
    /// Absent when the whole text fits.
    pub truncation: Option<Value>,
}

/// Limits a text as built-in tools do: to the lines at its head that fit, or to the beginning of its first line, with a note.
pub fn limit_text(text: &str) -> Limited {
    let mut shown = head(text, Totals::of(text));
    if shown.limit.is_none() {
        return Limited { text: shown.content, truncation: None };
    }
    if shown.first_line_exceeds_limit {
        text[..text.floor_char_boundary(MAX_BYTES)].clone_into(&mut shown.content);
        shown.first_line_exceeds_limit = false;
        shown.last_line_partial = true;
        shown.output_lines = 1;
    }
    let note = format!(
        "Truncated to 2000 lines or 50KB: {} of {} are shown. Ask for less if you need the rest.",
        format_size(shown.content.len()),
        format_size(shown.totals.bytes)
    );
    Limited { text: format!("{}\n\n[{note}]", shown.content), truncation: Some(shown.details()) }
}

/// Returns the lines at the tail of a text that fit, or the end of the last line if it alone does not. `kept` is the
/// text, or more of its tail than the limit.
pub(crate) fn tail(kept: &str, totals: Totals) -> Truncation {
    if totals.fits() {
        return Truncation::whole(kept, totals);
    }
    let body = kept.strip_suffix('\n').unwrap_or(kept);
    let (mut start, mut lines, mut limit) = (body.len(), 0, Limit::Bytes);
    for line in body.rsplit('\n') {
        if lines == MAX_LINES {
            limit = Limit::Lines;
            break;
        }
        let line_start = if lines == 0 { start - line.len() } else { start - line.len() - 1 };
        if body.len() - line_start > MAX_BYTES {
            break;
        }
        start = line_start;
        lines += 1;
    }
    let last_line_partial = lines == 0;
    if last_line_partial {
        start = body.ceil_char_boundary(body.len().saturating_sub(MAX_BYTES));
        lines = 1;
    }
    Truncation {
        content: body[start..].to_owned(),
        limit: Some(limit),
        totals,
        output_lines: lines,
        last_line_partial,
        first_line_exceeds_limit: false,
    }
}

/// Formats a size for people: `123B`, `1.5KB`, `2.0MB`.
pub(crate) fn format_size(bytes: usize) -> String {
    const KILOBYTE: f64 = 1024.0;
    let size = bytes as f64;
    if size < KILOBYTE {
        format!("{bytes}B")
    } else if size < KILOBYTE * KILOBYTE {
        format!("{:.1}KB", size / KILOBYTE)
    } else {
        format!("{:.1}MB", size / (KILOBYTE * KILOBYTE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(lines: usize) -> String {
        (1..=lines).map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn fitting_text_is_unchanged() {
        let text = numbered(MAX_LINES);
        for truncated in [head(&text, Totals::of(&text)), tail(&text, Totals::of(&text))] {
            assert_eq!(
                (truncated.content.as_str(), truncated.limit, truncated.output_lines),
                (text.as_str(), None, MAX_LINES)
            );
        }
    }

    #[test]
    fn head_ends_after_the_last_fitting_line() {
        let text = numbered(MAX_LINES + 1);
        let truncated = head(&text, Totals::of(&text));
        assert_eq!((truncated.limit, truncated.output_lines), (Some(Limit::Lines), MAX_LINES));
        assert!(truncated.content.starts_with("1\n") && truncated.content.ends_with("\n2000"));

        let text = format!("{}\n", "x".repeat(999)).repeat(100);
        let truncated = head(&text, Totals::of(&text));
        assert_eq!(
            (truncated.limit, truncated.output_lines, truncated.content.len()),
            (Some(Limit::Bytes), 51, 51 * 1000 - 1)
        );
    }

    #[test]
    fn tail_starts_at_the_first_fitting_line() {
        let text = numbered(MAX_LINES + 5);
        let truncated = tail(&text, Totals::of(&text));
        assert_eq!((truncated.limit, truncated.output_lines), (Some(Limit::Lines), MAX_LINES));
        assert!(truncated.content.starts_with("6\n") && truncated.content.ends_with("\n2005"));
    }

    #[test]
    fn overlong_line_is_reported() {
        let text = "ü".repeat(MAX_BYTES);
        let truncated = head(&text, Totals::of(&text));
        assert!(
            truncated.first_line_exceeds_limit && truncated.content.is_empty() && truncated.output_lines == 0
        );
        let truncated = tail(&text, Totals::of(&text));
        assert!(
            truncated.last_line_partial
                && truncated.content.len() == MAX_BYTES
                && truncated.output_lines == 1
        );
    }

    #[test]
    fn details_have_every_key() {
        let text = numbered(MAX_LINES + 1);
        let details = head(&text, Totals::of(&text)).details();
        let keys: Vec<_> = details.as_object().unwrap().keys().map(String::as_str).collect();
        let expected = [
            "content",
            "truncated",
            "truncatedBy",
            "totalLines",
            "totalBytes",
            "outputLines",
            "outputBytes",
            "lastLinePartial",
            "firstLineExceedsLimit",
            "maxLines",
            "maxBytes",
        ];
        assert_eq!(keys, expected);
        assert_eq!(details["truncatedBy"], "lines");
    }

    #[test]
    fn sizes_are_formatted_for_people() {
        assert_eq!([123, 1536, MAX_BYTES, 2 << 20].map(format_size), ["123B", "1.5KB", "50.0KB", "2.0MB"]);
    }
}
