//! The commands that several dialects of the family have, each a row for their tables.

use bowline_core::command::{Command, Draft, Queue, QueueMode};
use bowline_core::model::Model;
use bowline_core::thinking::ThinkingLevel;

use super::answers::{
    Accepted, CycledModel, Exported, ForkMessages, Forked, LastText, Level, Messages, Models, SpokenShell,
    SpokenState, SpokenStatistics, Switched,
};
use super::records::SpokenCompaction;
use crate::command_table::Meaning::Engine;
use crate::command_table::Row;
use crate::fields::Kind::{Boolean, Images, OneOf, Text};
use crate::fields::{Field, Fields, LEVELS};
use crate::schema::shape;

const MODES: &[&str] = &["all", "one-at-a-time"];
const QUEUES: &[&str] = &["steer", "followUp"];

const TEXT: Field = Field::required("message", Text, "What the user says.");
const IMAGES: Field = Field::optional("images", Images, "What the user shows.");

/// What every command has that brings a message along.
pub(crate) const MESSAGE: &[Field] = &[TEXT, IMAGES];

pub(crate) const PROMPT: Row = Row {
    name: "prompt",
    about: "Starts a run with a message of the user. The message is in the session file before it is answered.",
    fields: &[
        TEXT,
        IMAGES,
        Field::optional(
            "streamingBehavior",
            OneOf(QUEUES),
            "Which queue the message goes into if a run is under way; without it the prompt is then refused.",
        ),
    ],
    answer: Some(shape::<Accepted>),
    meaning: Engine(|mut fields| {
        let when_busy = fields.optional_text("streamingBehavior").map(|name| match name.as_str() {
            "steer" => Queue::Steering,
            _ => Queue::FollowUp,
        });
        Command::Prompt { message: draft(fields), when_busy }
    }),
};

pub(crate) const STEER: Row = Row {
    name: "steer",
    about: "Queues a message that goes into the run after the tool calls of the current turn.",
    fields: MESSAGE,
    answer: Some(shape::<Accepted>),
    meaning: Engine(|fields| Command::Enqueue { message: draft(fields), queue: Queue::Steering }),
};

pub(crate) const FOLLOW_UP: Row = Row {
    name: "follow_up",
    about: "Queues a message for when the run would end.",
    fields: MESSAGE,
    answer: Some(shape::<Accepted>),
    meaning: Engine(|fields| Command::Enqueue { message: draft(fields), queue: Queue::FollowUp }),
};

pub(crate) const ABORT: Row = Row {
    name: "abort",
    about: "Stops the run: the request to the model is dropped, tools are killed, a retry is given up.",
    fields: &[],
    answer: None,
    meaning: Engine(|_| Command::Abort),
};

pub(crate) const GET_STATE: Row = Row {
    name: "get_state",
    about: "Tells the state of the agent.",
    fields: &[],
    answer: Some(shape::<SpokenState<'_>>),
    meaning: Engine(|_| Command::GetState),
};

pub(crate) const GET_MESSAGES: Row = Row {
    name: "get_messages",
    about: "Tells the messages of the context.",
    fields: &[],
    answer: Some(shape::<Messages<'_>>),
    meaning: Engine(|_| Command::GetMessages),
};

pub(crate) const SET_MODEL: Row = Row {
    name: "set_model",
    about: "Chooses the model, from the next request on.",
    fields: &[
        Field::required("provider", Text, "The provider's exact name."),
        Field::required("modelId", Text, "The model's exact id."),
    ],
    answer: Some(shape::<Model>),
    meaning: Engine(|mut fields| Command::SetModel {
        provider: fields.text("provider"),
        id: fields.text("modelId"),
    }),
};

pub(crate) const CYCLE_MODEL: Row = Row {
    name: "cycle_model",
    about: "Chooses the next model of those that can be used. `data` is `null` if there is no other.",
    fields: &[],
    answer: Some(shape::<Option<CycledModel<'_>>>),
    meaning: Engine(|_| Command::CycleModel),
};

pub(crate) const GET_AVAILABLE_MODELS: Row = Row {
    name: "get_available_models",
    about: "Tells the models that can be used.",
    fields: &[],
    answer: Some(shape::<Models<'_>>),
    meaning: Engine(|_| Command::GetAvailableModels),
};

pub(crate) const SET_THINKING_LEVEL: Row = Row {
    name: "set_thinking_level",
    about: "Says how hard the model is to think, from the next request on.",
    fields: &[Field::required(
        "level",
        OneOf(LEVELS),
        "One that the model lacks becomes the next higher one, else the highest it has.",
    )],
    answer: None,
    meaning: Engine(|mut fields| Command::SetThinkingLevel {
        level: ThinkingLevel::parse(&fields.text("level")).unwrap_or_default(),
    }),
};

pub(crate) const CYCLE_THINKING_LEVEL: Row = Row {
    name: "cycle_thinking_level",
    about: "Chooses the next thinking level of the model. `data` is `null` if it has only one.",
    fields: &[],
    answer: Some(shape::<Option<Level>>),
    meaning: Engine(|_| Command::CycleThinkingLevel),
};

pub(crate) const SET_STEERING_MODE: Row = Row {
    name: "set_steering_mode",
    about: "Says how many messages leave the steering queue at a time.",
    fields: &[Field::required("mode", OneOf(MODES), "One, or all that wait.")],
    answer: None,
    meaning: Engine(|fields| Command::SetQueueMode { queue: Queue::Steering, mode: mode(fields) }),
};

pub(crate) const SET_FOLLOW_UP_MODE: Row = Row {
    name: "set_follow_up_mode",
    about: "Says how many messages leave the follow-up queue at a time.",
    fields: &[Field::required("mode", OneOf(MODES), "One, or all that wait.")],
    answer: None,
    meaning: Engine(|fields| Command::SetQueueMode { queue: Queue::FollowUp, mode: mode(fields) }),
};

pub(crate) const COMPACT: Row = Row {
    name: "compact",
    about: "Puts a summary in the place of all but the newest messages. Ends a run first.",
    fields: &[Field::optional("customInstructions", Text, "What the summary should mind.")],
    answer: Some(shape::<SpokenCompaction<'_>>),
    meaning: Engine(|mut fields| Command::Compact {
        instructions: fields.optional_text("customInstructions"),
    }),
};

pub(crate) const SET_AUTO_COMPACTION: Row = Row {
    name: "set_auto_compaction",
    about: "Says whether the conversation is compacted when the model's window is nearly full.",
    fields: &[Field::required("enabled", Boolean, "Holds for this process.")],
    answer: None,
    meaning: Engine(|fields| Command::SetAutoCompaction { enabled: fields.flag("enabled") }),
};

pub(crate) const SET_AUTO_RETRY: Row = Row {
    name: "set_auto_retry",
    about: "Says whether a request that failed for a passing reason is made again.",
    fields: &[Field::required("enabled", Boolean, "Holds for this process.")],
    answer: None,
    meaning: Engine(|fields| Command::SetAutoRetry { enabled: fields.flag("enabled") }),
};

pub(crate) const ABORT_RETRY: Row = Row {
    name: "abort_retry",
    about: "Gives up a retry that is waiting, and with it the run. At any other time it does nothing.",
    fields: &[],
    answer: None,
    meaning: Engine(|_| Command::AbortRetry),
};

pub(crate) const BASH: Row = Row {
    name: "bash",
    about: "Runs a command in the shell, beside whatever else is going on. It is answered when the command is over.",
    fields: &[
        Field::required("command", Text, "What the shell is given."),
        Field::optional(
            "excludeFromContext",
            Boolean,
            "Keeps the model from seeing the command and its output.",
        ),
    ],
    answer: Some(shape::<SpokenShell<'_>>),
    meaning: Engine(|mut fields| Command::Shell {
        command: fields.text("command"),
        exclude_from_context: fields.flag("excludeFromContext"),
    }),
};

pub(crate) const ABORT_BASH: Row = Row {
    name: "abort_bash",
    about: "Kills all commands that `bash` runs, with all their descendants.",
    fields: &[],
    answer: None,
    meaning: Engine(|_| Command::AbortShell),
};

pub(crate) const NEW_SESSION: Row = Row {
    name: "new_session",
    about: "Begins an empty session. Ends a run first.",
    fields: &[Field::optional(
        "parentSession",
        Text,
        "The session's file that the new one names as its origin.",
    )],
    answer: Some(shape::<Switched>),
    meaning: Engine(|mut fields| Command::NewSession { parent: fields.optional_text("parentSession") }),
};

pub(crate) const SWITCH_SESSION: Row = Row {
    name: "switch_session",
    about: "Opens another session. Ends a run first.",
    fields: &[Field::required("sessionPath", Text, "The session's file.")],
    answer: Some(shape::<Switched>),
    meaning: Engine(|mut fields| Command::SwitchSession { path: fields.text("sessionPath").into() }),
};

pub(crate) const FORK: Row = Row {
    name: "fork",
    about: "Begins a session with what came before an earlier message of the user. Ends a run first.",
    fields: &[Field::required("entryId", Text, "That message's entry, one of `get_fork_messages`.")],
    answer: Some(shape::<Forked<'_>>),
    meaning: Engine(|mut fields| Command::Fork { entry: fields.text("entryId") }),
};

pub(crate) const GET_FORK_MESSAGES: Row = Row {
    name: "get_fork_messages",
    about: "Tells the messages of the user that a session can be forked before.",
    fields: &[],
    answer: Some(shape::<ForkMessages<'_>>),
    meaning: Engine(|_| Command::GetForkMessages),
};

pub(crate) const GET_SESSION_STATS: Row = Row {
    name: "get_session_stats",
    about: "Counts what is in the session, on all its branches.",
    fields: &[],
    answer: Some(shape::<SpokenStatistics<'_>>),
    meaning: Engine(|_| Command::GetSessionStatistics),
};

pub(crate) const EXPORT_HTML: Row = Row {
    name: "export_html",
    about: "Writes the session as a page that a browser shows.",
    fields: &[Field::optional(
        "outputPath",
        Text,
        "Where to; without it, a name of its own in the working folder.",
    )],
    answer: Some(shape::<Exported<'_>>),
    meaning: Engine(|mut fields| Command::ExportHtml {
        path: fields.optional_text("outputPath").map(Into::into),
    }),
};

pub(crate) const GET_LAST_ASSISTANT_TEXT: Row = Row {
    name: "get_last_assistant_text",
    about: "Tells the text of the newest answer that has any.",
    fields: &[],
    answer: Some(shape::<LastText<'_>>),
    meaning: Engine(|_| Command::GetLastAssistantText),
};

pub(crate) const SET_SESSION_NAME: Row = Row {
    name: "set_session_name",
    about: "Names the session.",
    fields: &[Field::required("name", Text, "What lists show. It is trimmed, and must not be empty.")],
    answer: None,
    meaning: Engine(|mut fields| Command::SetSessionName { name: fields.text("name") }),
};

/// Takes the message out of the fields of [`MESSAGE`].
pub(crate) fn draft(mut fields: Fields) -> Draft {
    Draft { text: fields.text("message"), images: fields.images("images") }
}

fn mode(mut fields: Fields) -> QueueMode {
    QueueMode::parse(&fields.text("mode")).unwrap_or_default()
}
