//! The commands that a prompt can invoke with a leading slash, in omp's form.

use bowline_core::slash_command::{CommandKind, SlashCommand};
use schemars::JsonSchema;
use serde::Serialize;

/// The commands that a prompt can invoke with a leading slash.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AvailableCommands")]
pub(super) struct AvailableCommands<'reply> {
    pub commands: Vec<AvailableCommand<'reply>>,
}

/// A command that a prompt can invoke with a leading slash.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct AvailableCommand<'reply> {
    pub name: &'reply str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'reply str>,
    /// Absent if nothing is known of what follows the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<CommandInput<'reply>>,
    /// `true` if `get_completions` completes what follows the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_completion: Option<bool>,
    /// What provides the command: the agent itself, a skill, an extension, or the file of a prompt template.
    #[schemars(extend("enum" = ["builtin", "skill", "extension", "file"]))]
    pub source: &'static str,
}

/// What follows the name of a command.
#[derive(Serialize, JsonSchema)]
pub(super) struct CommandInput<'reply> {
    /// What to write there, in a few words.
    pub hint: &'reply str,
}

/// Where omp lists a kind of command.
fn rank(kind: CommandKind) -> usize {
    match kind {
        CommandKind::Builtin => 0,
        CommandKind::Skill => 1,
        CommandKind::Extension => 2,
        CommandKind::PromptTemplate => 3,
    }
}

impl<'reply> AvailableCommands<'reply> {
    pub fn new(commands: &'reply [SlashCommand]) -> Self {
        let mut sorted: Vec<_> = commands.iter().collect();
        sorted.sort_by_key(|command| rank(command.kind));
        Self { commands: sorted.into_iter().map(record).collect() }
    }
}

fn record(command: &SlashCommand) -> AvailableCommand<'_> {
    let (source, usual) = match command.kind {
        CommandKind::Builtin => ("builtin", None),
        CommandKind::Skill => ("skill", Some("arguments")),
        CommandKind::Extension => ("extension", Some("arguments")),
        CommandKind::PromptTemplate => ("file", None),
    };
    AvailableCommand {
        name: &command.name,
        description: command.description.as_deref(),
        input: command.argument_hint.as_deref().or(usual).map(|hint| CommandInput { hint }),
        has_completion: command.has_completion.then_some(true),
        source,
    }
}
