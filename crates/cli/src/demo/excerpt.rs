//! Records in short: the fields that are worth reading, with `…` for the rest.

use serde_json::Value;

/// The longest text that is shown whole.
const LONGEST_TEXT: usize = 160;

/// The fields of a record that are always shown.
const HEAD: &[&str] = &["id", "type", "command", "success", "error", "code", "aborted"];

/// Returns the paths of the fields to show besides the head; `*` stands for all.
fn interesting(record: &Value) -> &'static [&'static str] {
    let text = |name: &str| record[name].as_str().unwrap_or_default();
    match (text("type"), text("command")) {
        ("response", "get_state") => &[
            "data.model.provider",
            "data.model.id",
            "data.thinkingLevel",
            "data.isStreaming",
            "data.messageCount",
            "data.tools",
        ],
        ("response", "get_session_stats") => {
            &["data.userMessages", "data.assistantMessages", "data.toolCalls", "data.tokens", "data.cost"]
        }
        ("message_start", _) => &["message.role"],
        ("message_end", _) => match record["message"]["role"].as_str() {
            Some("assistant") => &["message.role", "message.stopReason"],
            Some("toolResult") => &["message.role", "message.toolName", "message.isError"],
            _ => &["message.role", "message.content"],
        },
        ("tool_execution_update", _) => &["toolName", "partialResult.content"],
        ("tool_execution_end", _) => &["toolName", "result.content", "isError", "durationMs"],
        ("turn_end" | "agent_end", _) => &["willRetry"],
        _ => &["*"],
    }
}

/// Returns a record as JSON, without the fields that are not worth reading.
pub(super) fn of(record: &Value) -> String {
    let mut text = String::new();
    write(&mut text, record, "", interesting(record));
    text
}

fn write(text: &mut String, value: &Value, path: &str, shown: &[&str]) {
    match value {
        Value::Object(members) => {
            let mut parts = Vec::new();
            for (key, value) in members {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                if is_shown(&path, shown) {
                    let mut part = format!("{}:", Value::from(key.as_str()));
                    write(&mut part, value, &path, shown);
                    parts.push(part);
                }
            }
            if parts.len() < members.len() {
                parts.push("…".to_owned());
            }
            text.push_str(&format!("{{{}}}", parts.join(",")));
        }
        Value::Array(values) => {
            let parts = values.iter().map(|value| {
                let mut part = String::new();
                write(&mut part, value, path, shown);
                part
            });
            text.push_str(&format!("[{}]", parts.collect::<Vec<_>>().join(",")));
        }
        Value::String(whole) if whole.chars().count() > LONGEST_TEXT => {
            let beginning: String = whole.chars().take(LONGEST_TEXT - 1).chain(['…']).collect();
            text.push_str(&Value::String(beginning).to_string());
        }
        other => text.push_str(&other.to_string()),
    }
}

/// Tells whether a field is to be shown, contains one that is, or is part of one.
fn is_shown(path: &str, shown: &[&str]) -> bool {
    let is_within = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    HEAD.contains(&path)
        || shown.iter().any(|wanted| *wanted == "*" || is_within(path, wanted) || is_within(wanted, path))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn uninteresting_fields_are_left_out_and_marked() {
        let record = json!({ "type": "message_end", "message": { "role": "assistant", "content": [{ "type": "text" }],
            "usage": { "input": 1 }, "stopReason": "stop" } });
        assert_eq!(
            of(&record),
            r#"{"type":"message_end","message":{"role":"assistant","stopReason":"stop",…}}"#
        );
        let record = json!({ "type": "turn_end", "message": {}, "toolResults": [] });
        assert_eq!(of(&record), r#"{"type":"turn_end",…}"#);
        let record = json!({ "type": "agent_settled", "aborted": true });
        assert_eq!(of(&record), r#"{"type":"agent_settled","aborted":true}"#);
        let record = json!({ "type": "queue_update", "steering": ["x".repeat(200)] });
        assert!(of(&record).ends_with("xxx…\"]}"), "{}", of(&record));
    }
}
