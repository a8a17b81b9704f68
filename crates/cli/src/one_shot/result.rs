//! One JSON object that says how everything ended.

use serde::Serialize;
use serde_json::value::RawValue;

use super::summary::{Summary, Usage};

/// The result of a one-shot run.
#[derive(Serialize)]
#[serde(tag = "type", rename = "result", rename_all = "camelCase")]
struct RunResult<'summary> {
    /// Whether every message was run to its end.
    success: bool,
    /// The text of the last answer.
    text: String,
    /// The JSON that the last message asked for, and that satisfies its schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'summary RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'summary str>,
    /// The same for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_kind: Option<&'summary str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<&'summary str>,
    session_id: &'summary str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_file: Option<&'summary str>,
    /// `provider/id` of the last answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'summary str>,
    /// The number of answers.
    turns: u64,
    tool_calls: u64,
    /// What the answers have used.
    usage: &'summary Usage,
    duration_ms: u64,
}

/// Returns the object as a line.
pub(super) fn ending(summary: &Summary) -> String {
    let failure = summary.failure();
    let result = RunResult {
        success: failure.is_none(),
        text: summary.texts.join("\n"),
        output: summary.output.as_deref(),
        error: failure,
        error_kind: summary.failure_kind(),
        stop_reason: summary.stop_reason.as_deref(),
        session_id: &summary.session_id,
        session_file: summary.session_file.as_deref(),
        model: summary.model.as_deref(),
        turns: summary.turns,
        tool_calls: summary.tool_calls,
        usage: &summary.usage,
        duration_ms: u64::try_from(summary.started.elapsed().as_millis()).unwrap_or(u64::MAX),
    };
    serde_json::to_string(&result).unwrap_or_default() + "\n"
}
