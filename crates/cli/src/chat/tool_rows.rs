//! What is shown of tool calls: a row each, and the changes of files in colour.

use std::time::Duration;

use serde_json::{Map, Value};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::style::{Palette, Style};
use crate::terminal::plain_line;

/// The most rows of a change, and of an error.
const MOST_CHANGED_ROWS: usize = 40;
const MOST_ERROR_ROWS: usize = 5;

/// Returns a call in a few words: the tool, and what it is called with.
pub(super) fn summary(tool: &str, arguments: &Map<String, Value>) -> String {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let subject = match tool {
        "bash" => text("command").to_owned(),
        "grep" | "find" if !text("path").is_empty() => format!("{} in {}", text("pattern"), text("path")),
        "grep" | "find" => text("pattern").to_owned(),
        _ => match ["path", "command", "pattern", "query", "url", "description"]
            .iter()
            .find(|name| !text(name).is_empty())
        {
            Some(name) => text(name).to_owned(),
            None if arguments.is_empty() => String::new(),
            None => Value::Object(arguments.clone()).to_string(),
        },
    };
    let first_line = subject.trim().lines().next().unwrap_or_default();
    let more = if subject.trim().lines().count() > 1 { " …" } else { "" };
    plain_line(format!("{tool} {first_line}{more}").trim())
}

/// Returns the row of a call that has ended.
pub(super) fn ended(palette: Palette, summary: &str, is_error: bool, took: Duration, width: usize) -> String {
    let (mark, style) = if is_error { ("✗", Style::Bad) } else { ("✓", Style::Good) };
    let time = format!(" {}", seconds(took));
    let room = width.saturating_sub(2 + time.width());
    let (mark, shown) = (palette.paint(style, mark), cut(summary, room));
    format!("{mark} {shown}{}", palette.paint(Style::Faint, &time))
}

/// Returns the rows of a change to a file, from the details of a tool.
pub(super) fn change(palette: Palette, details: &Value, width: usize) -> Vec<String> {
    let Some(difference) = details.get("diff").and_then(Value::as_str) else { return Vec::new() };
    let mut rows =
        rows_of(palette, difference, width, MOST_CHANGED_ROWS, |line| match line.as_bytes().first() {
            Some(b'+') => Style::Added,
            Some(b'-') => Style::Removed,
            _ => Style::Faint,
        });
    rows.iter_mut().for_each(|row| row.insert_str(0, "  "));
    rows
}

/// Returns the first rows of what went wrong.
pub(super) fn error(palette: Palette, text: &str, width: usize) -> Vec<String> {
    let mut rows = rows_of(palette, text.trim(), width, MOST_ERROR_ROWS, |_| Style::Bad);
    rows.iter_mut().for_each(|row| row.insert_str(0, "  "));
    rows
}

fn rows_of(
    palette: Palette,
    text: &str,
    width: usize,
    most: usize,
    style: impl Fn(&str) -> Style,
) -> Vec<String> {
    let room = width.saturating_sub(3);
    let count = text.lines().count();
    let shown = text.lines().take(most);
    let mut rows: Vec<_> =
        shown.map(|line| palette.paint(style(line), &cut(&plain_line(line), room))).collect();
    if count > most {
        rows.push(palette.paint(Style::Faint, &format!("… {} more lines", count - most)));
    }
    rows
}

/// Returns a time as people read it.
pub(super) fn seconds(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.1}s", time.as_secs_f64()),
        seconds @ 10..60 => format!("{seconds}s"),
        seconds => format!("{}m{:02}s", seconds / 60, seconds % 60),
    }
}

/// Returns as much of a text as has room on a row.
pub(super) fn cut(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for letter in text.chars() {
        used += letter.width().unwrap_or(0);
        if used > room {
            break;
        }
        kept.push(letter);
    }
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PLAIN: Palette = Palette { is_styled: false };

    #[track_caller]
    fn check(tool: &str, arguments: &Value, expected: &str) {
        assert_eq!(summary(tool, arguments.as_object().unwrap()), expected);
    }

    #[test]
    fn calls_are_one_row() {
        check("bash", &json!({"command": "cargo test\n# and more"}), "bash cargo test …");
        check("read", &json!({"path": "src/a.rs", "limit": 3}), "read src/a.rs");
        check("grep", &json!({"pattern": "fn", "path": "src"}), "grep fn in src");
        check("mine", &json!({"n": 1}), "mine {\"n\":1}");
        check("ls", &json!({}), "ls");
        check("bash", &json!({"command": "echo \u{1b}[2J\tx"}), "bash echo \\u001b[2J x");
    }

    #[test]
    fn rows_fit_the_width() {
        let row = ended(PLAIN, &"x".repeat(100), false, Duration::from_millis(1234), 20);
        assert_eq!((row.width(), &*row), (20, "✓ xxxxxxxxxxxx… 1.2s"));
        assert_eq!(ended(PLAIN, "ls", true, Duration::from_secs(75), 20), "✗ ls 1m15s");
        assert_eq!(cut("世界世界", 5), "世界…");
        assert_eq!(cut("", 0), "");
    }

    #[test]
    fn changes_are_coloured_and_bounded() {
        let palette = Palette { is_styled: true };
        let details = json!({"diff": "-1 old\n+1 new\n 2 \u{1b}same"});
        assert_eq!(
            change(palette, &details, 40),
            [
                "  \u{1b}[31m-1 old\u{1b}[0m",
                "  \u{1b}[32m+1 new\u{1b}[0m",
                "  \u{1b}[2m 2 \\u001bsame\u{1b}[0m"
            ]
        );
        let many = json!({"diff": "+x\n".repeat(100)});
        let rows = change(PLAIN, &many, 40);
        assert_eq!((rows.len(), &*rows[40]), (41, "  … 60 more lines"));
        assert!(change(PLAIN, &json!({}), 40).is_empty());
    }
}
