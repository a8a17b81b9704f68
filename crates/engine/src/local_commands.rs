//! Commands that a prompt can name and that the agent carries out itself, in dialects whose clients send them so:
//! `/compact`, `/model`. Which they are, what command of the protocol each stands for, and what the user reads of its
//! result.

use std::fmt::Write as _;
use std::path::PathBuf;

use bowline_core::command::Command;
use bowline_core::file_changes::UndoTarget;
use bowline_core::policy::SlashCommands;
use bowline_core::reply::{Answer, FilesRestored, Refusal, RefusalCode, SessionStatistics, State};
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
    Undo,
    Redo,
    Stats,
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
    offered: Offered,
}

/// Where a command can be named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Offered {
    Always,
    /// Where a client has one session, which may become another one.
    IfSessionsChange,
    /// Where a client has several sessions, each of which stays what it is.
    InSession,
}

use LocalCommand::{Compact, Context, Export, Help, Model, New, Redo, Rename, Session, Stats, Tools, Undo};

const TABLE: &[Row] = &[
    row(Compact, "compact", None, Some("[focus]"), "Replace all but the newest messages by a summary"),
    row(Model, "model", None, Some("[model]"), "Show the model, or choose another"),
    row(New, "new", None, None, "Start a new session").only(Offered::IfSessionsChange),
    row(Session, "session", None, Some("[info]"), "Show the current session"),
    row(Rename, "rename", Some("name"), Some("<title>"), "Name the current session"),
    row(Export, "export", None, Some("[file]"), "Write the current session as an HTML page"),
    row(Undo, "undo", None, None, "Restore the files that the last run changed").only(Offered::InSession),
    row(Redo, "redo", None, None, "Change the files again that were restored").only(Offered::InSession),
    row(Stats, "stats", None, None, "Show what the session has used").only(Offered::InSession),
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
    Row { command, name, other_name, hint, about, offered: Offered::Always }
}

impl Row {
    const fn only(self, offered: Offered) -> Self {
        Self { offered, ..self }
    }

    fn is_offered(&self, policy: SlashCommands) -> bool {
        match policy {
            SlashCommands::Sent => false,
            SlashCommands::CarriedOut => self.offered != Offered::InSession,
            SlashCommands::CarriedOutInSession => self.offered != Offered::IfSessionsChange,
        }
    }

    fn usage(&self) -> String {
        let hint = self.hint.map(|hint| format!(" {hint}")).unwrap_or_default();
        format!("Usage: /{}{hint}", self.name)
    }
}

/// Returns the commands for a list.
pub(crate) fn listed(policy: SlashCommands) -> impl Iterator<Item = SlashCommand> {
    TABLE.iter().filter(move |row| row.is_offered(policy)).map(|row| SlashCommand {
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
pub(crate) fn meaning(text: &str, policy: SlashCommands) -> Option<Meaning> {
    let text = text.strip_prefix('/')?;
    let (name, arguments) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let row = TABLE.iter().find(|row| row.name == name || row.other_name == Some(name))?;
    if !row.is_offered(policy) {
        return None;
    }
    let argument = Some(arguments.trim()).filter(|argument| !argument.is_empty()).map(ToOwned::to_owned);
    let command = match (row.command, argument) {
        (Compact, instructions) => Command::Compact { instructions },
        (Model, Some(pattern)) => Command::ChooseModel { provider: None, pattern },
        (Rename, Some(name)) => Command::SetSessionName { name },
        (Export, path) => Command::ExportHtml { path: path.map(PathBuf::from) },
        (New, None) => Command::NewSession { parent: None },
        (Undo, None) => Command::Undo { target: UndoTarget::LastRun, dry_run: false },
        (Redo, None) => Command::Redo { dry_run: false },
        (Stats, None) => Command::GetSessionStatistics,
        (Help, None) => Command::GetCommands,
        (Model | Tools | Context | Session, None) => Command::GetState,
        (Session, Some(word)) if word == "info" => Command::GetState,
        (New | Session | Rename | Undo | Redo | Stats | Tools | Context | Help, _) => {
            return Some(Meaning::Note(row.usage()));
        }
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
            (Undo | Redo, Ok(Answer::FilesRestored(restored))) => restored_text(restored),
            (Stats, Ok(Answer::Statistics(statistics))) => statistics_text(statistics),
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

/// Returns what became of each file.
fn restored_text(restored: &FilesRestored) -> String {
    let report = &restored.report;
    let mut text = String::new();
    let mut list = |what: &str, names: &mut dyn Iterator<Item = String>| {
        for name in names {
            let _ = writeln!(text, "{what}: {name}");
        }
    };
    let is_moved = |path: &&String| report.quarantined.iter().any(|file| file.path == **path);
    let restored_files = report.restored.iter().filter(|path| !is_moved(path));
    list(if restored.is_redo { "Changed again" } else { "Restored" }, &mut restored_files.cloned());
    list("Moved away", &mut report.quarantined.iter().map(|file| file.path.clone()));
    let left = report.conflicts.iter().chain(&report.not_covered);
    list("Left alone", &mut left.map(|file| format!("{} ({})", file.path, file.reason)));
    if text.is_empty() { "Nothing had to be changed.".to_owned() } else { text.trim_end().to_owned() }
}

fn statistics_text(statistics: &SessionStatistics) -> String {
    let usage = &statistics.usage;
    let mut text = format!(
        "Messages: {} of the user, {} of the model, {} calls of tools",
        statistics.user_messages, statistics.assistant_messages, statistics.tool_calls
    );
    let _ = write!(
        text,
        "\nTokens: {} in, {} out, {} read from the cache, {} written to it",
        usage.input, usage.output, usage.cache_read, usage.cache_write
    );
    if usage.cost.total > 0.0 {
        let _ = write!(text, "\nCost: ${:.4}", usage.cost.total);
    }
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
            let text = format!("/{name}");
            let is_known = |policy| meaning(&text, policy).is_some();
            assert!(is_known(SlashCommands::CarriedOut) || is_known(SlashCommands::CarriedOutInSession));
            assert!(!is_known(SlashCommands::Sent));
        }
    }

    #[track_caller]
    fn means(text: &str, expected: &Command) {
        match meaning(text, SlashCommands::CarriedOut) {
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
    fn sessions_that_stay_what_they_are_cannot_be_left() {
        let names = |policy| listed(policy).map(|command| command.name).collect::<Vec<_>>();
        let (changing, staying) =
            (names(SlashCommands::CarriedOut), names(SlashCommands::CarriedOutInSession));
        assert!(changing.contains(&"new".to_owned()) && !changing.contains(&"undo".to_owned()));
        assert!(!staying.contains(&"new".to_owned()) && staying.contains(&"undo".to_owned()));
        assert_eq!(meaning("/new", SlashCommands::CarriedOutInSession), None);
    }

    #[test]
    fn wrong_arguments_show_how_it_is_written_and_other_texts_mean_nothing() {
        for (text, usage) in [
            ("/rename", "Usage: /rename <title>"),
            ("/new x", "Usage: /new"),
            ("/session delete", "Usage: /session [info]"),
        ] {
            assert_eq!(meaning(text, SlashCommands::CarriedOut), Some(Meaning::Note(usage.to_owned())));
        }
        for text in
            ["compact", "/", "/Compact", "/compacted", " /compact", "/compact/x", "//compact", "/unknown"]
        {
            assert_eq!(meaning(text, SlashCommands::CarriedOut), None, "{text}");
        }
    }
}
