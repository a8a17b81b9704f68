//! The table of commands: those of the document, then those that only operator-use's own client knows.

use bowline_core::command::{Command, Draft, Queue};
use bowline_core::thinking::ThinkingLevel;

use super::options::{self, Options};
use super::records::CompactionRecord;
use super::replies::{
    Enabled, Forked, LastText, Level, Messages, Model, Nothing, StateRecord, StatisticsRecord, Switched,
};
use crate::command_table::Action::Engine;
use crate::command_table::Row;
use crate::fields::Kind::{self, Boolean, FilledText, PromptOptions, Text};
use crate::fields::{Field, Fields};
use crate::protocol_info;
use crate::sandbox;
use crate::schema::{SchemaFn, schema_of};

const QUEUED: &[Field] =
    &[Field::required("message", FilledText, "The text of the user message.").or("text")];

/// The results in which the document and the code differ.
struct Results {
    nothing: Option<SchemaFn>,
    compaction: Option<SchemaFn>,
}

/// Every command. Where the document and the code name a field differently, the document's name comes first and the
/// code's is an alias. A success response of the document always has `data`.
pub(super) const TABLE: &[Row] = &table(&Results {
    nothing: Some(schema_of::<Nothing>()),
    compaction: Some(schema_of::<CompactionRecord<'_>>()),
});

/// The same commands with the results of the code, which omits empty `data` and does not wait for a compaction.
pub(super) const FLAT_TABLE: &[Row] = &table(&Results { nothing: None, compaction: None });

const fn table(results: &Results) -> [Row; 19] {
    let Results { nothing, compaction } = *results;
    [
        Row {
            name: "prompt",
            about: "Starts a run with a user message.",
            fields: const {
                &[
                    Field::required("text", FilledText, "The text of the user message.").or("message"),
                    // The document does not define its contents; these are the code's that can be served.
                    Field::optional("options", PromptOptions, "Images, and where the message comes from."),
                ]
            },
            result: nothing,
            action: Engine(|mut fields| {
                let Options { images, source } = options::read(fields.object("options"));
                let message = Draft { images, source, ..draft(fields, "text") };
                Command::Prompt { message, when_busy: None }
            }),
        },
        Row {
            name: "compact",
            about: "Replaces all but the newest messages with a summary.",
            fields: const { &[Field::optional("custom_instructions", Text, "What the summary should focus on.")] },
            result: compaction,
            action: Engine(|mut fields| Command::Compact {
                instructions: fields.optional_text("custom_instructions"),
            }),
        },
        Row {
            name: "abort",
            about: "Aborts the run. Takes precedence over queued commands.",
            fields: &[],
            result: nothing,
            action: Engine(|_| Command::Abort),
        },
        Row {
            name: "new_session",
            about: "Starts an empty session.",
            fields: &[],
            result: Some(schema_of::<Switched>()),
            action: Engine(|_| Command::NewSession { parent: None }),
        },
        Row {
            name: "fork",
            about: "Starts a session with the conversation up to and including an entry.",
            fields: const { &[Field::required("entry_id", FilledText, "The last entry to include.").echoed()] },
            result: Some(schema_of::<Forked<'_>>()),
            action: Engine(|mut fields| Command::Fork { entry: fields.text("entry_id"), point: None }),
        },
        Row {
            name: "switch_session",
            about: "Opens another session.",
            fields: const {
                &[Field::required("session_file", FilledText, "The session file.").or("session_path")]
            },
            result: Some(schema_of::<Switched>()),
            action: Engine(|mut fields| Command::SwitchSession { path: fields.text("session_file").into() }),
        },
        Row {
            name: "get_state",
            about: "Returns the state of the agent.",
            fields: &[],
            result: Some(schema_of::<StateRecord<'_>>()),
            action: Engine(|_| Command::GetState),
        },
        Row {
            name: "steer",
            about: "Queues a message that the run takes up after the tool calls of the current turn.",
            fields: QUEUED,
            result: nothing,
            action: Engine(|fields| Command::Enqueue {
                message: draft(fields, "message"),
                queue: Queue::Steering,
            }),
        },
        Row {
            name: "follow_up",
            about: "Queues a message that the run takes up when it would otherwise end.",
            fields: QUEUED,
            result: nothing,
            action: Engine(|fields| Command::Enqueue {
                message: draft(fields, "message"),
                queue: Queue::FollowUp,
            }),
        },
        Row {
            name: "set_session_name",
            about: "Sets the name of the session.",
            fields: const { &[Field::required("name", FilledText, "The name that session lists show.")] },
            result: nothing,
            action: Engine(|mut fields| Command::SetSessionName { name: fields.text("name") }),
        },
        Row {
            name: "get_messages",
            about: "Returns the messages in the context.",
            fields: &[],
            result: Some(schema_of::<Messages<'_>>()),
            action: Engine(|_| Command::GetMessages),
        },
        Row {
            name: "get_last_assistant_text",
            about: "Returns the text of the newest model response that has any.",
            fields: &[],
            result: Some(schema_of::<LastText<'_>>()),
            action: Engine(|_| Command::GetLastAssistantText),
        },
        // The state holds everything that its response needs.
        Row {
            name: "get_session_stats",
            about: "Returns statistics of the session.",
            fields: &[],
            result: Some(schema_of::<StatisticsRecord<'_>>()),
            action: Engine(|_| Command::GetState),
        },
        Row {
            name: "set_model",
            about: "Sets the model, effective from the next request.",
            fields: const {
                &[
                    Field::required(
                        "model_id",
                        FilledText,
                        "The id of the model, or a part of it that is unique.",
                    ),
                    Field::optional("provider", Text, "The provider, if the id alone is ambiguous."),
                ]
            },
            result: Some(schema_of::<Model<'_>>()),
            action: Engine(|mut fields| Command::ChooseModel {
                provider: fields.optional_text("provider").filter(|name| !name.is_empty()),
                pattern: fields.text("model_id"),
            }),
        },
        Row {
            name: "set_thinking_level",
            about: "Sets the thinking level, effective from the next request.",
            fields: const {
                &[Field::required(
                    "level",
                    Kind::Level(&ThinkingLevel::ALL),
                    "The level. If the model does not have it, one that it has is used.",
                )]
            },
            result: Some(schema_of::<Level>()),
            action: Engine(|mut fields| Command::SetThinkingLevel { level: fields.level("level") }),
        },
        Row {
            name: "set_auto_compaction",
            about: "Enables or disables automatic compaction when the context window is nearly full.",
            fields: const { &[Field::required("enabled", Boolean, "Applies until the process ends.").echoed()] },
            result: Some(schema_of::<Enabled<'_>>()),
            action: Engine(|fields| Command::SetAutoCompaction { enabled: fields.flag("enabled") }),
        },
        protocol_info::ROW,
        sandbox::GET_SANDBOX,
        sandbox::SET_SANDBOX,
    ]
}

fn draft(mut fields: Fields, name: &str) -> Draft {
    Draft { text: fields.text(name), ..Draft::default() }
}
