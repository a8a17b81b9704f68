//! A tool call as a text that a user can decide on.

use std::fmt::Write as _;

use bowline_core::ask::Approval;
use serde_json::Value;

/// How many characters of one argument are shown, and of all of them.
const LONGEST_ARGUMENT: usize = 2_000;
const LONGEST_TEXT: usize = 8_000;

/// Returns why a call needs consent and what it would do: a line for the reason, and one for each argument.
pub(crate) fn approval_text(approval: &Approval) -> String {
    let mut text = String::new();
    if !approval.reason.is_empty() {
        let _ = writeln!(text, "Reason: {}", shortened(&approval.reason, LONGEST_ARGUMENT));
    }
    for (name, value) in &*approval.arguments {
        if text.len() > LONGEST_TEXT {
            text.push_str("…\n");
            break;
        }
        let value = match value {
            Value::String(text) => shortened(text, LONGEST_ARGUMENT),
            other => shortened(&other.to_string(), LONGEST_ARGUMENT),
        };
        let gap = if value.contains('\n') { '\n' } else { ' ' };
        let _ = writeln!(text, "{}:{gap}{value}", capitalized(&shortened(name, LONGEST_ARGUMENT)));
    }
    text.truncate(text.trim_end().len());
    text
}

fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn text(reason: &str, arguments: &Value) -> String {
        approval_text(&Approval {
            call_id: "c".to_owned(),
            tool: "write".to_owned(),
            arguments: Arc::new(arguments.as_object().cloned().unwrap_or_default()),
            reason: reason.to_owned(),
        })
    }

    #[test]
    fn every_argument_is_a_line_of_its_own() {
        assert_eq!(
            text("it writes", &json!({ "path": "a.txt", "content": "one\ntwo", "force": true })),
            "Reason: it writes\nPath: a.txt\nContent:\none\ntwo\nForce: true"
        );
        assert_eq!(text("", &json!({})), "");
    }

    #[test]
    fn text_is_bounded_whatever_the_arguments_are() {
        let long = "é".repeat(100_000);
        let one = text("", &json!({ "content": long }));
        assert_eq!(one.chars().count(), "Content: ".len() + LONGEST_ARGUMENT + 1);
        let many: serde_json::Map<_, _> = (0..100).map(|n| (n.to_string(), json!(long))).collect();
        assert!(text(&long, &many.into()).chars().count() < LONGEST_TEXT + 3 * LONGEST_ARGUMENT);
    }
}
