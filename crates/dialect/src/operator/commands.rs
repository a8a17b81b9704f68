//! The table of commands: those of the document first, then what operator-use's own client knows besides.

use bowline_core::command::{Command, Draft, Queue};
use bowline_core::thinking::ThinkingLevel;

use crate::command_table::Row;
use crate::fields::Kind::{Anything, Boolean, FilledText, OneOf, Text};
use crate::fields::{Field, Fields, LEVELS};

const QUEUED: &[Field] = &[Field::required("message", FilledText).or("text")];

/// Every command. Where the document and the code name a field differently, the document's name comes first.
pub(super) const TABLE: &[Row] = &[
    Row {
        name: "prompt",
        fields: &[
            Field::required("text", FilledText).or("message"),
            // The document has it without saying what is in it, and no server looks at it.
            Field::optional("options", Anything),
        ],
        build: |fields| Command::Prompt { message: draft(fields, "text"), when_busy: None },
    },
    Row {
        name: "compact",
        fields: &[Field::optional("custom_instructions", Text)],
        build: |mut fields| Command::Compact { instructions: fields.optional_text("custom_instructions") },
    },
    Row { name: "abort", fields: &[], build: |_| Command::Abort },
    Row { name: "new_session", fields: &[], build: |_| Command::NewSession { parent: None } },
    Row {
        name: "fork",
        fields: &[Field::required("entry_id", FilledText).echoed()],
        build: |mut fields| Command::Fork { entry: fields.text("entry_id") },
    },
    Row {
        name: "switch_session",
        fields: &[Field::required("session_file", FilledText).or("session_path")],
        build: |mut fields| Command::SwitchSession { path: fields.text("session_file").into() },
    },
    Row { name: "get_state", fields: &[], build: |_| Command::GetState },
    Row {
        name: "steer",
        fields: QUEUED,
        build: |fields| Command::Enqueue { message: draft(fields, "message"), queue: Queue::Steering },
    },
    Row {
        name: "follow_up",
        fields: QUEUED,
        build: |fields| Command::Enqueue { message: draft(fields, "message"), queue: Queue::FollowUp },
    },
    Row {
        name: "set_session_name",
        fields: &[Field::required("name", FilledText)],
        build: |mut fields| Command::SetSessionName { name: fields.text("name") },
    },
    Row { name: "get_messages", fields: &[], build: |_| Command::GetMessages },
    Row { name: "get_last_assistant_text", fields: &[], build: |_| Command::GetLastAssistantText },
    // All that its answer has is in the state.
    Row { name: "get_session_stats", fields: &[], build: |_| Command::GetState },
    Row {
        name: "set_model",
        fields: &[Field::required("model_id", FilledText), Field::optional("provider", Text)],
        build: |mut fields| Command::ChooseModel {
            provider: fields.optional_text("provider").filter(|name| !name.is_empty()),
            pattern: fields.text("model_id"),
        },
    },
    Row {
        name: "set_thinking_level",
        fields: &[Field::required("level", OneOf(LEVELS)).echoed()],
        build: |mut fields| Command::SetThinkingLevel {
            level: ThinkingLevel::parse(&fields.text("level")).unwrap_or_default(),
        },
    },
    Row {
        name: "set_auto_compaction",
        fields: &[Field::required("enabled", Boolean).echoed()],
        build: |fields| Command::SetAutoCompaction { enabled: fields.flag("enabled") },
    },
];

fn draft(mut fields: Fields, name: &str) -> Draft {
    Draft { text: fields.text(name), images: Vec::new() }
}
