//! Commands that a prompt can name and that the agent carries out itself, in dialects whose clients send them so:
//! `/compact`, `/model`. Which they are, what command of the protocol each stands for, and what the user reads of its
//! result.

use std::fmt::Write as _;
use std::path::PathBuf;

use bowline_core::command::Command;
use bowline_core::reply::{Answer, Refusal, RefusalCode, State};
use bowline_core::slash_command::{CommandKind, Packaging, Scope, SlashCommand, SourceInfo};

/// A command that the agent carries out itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LocalCommand {
    Compact,
    /// Shows or chooses the model.
    Model,
    New,
    Session,
    Rename,
    Export,
    Tools,
    Context,
    Help,
}

/// What is known of such a command.
struct Row {
    command: LocalCommand,
    name: &'static str,
    /// Another name for it, which is not listed.
    other_name: Option<&'static str>,
    hint: Option<&'static str>,
    about: &'static str,
}

use LocalCommand::{Compact, Context, Export, Help, Model, New, Rename, Session, Tools};

const TABLE: &[Row] = &[
    row(Compact, "compact", None, Some("[focus]"), "Replace all but the newest messages by a summary"),
    row(Model, "model", None, Some("[model]"), "Show the model, or choose another"),
    row(New, "new", None, None, "Start a new session"),
    row(Session, "session", None, Some("[info]"), "Show the current session"),
    row(Rename, "rename", Some("name"), Some("<title>"), "Name the current session"),
    row(Export, "export", None, Some("[file]"), "Write the current session as an HTML page"),
    row(Tools, "tools", None, None, "List the tools that the model may call"),
    row(Context, "context", None, None, "Show how much of the context window is used"),
    row(Help, "help", None, None, "List the commands that a prompt can name"),
];

const fn row(
    command: LocalCommand,
    name: &'static str,
    other_name: Option<&'static str>,
    hint: Option<&'static str>,
    about: &'static str,
) -> Row {
    Row { command, name, other_name, hint, about }
}

impl Row {
    fn usage(&self) -> String {
        let hint = self.hint.map(|hint| format!(" {hint}")).unwrap_or_default();
        format!("Usage: /{}{hint}", self.name)
    }
}

/// Returns the commands for a list.
pub(crate) fn listed() -> impl Iterator<Item = SlashCommand> {
    TABLE.iter().map(|row| SlashCommand {
        name: row.name.to_owned(),
        description: Some(row.about.to_owned()),
        argument_hint: row.hint.map(ToOwned::to_owned),
        has_completion: false,
        kind: CommandKind::Builtin,
        source_info: SourceInfo {
            path: PathBuf::from("<builtin>"),
            source: "builtin".to_owned(),
            scope: Scope::Temporary,
            packaging: Packaging::TopLevel,
            base_folder: None,
        },
    })
}

/// What a text that names such a command stands for: a command of the protocol, or a note that it is not written so.
#[derive(Debug, PartialEq)]
pub(crate) enum Meaning {
    Command(LocalCommand, Command),
    Note(String),
}

/// Returns what a text stands for, if it names such a command.
pub(crate) fn meaning(text: &str) -> Option<Meaning> {
    let text = text.strip_prefix('/')?;
    let (name, arguments) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let row = TABLE.iter().find(|row| row.name == name || row.other_name == Some(name))?;
    let argument = Some(arguments.trim()).filter(|argument| !argument.is_empty()).map(ToOwned::to_owned);
    let command = match (row.command, argument) {
        (Compact, instructions) => Command::Compact { instructions },
        (Model, Some(pattern)) => Command::ChooseModel { provider: None, pattern },
        (Rename, Some(name)) => Command::SetSessionName { name },
        (Export, path) => Command::ExportHtml { path: path.map(PathBuf::from) },
        (New, None) => Command::NewSession { parent: None },
        (Help, None) => Command::GetCommands,
        (Model | Tools | Context | Session, None) => Command::GetState,
        (Session, Some(word)) if word == "info" => Command::GetState,
        (New | Session | Rename | Tools | Context | Help, _) => return Some(Meaning::Note(row.usage())),
    };
    Some(Meaning::Command(row.command, command))
}

impl LocalCommand {
    /// Returns whether it takes so long that the prompt is replied to before it is done.
    pub fn takes_long(self) -> bool {
        self == Compact
    }

    /// Returns what the user reads of a result; empty if that is nothing.
    pub fn text(self, result: &Result<Answer, Refusal>) -> String {
        match (self, result) {
            // Whoever aborted it knows.
            (Compact, Err(refusal)) if refusal.code == RefusalCode::Cancelled => String::new(),
            (Compact, Err(refusal)) => format!("Compaction failed: {refusal}"),
            (_, Err(refusal)) => refusal.message.clone(),
            (_, Ok(Answer::Cancelled(_))) => "An extension prevented it.".to_owned(),
            (Compact, Ok(Answer::Compacted(result))) => {
                let (before, after) = (result.tokens_before, result.estimated_tokens_after);
                format!("Compaction complete. Tokens: {before} -> about {after}.")
            }
            (Model, Ok(Answer::Model(model))) => format!("Model: {}/{}", model.provider, model.id),
            (Model, Ok(Answer::State(state))) => model_text(state),
            (Session, Ok(Answer::State(state))) => session_text(state),
            (Tools, Ok(Answer::State(state))) if state.tools.is_empty() => "No tools are enabled.".to_owned(),
            (Tools, Ok(Answer::State(state))) => format!("Tools: {}", state.tools.join(", ")),
            (Context, Ok(Answer::State(state))) => context_text(state),
            (New, Ok(_)) => "A new session was started.".to_owned(),
            (Rename, Ok(_)) => "The session was renamed.".to_owned(),
            (Export, Ok(Answer::Exported { path })) => {
                format!("The session was exported to {}", path.display())
            }
            (Help, Ok(Answer::Commands(commands))) => help_text(commands),
            (_, Ok(_)) => String::new(),
        }
    }
}

fn model_text(state: &State) -> String {
    match &state.model {
        Some(model) => {
            format!("Model: {}/{}, thinking: {}", model.provider, model.id, state.thinking_level.as_str())
        }
        None => "No model is selected.".to_owned(),
    }
}

fn session_text(state: &State) -> String {
    let mut text = format!("Session: {}", state.session_id);
    if let Some(name) = &state.session_name {
        let _ = write!(text, "\nTitle: {name}");
    }
    if let Some(file) = &state.session_file {
        let _ = write!(text, "\nFile: {}", file.display());
    }
    let _ = write!(text, "\nFolder: {}", state.working_directory.display());
    let _ = write!(text, "\nMessages: {}", state.message_count);
    text
}

fn context_text(state: &State) -> String {
    match state.context {
        Some(usage) => match usage.tokens {
            Some(tokens) => format!("Context: {tokens} of {} tokens", usage.window),
            None => format!("Context: not known yet, of {} tokens", usage.window),
        },
        None => "No model is selected.".to_owned(),
    }
}

fn help_text(commands: &[SlashCommand]) -> String {
    let mut text = String::new();
    for command in commands {
        let hint = command.argument_hint.as_deref().map(|hint| format!(" {hint}")).unwrap_or_default();
        let about = command.description.as_deref().map(|about| format!(": {about}")).unwrap_or_default();
        let break_line = if text.is_empty() { "" } else { "\n" };
        let _ = write!(text, "{break_line}/{}{hint}{about}", command.name);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_unique_and_means_something() {
        let names: Vec<_> = TABLE.iter().flat_map(|row| [Some(row.name), row.other_name]).flatten().collect();
        for name in &names {
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1);
            assert!(meaning(&format!("/{name}")).is_some());
        }
    }

    #[track_caller]
    fn means(text: &str, expected: &Command) {
        match meaning(text) {
            Some(Meaning::Command(_, command)) => assert_eq!(command, *expected, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn texts_stand_for_commands_of_the_protocol() {
        means("/compact", &Command::Compact { instructions: None });
        means("/compact keep names ", &Command::Compact { instructions: Some("keep names".to_owned()) });
        means("/model", &Command::GetState);
        means("/model opus", &Command::ChooseModel { provider: None, pattern: "opus".to_owned() });
        means("/rename A b", &Command::SetSessionName { name: "A b".to_owned() });
        means("/name A", &Command::SetSessionName { name: "A".to_owned() });
        means("/export a.html", &Command::ExportHtml { path: Some("a.html".into()) });
        means("/new", &Command::NewSession { parent: None });
        means("/session info", &Command::GetState);
    }

    #[test]
    fn wrong_arguments_show_how_it_is_written_and_other_texts_mean_nothing() {
        for (text, usage) in [
            ("/rename", "Usage: /rename <title>"),
            ("/new x", "Usage: /new"),
            ("/session delete", "Usage: /session [info]"),
        ] {
            assert_eq!(meaning(text), Some(Meaning::Note(usage.to_owned())));
        }
        for text in
            ["compact", "/", "/Compact", "/compacted", " /compact", "/compact/x", "//compact", "/unknown"]
        {
            assert_eq!(meaning(text), None, "{text}");
        }
    }
}
