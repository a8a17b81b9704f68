//! The table of commands, in the order in which opi lists them when it does not know one.

use bowline_core::command::{Command, Draft, Queue};
use bowline_core::thinking::ThinkingLevel;

use super::replies::{Level, Model, Session, SpokenCompaction};
use crate::command_table::Meaning::{self, Engine};
use crate::command_table::Row;
use crate::fields::Kind::{OneOf, Text};
use crate::fields::{Field, Fields};
use crate::protocol_info;
use crate::schema::shape;

/// The levels of opi 0.5.
const LEVELS: &[&str] = &["off", "low", "medium", "high"];
const MESSAGE: &[Field] = &[Field::required("message", Text, "What the user says.")];

pub(super) const TABLE: &[Row] = &[
    Row {
        name: "prompt",
        about: "Starts a run with a message of the user. It is answered when it is accepted.",
        fields: MESSAGE,
        answer: None,
        meaning: Engine(|fields| Command::Prompt { message: draft(fields), when_busy: None }),
    },
    Row {
        name: "continue",
        about: "Starts a run with a message of the user, after the conversation so far.",
        fields: MESSAGE,
        answer: None,
        meaning: Engine(|fields| Command::Continue { message: draft(fields) }),
    },
    Row {
        name: "steer",
        about: "Queues a message that goes into the run after the tool calls of the current turn.",
        fields: MESSAGE,
        answer: None,
        meaning: Engine(|fields| Command::Enqueue { message: draft(fields), queue: Queue::Steering }),
    },
    Row {
        name: "follow_up",
        about: "Queues a message for when the run would end.",
        fields: MESSAGE,
        answer: None,
        meaning: Engine(|fields| Command::Enqueue { message: draft(fields), queue: Queue::FollowUp }),
    },
    Row {
        name: "abort",
        about: "Stops the run. It is answered at once; the run ends with `AgentEnd`.",
        fields: &[],
        answer: None,
        meaning: Engine(|_| Command::Abort),
    },
    Row {
        name: "set_model",
        about: "Chooses the model. It is refused while a run is under way.",
        fields: &[Field::required("model", Text, "As `provider:model`.").echoed()],
        answer: Some(shape::<Model>),
        meaning: Engine(|mut fields| {
            let model = fields.text("model");
            let (provider, id) = model.split_once(':').unwrap_or(("", &model));
            Command::SetModel { provider: provider.to_owned(), id: id.to_owned() }
        }),
    },
    Row {
        name: "set_thinking_level",
        about: "Says how hard the model is to think. It is refused while a run is under way.",
        fields: &[Field::required("level", OneOf(LEVELS), "The level.").echoed()],
        answer: Some(shape::<Level>),
        meaning: Engine(|mut fields| Command::SetThinkingLevel {
            level: ThinkingLevel::parse(&fields.text("level")).unwrap_or_default(),
        }),
    },
    Row {
        name: "compact",
        about: "Puts a summary in the place of all but the newest messages. It is refused while a run is under way.",
        fields: &[],
        answer: Some(shape::<SpokenCompaction<'_>>),
        meaning: Engine(|_| Command::Compact { instructions: None }),
    },
    Row {
        name: "session_info",
        about: "Tells the session and the model. It is refused while a run is under way.",
        fields: &[],
        answer: Some(shape::<Session<'_>>),
        meaning: Engine(|_| Command::GetState),
    },
    Row {
        name: "quit",
        about: "Ends the process. It is answered first; a run is stopped.",
        fields: &[],
        answer: None,
        meaning: Meaning::Quit,
    },
    protocol_info::ROW,
];

fn draft(mut fields: Fields) -> Draft {
    Draft { text: fields.text("message"), images: Vec::new() }
}
