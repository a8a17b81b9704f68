//! The last answer as text.

use super::summary::Summary;

/// Returns the texts of the last answer, each with a line feed; nothing if the run failed.
pub(super) fn ending(summary: &Summary) -> String {
    if summary.failure().is_some() {
        return String::new();
    }
    summary.texts.iter().map(|text| format!("{text}\n")).collect()
}
