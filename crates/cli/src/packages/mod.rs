//! `bowline install`, `remove`, `list` and `update`: packages of extensions, skills and prompt templates.
//!
//! They are kept where pi keeps them and named in the same settings, so both agents share them. Nothing else installs
//! anything.

mod git;
mod install;
mod list;
mod npm;
mod place;
mod programs;
mod remove;
mod settings_edit;
mod update;

use std::process::ExitCode;

use bowline_extension::packages::{Installed, installed};

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::settings::SettingsFile;
use crate::terminal::{note, say};
use place::Desk;

/// What is done with packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Install,
    Remove,
    List,
    Update,
}

pub(crate) const INSTALL_USAGE: &str = "\
bowline install SOURCE             install a package and add it to your settings
bowline install --local SOURCE     for this project: below .pi, and in .pi/settings.json; the project must be trusted
bowline install --temporary SOURCE for --extension SOURCE only, without adding it to any settings

SOURCE is npm:NAME or npm:NAME@VERSION, git:HOST/PATH or the address of a git repository, with @REFERENCE for a branch, tag
or commit, or the path of a file or folder, which stays where it is. Packages are kept in pi's folder (~/.pi/agent) and
shared with pi. npm and git do the work, and npm runs what a package wants to run when it is installed: install only what
you trust.
";

pub(crate) const REMOVE_USAGE: &str = "\
bowline remove SOURCE              remove a package, and its entry from your settings
bowline remove --local SOURCE      the same for this project

The version or reference does not matter. A package that is a path of this machine is only removed from the settings.
";

pub(crate) const LIST_USAGE: &str = "\
bowline list                       show the packages of your settings and of this project, if it is trusted

--json prints one JSON object per line instead of a table.
";

pub(crate) const UPDATE_USAGE: &str = "\
bowline update                     update all packages of your settings and of this project, if it is trusted
bowline update SOURCE              update one

A package with a version (npm:NAME@1.2.3) stays at it, and a git repository with a reference moves to what that is now.
Packages that are missing are installed. Changes that were made in clones of git repositories are lost.
";

/// Returns the packages that the settings of the user and of this project name, if it is trusted.
pub(crate) fn installed_here(
    arguments: &Arguments,
    environment: &Environment,
    file: &SettingsFile,
) -> Vec<Installed> {
    let desk = Desk::new(arguments, environment.clone(), file);
    installed(&desk.configured(), desk.home())
}

/// Does something with packages.
pub(crate) fn main(verb: Verb, arguments: &Arguments) -> Result<ExitCode, Failure> {
    let source = arguments.words.first().map(String::as_str);
    let usage = match verb {
        Verb::Install => INSTALL_USAGE,
        Verb::Remove => REMOVE_USAGE,
        Verb::List | Verb::Update => "",
    };
    if source.is_none() && !usage.is_empty() {
        return say(usage).map(|()| ExitCode::from(2));
    }
    if arguments.words.len() > 1 {
        return Err(Failure::Usage("packages are named one at a time".to_owned()));
    }
    for warning in &arguments.warnings {
        note(format_args!("bowline: {warning}"));
    }
    let environment = Environment::read(arguments.working_directory.as_deref())?;
    let file = SettingsFile::of_user(&environment)?;
    let desk = Desk::new(arguments, environment, &file);
    match (verb, source) {
        (Verb::Install, Some(source)) => install::install(&desk, source, arguments),
        (Verb::Remove, Some(source)) => remove::remove(&desk, source, arguments.local),
        (Verb::Update, source) => update::update(&desk, source),
        (Verb::List | Verb::Install | Verb::Remove, _) => list::list(&desk, arguments.json),
    }
}
