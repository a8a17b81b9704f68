//! Decodes a line of a session file into a displayed entry.

use bowline_core::Usage;
use bowline_core::message::Arguments;
use jiff::Timestamp;
use serde_json::Value;

use super::{Answer, BashExecution, Block, Body, Call, DisplayedEntry, ToolResult};

/// The fields of a JSON object, removed as they are read.
struct Fields(Arguments);

impl Fields {
    /// Returns a string; none if the field is absent or of another type.
    fn text(&mut self, name: &str) -> Option<String> {
        match self.0.shift_remove(name) {
            Some(Value::String(text)) => Some(text),
            Some(other) => {
                self.0.insert(name.to_owned(), other);
                None
            }
            None => None,
        }
    }

    fn text_or_empty(&mut self, name: &str) -> String {
        self.text(name).unwrap_or_default()
    }

    fn value(&mut self, name: &str) -> Value {
        self.0.shift_remove(name).unwrap_or_default()
    }

    fn is_true(&self, name: &str) -> bool {
        self.0.get(name) == Some(&Value::Bool(true))
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    fn usage(&mut self, name: &str) -> Option<Usage> {
        serde_json::from_value(self.value(name)).ok()
    }

    fn blocks(&mut self, name: &str) -> Vec<Block> {
        blocks(self.value(name))
    }

    /// Returns a time, written as a string or as milliseconds since 1970.
    fn time(&mut self, name: &str) -> Option<Timestamp> {
        match self.value(name) {
            Value::String(text) => text.parse().ok(),
            value => value
                .as_i64()
                .filter(|time| *time > 0)
                .and_then(|time| Timestamp::from_millisecond(time).ok()),
        }
    }
}

/// Returns the entry in a line.
pub(super) fn entry(line: &[u8]) -> DisplayedEntry {
    let text = String::from_utf8_lossy(line);
    // The index skips over what a line contains, so the line may hold numbers or escapes that cannot be decoded.
    let Ok(fields) = serde_json::from_str::<Arguments>(&text) else {
        return DisplayedEntry { time: None, body: Body::Unreadable(text.into_owned()) };
    };
    let mut fields = Fields(fields);
    let time = fields.time("timestamp");
    let kind = fields.0.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    fields.text("id");
    fields.text("parentId");
    DisplayedEntry { time, body: body(&kind, fields) }
}

/// Returns the content of an entry of type `kind`.
fn body(kind: &str, mut fields: Fields) -> Body {
    match kind {
        "message" => match fields.value("message") {
            Value::Object(message) => message_body(Fields(message)),
            other => {
                fields.0.insert("message".to_owned(), other);
                Body::Unknown(Value::Object(fields.0))
            }
        },
        "custom_message" => custom(fields),
        "compaction" => Body::Compaction {
            summary: fields.text_or_empty("summary"),
            first_kept: fields.text("firstKeptEntryId"),
            tokens_before: fields.number("tokensBefore").unwrap_or_default(),
            usage: fields.usage("usage"),
        },
        "branch_summary" => Body::BranchSummary {
            summary: fields.text_or_empty("summary"),
            from: fields.text("fromId").filter(|id| id != "root"),
            usage: fields.usage("usage"),
        },
        "model_change" => Body::ModelChange {
            provider: fields.text_or_empty("provider"),
            model: fields.text_or_empty("modelId"),
        },
        "thinking_level_change" => Body::ThinkingLevelChange(fields.text_or_empty("thinkingLevel")),
        "session_info" => Body::Name(fields.text_or_empty("name")),
        "label" => Body::Label {
            target: fields.text_or_empty("targetId"),
            label: fields.text("label").filter(|label| !label.is_empty()),
        },
        "context_edit" => Body::ContextEdit {
            target: fields.text_or_empty("targetId"),
            replacement: match fields.value("replacement") {
                Value::Object(replacement) => Some(Fields(replacement).blocks("content")),
                _ => None,
            },
        },
        "usage" => Body::Spending {
            kind: fields.text_or_empty("kind"),
            usage: fields.usage("usage").unwrap_or_default(),
        },
        "custom" => {
            Body::ExtensionData { kind: fields.text_or_empty("customType"), data: fields.value("data") }
        }
        _ => Body::Unknown(Value::Object(fields.0)),
    }
}

fn message_body(mut fields: Fields) -> Body {
    let role = fields.0.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
    match role.as_str() {
        "user" => Body::User(fields.blocks("content")),
        "assistant" => Body::Answer(Box::new(Answer {
            content: fields.blocks("content"),
            provider: fields.text_or_empty("provider"),
            model: fields.text_or_empty("model"),
            usage: fields.usage("usage").unwrap_or_default(),
            stop_reason: fields.text_or_empty("stopReason"),
            error: fields.text("errorMessage"),
        })),
        "toolResult" => Body::ToolResult(Box::new(ToolResult {
            call_id: fields.text_or_empty("toolCallId"),
            tool: fields.text_or_empty("toolName"),
            content: fields.blocks("content"),
            details: fields.value("details"),
            usage: fields.usage("usage"),
            is_error: fields.is_true("isError"),
        })),
        "bashExecution" => Body::Bash(Box::new(BashExecution {
            command: fields.text_or_empty("command"),
            output: fields.text_or_empty("output"),
            exit_code: fields.0.get("exitCode").and_then(Value::as_i64),
            is_cancelled: fields.is_true("cancelled"),
            is_truncated: fields.is_true("truncated"),
            full_output_path: fields.text("fullOutputPath"),
            is_private: fields.is_true("excludeFromContext"),
        })),
        // Version 2 called it `hookMessage`.
        "custom" | "hookMessage" => custom(fields),
        "system" => Body::System(Value::Object(fields.0)),
        "branchSummary" => Body::BranchSummary {
            summary: fields.text_or_empty("summary"),
            from: fields.text("fromId"),
            usage: None,
        },
        "compactionSummary" => Body::Compaction {
            summary: fields.text_or_empty("summary"),
            first_kept: None,
            tokens_before: fields.number("tokensBefore").unwrap_or_default(),
            usage: None,
        },
        _ => Body::Unknown(Value::Object(fields.0)),
    }
}

fn custom(mut fields: Fields) -> Body {
    Body::Custom {
        kind: fields.text_or_empty("customType"),
        content: fields.blocks("content"),
        is_shown: fields.is_true("display"),
    }
}

/// Returns the blocks of a message's content, which may be a plain string in older files.
fn blocks(content: Value) -> Vec<Block> {
    match content {
        Value::String(text) => vec![Block::Text(text)],
        Value::Array(list) => list.into_iter().map(block).collect(),
        Value::Null => Vec::new(),
        other => vec![Block::Unknown(other)],
    }
}

fn block(value: Value) -> Block {
    let Value::Object(fields) = value else { return Block::Unknown(value) };
    let mut fields = Fields(fields);
    let kind = fields.0.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    match kind.as_str() {
        "text" => Block::Text(fields.text_or_empty("text")),
        "thinking" => Block::Thinking {
            text: fields.text_or_empty("thinking"),
            is_redacted: fields.is_true("redacted"),
        },
        "image" => {
            Block::Image { data: fields.text_or_empty("data"), mime_type: fields.text_or_empty("mimeType") }
        }
        "toolCall" => Block::Call(Call {
            id: fields.text_or_empty("id"),
            name: fields.text_or_empty("name"),
            arguments: match fields.value("arguments") {
                Value::Object(arguments) => arguments,
                Value::Null => Arguments::new(),
                other => Arguments::from_iter([("arguments".to_owned(), other)]),
            },
        }),
        _ => Block::Unknown(Value::Object(fields.0)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(kind: &str, value: Value) -> Body {
        let Value::Object(fields) = value else { panic!("{value}") };
        body(kind, Fields(fields))
    }

    #[test]
    fn missing_fields_are_empty() {
        let Body::Answer(answer) = read("message", json!({"message": {"role": "assistant", "usage": 7}}))
        else {
            panic!("not an answer")
        };
        assert_eq!((answer.content.len(), answer.model.as_str(), answer.usage.input), (0, "", 0));
    }

    #[test]
    fn unknown_content_is_kept() {
        let unknown = json!({"role": "oracle", "says": 1});
        assert_eq!(read("message", json!({"message": unknown})), Body::Unknown(unknown));
        let hologram = json!({"type": "hologram", "data": "x"});
        assert_eq!(
            read("message", json!({"message": {"role": "user", "content": [hologram, 3]}})),
            Body::User(vec![Block::Unknown(hologram), Block::Unknown(json!(3))])
        );
        let future = json!({"type": "from_the_future"});
        assert_eq!(read("from_the_future", future.clone()), Body::Unknown(future));
    }

    #[test]
    fn older_files_have_plain_strings_and_other_role_names() {
        assert_eq!(
            read(
                "message",
                json!({"message": {"role": "hookMessage", "customType": "h", "content": "x", "display": true}})
            ),
            Body::Custom { kind: "h".into(), content: vec![Block::Text("x".into())], is_shown: true }
        );
    }

    #[test]
    fn a_line_that_cannot_be_decoded_is_kept_as_text() {
        let line = r#"{"type":"custom","id":"1","data":"\ud83d"}"#;
        assert_eq!(entry(line.as_bytes()).body, Body::Unreadable(line.into()));
        let invalid = b"{\"type\":\"session_info\",\"id\":\"1\",\"name\":\"a\xff\"}";
        assert_eq!(entry(invalid).body, Body::Name("a\u{fffd}".into()));
    }
}
