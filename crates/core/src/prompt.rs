//! What a system prompt is made of, and what extensions change of it for one run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::slash_command::SourceInfo;

/// What a system prompt is made of. Its text is made of nothing else, so that it can be made again with changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PromptParts {
    /// The folder that the agent works in.
    pub directory: PathBuf,
    /// Replaces bowline's own instructions.
    pub replacement: Option<String>,
    /// What the user's configuration appends; empty if it appends nothing.
    pub addition: String,
    /// The list of agents that can be given tasks; empty if there are none.
    pub agents: String,
    /// The names of the enabled tools.
    pub selected_tools: Vec<String>,
    /// A line about each tool that has one, enabled or not.
    pub snippets: BTreeMap<String, String>,
    /// Rules about the use of each tool that has some, enabled or not.
    pub guidelines: BTreeMap<String, Vec<String>>,
    /// Rules that belong to no single tool.
    pub rules: Vec<String>,
    pub context_files: Vec<ContextText>,
    pub skills: Vec<Skill>,
    /// The date of the day.
    pub today: String,
}

/// A file with instructions of the user or the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextText {
    pub path: PathBuf,
    /// Its text, or why it was not read.
    pub text: Result<String, String>,
}

/// Instructions for a kind of task, which the model reads when a task calls for them, or the user names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    /// Its file.
    pub path: PathBuf,
    /// Whether the model is not told about it.
    pub is_user_only: bool,
    pub source: SourceInfo,
}

/// What differs in the system prompt of a run. What is absent stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PromptChanges {
    /// The whole prompt. What extensions add after they have seen it is appended.
    pub forced: Option<String>,
    /// Replaces bowline's own instructions; empty to have them in place of the user's.
    pub replacement: Option<String>,
    /// Replaces what the user's configuration appends.
    pub addition: Option<String>,
    /// Follows what the user's configuration appends.
    pub appended: Vec<String>,
    /// Replaces the rules that belong to no single tool.
    pub rules: Option<Vec<String>>,
    /// Follows the rules that belong to no single tool.
    pub added_rules: Vec<String>,
    /// The lines about some tools; `None` for none.
    pub snippets: BTreeMap<String, Option<String>>,
    /// The rules about the use of some tools, in place of those that they have.
    pub guidelines: BTreeMap<String, Vec<String>>,
    /// Sections with their names, in order; `None` for one that is not to be there.
    pub sections: Vec<(String, Option<String>)>,
    pub context_files: Option<Vec<ContextText>>,
    pub skills: Option<Vec<Skill>>,
    pub selected_tools: Option<Vec<String>>,
}

impl PromptChanges {
    /// Adds what the next extension changes, which has seen these changes.
    pub fn then(&mut self, next: Self) {
        if next.forced.is_some() {
            let selected_tools = self.selected_tools.take();
            *self = Self { selected_tools, ..Self::default() };
        }
        replace(&mut self.forced, next.forced);
        replace(&mut self.replacement, next.replacement);
        if next.addition.is_some() {
            self.addition = next.addition;
            self.appended.clear();
        }
        self.appended.extend(next.appended);
        if next.rules.is_some() {
            self.rules = next.rules;
            self.added_rules.clear();
        }
        self.added_rules.extend(next.added_rules);
        self.snippets.extend(next.snippets);
        self.guidelines.extend(next.guidelines);
        for (name, text) in next.sections {
            self.sections.retain(|(known, _)| *known != name);
            self.sections.push((name, text));
        }
        replace(&mut self.context_files, next.context_files);
        replace(&mut self.skills, next.skills);
        replace(&mut self.selected_tools, next.selected_tools);
    }
}

fn replace<T>(value: &mut Option<T>, next: Option<T>) {
    if next.is_some() {
        *value = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn later_changes_add_to_earlier_ones_and_replace_what_they_name() {
        let mut changes = PromptChanges {
            appended: texts(&["one"]),
            added_rules: texts(&["a"]),
            sections: vec![("x".to_owned(), Some("1".to_owned())), ("y".to_owned(), Some("2".to_owned()))],
            ..PromptChanges::default()
        };
        changes.then(PromptChanges {
            appended: texts(&["two"]),
            rules: Some(texts(&["b"])),
            added_rules: texts(&["c"]),
            sections: vec![("x".to_owned(), None)],
            ..PromptChanges::default()
        });
        assert_eq!(changes.appended, texts(&["one", "two"]));
        assert_eq!((changes.rules, changes.added_rules), (Some(texts(&["b"])), texts(&["c"])));
        assert_eq!(changes.sections, [("y".to_owned(), Some("2".to_owned())), ("x".to_owned(), None)]);
    }

    #[test]
    fn whole_prompt_takes_the_place_of_earlier_changes_but_of_the_tools() {
        let mut changes = PromptChanges {
            appended: texts(&["one"]),
            selected_tools: Some(texts(&["read"])),
            ..PromptChanges::default()
        };
        let forced = Some("all of it".to_owned());
        changes.then(PromptChanges { forced: forced.clone(), ..PromptChanges::default() });
        let selected_tools = Some(texts(&["read"]));
        assert_eq!(changes, PromptChanges { forced, selected_tools, ..PromptChanges::default() });
    }
}
