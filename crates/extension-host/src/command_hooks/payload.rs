//! What a command reads from stdin.

use std::path::Path;

use bowline_core::event::CompactionReason;
use bowline_core::hook::SessionReason;
use bowline_core::message::{Arguments, AssistantContent, Content, Message};
use serde_json::{Map, Value, json};

use super::event::HookEventName;
use super::tools::{ForeignCall, text_of};

/// What every event has.
#[derive(Debug, Clone)]
pub(super) struct Common<'a> {
    pub session_id: &'a str,
    /// Absent if the session has no file.
    pub transcript: Option<&'a Path>,
    pub directory: &'a Path,
}

impl Common<'_> {
    /// Returns the input of an event with these fields of its own.
    pub fn with(&self, event: HookEventName, own: Value) -> Map<String, Value> {
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        let common = json!({
            "session_id": self.session_id,
            "transcript_path": self.transcript.map(shown).unwrap_or_default(),
            "cwd": shown(self.directory),
            "permission_mode": "default",
            "hook_event_name": event.as_str(),
        });
        let objects = [common, own].into_iter();
        objects
            .filter_map(|value| if let Value::Object(object) = value { Some(object) } else { None })
            .flatten()
            .collect()
    }
}

/// Returns the fields of a tool call.
pub(super) fn of_call(tool: &str, call_id: &str, arguments: &Arguments, call: &ForeignCall) -> Value {
    json!({
        "tool_name": call.name,
        "tool_input": call.input,
        "tool_use_id": call_id,
        "bowline": {"toolName": tool, "args": arguments},
    })
}

/// Adds the fields of a tool's result.
pub(super) fn add_result(
    fields: &mut Value,
    tool: &str,
    call: &ForeignCall,
    content: &[Content],
    is_error: bool,
) {
    if is_error {
        fields["error"] = text_of(content).into();
        fields["is_interrupt"] = false.into();
    } else {
        fields["tool_response"] = call.response(tool, content);
    }
}

/// Returns where a session comes from in Claude Code's words; `None` if that is no start of one.
pub(super) fn source_of(reason: SessionReason, has_messages: bool) -> Option<&'static str> {
    match reason {
        SessionReason::Startup if has_messages => Some("resume"),
        SessionReason::Startup => Some("startup"),
        SessionReason::New => Some("clear"),
        SessionReason::Resume | SessionReason::Fork => Some("resume"),
        SessionReason::Reload | SessionReason::Quit => None,
    }
}

/// Returns why a session ends in Claude Code's words; `None` if it goes on.
pub(super) fn end_of(reason: SessionReason) -> Option<&'static str> {
    match reason {
        SessionReason::New => Some("clear"),
        SessionReason::Resume => Some("resume"),
        SessionReason::Fork | SessionReason::Quit | SessionReason::Startup => Some("other"),
        SessionReason::Reload => None,
    }
}

/// Returns who asked for a compaction.
pub(super) fn trigger_of(reason: CompactionReason) -> &'static str {
    if reason == CompactionReason::Manual { "manual" } else { "auto" }
}

/// Returns what kind of notification a dialog is in Claude Code's words.
pub(super) fn notification_of(dialog: &str) -> &'static str {
    if dialog == "confirm" { "permission_prompt" } else { "elicitation_dialog" }
}

/// Returns the text of a model's answer.
pub(super) fn answer_text(message: &Message) -> Option<String> {
    let Message::Assistant(answer) = message else { return None };
    let texts = answer.content.iter().filter_map(|block| match block {
        AssistantContent::Text(block) => Some(block.text.as_str()),
        _ => None,
    });
    Some(texts.collect::<Vec<_>>().join("\n"))
}
