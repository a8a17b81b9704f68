//! What can complete a line: commands, models after `/model`, files after `@`.

use std::path::{Path, PathBuf};

/// The most that is offered at a time.
const MOST: usize = 200;

/// The command whose argument is a model.
const MODEL: &str = "/model ";

/// What lines can be completed with.
#[derive(Debug, Default, Clone)]
pub(super) struct Known {
    /// The names of commands, with their slash.
    pub commands: Vec<String>,
    /// The models as `provider/id`.
    pub models: Vec<String>,
    /// The folder that files are named from.
    pub directory: PathBuf,
    pub user_home: Option<PathBuf>,
}

impl Known {
    /// Returns where the text begins that can be replaced, and by what.
    pub fn complete(&self, line: &str, position: usize) -> (usize, Vec<String>) {
        let Some(before) = line.get(..position) else { return (position, Vec::new()) };
        if let Some(part) = before.strip_prefix(MODEL) {
            let part = part.to_lowercase();
            let fitting = self.models.iter().filter(|model| model.to_lowercase().contains(&part));
            return (MODEL.len(), fitting.take(MOST).cloned().collect());
        }
        let start = before
            .rfind(char::is_whitespace)
            .map_or(0, |space| space + before[space..].chars().next().map_or(1, char::len_utf8));
        let word = &before[start..];
        if let Some(path) = word.strip_prefix('@') {
            let files = self.files(path).into_iter().map(|path| format!("@{path}"));
            return (start, files.collect());
        }
        if start == 0 && word.starts_with('/') {
            let fitting = self.commands.iter().filter(|command| command.starts_with(word));
            return (0, fitting.take(MOST).map(|command| format!("{command} ")).collect());
        }
        (position, Vec::new())
    }

    /// Returns the files and folders whose path begins like this.
    fn files(&self, path: &str) -> Vec<String> {
        let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
        let prefix = if path.contains('/') { format!("{folder}/") } else { String::new() };
        let place = match (prefix.strip_prefix("~/"), &self.user_home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.directory.join(&prefix),
        };
        let Ok(entries) = std::fs::read_dir(place) else { return Vec::new() };
        let mut found: Vec<_> = entries
            .flatten()
            .filter_map(|entry| {
                let own = entry.file_name().into_string().ok()?;
                // A name with white space could not be read back, and one with control characters harms the terminal.
                let is_plain = !own.contains(|letter: char| letter.is_whitespace() || letter.is_control());
                let is_wanted = own.starts_with(name) && (name.starts_with('.') || !own.starts_with('.'));
                let slash = if entry.path().is_dir() { "/" } else { "" };
                (is_plain && is_wanted).then(|| format!("{prefix}{own}{slash}"))
            })
            .take(MOST)
            .collect();
        found.sort();
        found
    }
}

/// Returns the files that a message names as `@path`, and that exist.
pub(super) fn named_files(message: &str, exists: impl Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for word in message.split_whitespace() {
        let Some(path) = word.strip_prefix('@').filter(|path| !path.is_empty()) else { continue };
        // A sentence may end with a path.
        let shorter = path.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
        if let Some(file) = exists(path).or_else(|| exists(shorter))
            && !files.contains(&file)
        {
            files.push(file);
        }
    }
    files
}

/// Returns a path if there is a file.
pub(super) fn existing(path: &Path) -> Option<PathBuf> {
    path.is_file().then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(directory: &Path) -> Known {
        Known {
            commands: vec!["/model".to_owned(), "/undo".to_owned(), "/skill:review".to_owned()],
            models: vec!["anthropic/claude-opus-5".to_owned(), "openai/gpt-6-sol".to_owned()],
            directory: directory.to_owned(),
            user_home: None,
        }
    }

    #[test]
    fn commands_models_and_files_are_completed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["main.rs", ".hidden", "my file"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        std::fs::create_dir(folder.path().join("more")).unwrap();
        std::fs::write(folder.path().join("more/deep.rs"), "").unwrap();
        let known = known(folder.path());
        let check = |line: &str, expected: (usize, &[&str])| {
            let (start, found) = known.complete(line, line.len());
            assert_eq!(
                (start, found.iter().map(String::as_str).collect::<Vec<_>>().as_slice()),
                expected,
                "{line}"
            );
        };
        check("/", (0, &["/model ", "/undo ", "/skill:review "]));
        check("/un", (0, &["/undo "]));
        check("/model GPT", (7, &["openai/gpt-6-sol"]));
        check("see @m", (4, &["@main.rs", "@more/"]));
        check("see @more/", (4, &["@more/deep.rs"]));
        check("@.h", (0, &["@.hidden"]));
        check("a /un", (5, &[]));
        check("plain", (5, &[]));
    }

    #[test]
    fn files_of_a_message_are_those_that_exist() {
        let exists = |path: &str| (path == "a.rs" || path == "b").then(|| PathBuf::from(path));
        let files = named_files("look at @a.rs, @b and @c, not at x@a.rs or @. @a.rs", exists);
        assert_eq!(files, [PathBuf::from("a.rs"), PathBuf::from("b")]);
    }
}
