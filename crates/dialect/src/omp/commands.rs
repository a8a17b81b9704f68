//! The table of commands.

use bowline_core::command::{Command, InterruptMode};

use super::replies::SpokenState;
use crate::command_table::Meaning::Engine;
use crate::command_table::Row;
use crate::family::commands as family;
use crate::fields::Field;
use crate::fields::Kind::{OneOf, Text};
use crate::protocol_info;
use crate::schema::shape;

const INTERRUPT_MODES: &[&str] = &["immediate", "wait"];

/// Every command, grouped as omp's documentation groups them.
pub(super) const TABLE: &[Row] = &[
    Row {
        about: "Starts a run with a message of the user. It is acknowledged at once; if it then fails, a second answer \
                with the same id says why.",
        answer: None,
        ..family::PROMPT
    },
    Row {
        about: "Queues a message that goes into the run after the tool calls of the current turn, or cuts them short: \
                see `set_interrupt_mode`. With no run under way it starts one.",
        answer: None,
        ..family::STEER
    },
    Row {
        about: "Queues a message for when the run would end. With no run under way it starts one.",
        answer: None,
        ..family::FOLLOW_UP
    },
    family::ABORT,
    Row {
        name: "abort_and_prompt",
        about: "Stops the run and starts another with a message of the user, without anything between the two.",
        fields: family::MESSAGE,
        answer: None,
        meaning: Engine(|fields| Command::AbortAndPrompt { message: family::draft(fields) }),
    },
    family::NEW_SESSION,
    Row { answer: Some(shape::<SpokenState<'_>>), ..family::GET_STATE },
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
        about: "Says whether a steering message waits for the tool calls of the turn.",
        fields: &[Field::required(
            "mode",
            OneOf(INTERRUPT_MODES),
            "`immediate` skips the calls of the turn that have not begun; `wait` lets all of them run.",
        )],
        answer: None,
        meaning: Engine(|mut fields| Command::SetInterruptMode {
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
        fields: &[Field::required("entryId", Text, "That message's entry, one of `get_branch_messages`.")],
        ..family::FORK
    },
    Row {
        name: "get_branch_messages",
        about: "Tells the messages of the user that a session can be branched before.",
        ..family::GET_FORK_MESSAGES
    },
    family::GET_LAST_ASSISTANT_TEXT,
    family::SET_SESSION_NAME,
    family::GET_MESSAGES,
];
