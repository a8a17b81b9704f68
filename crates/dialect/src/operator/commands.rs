//! The table of commands: those of the document first, then what operator-use's own client knows besides.

use bowline_core::command::{Command, Draft, Queue};
use bowline_core::thinking::ThinkingLevel;

use super::records::SpokenCompaction;
use super::replies::{
    Enabled, Forked, LastText, Level, Messages, Model, Nothing, SpokenState, SpokenStatistics, Switched,
};
use crate::command_table::Meaning::Engine;
use crate::command_table::Row;
use crate::fields::Kind::{Anything, Boolean, FilledText, OneOf, Text};
use crate::fields::{Field, Fields, LEVELS};
use crate::protocol_info;
use crate::schema::{Shape, shape};

const QUEUED: &[Field] = &[Field::required("message", FilledText, "What the user says.").or("text")];

/// An answer of the document always has `data`; of the code, only if there is something in it.
const NOTHING: Option<Shape> = Some(shape::<Nothing>);

/// Every command. Where the document and the code name a field differently, the document's name comes first.
pub(super) const TABLE: &[Row] = &table(NOTHING, Some(shape::<SpokenCompaction<'_>>));

/// The same commands with the answers of the code, which does not wait for a compaction.
pub(super) const FLAT_TABLE: &[Row] = &table(None, None);

const fn table(nothing: Option<Shape>, compaction: Option<Shape>) -> [Row; 17] {
    [
        Row {
            name: "prompt",
            about: "Starts a run with a message of the user.",
            fields: const {
                &[
                    Field::required("text", FilledText, "What the user says.").or("message"),
                    // The document has it without saying what is in it, and no server looks at it.
                    Field::optional("options", Anything, "Is not looked at."),
                ]
            },
            answer: nothing,
            meaning: Engine(|fields| Command::Prompt { message: draft(fields, "text"), when_busy: None }),
        },
        Row {
            name: "compact",
            about: "Puts a summary in the place of all but the newest messages.",
            fields: const { &[Field::optional("custom_instructions", Text, "What the summary should mind.")] },
            answer: compaction,
            meaning: Engine(|mut fields| Command::Compact {
                instructions: fields.optional_text("custom_instructions"),
            }),
        },
        Row {
            name: "abort",
            about: "Stops the run. It overtakes what waits.",
            fields: &[],
            answer: nothing,
            meaning: Engine(|_| Command::Abort),
        },
        Row {
            name: "new_session",
            about: "Begins an empty session.",
            fields: &[],
            answer: Some(shape::<Switched>),
            meaning: Engine(|_| Command::NewSession { parent: None }),
        },
        Row {
            name: "fork",
            about: "Begins a session with all that there was up to an entry.",
            fields: const {
                &[Field::required("entry_id", FilledText, "The last entry that is taken along.").echoed()]
            },
            answer: Some(shape::<Forked<'_>>),
            meaning: Engine(|mut fields| Command::Fork { entry: fields.text("entry_id") }),
        },
        Row {
            name: "switch_session",
            about: "Opens another session.",
            fields: const {
                &[Field::required("session_file", FilledText, "The session's file.").or("session_path")]
            },
            answer: Some(shape::<Switched>),
            meaning: Engine(|mut fields| Command::SwitchSession { path: fields.text("session_file").into() }),
        },
        Row {
            name: "get_state",
            about: "Tells the state of the agent.",
            fields: &[],
            answer: Some(shape::<SpokenState<'_>>),
            meaning: Engine(|_| Command::GetState),
        },
        Row {
            name: "steer",
            about: "Queues a message that goes into the run after the tool calls of the current turn.",
            fields: QUEUED,
            answer: nothing,
            meaning: Engine(|fields| Command::Enqueue {
                message: draft(fields, "message"),
                queue: Queue::Steering,
            }),
        },
        Row {
            name: "follow_up",
            about: "Queues a message for when the run would end.",
            fields: QUEUED,
            answer: nothing,
            meaning: Engine(|fields| Command::Enqueue {
                message: draft(fields, "message"),
                queue: Queue::FollowUp,
            }),
        },
        Row {
            name: "set_session_name",
            about: "Names the session.",
            fields: const { &[Field::required("name", FilledText, "What lists show.")] },
            answer: nothing,
            meaning: Engine(|mut fields| Command::SetSessionName { name: fields.text("name") }),
        },
        Row {
            name: "get_messages",
            about: "Tells the messages of the context.",
            fields: &[],
            answer: Some(shape::<Messages<'_>>),
            meaning: Engine(|_| Command::GetMessages),
        },
        Row {
            name: "get_last_assistant_text",
            about: "Tells the text of the newest answer that has any.",
            fields: &[],
            answer: Some(shape::<LastText<'_>>),
            meaning: Engine(|_| Command::GetLastAssistantText),
        },
        // All that its answer has is in the state.
        Row {
            name: "get_session_stats",
            about: "Tells figures of the session.",
            fields: &[],
            answer: Some(shape::<SpokenStatistics<'_>>),
            meaning: Engine(|_| Command::GetState),
        },
        Row {
            name: "set_model",
            about: "Chooses the model, from the next request on.",
            fields: const {
                &[
                    Field::required(
                        "model_id",
                        FilledText,
                        "The model's id, or a part of it that only it has.",
                    ),
                    Field::optional("provider", Text, "The provider, where the id alone would not do."),
                ]
            },
            answer: Some(shape::<Model<'_>>),
            meaning: Engine(|mut fields| Command::ChooseModel {
                provider: fields.optional_text("provider").filter(|name| !name.is_empty()),
                pattern: fields.text("model_id"),
            }),
        },
        Row {
            name: "set_thinking_level",
            about: "Says how hard the model is to think, from the next request on.",
            fields: const {
                &[Field::required(
                    "level",
                    OneOf(LEVELS),
                    "One that the model lacks becomes one that it has.",
                )
                .echoed()]
            },
            answer: Some(shape::<Level<'_>>),
            meaning: Engine(|mut fields| Command::SetThinkingLevel {
                level: ThinkingLevel::parse(&fields.text("level")).unwrap_or_default(),
            }),
        },
        Row {
            name: "set_auto_compaction",
            about: "Says whether the conversation is compacted when the model's window is nearly full.",
            fields: const { &[Field::required("enabled", Boolean, "Holds for this process.").echoed()] },
            answer: Some(shape::<Enabled<'_>>),
            meaning: Engine(|fields| Command::SetAutoCompaction { enabled: fields.flag("enabled") }),
        },
        protocol_info::ROW,
    ]
}

fn draft(mut fields: Fields, name: &str) -> Draft {
    Draft { text: fields.text(name), images: Vec::new() }
}
