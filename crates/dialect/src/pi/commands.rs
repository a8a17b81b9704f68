//! The table of commands.

use bowline_core::command::{Command, Draft, Queue, QueueMode, SessionQuery};
use bowline_core::thinking::ThinkingLevel;

use crate::command_table::Row;
use crate::fields::Kind::{Boolean, Count, Images, OneOf, Text};
use crate::fields::{Field, Fields, LEVELS};

const MODES: &[&str] = &["all", "one-at-a-time"];
const QUEUES: &[&str] = &["steer", "followUp"];
const SCOPES: &[&str] = &["project", "all"];
const MESSAGE: &[Field] = &[Field::required("message", Text), Field::optional("images", Images)];

/// Every command, grouped as the documentation groups them.
pub(super) const TABLE: &[Row] = &[
    Row {
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
    },
    Row {
        name: "steer",
        fields: MESSAGE,
        build: |fields| Command::Enqueue { message: draft(fields), queue: Queue::Steering },
    },
    Row {
        name: "follow_up",
        fields: MESSAGE,
        build: |fields| Command::Enqueue { message: draft(fields), queue: Queue::FollowUp },
    },
    Row { name: "abort", fields: &[], build: |_| Command::Abort },
    Row { name: "clear_queue", fields: &[], build: |_| Command::ClearQueue },
    Row { name: "get_state", fields: &[], build: |_| Command::GetState },
    Row { name: "get_messages", fields: &[], build: |_| Command::GetMessages },
    Row { name: "get_commands", fields: &[], build: |_| Command::GetCommands },
    Row {
        name: "set_model",
        fields: &[Field::required("provider", Text), Field::required("modelId", Text)],
        build: |mut fields| Command::SetModel {
            provider: fields.text("provider"),
            id: fields.text("modelId"),
        },
    },
    Row { name: "cycle_model", fields: &[], build: |_| Command::CycleModel },
    Row { name: "get_available_models", fields: &[], build: |_| Command::GetAvailableModels },
    Row {
        name: "set_thinking_level",
        fields: &[Field::required("level", OneOf(LEVELS))],
        build: |mut fields| Command::SetThinkingLevel {
            level: ThinkingLevel::parse(&fields.text("level")).unwrap_or_default(),
        },
    },
    Row { name: "cycle_thinking_level", fields: &[], build: |_| Command::CycleThinkingLevel },
    Row {
        name: "get_available_thinking_levels",
        fields: &[],
        build: |_| Command::GetAvailableThinkingLevels,
    },
    Row {
        name: "set_steering_mode",
        fields: &[Field::required("mode", OneOf(MODES))],
        build: |fields| Command::SetQueueMode { queue: Queue::Steering, mode: mode(fields) },
    },
    Row {
        name: "set_follow_up_mode",
        fields: &[Field::required("mode", OneOf(MODES))],
        build: |fields| Command::SetQueueMode { queue: Queue::FollowUp, mode: mode(fields) },
    },
    Row {
        name: "compact",
        fields: &[Field::optional("customInstructions", Text)],
        build: |mut fields| Command::Compact { instructions: fields.optional_text("customInstructions") },
    },
    Row {
        name: "set_auto_compaction",
        fields: &[Field::required("enabled", Boolean)],
        build: |fields| Command::SetAutoCompaction { enabled: fields.flag("enabled") },
    },
    Row {
        name: "set_auto_retry",
        fields: &[Field::required("enabled", Boolean)],
        build: |fields| Command::SetAutoRetry { enabled: fields.flag("enabled") },
    },
    Row { name: "abort_retry", fields: &[], build: |_| Command::AbortRetry },
    Row {
        name: "bash",
        fields: &[Field::required("command", Text), Field::optional("excludeFromContext", Boolean)],
        build: |mut fields| Command::Shell {
            command: fields.text("command"),
            exclude_from_context: fields.flag("excludeFromContext"),
        },
    },
    Row { name: "abort_bash", fields: &[], build: |_| Command::AbortShell },
    Row {
        name: "new_session",
        fields: &[Field::optional("parentSession", Text)],
        build: |mut fields| Command::NewSession { parent: fields.optional_text("parentSession") },
    },
    Row {
        name: "switch_session",
        fields: &[Field::required("sessionPath", Text)],
        build: |mut fields| Command::SwitchSession { path: fields.text("sessionPath").into() },
    },
    Row {
        name: "fork",
        fields: &[Field::required("entryId", Text)],
        build: |mut fields| Command::Fork { entry: fields.text("entryId") },
    },
    Row { name: "clone", fields: &[], build: |_| Command::Clone },
    Row { name: "get_fork_messages", fields: &[], build: |_| Command::GetForkMessages },
    Row {
        name: "get_entries",
        fields: &[Field::optional("since", Text)],
        build: |mut fields| Command::GetEntries { since: fields.optional_text("since") },
    },
    Row { name: "get_tree", fields: &[], build: |_| Command::GetTree },
    Row {
        name: "navigate_tree",
        fields: &[
            Field::required("entryId", Text),
            Field::optional("summarize", Boolean),
            Field::optional("customInstructions", Text),
        ],
        build: |mut fields| Command::NavigateTree {
            entry: fields.text("entryId"),
            summarize: fields.flag("summarize"),
            instructions: fields.optional_text("customInstructions"),
        },
    },
    Row {
        name: "set_label",
        fields: &[Field::required("entryId", Text), Field::optional("label", Text)],
        build: |mut fields| Command::SetLabel {
            entry: fields.text("entryId"),
            label: fields.optional_text("label"),
        },
    },
    Row {
        name: "list_sessions",
        fields: &[
            Field::optional("scope", OneOf(SCOPES)),
            Field::optional("search", Text),
            Field::optional("limit", Count),
            Field::optional("cursor", Text),
        ],
        build: |mut fields| Command::ListSessions {
            query: SessionQuery {
                everywhere: fields.optional_text("scope").as_deref() == Some("all"),
                search: fields.optional_text("search"),
                limit: fields.count("limit"),
                cursor: fields.optional_text("cursor"),
            },
        },
    },
    Row {
        name: "delete_session",
        fields: &[Field::required("sessionPath", Text)],
        build: |mut fields| Command::DeleteSession { path: fields.text("sessionPath").into() },
    },
    Row { name: "get_session_stats", fields: &[], build: |_| Command::GetSessionStatistics },
    Row {
        name: "export_html",
        fields: &[Field::optional("outputPath", Text)],
        build: |mut fields| Command::ExportHtml { path: fields.optional_text("outputPath").map(Into::into) },
    },
    Row { name: "get_last_assistant_text", fields: &[], build: |_| Command::GetLastAssistantText },
    Row {
        name: "set_session_name",
        fields: &[Field::required("name", Text)],
        build: |mut fields| Command::SetSessionName { name: fields.text("name") },
    },
];

fn draft(mut fields: Fields) -> Draft {
    Draft { text: fields.text("message"), images: fields.images("images") }
}

fn mode(mut fields: Fields) -> QueueMode {
    QueueMode::parse(&fields.text("mode")).unwrap_or_default()
}
