//! A list of names as find and ls show it, with notes and details about what is omitted.

use serde_json::{Map, json};

use crate::closed_paths;
use crate::tool::Outcome;
use crate::truncate::{self, Totals};
use crate::walk::LEFT_OUT_NAMES;

/// The most names that are collected, whatever limit is asked for: only the first 2000 are shown.
pub(crate) const MAX_LIMIT: usize = 100_000;

/// What is not in a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Omitted {
    /// The limit that was asked for, if it was reached.
    pub limit: Option<usize>,
    /// The detail that reports it.
    pub limit_key: &'static str,
    /// What a note suggests instead of a higher limit.
    pub alternative: &'static str,
    /// Whether a folder had too many names to look at all of them.
    pub names: bool,
    /// How many files and folders a rule closes.
    pub closed: usize,
}

/// Returns the lines that fit, with notes on what is omitted.
pub(crate) fn listing(lines: &str, omitted: Omitted) -> Outcome {
    let shown = truncate::head(lines, Totals::of(lines));
    let mut notes = Vec::new();
    let mut details = Map::new();
    if let Some(limit) = omitted.limit {
        notes.push(format!(
            "Only the first {limit} are listed. Set limit={} for more, or {}.",
            limit * 2,
            omitted.alternative
        ));
        details.insert(omitted.limit_key.to_owned(), json!(limit));
    }
    if shown.limit.is_some() {
        let totals = shown.totals;
        notes.push(format!(
            "Truncated to 2000 lines or 50KB: {} of {} are shown.",
            shown.output_lines, totals.lines
        ));
        details.insert("truncation".to_owned(), shown.details());
    }
    if omitted.names {
        notes.push(LEFT_OUT_NAMES.to_owned());
    }
    notes.extend(closed_paths::note(omitted.closed));
    let mut text = shown.content;
    if !notes.is_empty() {
        text += &format!("\n\n[{}]", notes.join(" "));
    }
    Outcome::text(text).with_details(details.into())
}
