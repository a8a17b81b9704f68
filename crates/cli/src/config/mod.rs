//! `bowline config`: the effective value of every setting and where it comes from, and changes of settings files.

mod change;
mod effective;
mod hiding;
mod overrides;
mod show;

use std::path::PathBuf;
use std::process::ExitCode;

use bowline_dialect::Entry;
use bowline_extension::Resources;
use bowline_extension::trust::project_folders;

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::resources;
use crate::settings::{self, Found, SettingsFile};
use crate::terminal::{note, say};

pub(crate) use overrides::FLAGS;

pub(crate) const USAGE: &str = "\
bowline config show [NAME]       show what each setting is, and where it comes from
bowline config get NAME          print one value, for scripts; the exit code is 1 if there is none
bowline config set NAME VALUE    change your settings.json; the rest of the file stays as it is
bowline config unset NAME        remove a setting from it, so that the default applies
bowline config path              print where the file is

NAME has dots between the levels: retry.maxRetries, or mcpServers.time for one
server. VALUE is JSON, or a text without quotes. show and get follow the flags
that take precedence over settings, such as --sandbox. With --project, set,
unset and path are about the settings of this project, which can only be
extensions, packages, skills and prompts. Keys and passwords are not shown.

bowline help settings lists the settings with what they do.
";

/// Runs a subcommand.
pub(crate) fn main(arguments: &Arguments, entry: &'static Entry) -> Result<ExitCode, Failure> {
    let words: Vec<&str> = arguments.words.iter().map(String::as_str).collect();
    for warning in &arguments.warnings {
        note(format_args!("bowline: {warning}"));
    }
    let environment = Environment::read(arguments.working_directory.as_deref())?;
    let context = Context { arguments, entry, environment };
    match words[..] {
        ["show"] => {
            show::show(&context, settings::settings().filter_map(|one| settings::find(one.path).ok()))
        }
        ["show", name] => show::show(&context, settings::find_all(name).map_err(Failure::Usage)?.into_iter()),
        ["get", name] => show::get(&context, &find(name)?),
        ["set", name, value] => change::set(&context, &find(name)?, value),
        ["unset", name] => change::unset(&context, &find(name)?),
        ["path"] => say(&format!("{}\n", context.file()?.display())).map(|()| ExitCode::SUCCESS),
        ["get", ..] => Err(missing("which setting? bowline config get NAME")),
        ["set", _] => Err(missing("which value? bowline config set NAME VALUE")),
        ["set", ..] => Err(missing("which setting? bowline config set NAME VALUE")),
        ["unset", ..] => Err(missing("which setting? bowline config unset NAME")),
        // Other words are refused with the command line.
        _ => say(USAGE).map(|()| ExitCode::from(2)),
    }
}

fn missing(text: &str) -> Failure {
    Failure::Usage(text.to_owned())
}

fn find(name: &str) -> Result<Found, Failure> {
    settings::find(name).map_err(Failure::Usage)
}

/// What the subcommands work with.
struct Context<'a> {
    arguments: &'a Arguments,
    /// The chosen dialect, which has defaults of its own.
    entry: &'static Entry,
    environment: Environment,
}

impl Context<'_> {
    /// Returns the file that is changed.
    fn file(&self) -> Result<PathBuf, Failure> {
        if !self.arguments.of_project {
            return Ok(SettingsFile::path(&self.environment));
        }
        let working = &self.environment.working_directory;
        let folder = project_folders(working, &self.environment.home).into_iter().next();
        let folder = folder
            .filter(|folder| folder.ends_with(".bowline"))
            .ok_or_else(|| missing("the settings in this folder are your own: leave out --project"))?;
        Ok(folder.join("settings.json"))
    }

    /// Tells whether the project is trusted, so that its settings have an effect.
    fn is_project_trusted(&self, file: &SettingsFile) -> bool {
        let options = resources::options(self.arguments, &self.environment, file);
        Resources::new(options, |_| ()).is_trusted(&self.environment.working_directory)
    }
}
