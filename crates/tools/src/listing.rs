//! A list of names as find and ls show it, with notes and details about what is omitted.

use serde_json::{Map, json};

use crate::tool::Outcome;
use crate::truncate::{self, Totals};

/// Returns the lines that fit. If `limit` was reached, the detail `limit_key` reports it, and a note suggests
/// `alternative` to a higher limit.
pub(crate) fn listing(lines: &str, limit: Option<usize>, limit_key: &str, alternative: &str) -> Outcome {
    let shown = truncate::head(lines, Totals::of(lines));
    let mut notes = Vec::new();
    let mut details = Map::new();
    if let Some(limit) = limit {
        notes.push(format!(
            "Only the first {limit} are listed. Set limit={} for more, or {alternative}.",
            limit * 2
        ));
        details.insert(limit_key.to_owned(), json!(limit));
    }
    if shown.limit.is_some() {
        let totals = shown.totals;
        notes.push(format!(
            "Truncated to 2000 lines or 50KB: {} of {} are shown.",
            shown.output_lines, totals.lines
        ));
        details.insert("truncation".to_owned(), shown.details());
    }
    let mut text = shown.content;
    if !notes.is_empty() {
        text += &format!("\n\n[{}]", notes.join(" "));
    }
    Outcome::text(text).with_details(details.into())
}
