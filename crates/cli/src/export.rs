//! `bowline export`: exports a session as an HTML page and prints the path of the page.

use std::path::PathBuf;

use bowline_dialect::Start;
use bowline_export::{Options, default_name, export_file};

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::session_undo;
use crate::settings::SettingsFile;
use crate::startup;
use crate::terminal::say_exactly;

/// Runs the subcommand. The page goes to the current directory unless `--out` names a file.
pub(crate) fn main(arguments: &Arguments, start: &Start) -> Result<(), Failure> {
    let [session] = &arguments.words[..] else {
        return Err(Failure::Usage("which session? bowline export PATH|ID [--out FILE]".to_owned()));
    };
    let environment = Environment::read(arguments.working_directory.as_deref())?;
    let file = SettingsFile::of_user(&environment)?;
    let here = &environment.working_directory;
    let session = match startup::session_plan(arguments, &environment, start, &file).store {
        Some(store) => store.find(here, session)?,
        None => here.join(session),
    };
    let out = arguments.out.as_ref().map_or_else(|| PathBuf::from(default_name(&session)), PathBuf::from);
    let changes = session_undo::changes(&session, &environment, file.undo.settings());
    let title = arguments.name.clone();
    let options = Options { title, leaf: None, tools: bowline_tools::traits_of, changes };
    let page = export_file(&session, &out, &options)?;
    // The flag is pi's, and so is what it prints.
    let prefix = if arguments.export.is_some() { "Exported to: " } else { "" };
    say_exactly(&format!("{prefix}{}\n", page.display()))
}
