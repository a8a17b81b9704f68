//! The text of the system prompt.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use bowline_core::tool::ToolDefinition;
use bowline_extension::context_files::{self, ContextFile, NotRead, Places};
use bowline_session::Clock;

/// The standing instructions when the user gives none.
const PREAMBLE: &str = "\
You are bowline, a coding agent. You work in a folder on the user's machine, through tools, on behalf of a program \
that shows your answers to a person.

How to work:
- Look before you act: read the files that matter, and search rather than guess.
- Make the change that was asked for, in the style of the code around it. Do not add what nobody asked for.
- Check what you did: run the project's own tests or the program itself when there is a way to.
- Stop when the task is done. If you cannot do it, say what is in the way.
- Answer briefly. Name files by their path. Do not repeat file contents that your tools already showed.";

/// What a system prompt is made of.
#[derive(Debug, Clone, Default)]
pub struct SystemPrompt {
    /// Replaces bowline's own instructions.
    pub replacement: Option<String>,
    /// Appended to the instructions.
    pub additions: Vec<String>,
    /// Whether AGENTS.md and its like are read.
    pub use_context_files: bool,
    /// The folder with the user's own context file.
    pub own_folder: PathBuf,
    /// The user's home directory, beyond which no context files are searched.
    pub home: Option<PathBuf>,
}

impl SystemPrompt {
    /// Returns bowline's own prompt, which reads context files; the user's own is in `own_folder`.
    pub fn new(own_folder: PathBuf) -> Self {
        Self { own_folder, use_context_files: true, ..Self::default() }
    }

    /// Returns the files whose texts become part of the prompt. Blocks as long as the disk does.
    pub(crate) fn context_files(&self, directory: &Path) -> Vec<ContextFile> {
        if !self.use_context_files {
            return Vec::new();
        }
        context_files::load(Places { own: &self.own_folder, home: self.home.as_deref(), working: directory })
    }

    /// Returns the prompt for a working directory.
    pub(crate) fn build(
        &self,
        directory: &Path,
        context_files: &[ContextFile],
        tools: &[ToolDefinition],
        clock: &Clock,
    ) -> String {
        let mut prompt = match &self.replacement {
            Some(text) => text.clone(),
            None => format!("{PREAMBLE}{}", tool_advice(tools)),
        };
        for addition in &self.additions {
            let _ = write!(prompt, "\n\n{addition}");
        }
        for file in context_files {
            push_context_file(&mut prompt, file);
        }
        let today = clock.today();
        let _ = write!(prompt, "\n\nWorking folder: {}\nToday's date: {today}", directory.display());
        prompt
    }
}

/// Appends the block of a context file. Nothing in the file's name or text can end the block.
fn push_context_file(prompt: &mut String, file: &ContextFile) {
    let path = escaped_path(&file.path);
    let _ = match &file.text {
        Ok(text) => {
            let text = contained(text.trim());
            write!(prompt, "\n\n<instructions from=\"{path}\">\n{text}\n</instructions>")
        }
        Err(NotRead(reason)) => write!(prompt, "\n\n[{path} was not read: {}.]", contained(reason)),
    };
}

/// Returns a text in which no tag begins or ends a block of instructions.
fn contained(text: &str) -> String {
    const NAME: &str = "instructions";
    let mut contained = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find('<') {
        let (before, tag) = rest.split_at(place);
        let inner =
            tag[1..].trim_start_matches(|character: char| character == '/' || character.is_whitespace());
        let is_block = inner.get(..NAME.len()).is_some_and(|name| name.eq_ignore_ascii_case(NAME));
        contained.push_str(before);
        contained.push_str(if is_block { "&lt;" } else { "<" });
        rest = &tag[1..];
    }
    contained + rest
}

/// Returns a path for an attribute: a folder's name can hold quotes and line breaks.
fn escaped_path(path: &Path) -> String {
    let mut escaped = String::new();
    for character in path.to_string_lossy().chars() {
        match character {
            '"' => escaped.push_str("&quot;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            other if other.is_control() => escaped.extend(other.escape_default()),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Returns advice on the tools that are on; what each does is in its own description.
fn tool_advice(tools: &[ToolDefinition]) -> String {
    let has = |name: &str| tools.iter().any(|tool| tool.name == name);
    let mut advice = String::new();
    let mut add = |line: &str| {
        let _ = write!(advice, "\n- {line}");
    };
    if has("read") && has("bash") {
        add("Use read to look at files, not cat or sed.");
    }
    if has("edit") {
        add(
            "Use edit for changes to a file that exists; copy the old text exactly from what read showed, and put several changes to one file into one call.",
        );
    }
    if has("write") {
        add("Use write for new files and complete rewrites only.");
    }
    if has("grep") && has("bash") {
        add("Use grep, find and ls to explore; they respect .gitignore.");
    }
    if has("bash") {
        add(
            "bash has no terminal and no input: pass flags that keep programs from asking, and set a timeout for what may hang.",
        );
    }
    if tools.len() > 1 {
        add("Call tools that do not depend on each other in one answer.");
    }
    if advice.is_empty() { advice } else { format!("\n\nUsing your tools:{advice}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_tools::{Options, Toolbox};

    #[test]
    fn prompt_and_tools_stay_under_1500_tokens() {
        let tools = Toolbox::builtin(&Options::default()).definitions();
        let prompt = SystemPrompt::new(PathBuf::new());
        let prompt = prompt.build(Path::new("/somewhere/to/work"), &[], &tools, &Clock::System);
        let described: usize = tools
            .iter()
            .map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len())
            .sum();
        let tokens = (prompt.len() + described) / 4;
        assert!(tokens < 1500, "{tokens} tokens");
    }

    #[test]
    fn a_replacement_keeps_folder_and_date() {
        let prompt = SystemPrompt {
            replacement: Some("Be terse.".to_owned()),
            additions: vec!["And kind.".to_owned()],
            ..SystemPrompt::new(PathBuf::new())
        };
        let text = prompt.build(Path::new("/w"), &[], &[], &Clock::System);
        assert!(text.starts_with("Be terse.\n\nAnd kind.\n\nWorking folder: /w\nToday's date: "), "{text}");
    }
}
