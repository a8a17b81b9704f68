//! The methods that clients call: names, parameters and results. The dialect itself carries them out ([`super::requests`]).

use serde_json::{Value, json};

use super::extension_methods;
use super::results::{
    Empty, Initialized, ListedSessions, OpenedResult, OptionsResult, PromptResult, ResumedResult,
    SteeringResult,
};
use crate::command_table::Action::Own;
use crate::command_table::Row;
use crate::fields::Field;
use crate::fields::ItemSchema;
use crate::fields::Kind::{AnyValue, FilledText, Objects, Text, Whole};
use crate::schema::schema_of;

pub(super) const INITIALIZE: &str = "initialize";
pub(super) const AUTHENTICATE: &str = "authenticate";
pub(super) const LOGOUT: &str = "logout";
pub(super) const NEW: &str = "session/new";
pub(super) const LOAD: &str = "session/load";
pub(super) const RESUME: &str = "session/resume";
pub(super) const FORK: &str = "session/fork";
pub(super) const LIST: &str = "session/list";
pub(super) const CLOSE: &str = "session/close";
pub(super) const DELETE: &str = "session/delete";
pub(super) const PROMPT: &str = "session/prompt";
pub(super) const CANCEL: &str = "session/cancel";
pub(super) const SET_MODE: &str = "session/set_mode";
pub(super) const SET_OPTION: &str = "session/set_config_option";
pub(super) const CANCEL_REQUEST: &str = "$/cancel_request";
pub(super) const STEERING: &str = "_session/steering";

pub(super) const SESSION: Field = Field::required("sessionId", FilledText, "The session.");
pub(super) const MESSAGE: Field =
    Field::required("prompt", Objects(ItemSchema(block)), "The content of the message.");
const FOLDER: Field =
    Field::required("cwd", FilledText, "The folder in which the session works, as an absolute path.");
const SERVERS: Field =
    Field::optional("mcpServers", Objects(ItemSchema(server)), "MCP servers that the session is to use.");

/// What is described of a list whose items the dialect reads itself.
fn server() -> Value {
    json!({ "type": "object" })
}

fn block() -> Value {
    json!({
        "type": "object",
        "properties": { "type": { "type": "string" } },
        "required": ["type"],
    })
}

/// The methods of the protocol, and those beyond it.
pub(super) const TABLE: &[Row] = &[
    Row {
        name: INITIALIZE,
        about: "Begins the connection. Everything else is refused before.",
        fields: &[
            Field::required("protocolVersion", Whole, "The newest version that the client knows."),
            Field::optional("clientCapabilities", AnyValue, "What the client can do."),
            Field::optional("clientInfo", AnyValue, "The client's `name`, `title` and `version`."),
        ],
        result: Some(schema_of::<Initialized>()),
        action: Own,
    },
    Row {
        name: AUTHENTICATE,
        about: "Looks for keys again, and succeeds if a provider can be used with one.",
        fields: &[Field::required("methodId", Text, "One of the methods of the answer to `initialize`.")],
        result: Some(schema_of::<Empty>()),
        action: Own,
    },
    Row {
        name: LOGOUT,
        about: "Has prompts refused until the client authenticates again. Keys stay where they are.",
        fields: &[],
        result: Some(schema_of::<Empty>()),
        action: Own,
    },
    Row {
        name: NEW,
        about: "Starts a session.",
        fields: &[FOLDER, SERVERS],
        result: Some(schema_of::<OpenedResult>()),
        action: Own,
    },
    Row {
        name: LOAD,
        about: "Opens a session of before. The whole conversation is sent as updates before the answer.",
        fields: &[SESSION, FOLDER, SERVERS],
        result: Some(schema_of::<ResumedResult>()),
        action: Own,
    },
    Row {
        name: RESUME,
        about: "Opens a session of before without sending its conversation.",
        fields: &[SESSION, FOLDER, SERVERS],
        result: Some(schema_of::<ResumedResult>()),
        action: Own,
    },
    Row {
        name: FORK,
        about: "Starts a session with the conversation of another one.",
        fields: &[SESSION, FOLDER, SERVERS],
        result: Some(schema_of::<OpenedResult>()),
        action: Own,
    },
    Row {
        name: LIST,
        about: "Lists the sessions in which something was said, the newest first.",
        fields: &[
            Field::optional("cwd", Text, "Only those of this folder."),
            Field::optional("cursor", Text, "`nextCursor` of the page before."),
        ],
        result: Some(schema_of::<ListedSessions>()),
        action: Own,
    },
    Row {
        name: CLOSE,
        about: "Cancels what a session does and frees it. Its file stays.",
        fields: &[SESSION],
        result: Some(schema_of::<Empty>()),
        action: Own,
    },
    Row {
        name: DELETE,
        about: "Deletes a session with its file.",
        fields: &[SESSION],
        result: Some(schema_of::<Empty>()),
        action: Own,
    },
    Row {
        name: PROMPT,
        about: "Sends a message of the user. The answer comes when the turn is over; a prompt that arrives before waits for its end.",
        fields: &[SESSION, MESSAGE],
        result: Some(schema_of::<PromptResult>()),
        action: Own,
    },
    Row {
        name: CANCEL,
        about: "Cancels the turn. Its prompt and those that wait are answered with `cancelled`.",
        fields: &[SESSION],
        result: None,
        action: Own,
    },
    Row {
        name: SET_MODE,
        about: "Chooses when the user is asked about tool calls.",
        fields: &[SESSION, Field::required("modeId", Text, "One of the modes of the session.")],
        result: Some(schema_of::<Empty>()),
        action: Own,
    },
    Row {
        name: SET_OPTION,
        about: "Changes an option of a session. The answer has all of them.",
        fields: &[
            SESSION,
            Field::required("configId", Text, "The option."),
            Field::required("value", AnyValue, "One of the values of the option."),
        ],
        result: Some(schema_of::<OptionsResult>()),
        action: Own,
    },
    Row {
        name: CANCEL_REQUEST,
        about: "Cancels a request of the client.",
        fields: &[Field::required("requestId", AnyValue, "The `id` of the request.")],
        result: None,
        action: Own,
    },
    Row {
        name: STEERING,
        about: "Sends a message into the turn that is in progress; without one it starts a turn.",
        fields: &[SESSION, MESSAGE],
        result: Some(schema_of::<SteeringResult>()),
        action: Own,
    },
    extension_methods::FOLLOW_UP,
    extension_methods::COMPACT,
    extension_methods::STATS,
    extension_methods::TREE,
    extension_methods::NAVIGATE,
    extension_methods::CHANGES,
    extension_methods::UNDO,
    extension_methods::REDO,
];
