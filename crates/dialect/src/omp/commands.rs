//! The table of commands.

use bowline_core::command::{Command, InterruptMode};

use crate::command_table::Row;
use crate::family::commands as family;
use crate::fields::Field;
use crate::fields::Kind::{OneOf, Text};

const INTERRUPT_MODES: &[&str] = &["immediate", "wait"];

/// Every command, grouped as omp's documentation groups them.
pub(super) const TABLE: &[Row] = &[
    family::PROMPT,
    family::STEER,
    family::FOLLOW_UP,
    family::ABORT,
    Row {
        name: "abort_and_prompt",
        fields: family::MESSAGE,
        build: |fields| Command::AbortAndPrompt { message: family::draft(fields) },
    },
    family::NEW_SESSION,
    family::GET_STATE,
    family::SET_MODEL,
    family::CYCLE_MODEL,
    family::GET_AVAILABLE_MODELS,
    family::SET_THINKING_LEVEL,
    family::CYCLE_THINKING_LEVEL,
    family::SET_STEERING_MODE,
    family::SET_FOLLOW_UP_MODE,
    Row {
        name: "set_interrupt_mode",
        fields: &[Field::required("mode", OneOf(INTERRUPT_MODES))],
        build: |mut fields| Command::SetInterruptMode {
            mode: match fields.text("mode").as_str() {
                "wait" => InterruptMode::Wait,
                _ => InterruptMode::Immediate,
            },
        },
    },
    family::COMPACT,
    family::SET_AUTO_COMPACTION,
    family::SET_AUTO_RETRY,
    family::ABORT_RETRY,
    family::BASH,
    family::ABORT_BASH,
    family::GET_SESSION_STATS,
    family::EXPORT_HTML,
    family::SWITCH_SESSION,
    Row {
        name: "branch",
        fields: &[Field::required("entryId", Text)],
        build: |mut fields| Command::Fork { entry: fields.text("entryId") },
    },
    Row { name: "get_branch_messages", fields: &[], build: |_| Command::GetForkMessages },
    family::GET_LAST_ASSISTANT_TEXT,
    family::SET_SESSION_NAME,
    family::GET_MESSAGES,
];
