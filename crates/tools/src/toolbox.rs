//! The enabled tools, in order.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bowline_core::message::Arguments;
use bowline_core::tool::{ToolDefinition, ToolDisplay, ToolTraits};

use crate::builtin::{Builtin, Ready};
use crate::closed_paths::ClosedPaths;
use crate::command_environment::CommandEnvironment;
use crate::confinement::Confinement;
use crate::effective_arguments::effective;
use crate::error::Error;
use crate::panics::Guarded;
use crate::tool::Tool;
use crate::{bash, edit, find, grep, ls, read, todo, write};

/// Every built-in tool, in the order in which models see them.
static BUILTIN: [&Builtin; 8] =
    [&read::TOOL, &bash::TOOL, &edit::TOOL, &write::TOOL, &grep::TOOL, &find::TOOL, &ls::TOOL, &todo::TOOL];

/// Tools of other agents, whose calls appear in the sessions that bowline opens.
static FOREIGN: [ToolTraits; 1] = [ToolTraits {
    name: "powershell",
    mutates: true,
    path_argument: None,
    display: ToolDisplay::Command { argument: "command" },
}];

/// Tools that need more than a call's context, so that the engine carries them out.
static OF_ENGINE: [ToolTraits; 1] =
    [ToolTraits { name: "task", mutates: true, path_argument: None, display: ToolDisplay::Generic }];

/// Returns the traits of a tool that is built in, enabled or not, or that another agent has.
pub fn traits_of(name: &str) -> Option<&'static ToolTraits> {
    let builtin = BUILTIN.iter().map(|builtin| &builtin.traits);
    builtin.chain(&OF_ENGINE).chain(&FOREIGN).find(|traits| traits.name == name)
}

/// Returns what the arguments of a call mean to a built-in tool: in the form that it declares, its path absolute. `None`
/// if no tool of that name is built in. Looks at the file system.
pub fn effective_arguments(
    name: &str,
    arguments: &Arguments,
    working_directory: &Path,
    home: Option<&Path>,
) -> Option<Arguments> {
    let builtin = BUILTIN.iter().find(|builtin| builtin.traits.name == name)?;
    Some(effective(builtin, arguments.clone(), working_directory, home))
}

/// How the built-in tools behave, and what they may know of the process's environment.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The shell that runs commands; `/bin/bash`, or else `sh`, when absent.
    pub shell: Option<PathBuf>,
    /// Lines inserted before every command.
    pub command_prefix: Option<String>,
    /// Whether images are sent unchanged, and refused if too large, instead of being resized.
    pub keeps_images: bool,
    /// The directory that `~` stands for in a path.
    pub home_directory: Option<PathBuf>,
    /// Bowline's own folder with keys and sessions, which the file tools stay out of.
    pub own_folder: Option<PathBuf>,
    /// The directory that keeps the full text of truncated output; without it only the tail is kept.
    pub temporary_directory: Option<PathBuf>,
    /// Whether sessions, and so the full text of truncated output, are kept no longer than the process lives.
    pub sessions_end_with_process: bool,
    /// The value of [`MARK_VARIABLE`](crate::MARK_VARIABLE) that this process itself runs under.
    pub inherited_mark: Option<String>,
    /// What commands get of this process's environment.
    pub environment: CommandEnvironment,
    /// The program that is started with [`WATCH_ROLE`](crate::WATCH_ROLE) to kill the commands in progress when this
    /// process is killed; without it they go on.
    pub watcher: Option<PathBuf>,
    /// When the tool `bash` kills a command for which the model asks for no timeout; never when absent.
    pub command_timeout: Option<Duration>,
    /// What confines the tools and the user's commands, if anything does.
    pub confinement: Option<Arc<dyn Confinement>>,
    /// The files that tools that look at whole folders leave out, where nothing confines them.
    pub closed_paths: Option<Arc<dyn ClosedPaths>>,
}

/// Which tools to enable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only these, in the order of the toolbox; the default set when absent.
    pub allow: Option<Vec<String>>,
    /// Never these; takes precedence over `allow`. Unknown names are ignored.
    pub exclude: Vec<String>,
    /// No tool at all.
    pub none: bool,
}

/// The enabled tools, in order.
///
/// A toolbox never changes: [`with_tool`](Self::with_tool) and [`without`](Self::without) return another one, so a turn
/// that holds a clone keeps its tools. Cloning, and asking for names and definitions, only counts references.
#[derive(Clone, Default)]
pub struct Toolbox {
    contents: Arc<Contents>,
}

#[derive(Default)]
struct Contents {
    entries: Vec<Entry>,
    /// Built when first asked for: starting does not need them.
    definitions: OnceLock<Arc<[ToolDefinition]>>,
    names: Arc<[String]>,
    options: Arc<Options>,
}

#[derive(Clone)]
struct Entry {
    tool: Arc<dyn Tool>,
    enabled_by_default: bool,
}

impl Entry {
    fn name(&self) -> &str {
        self.tool.name()
    }
}

impl Toolbox {
    /// Returns all built-in tools, including those that are disabled by default.
    pub fn builtin(options: &Options) -> Self {
        let options = Arc::new(options.clone());
        let entries = BUILTIN.iter().map(|builtin| {
            let tool = Arc::new(Ready::new(builtin, Arc::clone(&options)));
            Entry { tool: Arc::new(Guarded::new(tool)), enabled_by_default: builtin.enabled_by_default }
        });
        Self::new(entries.collect(), Arc::clone(&options))
    }

    fn new(entries: Vec<Entry>, options: Arc<Options>) -> Self {
        let names = entries.iter().map(|entry| entry.name().to_owned()).collect();
        Self { contents: Arc::new(Contents { entries, definitions: OnceLock::new(), names, options }) }
    }

    /// Returns a toolbox with `tool` added, enabled by default; it replaces a tool of the same name.
    #[must_use]
    pub fn with_tool(&self, tool: Arc<dyn Tool>) -> Self {
        self.with_optional_tool(tool, true)
    }

    /// Returns a toolbox with `tool` added; it replaces a tool of the same name.
    #[must_use]
    pub fn with_optional_tool(&self, tool: Arc<dyn Tool>, enabled_by_default: bool) -> Self {
        let entry = Entry { tool: Arc::new(Guarded::new(tool)), enabled_by_default };
        let mut entries = self.contents.entries.clone();
        match entries.iter_mut().find(|existing| existing.name() == entry.name()) {
            Some(existing) => *existing = entry,
            None => entries.push(entry),
        }
        Self::new(entries, Arc::clone(&self.contents.options))
    }

    /// Returns a toolbox without the tool of that name.
    #[must_use]
    pub fn without(&self, name: &str) -> Self {
        self.retaining(|entry| entry.name() != name)
    }

    /// Returns the tools that `selection` enables.
    pub fn select(&self, selection: &Selection) -> Result<Self, Error> {
        for name in selection.allow.iter().flatten() {
            if self.get(name).is_none() {
                return Err(Error::UnknownTool { name: name.clone(), known: self.names().join(", ") });
            }
        }
        Ok(self.retaining(|entry| {
            let chosen = match &selection.allow {
                Some(names) => names.iter().any(|name| name == entry.name()),
                None => entry.enabled_by_default,
            };
            chosen && !selection.none && !selection.exclude.iter().any(|name| name == entry.name())
        }))
    }

    fn retaining(&self, keep: impl Fn(&Entry) -> bool) -> Self {
        let entries = self.contents.entries.iter().filter(|entry| keep(entry)).cloned().collect();
        Self::new(entries, Arc::clone(&self.contents.options))
    }

    /// Returns the definitions that a model sees.
    pub fn definitions(&self) -> Arc<[ToolDefinition]> {
        let contents = &*self.contents;
        let describe = || contents.entries.iter().map(|entry| entry.tool.definition().clone()).collect();
        Arc::clone(contents.definitions.get_or_init(describe))
    }

    /// Returns the names of the tools.
    pub fn names(&self) -> Arc<[String]> {
        Arc::clone(&self.contents.names)
    }

    /// Returns the tool of that name. A panic of the tool is an error outcome of its call.
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.entry(name).map(|entry| Arc::clone(&entry.tool))
    }

    /// Returns the traits of the tool of that name; `None` also for a tool that does not state them.
    pub fn traits_of(&self, name: &str) -> Option<&'static ToolTraits> {
        self.entry(name).and_then(|entry| entry.tool.traits())
    }

    /// Returns the options that the built-in tools were made with.
    pub fn options(&self) -> Arc<Options> {
        Arc::clone(&self.contents.options)
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.contents.entries.iter().find(|entry| entry.name() == name)
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Toolbox").field(&self.contents.names).finish()
    }
}

#[cfg(test)]
mod tests {
    use bowline_core::tool::ToolDisplay;

    use super::*;
    use crate::testing::StubTool;
    use crate::tool::Outcome;

    #[track_caller]
    fn check_selection(selection: &Selection, expected: &[&str]) {
        let toolbox = Toolbox::builtin(&Options::default()).select(selection).unwrap();
        assert_eq!(*toolbox.names(), *expected);
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn stub(name: &str) -> Arc<StubTool> {
        Arc::new(StubTool::new(name, |_| Box::pin(std::future::ready(Outcome::text("stub")))))
    }

    #[test]
    fn selection_enables_the_named_tools() {
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
    fn optional_tool_is_enabled_by_its_name() {
        let toolbox = Toolbox::builtin(&Options::default()).with_optional_tool(stub("deploy"), false);
        let selected = |selection: &Selection| toolbox.select(selection).unwrap().get("deploy").is_some();
        assert!(!selected(&Selection::default()));
        assert!(selected(&Selection { allow: Some(names(&["deploy"])), ..Selection::default() }));
    }

    #[test]
    fn unknown_name_is_refused_with_the_known_names() {
        let selection = Selection { allow: Some(names(&["reed"])), ..Selection::default() };
        let error = Toolbox::builtin(&Options::default()).select(&selection).unwrap_err().to_string();
        assert!(
            error.contains("reed") && error.contains("read, bash, edit, write, grep, find, ls, todo"),
            "{error}"
        );
    }

    #[test]
    fn tools_can_be_added_replaced_and_removed_without_changing_the_original() {
        let original = Toolbox::builtin(&Options::default()).select(&Selection::default()).unwrap();
        let extended = original.with_tool(stub("deploy")).with_tool(stub("bash")).without("edit");
        assert_eq!(*extended.names(), *names(&["read", "bash", "write", "deploy"]));
        assert_eq!(extended.definitions().len(), 4);
        assert_eq!(extended.definitions()[1].description, "stub");
        assert!(extended.get("edit").is_none() && extended.get("deploy").is_some());
        assert_eq!((extended.traits_of("bash"), extended.traits_of("edit")), (None, None));
        assert_eq!(*original.names(), *names(&["read", "bash", "edit", "write"]));
        assert!(original.traits_of("bash").is_some());
    }

    #[test]
    fn names_and_definitions_are_cached() {
        let toolbox = Toolbox::builtin(&Options::default());
        assert!(Arc::ptr_eq(&toolbox.names(), &toolbox.names()));
        assert!(Arc::ptr_eq(&toolbox.definitions(), &toolbox.definitions()));
    }

    #[test]
    fn traits_agree_with_the_parameters() {
        for builtin in BUILTIN {
            let has = |name: &str| builtin.parameters.iter().any(|parameter| parameter.name == name);
            let traits = traits_of(builtin.traits.name).unwrap();
            assert!(traits.path_argument.is_none_or(has), "{traits:?}");
            if let ToolDisplay::Command { argument } = traits.display {
                assert!(has(argument), "{traits:?}");
            }
        }
        let mutating: Vec<_> = BUILTIN
            .iter()
            .filter(|builtin| builtin.traits.mutates)
            .map(|builtin| builtin.traits.name)
            .collect();
        assert_eq!(mutating, ["bash", "edit", "write"]);
        assert!(traits_of("task").is_some_and(|traits| traits.mutates));
        assert_eq!(traits_of("deploy"), None);
    }

    #[test]
    fn definitions_stay_under_700_tokens_and_that_of_the_todo_list_under_250() {
        let size = |definition: &ToolDefinition| {
            definition.name.len() + definition.description.len() + definition.parameters.to_string().len()
        };
        let definitions = Toolbox::builtin(&Options::default()).definitions();
        let (todo, others): (Vec<_>, Vec<_>) = definitions.iter().partition(|tool| tool.name == todo::TODO);
        let tokens = |tools: Vec<&ToolDefinition>| tools.into_iter().map(size).sum::<usize>() / 4;
        // About four bytes per token.
        let (todo, others) = (tokens(todo), tokens(others));
        assert!(others <= 700 && todo <= 250, "{others} {todo}");
    }
}
