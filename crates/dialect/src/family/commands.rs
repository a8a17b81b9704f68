//! The commands that several dialects of the family have, each a row for their tables.

use bowline_core::command::{Command, Draft, Queue, QueueMode};
use bowline_core::thinking::ThinkingLevel;

use crate::command_table::Row;
use crate::fields::Kind::{Boolean, Images, OneOf, Text};
use crate::fields::{Field, Fields};

const MODES: &[&str] = &["all", "one-at-a-time"];
const LEVELS: &[&str] = &["off", "minimal", "low", "medium", "high", "xhigh", "max"];
const QUEUES: &[&str] = &["steer", "followUp"];

/// What every command has that brings a message along.
pub(crate) const MESSAGE: &[Field] = &[Field::required("message", Text), Field::optional("images", Images)];

pub(crate) const PROMPT: Row = Row {
    name: "prompt",
    fields: &[
        Field::required("message", Text),
        Field::optional("images", Images),
        Field::optional("streamingBehavior", OneOf(QUEUES)),
    ],
    build: |mut fields| {
        let when_busy = fields.optional_text("streamingBehavior").map(|name| match name.as_str() {
            "steer" => Queue::Steering,
            _ => Queue::FollowUp,
        });
        Command::Prompt { message: draft(fields), when_busy }
    },
};

pub(crate) const STEER: Row = Row {
    name: "steer",
    fields: MESSAGE,
    build: |fields| Command::Enqueue { message: draft(fields), queue: Queue::Steering },
};

pub(crate) const FOLLOW_UP: Row = Row {
    name: "follow_up",
    fields: MESSAGE,
    build: |fields| Command::Enqueue { message: draft(fields), queue: Queue::FollowUp },
};

pub(crate) const ABORT: Row = Row { name: "abort", fields: &[], build: |_| Command::Abort };

pub(crate) const GET_STATE: Row = Row { name: "get_state", fields: &[], build: |_| Command::GetState };

pub(crate) const GET_MESSAGES: Row =
    Row { name: "get_messages", fields: &[], build: |_| Command::GetMessages };

pub(crate) const SET_MODEL: Row = Row {
    name: "set_model",
    fields: &[Field::required("provider", Text), Field::required("modelId", Text)],
    build: |mut fields| Command::SetModel { provider: fields.text("provider"), id: fields.text("modelId") },
};

pub(crate) const CYCLE_MODEL: Row = Row { name: "cycle_model", fields: &[], build: |_| Command::CycleModel };

pub(crate) const GET_AVAILABLE_MODELS: Row =
    Row { name: "get_available_models", fields: &[], build: |_| Command::GetAvailableModels };

pub(crate) const SET_THINKING_LEVEL: Row = Row {
    name: "set_thinking_level",
    fields: &[Field::required("level", OneOf(LEVELS))],
    build: |mut fields| Command::SetThinkingLevel {
        level: ThinkingLevel::parse(&fields.text("level")).unwrap_or_default(),
    },
};

pub(crate) const CYCLE_THINKING_LEVEL: Row =
    Row { name: "cycle_thinking_level", fields: &[], build: |_| Command::CycleThinkingLevel };

pub(crate) const SET_STEERING_MODE: Row = Row {
    name: "set_steering_mode",
    fields: &[Field::required("mode", OneOf(MODES))],
    build: |fields| Command::SetQueueMode { queue: Queue::Steering, mode: mode(fields) },
};

pub(crate) const SET_FOLLOW_UP_MODE: Row = Row {
    name: "set_follow_up_mode",
    fields: &[Field::required("mode", OneOf(MODES))],
    build: |fields| Command::SetQueueMode { queue: Queue::FollowUp, mode: mode(fields) },
};

pub(crate) const COMPACT: Row = Row {
    name: "compact",
    fields: &[Field::optional("customInstructions", Text)],
    build: |mut fields| Command::Compact { instructions: fields.optional_text("customInstructions") },
};

pub(crate) const SET_AUTO_COMPACTION: Row = Row {
    name: "set_auto_compaction",
    fields: &[Field::required("enabled", Boolean)],
    build: |fields| Command::SetAutoCompaction { enabled: fields.flag("enabled") },
};

pub(crate) const SET_AUTO_RETRY: Row = Row {
    name: "set_auto_retry",
    fields: &[Field::required("enabled", Boolean)],
    build: |fields| Command::SetAutoRetry { enabled: fields.flag("enabled") },
};

pub(crate) const ABORT_RETRY: Row = Row { name: "abort_retry", fields: &[], build: |_| Command::AbortRetry };

pub(crate) const BASH: Row = Row {
    name: "bash",
    fields: &[Field::required("command", Text), Field::optional("excludeFromContext", Boolean)],
    build: |mut fields| Command::Shell {
        command: fields.text("command"),
        exclude_from_context: fields.flag("excludeFromContext"),
    },
};

pub(crate) const ABORT_BASH: Row = Row { name: "abort_bash", fields: &[], build: |_| Command::AbortShell };

pub(crate) const NEW_SESSION: Row = Row {
    name: "new_session",
    fields: &[Field::optional("parentSession", Text)],
    build: |mut fields| Command::NewSession { parent: fields.optional_text("parentSession") },
};

pub(crate) const SWITCH_SESSION: Row = Row {
    name: "switch_session",
    fields: &[Field::required("sessionPath", Text)],
    build: |mut fields| Command::SwitchSession { path: fields.text("sessionPath").into() },
};

pub(crate) const GET_SESSION_STATS: Row =
    Row { name: "get_session_stats", fields: &[], build: |_| Command::GetSessionStatistics };

pub(crate) const EXPORT_HTML: Row = Row {
    name: "export_html",
    fields: &[Field::optional("outputPath", Text)],
    build: |mut fields| Command::ExportHtml { path: fields.optional_text("outputPath").map(Into::into) },
};

pub(crate) const GET_LAST_ASSISTANT_TEXT: Row =
    Row { name: "get_last_assistant_text", fields: &[], build: |_| Command::GetLastAssistantText };

pub(crate) const SET_SESSION_NAME: Row = Row {
    name: "set_session_name",
    fields: &[Field::required("name", Text)],
    build: |mut fields| Command::SetSessionName { name: fields.text("name") },
};

/// Takes the message out of the fields of [`MESSAGE`].
pub(crate) fn draft(mut fields: Fields) -> Draft {
    Draft { text: fields.text("message"), images: fields.images("images") }
}

fn mode(mut fields: Fields) -> QueueMode {
    QueueMode::parse(&fields.text("mode")).unwrap_or_default()
}
