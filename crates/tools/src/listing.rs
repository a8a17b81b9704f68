//! A list of names as find and ls show it, with notes and facts about what is left out.

use serde_json::{Map, json};

use crate::tool::Outcome;
use crate::truncate::{self, Totals};

/// Returns the lines that fit. When `limit` was reached, the fact `limit_fact` says so, and a note what to do `otherwise`
/// than to ask for more.
pub(crate) fn listing(lines: &str, limit: Option<usize>, limit_fact: &str, otherwise: &str) -> Outcome {
    let shown = truncate::head(lines, Totals::of(lines));
    let mut notes = Vec::new();
    let mut details = Map::new();
    if let Some(limit) = limit {
        notes.push(format!(
            "Only the first {limit} are listed. Set limit={} for more, or {otherwise}.",
            limit * 2
        ));
        details.insert(limit_fact.to_owned(), json!(limit));
    }
    if shown.limit.is_some() {
        let totals = shown.totals;
        notes.push(format!(
            "Cut at 2000 lines or 50KB: {} of {} are shown.",
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
