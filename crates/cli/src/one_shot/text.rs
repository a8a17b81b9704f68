//! The last answer as text.

use super::summary::Summary;

/// Returns the texts of the last answer, each with a line feed, or the JSON that was asked for; nothing if the run failed.
pub(super) fn ending(summary: &Summary) -> String {
    if summary.failure().is_some() {
        return String::new();
    }
    if let Some(output) = &summary.output {
        return format!("{output}\n");
    }
    summary.texts.iter().map(|text| format!("{text}\n")).collect()
}
