//! Completions of the arguments of slash commands. Neither pi nor omp has them over the wire.

use bowline_core::command::Command;
use bowline_core::completion::Completion;
use schemars::JsonSchema;
use serde::Serialize;

use crate::command_table::Action::Engine;
use crate::command_table::Row;
use crate::fields::Field;
use crate::fields::Kind::Text;
use crate::schema::schema_of;

pub(crate) const GET_COMPLETIONS: Row = Row {
    name: "get_completions",
    about: "Returns what can follow the name of a slash command of an extension. Only commands with `hasCompletion` have \
            any; for others, and if the extension does not answer within a second, the list is empty.",
    fields: &[
        Field::required("command", Text, "The name of the command."),
        Field::optional("prefix", Text, "What the user has typed after the name so far."),
    ],
    result: Some(schema_of::<Completions<'_>>()),
    action: Engine(|mut fields| Command::GetCompletions {
        command: fields.text("command"),
        prefix: fields.optional_text("prefix").unwrap_or_default(),
    }),
};

/// What can follow the name of a slash command.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Completions<'reply> {
    completions: Vec<CompletionRecord<'reply>>,
}

/// A completion.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Completion")]
struct CompletionRecord<'reply> {
    /// What takes the place of the text after the command's name.
    value: &'reply str,
    /// What to show instead of the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'reply str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'reply str>,
}

impl<'reply> Completions<'reply> {
    pub fn new(completions: &'reply [Completion]) -> Self {
        let record = |completion: &'reply Completion| CompletionRecord {
            value: &completion.value,
            label: completion.label.as_deref(),
            description: completion.description.as_deref(),
        };
        Self { completions: completions.iter().map(record).collect() }
    }
}
