//! The tools that are switched on, in order.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use bowline_core::tool::ToolDefinition;

use crate::builtin::{Builtin, Ready};
use crate::error::Error;
use crate::tool::Tool;
use crate::{bash, edit, find, grep, ls, read, write};

/// Every built-in tool, in the order in which a model is told of them.
static BUILTIN: [&Builtin; 7] =
    [&read::TOOL, &bash::TOOL, &edit::TOOL, &write::TOOL, &grep::TOOL, &find::TOOL, &ls::TOOL];

/// The built-in tools that change files or run whatever they are told to.
const MUTATING: [&str; 3] = ["bash", "edit", "write"];

/// Tells whether a built-in tool can change something.
pub fn is_mutating(name: &str) -> bool {
    MUTATING.contains(&name)
}

/// How the built-in tools behave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The shell that runs commands; `/bin/bash`, or else `sh`, when absent.
    pub shell: Option<PathBuf>,
    /// Lines put in front of every command.
    pub command_prefix: Option<String>,
    /// Whether an image is shown as it is, or else not at all.
    pub keeps_images: bool,
}

/// Which tools to keep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only these, in the order of the toolbox; the default set when absent.
    pub allow: Option<Vec<String>>,
    /// Not these, whatever else is said. A name that no tool has excludes nothing.
    pub exclude: Vec<String>,
    /// No tool at all.
    pub none: bool,
}

/// The tools that are switched on, in order.
#[derive(Clone, Default)]
pub struct Toolbox {
    entries: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    tool: Arc<dyn Tool>,
    by_default: bool,
}

impl Entry {
    fn name(&self) -> &str {
        &self.tool.definition().name
    }
}

impl Toolbox {
    /// Returns all built-in tools, also those that are off by default.
    pub fn builtin(options: &Options) -> Self {
        let options = Arc::new(options.clone());
        let entries = BUILTIN.iter().map(|builtin| Entry {
            tool: Arc::new(Ready::new(builtin, Arc::clone(&options))),
            by_default: builtin.by_default,
        });
        Self { entries: entries.collect() }
    }

    /// Adds a tool from elsewhere, which is on by default; it takes the place of a tool of the same name.
    pub fn add(&mut self, tool: Arc<dyn Tool>) {
        let entry = Entry { tool, by_default: true };
        match self.entries.iter_mut().find(|existing| existing.name() == entry.name()) {
            Some(existing) => *existing = entry,
            None => self.entries.push(entry),
        }
    }

    /// Returns the tools that `selection` keeps.
    pub fn select(self, selection: &Selection) -> Result<Self, Error> {
        for name in selection.allow.iter().flatten() {
            if self.get(name).is_none() {
                return Err(Error::UnknownTool { name: name.clone(), known: self.names().join(", ") });
            }
        }
        let keeps = |entry: &Entry| {
            let chosen = match &selection.allow {
                Some(names) => names.iter().any(|name| name == entry.name()),
                None => entry.by_default,
            };
            chosen && !selection.none && !selection.exclude.iter().any(|name| name == entry.name())
        };
        Ok(Self { entries: self.entries.into_iter().filter(keeps).collect() })
    }

    /// Returns what a model is told of the tools.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.entries.iter().map(|entry| entry.tool.definition().clone()).collect()
    }

    /// Returns the tool of that name.
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.entries.iter().find(|entry| entry.name() == name).map(|entry| Arc::clone(&entry.tool))
    }

    /// Returns the names of the tools.
    pub fn names(&self) -> Vec<&str> {
        self.entries.iter().map(Entry::name).collect()
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Toolbox").field(&self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_selection(selection: &Selection, expected: &[&str]) {
        let toolbox = Toolbox::builtin(&Options::default()).select(selection).unwrap();
        assert_eq!(toolbox.names(), expected);
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_selection_keeps_what_it_names() {
        check_selection(&Selection::default(), &["read", "bash", "edit", "write"]);
        check_selection(&Selection { none: true, ..Selection::default() }, &[]);
        check_selection(
            &Selection { exclude: names(&["bash"]), ..Selection::default() },
            &["read", "edit", "write"],
        );
        check_selection(
            &Selection {
                allow: Some(names(&["ls", "read", "bash"])),
                exclude: names(&["bash"]),
                none: false,
            },
            &["read", "ls"],
        );
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_names_there_are() {
        let selection = Selection { allow: Some(names(&["reed"])), ..Selection::default() };
        let error = Toolbox::builtin(&Options::default()).select(&selection).unwrap_err().to_string();
        assert!(
            error.contains("reed") && error.contains("read, bash, edit, write, grep, find, ls"),
            "{error}"
        );
    }

    #[test]
    fn the_definitions_cost_a_model_little() {
        let size: usize = Toolbox::builtin(&Options::default())
            .definitions()
            .iter()
            .map(|definition| {
                definition.name.len() + definition.description.len() + definition.parameters.to_string().len()
            })
            .sum();
        // About four bytes to a token.
        assert!(size / 4 <= 700, "{size} bytes");
    }
}
