//! The commands of the line interface: one row each feeds the help, the completion and the dispatch.

use std::path::Path;

use bowline_client::{
    CompactCommand, Connection, Error, ExportHtmlCommand, ForkCommand, GetTreeCommand, Model,
    NavigateTreeCommand, RestoreReport, TreeFormat,
};
use serde_json::Value;

use crate::terminal::plain_line;

/// How much of a message a list shows.
const SHOWN: usize = 200;

/// A command.
#[derive(Debug)]
pub(super) struct Command {
    pub name: &'static str,
    /// What may follow the name.
    pub argument: &'static str,
    pub about: &'static str,
    pub action: Action,
}

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Help,
    Model,
    Compact,
    New,
    Fork,
    Tree,
    Undo,
    Redo,
    Export,
    Quit,
}

/// Every command, in the order of the help.
pub(super) const COMMANDS: &[Command] = &[
    row("/help", "", "show this", Action::Help),
    row("/model", "[NAME]", "list the models, or use another one", Action::Model),
    row("/compact", "[FOCUS]", "replace older messages by a summary", Action::Compact),
    row("/new", "", "start a new session", Action::New),
    row("/fork", "", "start a session from an earlier message, to send it differently", Action::Fork),
    row("/tree", "", "go on from another place of this session", Action::Tree),
    row("/undo", "", "restore the files that the last run changed", Action::Undo),
    row("/redo", "", "change them again", Action::Redo),
    row("/export", "[FILE]", "write the session as a web page", Action::Export),
    row("/quit", "", "end the conversation; so does Ctrl-D", Action::Quit),
];

const fn row(name: &'static str, argument: &'static str, about: &'static str, action: Action) -> Command {
    Command { name, argument, about, action }
}

/// Returns the command with this name.
pub(super) fn find(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name == name)
}

/// A list from which the user chooses.
#[derive(Debug)]
pub(super) enum Choice {
    Models(Vec<Model>),
    /// Messages with the entries that they are.
    Fork(Vec<Place>),
    Tree(Vec<Place>),
}

/// A place in the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub entry: String,
    pub label: String,
}

impl Choice {
    pub fn title(&self) -> &'static str {
        match self {
            Self::Models(_) => "Which model?",
            Self::Fork(_) => "From which message?",
            Self::Tree(_) => "From which place?",
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Models(models) => models.len(),
            Self::Fork(places) | Self::Tree(places) => places.len(),
        }
    }

    pub fn labels(&self) -> Vec<String> {
        match self {
            Self::Models(models) => models.iter().map(full_name).collect(),
            Self::Fork(places) | Self::Tree(places) => {
                places.iter().map(|place| place.label.clone()).collect()
            }
        }
    }
}

/// What a command came to.
#[derive(Debug, Default)]
pub(super) struct Finished {
    /// What is shown, as plain text.
    pub rows: Vec<String>,
    /// What the next line begins with.
    pub initial: String,
    /// What the user is asked to choose.
    pub choice: Option<Choice>,
}

impl Finished {
    fn say(row: impl Into<String>) -> Self {
        Self { rows: vec![row.into()], ..Self::default() }
    }
}

/// Carries out a command that needs the agent. `argument` is what follows its name.
pub(super) async fn carry_out(
    connection: &Connection,
    action: Action,
    argument: &str,
) -> Result<Finished, Error> {
    let argument = Some(argument.trim()).filter(|argument| !argument.is_empty()).map(ToOwned::to_owned);
    match action {
        Action::Model => models(connection, argument.as_deref()).await,
        Action::Compact => {
            let done = connection.call(CompactCommand { custom_instructions: argument }).await?;
            let (before, after) = (done.tokens_before, done.estimated_tokens_after);
            Ok(Finished::say(format!("Compacted: about {after} tokens instead of {before}.")))
        }
        Action::New => {
            connection.new_session().await?;
            Ok(Finished::say("A new session."))
        }
        Action::Fork => {
            let found = connection.get_fork_messages().await?.messages.into_iter();
            let places =
                found.map(|message| Place { entry: message.entry_id, label: shortened(&message.text) });
            Ok(offer(Choice::Fork(places.collect()), "There is no message yet."))
        }
        Action::Tree => {
            let tree = connection.call(GetTreeCommand { format: Some(TreeFormat::Flat) }).await?;
            let tree = serde_json::to_value(&tree).unwrap_or_default();
            Ok(offer(Choice::Tree(places(&tree)), "There is no message yet."))
        }
        Action::Undo => Ok(restored(&connection.undo().await?, "restored")),
        Action::Redo => Ok(restored(&connection.redo().await?, "changed again")),
        Action::Export => {
            let done = connection.call(ExportHtmlCommand { output_path: argument }).await?;
            Ok(Finished::say(format!("Written: {}", done.path)))
        }
        // The conversation itself does these.
        Action::Help | Action::Quit => Ok(Finished::default()),
    }
}

/// Does what the user has chosen.
pub(super) async fn choose(
    connection: &Connection,
    choice: &Choice,
    index: usize,
) -> Result<Finished, Error> {
    match choice {
        Choice::Models(models) => match models.get(index) {
            Some(model) => use_model(connection, model).await,
            None => Ok(Finished::default()),
        },
        Choice::Fork(places) => {
            let Some(place) = places.get(index) else { return Ok(Finished::default()) };
            let forked = connection.call(ForkCommand::new(place.entry.clone())).await?;
            let rows = vec!["A new session from before that message.".to_owned()];
            Ok(Finished { rows, initial: forked.text, ..Finished::default() })
        }
        Choice::Tree(places) => {
            let Some(place) = places.get(index) else { return Ok(Finished::default()) };
            let navigated = connection.call(NavigateTreeCommand::new(place.entry.clone())).await?;
            let rows = vec!["The conversation goes on from there.".to_owned()];
            Ok(Finished { rows, initial: navigated.text.unwrap_or_default(), ..Finished::default() })
        }
    }
}

fn offer(choice: Choice, nothing: &str) -> Finished {
    if choice.len() == 0 {
        return Finished::say(nothing);
    }
    Finished { choice: Some(choice), ..Finished::default() }
}

/// Uses the model that a name means, or offers those that it may mean.
async fn models(connection: &Connection, name: Option<&str>) -> Result<Finished, Error> {
    let mut models = connection.get_available_models().await?.models;
    let Some(name) = name else { return Ok(offer(Choice::Models(models), "There is no model with a key.")) };
    if let Some(exact) = models.iter().find(|model| full_name(model) == name || model.id == name) {
        return use_model(connection, exact).await;
    }
    let wanted = name.to_lowercase();
    models.retain(|model| full_name(model).to_lowercase().contains(&wanted));
    match &models[..] {
        [only] => use_model(connection, only).await,
        _ => Ok(offer(Choice::Models(models), "No model with a key has this name; /model lists them.")),
    }
}

async fn use_model(connection: &Connection, model: &Model) -> Result<Finished, Error> {
    connection.set_model(model.provider.clone(), model.id.clone()).await?;
    Ok(Finished::say(format!("The model is {} from the next answer on.", full_name(model))))
}

pub(super) fn full_name(model: &Model) -> String {
    format!("{}/{}", model.provider, model.id)
}

/// Returns the places of a tree, as a list of nodes with their depth, that one can go on from: the messages of the user and
/// the answers. Only branches are indented, so that a long conversation stays in sight.
fn places(tree: &Value) -> Vec<Place> {
    let nodes = tree["nodes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut children = std::collections::HashMap::<&str, usize>::new();
    for node in nodes {
        *children.entry(node["entry"]["parentId"].as_str().unwrap_or_default()).or_default() += 1;
    }
    let mut branches = std::collections::HashMap::<&str, usize>::new();
    let mut places = Vec::new();
    for node in nodes {
        let entry = &node["entry"];
        let (id, parent) =
            (entry["id"].as_str().unwrap_or_default(), entry["parentId"].as_str().unwrap_or_default());
        let is_branch = children.get(parent).is_some_and(|count| *count > 1);
        let depth = branches.get(parent).copied().unwrap_or_default() + usize::from(is_branch);
        branches.insert(id, depth);
        let Some(text) = shown_text(&entry["message"]) else { continue };
        let mark = if tree["leafId"] == entry["id"] { " ←" } else { "" };
        let name = node["label"].as_str().map(|label| format!("[{label}] ")).unwrap_or_default();
        let label = format!("{}{name}{}{mark}", "  ".repeat(depth.min(20)), shortened(&text));
        places.push(Place { entry: id.to_owned(), label });
    }
    places
}

/// Returns what is shown of a message, if one can go on from it.
fn shown_text(message: &Value) -> Option<String> {
    let who = match message["role"].as_str()? {
        "user" => "you",
        "assistant" => "model",
        _ => return None,
    };
    let content = &message["content"];
    let text = match content.as_str() {
        Some(text) => text.to_owned(),
        None => content
            .as_array()?
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect::<Vec<_>>()
            .join(" "),
    };
    // Answers that only call tools are not worth a row.
    (who == "you" || !text.trim().is_empty()).then(|| format!("{who}: {text}"))
}

fn shortened(text: &str) -> String {
    super::tool_rows::cut(&plain_line(text.trim()), SHOWN)
}

fn restored(report: &RestoreReport, what: &str) -> Finished {
    let mut rows: Vec<_> = report.restored.iter().map(|path| format!("{what}: {path}")).collect();
    rows.extend(
        report.quarantined.iter().map(|file| format!("moved away: {} to {}", file.path, file.moved_to)),
    );
    let left = report.conflicts.iter().chain(&report.not_covered);
    rows.extend(left.map(|file| format!("left alone: {} ({})", file.path, file.reason)));
    if rows.is_empty() {
        rows.push("There is nothing to restore.".to_owned());
    }
    Finished { rows, ..Finished::default() }
}

/// Returns the name of a command and what follows it.
pub(super) fn split(line: &str) -> (&str, &str) {
    line.split_once(char::is_whitespace).map_or((line, ""), |(name, rest)| (name, rest.trim()))
}

/// Tells whether a line is meant as a command and not as a path.
pub(super) fn is_command(line: &str) -> bool {
    let (name, _) = split(line);
    name.strip_prefix('/').is_some_and(|name| !name.is_empty() && !name.contains('/'))
        && !Path::new(name).exists()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tree_shows_messages_and_indents_branches_only() {
        let node = |id: &str, parent: Option<&str>, role: &str, text: &str| json!({"entry": {"id": id, "parentId": parent, "message": {"role": role, "content": text}}, "depth": 0});
        let tree = json!({"leafId": "f", "nodes": [
            node("a", None, "user", "first"),
            node("b", Some("a"), "assistant", "one\u{1b}"),
            node("c", Some("b"), "toolResult", "x"),
            node("d", Some("c"), "user", "left"),
            node("e", Some("c"), "user", "right"),
            node("f", Some("e"), "assistant", "two"),
        ]});
        let labels: Vec<_> = places(&tree).into_iter().map(|place| place.label).collect();
        assert_eq!(
            labels,
            ["you: first", "model: one\\u001b", "  you: left", "  you: right", "  model: two ←"]
        );
    }

    #[test]
    fn lines_with_a_slash_are_commands_unless_they_are_paths() {
        for (line, expected) in
            [("/undo", true), ("/skill:x now", true), ("/etc/passwd", false), ("/", false), ("a/b", false)]
        {
            assert_eq!(is_command(line), expected, "{line}");
        }
        assert!(!is_command("/tmp"), "it is a folder");
        assert_eq!(split("/model  gpt "), ("/model", "gpt"));
    }

    #[test]
    fn names_are_unique() {
        for command in COMMANDS {
            assert_eq!(COMMANDS.iter().filter(|other| other.name == command.name).count(), 1);
            assert!(find(command.name).is_some());
        }
    }
}
