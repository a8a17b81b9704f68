//! The tools that there are, and those that are enabled when the user names none.

use std::sync::Arc;

use bowline_dialect::Start;
use bowline_engine::{TASK_TOOL, TaskTool};
use bowline_tools::{Options, TODO, Toolbox};

use crate::arguments::Arguments;
use crate::settings::SettingsFile;

/// Returns all tools, including those that are disabled by default.
pub(crate) fn all(options: &Options) -> Toolbox {
    Toolbox::builtin(options).with_optional_tool(Arc::new(TaskTool::default()), false)
}

/// Returns all tools. Which of them are enabled by default depends on the settings and the dialect.
pub(crate) fn with_defaults(
    options: &Options,
    file: &SettingsFile,
    start: &Start,
    keeps_todos: bool,
) -> Toolbox {
    let has_task = file.task.enabled.unwrap_or(start.further_tools.contains(&TASK_TOOL));
    let builtin = Toolbox::builtin(options);
    let builtin = match builtin.get(TODO).filter(|_| keeps_todos) {
        Some(todo) => builtin.with_optional_tool(todo, true),
        None => builtin,
    };
    builtin.with_optional_tool(Arc::new(TaskTool::default()), has_task)
}

/// Returns the names of the tools that are enabled when the command line names none, if the settings have a list of them.
pub(crate) fn listed(file: &SettingsFile) -> Option<Vec<String>> {
    let mut names = file.default_tools.clone()?;
    let is_task = |name: &String| name == TASK_TOOL;
    match file.task.enabled {
        Some(true) if !names.iter().any(is_task) => names.push(TASK_TOOL.to_owned()),
        Some(false) => names.retain(|name| !is_task(name)),
        Some(true) | None => {}
    }
    Some(names)
}

/// Returns the tools that subagents may have although their parent does not: those that only read, unless the user chose
/// the tools.
pub(crate) fn for_subagents(options: &Options, arguments: &Arguments, file: &SettingsFile) -> Toolbox {
    let has_chosen = arguments.tools.is_some() || arguments.no_tools || arguments.no_builtin_tools;
    if has_chosen || file.default_tools.is_some() {
        return Toolbox::default();
    }
    let builtin = Toolbox::builtin(options);
    let mutates = |name: &String| bowline_tools::traits_of(name).is_none_or(|tool| tool.mutates);
    let names = builtin.names();
    let mutating = names.iter().filter(|name| mutates(name)).chain(&arguments.exclude_tools);
    mutating.fold(builtin, |toolbox, name| toolbox.without(name))
}
