//! Settings without the secrets in them: keys of MCP servers, passwords in addresses, assignments in commands.

use bowline_tools::{is_name_of_secret, looks_secret};
use serde_json::Value;

/// Stands for what is not shown.
const HIDDEN: &str = "(hidden)";

/// The settings with names that the user chooses, and values that go to other programs.
const OF_OTHER_PROGRAMS: &[&str] = &["mcpServers", "hooks"];

/// The members whose values are variables or headers, of which any may be secret.
const ANY_SECRET: &[&str] = &["env", "headers"];

/// Returns the value of a setting without secrets.
pub(super) fn hidden(path: &str, value: &Value) -> Value {
    let knows_names = OF_OTHER_PROGRAMS.iter().any(|other| path.split('.').next() == Some(other));
    walk(value, knows_names, false)
}

/// Tells whether a value is a reference to a variable, which is not secret itself.
fn is_reference(text: &str) -> bool {
    let name = text.strip_prefix('$').map(|name| name.trim_start_matches('{').trim_end_matches('}'));
    name.is_some_and(|name| {
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    })
}

fn walk(value: &Value, knows_names: bool, is_secret: bool) -> Value {
    match value {
        Value::String(text) if is_secret && !is_reference(text) => HIDDEN.into(),
        Value::String(text) => shown_text(text).into(),
        Value::Array(values) => {
            let mut follows_name = false;
            let values = values.iter().map(|value| {
                let shown = walk(value, knows_names, is_secret || follows_name);
                follows_name =
                    value.as_str().is_some_and(|word| word.starts_with('-') && has_secret_name(word));
                shown
            });
            values.collect()
        }
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| {
                let is_secret = is_secret
                    || knows_names && (ANY_SECRET.contains(&name.as_str()) || is_name_of_secret(name));
                (name.clone(), walk(value, knows_names, is_secret))
            });
            Value::Object(members.collect())
        }
        other => other.clone(),
    }
}

/// Tells whether a flag such as `--api-key` is followed by a secret.
fn has_secret_name(flag: &str) -> bool {
    !flag.contains(char::is_whitespace) && is_name_of_secret(flag.trim_start_matches('-'))
}

/// Returns a text without the secrets in its words.
fn shown_text(text: &str) -> String {
    if looks_secret(text) && !text.contains(char::is_whitespace) && !text.contains("://") {
        return HIDDEN.to_owned();
    }
    let mut follows_name = false;
    let words = text.split_inclusive(char::is_whitespace).map(|part| {
        let word = part.trim_end();
        let space = &part[word.len()..];
        let shown = if follows_name && !is_reference(word) { HIDDEN.to_owned() } else { shown_word(word) };
        let is_flag = word.starts_with('-') && !word.contains('=') && has_secret_name(word);
        follows_name = is_flag || matches!(word.trim_matches(['"', '\'']), "Bearer" | "Basic");
        shown + space
    });
    words.collect()
}

fn shown_word(word: &str) -> String {
    if word.contains("://") {
        return bowline_llm::shown_address(word);
    }
    let plain = word.trim_matches(['"', '\'']);
    match word.split_once('=') {
        Some((name, value))
            if is_name_of_secret(name.trim_start_matches('-')) && !is_reference(value.trim_matches('"')) =>
        {
            format!("{name}={HIDDEN}")
        }
        Some((name, value)) if looks_secret(value.trim_matches(['"', '\''])) => format!("{name}={HIDDEN}"),
        _ if looks_secret(plain) => HIDDEN.to_owned(),
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_hidden_and_the_rest_is_shown() {
        let key = &*format!("sk-{}", "x".repeat(24));
        for (path, value, expected) in [
            (
                "mcpServers",
                json!({"a": {"command": "x", "args": ["--api-key", "hunter2", "--port", "8", "--token=hunter2"],
                    "env": {"PLAIN": "hunter2", "FROM": "${MY_KEY}"}, "headers": {"X": "hunter2"}, "apiKey": "hunter2"}}),
                json!({"a": {"command": "x", "args": ["--api-key", HIDDEN, "--port", "8", "--token=(hidden)"],
                    "env": {"PLAIN": HIDDEN, "FROM": "${MY_KEY}"}, "headers": {"X": HIDDEN}, "apiKey": HIDDEN}}),
            ),
            (
                "mcpServers.a",
                json!({"url": "https://me:hunter2@example.org/mcp?token=hunter2&x=1"}),
                json!({"url": "https://***@example.org/mcp?token=***&x=1"}),
            ),
            (
                "shellCommandPrefix",
                json!(format!(
                    "export A_TOKEN=hunter2 B=\"{key}\"\ncurl -H Authorization: Bearer hunter2 {key}"
                )),
                json!("export A_TOKEN=(hidden) B=(hidden)\ncurl -H Authorization: Bearer (hidden) (hidden)"),
            ),
            (
                "packages",
                json!(["npm:a", "git:https://me:hunter2@h/p"]),
                json!(["npm:a", "git:https://***@h/p"]),
            ),
            ("nodePath", json!(key), json!(HIDDEN)),
            ("modelThinkingLevels", json!({"a/monkey-7b": "high"}), json!({"a/monkey-7b": "high"})),
            ("piExtensionEnvironment", json!(["EXA_API_KEY"]), json!(["EXA_API_KEY"])),
            ("maxTurns", json!(5), json!(5)),
        ] {
            assert_eq!(hidden(path, &value), expected, "{path}");
        }
    }
}
