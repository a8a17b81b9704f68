//! Prompt templates: Markdown files whose text replaces `/name` in a prompt, with the user's arguments in it.

use std::collections::HashSet;
use std::path::PathBuf;

use bowline_core::slash_command::{CommandKind, SlashCommand, SourceInfo};

use crate::front_matter::{self, Document, Fields};
use crate::resource_files::ResourceFile;
use crate::template_arguments;

/// The longest file of a template.
const LARGEST: u64 = 256 * 1024;

/// The longest text that a template may become.
const LONGEST_TEXT: usize = 4 * 1024 * 1024;

/// How much of a template's first line describes it, if nothing else does.
const DESCRIPTION_LENGTH: usize = 60;

/// A template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PromptTemplate {
    /// The name of its file, without `.md`.
    pub name: String,
    pub path: PathBuf,
    pub source: SourceInfo,
}

/// Returns the templates in some files. Of several with the same name the first counts.
pub(crate) fn named(files: Vec<ResourceFile>) -> Vec<PromptTemplate> {
    let mut taken = HashSet::new();
    let mut templates = Vec::new();
    for ResourceFile { path, source, .. } in files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if taken.insert(name.clone()) {
            templates.push(PromptTemplate { name, path, source });
        }
    }
    templates
}

impl PromptTemplate {
    fn read(&self) -> Result<String, bowline_files::Error> {
        bowline_files::read_text(&self.path, LARGEST)
    }

    /// Returns the command that names it in a prompt.
    pub fn command(self) -> Result<SlashCommand, bowline_files::Error> {
        let text = self.read()?;
        let document = parts(&text);
        let field = |name: &str| document.fields.text(name).map(str::trim).filter(|text| !text.is_empty());
        let description = field("description").map_or_else(|| first_line(document.body), ToOwned::to_owned);
        Ok(SlashCommand {
            description: Some(description).filter(|description| !description.is_empty()),
            argument_hint: field("argument-hint").map(ToOwned::to_owned),
            has_completion: false,
            kind: CommandKind::PromptTemplate,
            name: self.name,
            source_info: self.source,
        })
    }

    /// Returns the prompt with the user's arguments in it, or why there is none.
    pub fn prompt(&self, arguments: &str) -> Result<String, String> {
        let text = self.read().map_err(|error| error.to_string())?;
        let arguments = template_arguments::split(arguments);
        let prompt = template_arguments::substitute(parts(&text).body, &arguments, LONGEST_TEXT);
        prompt.ok_or_else(|| format!("with these arguments, {} is longer than 4 MiB", self.path.display()))
    }
}

/// Returns the fields and the text of a template. One whose fields cannot be read is all text: it may begin with a line.
fn parts(text: &str) -> Document<'_> {
    let mut document =
        front_matter::parse(text).unwrap_or_else(|_| Document { fields: Fields::default(), body: text });
    // As in pi: below fields the text begins and ends where it is not blank, and otherwise it is the file.
    if document.body.len() < text.len() {
        document.body = document.body.trim();
    }
    document
}

/// Returns the beginning of the first line that is not blank.
fn first_line(body: &str) -> String {
    let line = body.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(DESCRIPTION_LENGTH) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bowline_core::slash_command::{Packaging, Scope};

    use super::*;

    fn template(folder: &Path, text: &str) -> PromptTemplate {
        let path = folder.join("t.md");
        std::fs::write(&path, text).unwrap();
        let source = SourceInfo {
            path: path.clone(),
            source: "auto".to_owned(),
            scope: Scope::User,
            packaging: Packaging::TopLevel,
            base_folder: None,
        };
        named(vec![ResourceFile { path, source, is_loose: true }]).remove(0)
    }

    #[track_caller]
    fn check(text: &str, description: Option<&str>, hint: Option<&str>, prompt: &str) {
        let folder = tempfile::tempdir().unwrap();
        let template = template(folder.path(), text);
        assert_eq!(template.prompt("x").unwrap(), prompt);
        let command = template.command().unwrap();
        assert_eq!((command.name.as_str(), command.description.as_deref()), ("t", description));
        assert_eq!(command.argument_hint.as_deref(), hint);
    }

    #[test]
    fn front_matter_describes_a_template_or_else_its_first_line() {
        check("---\ndescription: T\nargument-hint: <file>\n---\nDo $1", Some("T"), Some("<file>"), "Do x");
        check("\n\n  Do it  \nmore", Some("Do it"), None, "\n\n  Do it  \nmore");
        check(
            "First line of the body that is quite long indeed, more than sixty characters",
            Some("First line of the body that is quite long indeed, more than ..."),
            None,
            "First line of the body that is quite long indeed, more than sixty characters",
        );
        check("", None, None, "");
        check("---\nnot: closed\n$1", Some("---"), None, "---\nnot: closed\nx");
    }

    #[test]
    fn commands_of_claude_code_are_templates_whose_marks_stay_text() {
        let text =
            "---\nallowed-tools: Bash(git:*)\nmodel: opus\n---\n!`git status` and @src/main.rs: $ARGUMENTS";
        let prompt = "!`git status` and @src/main.rs: x";
        check(text, Some("!`git status` and @src/main.rs: $ARGUMENTS"), None, prompt);
    }

    #[test]
    fn large_results_and_unreadable_files_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let template = template(folder.path(), &"$@".repeat(1000));
        assert!(template.prompt(&"x".repeat(10_000)).unwrap_err().contains("longer than 4 MiB"));
        std::fs::remove_file(&template.path).unwrap();
        assert!(template.prompt("x").unwrap_err().contains("cannot be read"));
    }
}
