//! The table of commands.

use bowline_core::command::{Command, SessionQuery};

use crate::command_table::Row;
use crate::family::commands as family;
use crate::fields::Field;
use crate::fields::Kind::{Boolean, Count, OneOf, Text};

const SCOPES: &[&str] = &["project", "all"];

/// Every command, grouped as the documentation groups them.
pub(super) const TABLE: &[Row] = &[
    family::PROMPT,
    family::STEER,
    family::FOLLOW_UP,
    family::ABORT,
    Row { name: "clear_queue", fields: &[], build: |_| Command::ClearQueue },
    family::GET_STATE,
    family::GET_MESSAGES,
    Row { name: "get_commands", fields: &[], build: |_| Command::GetCommands },
    family::SET_MODEL,
    family::CYCLE_MODEL,
    family::GET_AVAILABLE_MODELS,
    family::SET_THINKING_LEVEL,
    family::CYCLE_THINKING_LEVEL,
    Row {
        name: "get_available_thinking_levels",
        fields: &[],
        build: |_| Command::GetAvailableThinkingLevels,
    },
    family::SET_STEERING_MODE,
    family::SET_FOLLOW_UP_MODE,
    family::COMPACT,
    family::SET_AUTO_COMPACTION,
    family::SET_AUTO_RETRY,
    family::ABORT_RETRY,
    family::BASH,
    family::ABORT_BASH,
    family::NEW_SESSION,
    family::SWITCH_SESSION,
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
    family::GET_SESSION_STATS,
    family::EXPORT_HTML,
    family::GET_LAST_ASSISTANT_TEXT,
    family::SET_SESSION_NAME,
];
