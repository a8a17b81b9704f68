//! The table of commands, in the order of opi's error text for an unknown command.

use bowline_core::command::{Command, Draft, Queue};

use super::replies::{CompactionRecord, Level, Model, Session};
use super::thinking::LEVELS;
use crate::command_table::Action::{self, Engine};
use crate::command_table::Row;
use crate::fields::Kind::{self, Text};
use crate::fields::{Field, Fields};
use crate::protocol_info;
use crate::sandbox;
use crate::schema::schema_of;

const MESSAGE: &[Field] = &[Field::required("message", Text, "The text of the user message.")];

pub(super) const TABLE: &[Row] = &[
    Row {
        name: "prompt",
        about: "Starts a run with a user message. The response is sent when the prompt is accepted.",
        fields: MESSAGE,
        result: None,
        action: Engine(|fields| Command::Prompt { message: draft(fields), when_busy: None }),
    },
    Row {
        name: "continue",
        about: "Starts a run with a user message that continues the conversation.",
        fields: MESSAGE,
        result: None,
        action: Engine(|fields| Command::Continue { message: draft(fields) }),
    },
    Row {
        name: "steer",
        about: "Queues a message that the run takes up after the tool calls of the current turn.",
        fields: MESSAGE,
        result: None,
        action: Engine(|fields| Command::Enqueue { message: draft(fields), queue: Queue::Steering }),
    },
    Row {
        name: "follow_up",
        about: "Queues a message that the run takes up when it would otherwise end.",
        fields: MESSAGE,
        result: None,
        action: Engine(|fields| Command::Enqueue { message: draft(fields), queue: Queue::FollowUp }),
    },
    Row {
        name: "abort",
        about: "Aborts the run. The response is sent immediately; the run ends with `AgentEnd`.",
        fields: &[],
        result: None,
        action: Engine(|_| Command::Abort),
    },
    Row {
        name: "set_model",
        about: "Sets the model. Refused while a run is in progress.",
        fields: &[Field::required("model", Text, "The model, as `provider:model`.").echoed()],
        result: Some(schema_of::<Model>()),
        action: Engine(|mut fields| {
            let model = fields.text("model");
            let (provider, id) = model.split_once(':').unwrap_or(("", &model));
            Command::SetModel { provider: provider.to_owned(), id: id.to_owned() }
        }),
    },
    Row {
        name: "set_thinking_level",
        about: "Sets the thinking level. Refused while a run is in progress.",
        fields: &[Field::required("level", Kind::Level(&LEVELS), "The level.")],
        result: Some(schema_of::<Level>()),
        action: Engine(|mut fields| Command::SetThinkingLevel { level: fields.level("level") }),
    },
    Row {
        name: "compact",
        about: "Replaces all but the newest messages with a summary. Refused while a run is in progress.",
        fields: &[],
        result: Some(schema_of::<CompactionRecord<'_>>()),
        action: Engine(|_| Command::Compact { instructions: None }),
    },
    Row {
        name: "session_info",
        about: "Returns the session and the model. Refused while a run is in progress.",
        fields: &[],
        result: Some(schema_of::<Session<'_>>()),
        action: Engine(|_| Command::GetState),
    },
    Row {
        name: "quit",
        about: "Ends the process. The response is sent first; a run in progress is aborted.",
        fields: &[],
        result: None,
        action: Action::Quit,
    },
    protocol_info::ROW,
    sandbox::GET_SANDBOX,
    sandbox::SET_SANDBOX,
];

fn draft(mut fields: Fields) -> Draft {
    Draft { text: fields.text("message"), ..Draft::default() }
}
