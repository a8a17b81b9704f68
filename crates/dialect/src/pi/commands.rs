//! The table of commands.

use bowline_core::command::{Command, SessionQuery};

use crate::command_table::Action::Engine;
use crate::command_table::Row;
use crate::family::answers::{Commands, Entries, Levels, Queues, Sessions, Switched, Written};
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
use crate::family::tree;
use crate::fields::Field;
use crate::fields::Kind::{Count, OneOf, Text};
use crate::protocol_info;
use crate::sandbox;
use crate::schema::schema_of;

const SCOPES: &[&str] = &["project", "all"];

/// Every command, in the groups of the documentation.
pub(super) const TABLE: &[Row] = &[
    family::PROMPT_WITH_OUTPUT,
    family::STEER,
    family::FOLLOW_UP,
    family::ABORT,
    Row {
        name: "clear_queue",
        about: "Removes all messages from both queues.",
        fields: &[],
        result: Some(schema_of::<Queues<'_>>()),
        action: Engine(|_| Command::ClearQueue),
    },
    family::GET_STATE,
    family::GET_MESSAGES,
    Row {
        name: "get_commands",
        about: "Returns the commands that a prompt can invoke with a leading slash.",
        fields: &[],
        result: Some(schema_of::<Commands<'_>>()),
        action: Engine(|_| Command::GetCommands),
    },
    completions::GET_COMPLETIONS,
    protocol_info::ROW,
    sandbox::GET_SANDBOX,
    sandbox::SET_SANDBOX,
    family::SET_MODEL,
    family::CYCLE_MODEL,
    family::GET_AVAILABLE_MODELS,
    logins::GET_LOGIN_PROVIDERS,
    logins::LOGIN,
    family::SET_THINKING_LEVEL,
    family::CYCLE_THINKING_LEVEL,
    Row {
        name: "get_available_thinking_levels",
        about: "Returns the thinking levels of the current model.",
        fields: &[],
        result: Some(schema_of::<Levels<'_>>()),
        action: Engine(|_| Command::GetAvailableThinkingLevels),
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
        about: "Starts a session with a copy of the whole conversation. A run in progress is aborted first.",
        fields: &[],
        result: Some(schema_of::<Switched>()),
        action: Engine(|_| Command::Clone),
    },
    family::GET_FORK_MESSAGES,
    Row {
        name: "get_entries",
        about: "Returns the entries of the session file.",
        fields: &[Field::optional(
            "since",
            Text,
            "An entry id; only the entries after it in the file are returned.",
        )],
        result: Some(schema_of::<Entries<'_>>()),
        action: Engine(|mut fields| Command::GetEntries { since: fields.optional_text("since") }),
    },
    tree::GET_TREE,
    tree::NAVIGATE_TREE,
    Row {
        name: "set_label",
        about: "Sets or removes the label of an entry.",
        fields: &[
            Field::required("entryId", Text, "The entry."),
            Field::optional("label", Text, "The label; without it, the entry's label is removed."),
        ],
        result: Some(schema_of::<Written<'_>>()),
        action: Engine(|mut fields| Command::SetLabel {
            entry: fields.text("entryId"),
            label: fields.optional_text("label"),
        }),
    },
    Row {
        name: "list_sessions",
        about: "Lists sessions, most recently modified first.",
        fields: &[
            Field::optional(
                "scope",
                OneOf(SCOPES),
                "`project` lists the sessions of the working directory (the default), `all` lists every session.",
            ),
            Field::optional("search", Text, "Text to find in the name, the id or the first message."),
            Field::optional("limit", Count, "The maximum number of sessions."),
            Field::optional("cursor", Text, "The `nextCursor` of an earlier response: continues after it."),
        ],
        result: Some(schema_of::<Sessions<'_>>()),
        action: Engine(|mut fields| Command::ListSessions {
            query: SessionQuery {
                everywhere: fields.optional_text("scope").as_deref() == Some("all"),
                folder: None,
                search: fields.optional_text("search"),
                limit: fields.count("limit"),
                cursor: fields.optional_text("cursor"),
            },
        }),
    },
    Row {
        name: "delete_session",
        about: "Deletes a session that is not in use.",
        fields: &[Field::required("sessionPath", Text, "The session file.")],
        result: None,
        action: Engine(|mut fields| Command::DeleteSession { path: fields.text("sessionPath").into() }),
    },
    family::GET_SESSION_STATS,
    family::EXPORT_HTML,
    family::GET_LAST_ASSISTANT_TEXT,
    family::SET_SESSION_NAME,
    limits::GET_LIMITS,
    limits::SET_LIMITS,
    subagents::SET_SUBAGENT_SUBSCRIPTION,
    subagents::GET_SUBAGENTS,
    subagents::GET_SUBAGENT_MESSAGES,
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
];
