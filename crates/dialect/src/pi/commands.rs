//! The table of commands.

use bowline_core::command::{Command, SessionQuery};

use crate::command_table::Meaning::Engine;
use crate::command_table::Row;
use crate::family::answers::{
    Commands, Entries, Levels, Navigated, Queues, Sessions, Switched, Tree, Written,
};
use crate::family::commands as family;
use crate::fields::Field;
use crate::fields::Kind::{Boolean, Count, OneOf, Text};
use crate::protocol_info;
use crate::schema::shape;

const SCOPES: &[&str] = &["project", "all"];

/// Every command, grouped as the documentation groups them.
pub(super) const TABLE: &[Row] = &[
    family::PROMPT,
    family::STEER,
    family::FOLLOW_UP,
    family::ABORT,
    Row {
        name: "clear_queue",
        about: "Takes all messages out of both queues.",
        fields: &[],
        answer: Some(shape::<Queues<'_>>),
        meaning: Engine(|_| Command::ClearQueue),
    },
    family::GET_STATE,
    family::GET_MESSAGES,
    Row {
        name: "get_commands",
        about: "Tells what a prompt can name with a leading slash.",
        fields: &[],
        answer: Some(shape::<Commands<'_>>),
        meaning: Engine(|_| Command::GetCommands),
    },
    protocol_info::ROW,
    family::SET_MODEL,
    family::CYCLE_MODEL,
    family::GET_AVAILABLE_MODELS,
    family::SET_THINKING_LEVEL,
    family::CYCLE_THINKING_LEVEL,
    Row {
        name: "get_available_thinking_levels",
        about: "Tells the thinking levels of the current model.",
        fields: &[],
        answer: Some(shape::<Levels<'_>>),
        meaning: Engine(|_| Command::GetAvailableThinkingLevels),
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
    family::FORK,
    Row {
        name: "clone",
        about: "Begins a session with all that is in the conversation. Ends a run first.",
        fields: &[],
        answer: Some(shape::<Switched>),
        meaning: Engine(|_| Command::Clone),
    },
    family::GET_FORK_MESSAGES,
    Row {
        name: "get_entries",
        about: "Tells the entries of the session's file.",
        fields: &[Field::optional("since", Text, "An entry; only what the file has after it is told.")],
        answer: Some(shape::<Entries<'_>>),
        meaning: Engine(|mut fields| Command::GetEntries { since: fields.optional_text("since") }),
    },
    Row {
        name: "get_tree",
        about: "Tells the entries of the session's file as a tree.",
        fields: &[],
        answer: Some(shape::<Tree<'_>>),
        meaning: Engine(|_| Command::GetTree),
    },
    Row {
        name: "navigate_tree",
        about: "Goes on from another entry of the session. Ends a run first.",
        fields: &[
            Field::required(
                "entryId",
                Text,
                "The entry; of a message of the user, the place before it, so that it can be edited.",
            ),
            Field::optional("summarize", Boolean, "Leaves a summary of the branch that is left."),
            Field::optional("customInstructions", Text, "What that summary should mind."),
        ],
        answer: Some(shape::<Navigated<'_>>),
        meaning: Engine(|mut fields| Command::NavigateTree {
            entry: fields.text("entryId"),
            summarize: fields.flag("summarize"),
            instructions: fields.optional_text("customInstructions"),
        }),
    },
    Row {
        name: "set_label",
        about: "Marks an entry with a label, or takes the label away.",
        fields: &[
            Field::required("entryId", Text, "The entry."),
            Field::optional("label", Text, "The label; without it, the entry has none any more."),
        ],
        answer: Some(shape::<Written<'_>>),
        meaning: Engine(|mut fields| Command::SetLabel {
            entry: fields.text("entryId"),
            label: fields.optional_text("label"),
        }),
    },
    Row {
        name: "list_sessions",
        about: "Lists sessions, those last written to first.",
        fields: &[
            Field::optional(
                "scope",
                OneOf(SCOPES),
                "Those of the working folder, which is the default, or all.",
            ),
            Field::optional("search", Text, "A part of the name, the id or the first message."),
            Field::optional("limit", Count, "How many at most."),
            Field::optional("cursor", Text, "The `nextCursor` of an earlier answer: goes on after it."),
        ],
        answer: Some(shape::<Sessions<'_>>),
        meaning: Engine(|mut fields| Command::ListSessions {
            query: SessionQuery {
                everywhere: fields.optional_text("scope").as_deref() == Some("all"),
                search: fields.optional_text("search"),
                limit: fields.count("limit"),
                cursor: fields.optional_text("cursor"),
            },
        }),
    },
    Row {
        name: "delete_session",
        about: "Deletes a session that nobody uses.",
        fields: &[Field::required("sessionPath", Text, "The session's file.")],
        answer: None,
        meaning: Engine(|mut fields| Command::DeleteSession { path: fields.text("sessionPath").into() }),
    },
    family::GET_SESSION_STATS,
    family::EXPORT_HTML,
    family::GET_LAST_ASSISTANT_TEXT,
    family::SET_SESSION_NAME,
];
