//! The result of a call of `task`, and what is shown while it runs.

use std::fmt::Write as _;
use std::time::Duration;

use bowline_core::message::Content;
use bowline_core::subagent::{SubagentProgress, SubagentStatus};
use bowline_core::usage::Usage;
use bowline_tools::Outcome;
use serde_json::{Value, json};

use super::child::Ended;

/// The most bytes of all answers together, as for the output of other tools.
const MOST_BYTES: usize = 50 * 1024;

/// Returns the result of a call. It is an error if none of the children completed its task.
pub(super) fn outcome(ended: &[Ended], duration: Duration, was_aborted: bool) -> Outcome {
    let shares = shares_of(ended);
    let sections = ended
        .iter()
        .zip(&shares)
        .map(|(ended, share)| section(ended, *share, ended_alone(ended, shares.len())));
    let text = sections.collect::<Vec<_>>().join("\n\n");
    let mut usage = Usage::default();
    ended.iter().for_each(|ended| usage.add(&ended.usage));
    let results: Vec<_> = ended.iter().zip(&shares).map(|(ended, share)| details(ended, *share)).collect();
    let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let is_completed = |ended: &Ended| ended.subagent.progress.status == SubagentStatus::Completed;
    Outcome {
        content: vec![Content::text(text)],
        details: Some(json!({ "results": results, "totalDurationMs": milliseconds, "usage": usage })),
        structured_content: None,
        usage: None,
        is_error: was_aborted || !ended.iter().any(is_completed),
        ends_run: false,
        protected: Vec::new(),
    }
}

/// Returns which answers are too long for the result.
pub(super) fn too_long(ended: &[Ended]) -> Vec<usize> {
    let shares = shares_of(ended);
    (0..ended.len()).filter(|index| ended[*index].text.len() > shares[*index]).collect()
}

fn shares_of(ended: &[Ended]) -> Vec<usize> {
    shares(ended.iter().map(|ended| ended.text.len()), MOST_BYTES)
}

/// Tells whether a result needs no heading: it is the only one, and an answer.
fn ended_alone(ended: &Ended, count: usize) -> bool {
    count == 1 && ended.subagent.progress.status == SubagentStatus::Completed
}

/// Returns what the model reads of a child.
fn section(ended: &Ended, share: usize, is_alone: bool) -> String {
    let progress = &ended.subagent.progress;
    let mut text = String::new();
    if !is_alone {
        let status = match (progress.status, &progress.error) {
            (SubagentStatus::Completed, _) => "completed".to_owned(),
            (SubagentStatus::Aborted, None) => "aborted".to_owned(),
            (SubagentStatus::Aborted, Some(error)) => format!("aborted: {error}"),
            (_, error) => format!("failed: {}", error.as_deref().unwrap_or("it did not end")),
        };
        let _ = writeln!(text, "## {} ({}) {status}", progress.id, progress.agent);
    }
    match (ended.text.is_empty(), progress.status) {
        (true, SubagentStatus::Completed) => text.push_str("(It ended without an answer.)"),
        (true, _) => text.truncate(text.trim_end().len()),
        (false, SubagentStatus::Completed) => push_answer(&mut text, ended, share),
        (false, _) => {
            text.push_str("Its last words before that:\n");
            push_answer(&mut text, ended, share);
        }
    }
    text
}

/// Appends an answer, or as much of its beginning as its share allows.
fn push_answer(text: &mut String, ended: &Ended, share: usize) {
    let answer = &*ended.text;
    if answer.len() <= share {
        return text.push_str(answer);
    }
    let shown = &answer[..answer.floor_char_boundary(share)];
    let whole = match &ended.whole_text {
        Some(file) => format!("; the whole answer is in {}", file.display()),
        None => String::new(),
    };
    let _ = write!(text, "{shown}\n\n[Truncated: {} of {} bytes{whole}]", shown.len(), answer.len());
}

/// Returns what clients read of a child.
fn details(ended: &Ended, share: usize) -> Value {
    let progress = &ended.subagent.progress;
    let mut details = json!({
        "index": progress.index,
        "id": progress.id,
        "agent": progress.agent,
        "agentSource": progress.agent_source,
        "task": progress.task,
        "status": progress.status,
        "exitCode": i32::from(progress.status != SubagentStatus::Completed),
        "aborted": progress.status == SubagentStatus::Aborted,
        "truncated": ended.text.len() > share,
        "durationMs": progress.duration_ms,
        "requests": progress.requests,
        "toolCount": progress.tool_count,
        "tokens": progress.tokens,
        "usage": ended.usage,
        "resolvedModel": progress.resolved_model,
    });
    if let Some(file) = &ended.subagent.session_file {
        details["sessionFile"] = file.display().to_string().into();
    }
    if let Some(file) = &ended.whole_text {
        details["fullOutputPath"] = file.display().to_string().into();
    }
    if let Some(error) = &progress.error {
        details["error"] = error.as_str().into();
    }
    details
}

/// Divides `total` among texts of these lengths: what short ones do not need, longer ones get.
fn shares(lengths: impl Iterator<Item = usize>, total: usize) -> Vec<usize> {
    let lengths: Vec<_> = lengths.collect();
    let mut order: Vec<_> = (0..lengths.len()).collect();
    order.sort_by_key(|index| lengths[*index]);
    let mut shares = vec![0; lengths.len()];
    let mut left = total;
    for (place, index) in order.iter().enumerate() {
        let share = lengths[*index].min(left / (lengths.len() - place));
        shares[*index] = share;
        left -= share;
    }
    shares
}

/// Returns a line for each child that says what it is doing.
pub(super) fn activity(children: &[&SubagentProgress]) -> String {
    let lines = children.iter().map(|child| {
        let mut line = format!("{} ({}): ", child.id, child.agent);
        match (child.status, &child.current_tool) {
            (SubagentStatus::Pending, _) => line.push_str("waiting"),
            (SubagentStatus::Running, Some(tool)) => {
                let _ = write!(line, "{tool} {}", child.current_tool_args.as_deref().unwrap_or_default());
            }
            (SubagentStatus::Running, None) => line.push_str("thinking"),
            (SubagentStatus::Completed, _) => line.push_str("completed"),
            (SubagentStatus::Failed, _) => line.push_str("failed"),
            (SubagentStatus::Aborted, _) => line.push_str("aborted"),
        }
        if child.requests > 0 {
            let _ = write!(
                line,
                "; {} responses, {} tools, {} tokens, {} s",
                child.requests,
                child.tool_count,
                child.tokens,
                child.duration_ms / 1000
            );
        }
        line
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_short_answers_do_not_need_longer_ones_get() {
        let check = |lengths: &[usize], expected: &[usize]| {
            assert_eq!(shares(lengths.iter().copied(), 100), expected);
        };
        check(&[10, 20], &[10, 20]);
        check(&[500, 10, 500], &[45, 10, 45]);
        check(&[1000], &[100]);
        check(&[], &[]);
    }
}
