//! The table of commands, in the order in which opi lists them when it does not know one.

use bowline_core::command::{Command, Draft, Queue};
use bowline_core::thinking::ThinkingLevel;

use crate::command_table::Row;
use crate::fields::Kind::{OneOf, Text};
use crate::fields::{Field, Fields};

/// The levels of opi 0.5.
const LEVELS: &[&str] = &["off", "low", "medium", "high"];
const MESSAGE: &[Field] = &[Field::required("message", Text)];

/// Every command but `quit`, which is not for the engine.
pub(super) const TABLE: &[Row] = &[
    Row {
        name: "prompt",
        fields: MESSAGE,
        build: |fields| Command::Prompt { message: draft(fields), when_busy: None },
    },
    Row { name: "continue", fields: MESSAGE, build: |fields| Command::Continue { message: draft(fields) } },
    Row {
        name: "steer",
        fields: MESSAGE,
        build: |fields| Command::Enqueue { message: draft(fields), queue: Queue::Steering },
    },
    Row {
        name: "follow_up",
        fields: MESSAGE,
        build: |fields| Command::Enqueue { message: draft(fields), queue: Queue::FollowUp },
    },
    Row { name: "abort", fields: &[], build: |_| Command::Abort },
    Row {
        name: "set_model",
        fields: &[Field::required("model", Text).echoed()],
        build: |mut fields| {
            let model = fields.text("model");
            let (provider, id) = model.split_once(':').unwrap_or(("", &model));
            Command::SetModel { provider: provider.to_owned(), id: id.to_owned() }
        },
    },
    Row {
        name: "set_thinking_level",
        fields: &[Field::required("level", OneOf(LEVELS)).echoed()],
        build: |mut fields| Command::SetThinkingLevel {
            level: ThinkingLevel::parse(&fields.text("level")).unwrap_or_default(),
        },
    },
    Row { name: "compact", fields: &[], build: |_| Command::Compact { instructions: None } },
    Row { name: "session_info", fields: &[], build: |_| Command::GetState },
];

fn draft(mut fields: Fields) -> Draft {
    Draft { text: fields.text("message"), images: Vec::new() }
}
