//! The table of commands.

use bowline_core::command::{Command, InterruptMode};

use super::PROTOCOL_VERSION;
use super::replies::Invoked;
use super::slash_commands::AvailableCommands;
use super::state::StateRecord;
use crate::command_table::Action::{Engine, Negotiate};
use crate::command_table::Row;
use crate::family::answers::{MessagesPage, Todos};
use crate::family::approvals;
use crate::family::capabilities;
use crate::family::commands as family;
use crate::family::completions;
use crate::family::file_changes;
use crate::family::host;
use crate::family::limits;
use crate::family::logins;
use crate::family::pending_changes;
use crate::family::subagents;
use crate::fields::Field;
use crate::fields::Kind::{CountTo, OneNumberOf, OneOf, Text, TodoPhases};
use crate::local_data::Negotiated;
use crate::protocol_info;
use crate::sandbox;
use crate::schema::schema_of;

/// The names of the interrupt modes.
pub(super) const INTERRUPT_MODES: &[&str] = &["immediate", "wait"];

/// How many messages a page has if the client does not say, and at most.
const PAGE: usize = 100;
const LARGEST_PAGE: u64 = 256;

/// Every command, in the groups of omp's documentation.
pub(super) const TABLE: &[Row] = &[
    Row {
        about: "Starts a run with a user message. It is acknowledged immediately; if it then fails, a second response \
                with the same id reports the error. A message such as `/compact` that names a command is not sent to the \
                model: the command is carried out, and the response has `data`.",
        result: Some(schema_of::<Invoked>()),
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
    Row { result: Some(schema_of::<StateRecord<'_>>()), ..family::GET_STATE },
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
    Row {
        name: "get_messages_page",
        about: "Returns some of the messages in the context, oldest first: as many as `limit` says, or fewer if they \
                would take more than 768 KiB. Fails with `session_busy` while a run or a compaction is in progress, and \
                with `stale_cursor` if the session has changed since the cursor was returned.",
        fields: &[
            Field::optional("cursor", Text, "`nextCursor` of the page before; without it, the first page."),
            Field::optional("limit", CountTo(LARGEST_PAGE), "The most messages on the page (default: 100)."),
        ],
        result: Some(schema_of::<MessagesPage<'_>>()),
        action: Engine(|mut fields| Command::GetMessagesPage {
            cursor: fields.optional_text("cursor"),
            limit: fields.count("limit").unwrap_or(PAGE),
        }),
    },
    Row {
        name: "get_available_commands",
        about: "Returns the commands that a prompt can invoke with a leading slash.",
        fields: &[],
        result: Some(schema_of::<AvailableCommands<'_>>()),
        action: Engine(|_| Command::GetCommands),
    },
    limits::GET_LIMITS,
    limits::SET_LIMITS,
    subagents::SET_SUBAGENT_SUBSCRIPTION,
    subagents::GET_SUBAGENTS,
    subagents::GET_SUBAGENT_MESSAGES,
    Row {
        name: "set_todos",
        about: "Replaces the todo list: phases with tasks, each identified by its text. The model sees it with its next \
                `todo` call, or when it is reminded.",
        fields: &[Field::required(
            "phases",
            TodoPhases,
            "All phases with their tasks; an empty list clears it.",
        )],
        result: Some(schema_of::<Todos<'_>>()),
        action: Engine(|mut fields| Command::SetTodos { phases: fields.todo_phases("phases") }),
    },
    Row {
        name: "negotiate_protocol",
        about: "Chooses the version of the protocol. There is one: frames are never split.",
        fields: &[Field::required("protocolVersion", OneNumberOf(&[PROTOCOL_VERSION]), "The version.")],
        result: Some(schema_of::<Negotiated>()),
        action: Negotiate("protocolVersion"),
    },
    file_changes::GET_CHANGES,
    file_changes::UNDO,
    file_changes::REDO,
    pending_changes::GET_PENDING_CHANGES,
    pending_changes::ACCEPT_CHANGES,
    pending_changes::DISCARD_CHANGES,
    host::SET_HOST_TOOLS,
    host::SET_HOST_URI_SCHEMES,
    approvals::SET_APPROVALS,
    capabilities::SET_CLIENT_CAPABILITIES,
    capabilities::WIDGET_INPUT,
    approvals::APPROVAL_RESPONSE,
    completions::GET_COMPLETIONS,
    logins::GET_LOGIN_PROVIDERS,
    logins::LOGIN,
    sandbox::GET_SANDBOX,
    sandbox::SET_SANDBOX,
];
