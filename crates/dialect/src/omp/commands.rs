//! The table of commands.

use bowline_core::command::{Command, InterruptMode};

use super::state::StateRecord;
use crate::command_table::Action::Engine;
use crate::command_table::Row;
use crate::family::commands as family;
use crate::fields::Field;
use crate::fields::Kind::{OneOf, Text};
use crate::protocol_info;
use crate::schema::schema_of;

/// The names of the interrupt modes.
pub(super) const INTERRUPT_MODES: &[&str] = &["immediate", "wait"];

/// Every command, in the groups of omp's documentation.
pub(super) const TABLE: &[Row] = &[
    Row {
        about: "Starts a run with a user message. It is acknowledged immediately; if it then fails, a second response \
                with the same id reports the error.",
        result: None,
        ..family::PROMPT
    },
    Row {
        about: "Queues a message. The run takes it up after the tool calls of the current turn, or skips the remaining \
                ones: see `set_interrupt_mode`. If no run is in progress, it starts one.",
        result: None,
        ..family::STEER
    },
    Row {
        about: "Queues a message that the run takes up when it would otherwise end. If no run is in progress, it starts \
                one.",
        result: None,
        ..family::FOLLOW_UP
    },
    family::ABORT,
    Row {
        name: "abort_and_prompt",
        about: "Aborts the run and starts another with a user message, with nothing in between.",
        fields: family::MESSAGE,
        result: None,
        action: Engine(|fields| Command::AbortAndPrompt { message: family::draft(fields) }),
    },
    family::NEW_SESSION,
    Row { result: Some(schema_of::<StateRecord<'_>>), ..family::GET_STATE },
    protocol_info::ROW,
    family::SET_MODEL,
    family::CYCLE_MODEL,
    family::GET_AVAILABLE_MODELS,
    family::SET_THINKING_LEVEL,
    family::CYCLE_THINKING_LEVEL,
    family::SET_STEERING_MODE,
    family::SET_FOLLOW_UP_MODE,
    Row {
        name: "set_interrupt_mode",
        about: "Sets whether a steering message waits for the tool calls of the turn.",
        fields: &[Field::required(
            "mode",
            OneOf(INTERRUPT_MODES),
            "`immediate` skips the calls of the turn that have not started; `wait` runs all of them.",
        )],
        result: None,
        action: Engine(|mut fields| Command::SetInterruptMode {
            mode: match fields.text("mode").as_str() {
                "wait" => InterruptMode::Wait,
                _ => InterruptMode::Immediate,
            },
        }),
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
        fields: &[Field::required(
            "entryId",
            Text,
            "The entry of the message, one of `get_branch_messages`.",
        )],
        ..family::FORK
    },
    Row {
        name: "get_branch_messages",
        about: "Returns the user messages that the session can be branched at.",
        ..family::GET_FORK_MESSAGES
    },
    family::GET_LAST_ASSISTANT_TEXT,
    family::SET_SESSION_NAME,
    family::GET_MESSAGES,
];
