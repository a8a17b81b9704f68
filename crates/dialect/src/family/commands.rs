//! The commands that several dialects of the family share, each as a row for their tables.

use bowline_core::command::{Command, Draft, Queue, QueueMode};
use bowline_core::model::Model;
use bowline_core::output::{DEFAULT_RETRIES, MOST_RETRIES, OutputRequest};
use bowline_core::thinking::ThinkingLevel;

use super::answers::{
    Accepted, CycledModel, Exported, ForkMessages, Forked, LastText, Level, Messages, Models,
    ShellResultRecord, StateRecord, StatisticsRecord, Switched,
};
use super::attachments;
use super::records::CompactionRecord;
use crate::command_table::Action::Engine;
use crate::command_table::Row;
use crate::fields::Kind::{self, Attachments, Boolean, Images, JsonSchema, NumberTo, OneOf, Text};
use crate::fields::{Field, Fields};
use crate::schema::schema_of;

/// The names of the queue modes.
pub(crate) const QUEUE_MODES: &[&str] = &["all", "one-at-a-time"];
const QUEUES: &[&str] = &["steer", "followUp"];

const TEXT: Field = Field::required("message", Text, "The text of the user message.");
const IMAGES: Field = Field::optional("images", Images, "The images of the user message.");

const STREAMING_BEHAVIOR: Field = Field::optional(
    "streamingBehavior",
    OneOf(QUEUES),
    "The queue for the message if a run is in progress; without it, the prompt is refused in that case.",
);

const ATTACHMENTS: Field = Field::optional(
    "attachments",
    Attachments,
    "Images, which the model sees, and documents, whose text it reads. They are kept on the message.",
);

/// The fields of every command that carries a user message.
pub(crate) const MESSAGE: &[Field] = &[TEXT, IMAGES, ATTACHMENTS];

pub(crate) const PROMPT: Row = Row {
    name: "prompt",
    about: "Starts a run with a user message. The message is in the session file before the response is sent.",
    fields: &[TEXT, IMAGES, ATTACHMENTS, STREAMING_BEHAVIOR],
    result: Some(schema_of::<Accepted>()),
    action: Engine(prompt),
};

/// A prompt that can ask for an output of a certain form.
pub(crate) const PROMPT_WITH_OUTPUT: Row = Row {
    fields: &[
        TEXT,
        IMAGES,
        ATTACHMENTS,
        STREAMING_BEHAVIOR,
        Field::optional(
            "outputSchema",
            JsonSchema,
            "A JSON Schema. The run ends with a JSON value that satisfies it, or fails with the error kind `invalid_output`.",
        ),
        Field::optional(
            "outputRetries",
            NumberTo(MOST_RETRIES),
            "How often the model is asked again if its output is wrong (default: 2); only with `outputSchema`.",
        )
        .only_with("outputSchema"),
    ],
    ..PROMPT
};

fn prompt(mut fields: Fields) -> Command {
    let when_busy = fields.optional_text("streamingBehavior").map(|name| match name.as_str() {
        "steer" => Queue::Steering,
        _ => Queue::FollowUp,
    });
    let output = fields.optional_object("outputSchema").map(|schema| OutputRequest {
        schema: schema.into(),
        retries: fields.number("outputRetries").unwrap_or(DEFAULT_RETRIES),
    });
    Command::Prompt { message: Draft { output, ..draft(fields) }, when_busy }
}

pub(crate) const STEER: Row = Row {
    name: "steer",
    about: "Queues a message that the run takes up after the tool calls of the current turn.",
    fields: MESSAGE,
    result: Some(schema_of::<Accepted>()),
    action: Engine(|fields| Command::Enqueue { message: draft(fields), queue: Queue::Steering }),
};

pub(crate) const FOLLOW_UP: Row = Row {
    name: "follow_up",
    about: "Queues a message that the run takes up when it would otherwise end.",
    fields: MESSAGE,
    result: Some(schema_of::<Accepted>()),
    action: Engine(|fields| Command::Enqueue { message: draft(fields), queue: Queue::FollowUp }),
};

pub(crate) const ABORT: Row = Row {
    name: "abort",
    about: "Aborts the run: cancels the model request, kills running tools and gives up a pending retry.",
    fields: &[],
    result: None,
    action: Engine(|_| Command::Abort),
};

pub(crate) const GET_STATE: Row = Row {
    name: "get_state",
    about: "Returns the state of the agent.",
    fields: &[],
    result: Some(schema_of::<StateRecord<'_>>()),
    action: Engine(|_| Command::GetState),
};

pub(crate) const GET_MESSAGES: Row = Row {
    name: "get_messages",
    about: "Returns the messages in the context.",
    fields: &[],
    result: Some(schema_of::<Messages<'_>>()),
    action: Engine(|_| Command::GetMessages),
};

pub(crate) const SET_MODEL: Row = Row {
    name: "set_model",
    about: "Sets the model, effective from the next request.",
    fields: &[
        Field::required("provider", Text, "The exact name of the provider."),
        Field::required("modelId", Text, "The exact id of the model."),
    ],
    result: Some(schema_of::<Model>()),
    action: Engine(|mut fields| Command::SetModel {
        provider: fields.text("provider"),
        id: fields.text("modelId"),
    }),
};

pub(crate) const CYCLE_MODEL: Row = Row {
    name: "cycle_model",
    about: "Switches to the next available model. `data` is `null` if there is no other.",
    fields: &[],
    result: Some(schema_of::<Option<CycledModel<'_>>>()),
    action: Engine(|_| Command::CycleModel),
};

pub(crate) const GET_AVAILABLE_MODELS: Row = Row {
    name: "get_available_models",
    about: "Returns the available models.",
    fields: &[],
    result: Some(schema_of::<Models<'_>>()),
    action: Engine(|_| Command::GetAvailableModels),
};

pub(crate) const SET_THINKING_LEVEL: Row = Row {
    name: "set_thinking_level",
    about: "Sets the thinking level, effective from the next request.",
    fields: &[Field::required(
        "level",
        Kind::Level(&ThinkingLevel::ALL),
        "The level. If the model does not have it, the next higher one is used, or else the highest it has.",
    )],
    result: None,
    action: Engine(|mut fields| Command::SetThinkingLevel { level: fields.level("level") }),
};

pub(crate) const CYCLE_THINKING_LEVEL: Row = Row {
    name: "cycle_thinking_level",
    about: "Switches to the model's next thinking level. `data` is `null` if the model has only one.",
    fields: &[],
    result: Some(schema_of::<Option<Level>>()),
    action: Engine(|_| Command::CycleThinkingLevel),
};

pub(crate) const SET_STEERING_MODE: Row = Row {
    name: "set_steering_mode",
    about: "Sets how many messages are taken from the steering queue at a time.",
    fields: &[Field::required("mode", OneOf(QUEUE_MODES), "One message, or all queued messages.")],
    result: None,
    action: Engine(|fields| Command::SetQueueMode { queue: Queue::Steering, mode: mode(fields) }),
};

pub(crate) const SET_FOLLOW_UP_MODE: Row = Row {
    name: "set_follow_up_mode",
    about: "Sets how many messages are taken from the follow-up queue at a time.",
    fields: &[Field::required("mode", OneOf(QUEUE_MODES), "One message, or all queued messages.")],
    result: None,
    action: Engine(|fields| Command::SetQueueMode { queue: Queue::FollowUp, mode: mode(fields) }),
};

pub(crate) const SUMMARY_FOCUS: Field =
    Field::optional("customInstructions", Text, "What the summary should focus on.");

pub(crate) const COMPACT: Row = Row {
    name: "compact",
    about: "Replaces all but the newest messages with a summary. A run in progress is aborted first.",
    fields: &[SUMMARY_FOCUS],
    result: Some(schema_of::<CompactionRecord<'_>>()),
    action: Engine(|mut fields| Command::Compact {
        instructions: fields.optional_text("customInstructions"),
    }),
};

pub(crate) const SET_AUTO_COMPACTION: Row = Row {
    name: "set_auto_compaction",
    about: "Enables or disables automatic compaction when the context window is nearly full.",
    fields: &[Field::required("enabled", Boolean, "Applies until the process ends.")],
    result: None,
    action: Engine(|fields| Command::SetAutoCompaction { enabled: fields.flag("enabled") }),
};

pub(crate) const SET_AUTO_RETRY: Row = Row {
    name: "set_auto_retry",
    about: "Enables or disables automatic retries after transient errors.",
    fields: &[Field::required("enabled", Boolean, "Applies until the process ends.")],
    result: None,
    action: Engine(|fields| Command::SetAutoRetry { enabled: fields.flag("enabled") }),
};

pub(crate) const ABORT_RETRY: Row = Row {
    name: "abort_retry",
    about: "Gives up a pending retry and ends the run. Otherwise it does nothing.",
    fields: &[],
    result: None,
    action: Engine(|_| Command::AbortRetry),
};

pub(crate) const BASH: Row = Row {
    name: "bash",
    about: "Runs a shell command, concurrently with a run. The response is sent when the command has finished.",
    fields: &[
        Field::required("command", Text, "The shell command."),
        Field::optional(
            "excludeFromContext",
            Boolean,
            "Keeps the command and its output out of the context.",
        ),
    ],
    result: Some(schema_of::<ShellResultRecord<'_>>()),
    action: Engine(|mut fields| Command::Shell {
        command: fields.text("command"),
        exclude_from_context: fields.flag("excludeFromContext"),
    }),
};

pub(crate) const ABORT_BASH: Row = Row {
    name: "abort_bash",
    about: "Kills all commands started with `bash`, including their descendant processes.",
    fields: &[],
    result: None,
    action: Engine(|_| Command::AbortShell),
};

pub(crate) const NEW_SESSION: Row = Row {
    name: "new_session",
    about: "Starts an empty session. A run in progress is aborted first.",
    fields: &[Field::optional(
        "parentSession",
        Text,
        "The session file that the new session records as its parent.",
    )],
    result: Some(schema_of::<Switched>()),
    action: Engine(|mut fields| Command::NewSession { parent: fields.optional_text("parentSession") }),
};

pub(crate) const SWITCH_SESSION: Row = Row {
    name: "switch_session",
    about: "Opens another session. A run in progress is aborted first.",
    fields: &[Field::required("sessionPath", Text, "The session file.")],
    result: Some(schema_of::<Switched>()),
    action: Engine(|mut fields| Command::SwitchSession { path: fields.text("sessionPath").into() }),
};

pub(crate) const FORK: Row = Row {
    name: "fork",
    about: "Starts a session with the conversation before an earlier user message. A run in progress is aborted first.",
    fields: &[Field::required("entryId", Text, "The entry of the message, one of `get_fork_messages`.")],
    result: Some(schema_of::<Forked<'_>>()),
    action: Engine(|mut fields| Command::Fork { entry: fields.text("entryId"), point: None }),
};

pub(crate) const GET_FORK_MESSAGES: Row = Row {
    name: "get_fork_messages",
    about: "Returns the user messages that the session can be forked at.",
    fields: &[],
    result: Some(schema_of::<ForkMessages<'_>>()),
    action: Engine(|_| Command::GetForkMessages),
};

pub(crate) const GET_SESSION_STATS: Row = Row {
    name: "get_session_stats",
    about: "Returns statistics of the session over all its branches.",
    fields: &[],
    result: Some(schema_of::<StatisticsRecord<'_>>()),
    action: Engine(|_| Command::GetSessionStatistics),
};

pub(crate) const EXPORT_HTML: Row = Row {
    name: "export_html",
    about: "Exports the session as an HTML page.",
    fields: &[Field::optional(
        "outputPath",
        Text,
        "The output file; by default, a generated name in the working directory.",
    )],
    result: Some(schema_of::<Exported<'_>>()),
    action: Engine(|mut fields| Command::ExportHtml {
        path: fields.optional_text("outputPath").map(Into::into),
    }),
};

pub(crate) const GET_LAST_ASSISTANT_TEXT: Row = Row {
    name: "get_last_assistant_text",
    about: "Returns the text of the newest model response that has any.",
    fields: &[],
    result: Some(schema_of::<LastText<'_>>()),
    action: Engine(|_| Command::GetLastAssistantText),
};

pub(crate) const SET_SESSION_NAME: Row = Row {
    name: "set_session_name",
    about: "Sets the name of the session.",
    fields: &[Field::required(
        "name",
        Text,
        "The name that session lists show. It is trimmed and must not be empty.",
    )],
    result: None,
    action: Engine(|mut fields| Command::SetSessionName { name: fields.text("name") }),
};

/// Returns the message in the fields of [`MESSAGE`].
pub(crate) fn draft(mut fields: Fields) -> Draft {
    let attachments = fields.list("attachments");
    let mut images = fields.images("images");
    images.extend(attachments::read(&attachments));
    let attachments = attachments::kept(attachments);
    Draft { text: fields.text("message"), images, attachments, ..Draft::default() }
}

fn mode(mut fields: Fields) -> QueueMode {
    QueueMode::parse(&fields.text("mode")).unwrap_or_default()
}
