//! `bowline export`: writes a session as one web page and says where it is.

use std::path::PathBuf;

use bowline_dialect::Start;
use bowline_export::{Options, default_name, export_file};

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::settings_file::SettingsFile;
use crate::startup;
use crate::terminal::say;

/// Writes the page, into the current folder unless another place is asked for.
pub(crate) fn main(arguments: &Arguments, start: &Start) -> Result<(), Failure> {
    let [session] = &arguments.words[..] else {
        return Err(Failure::Usage("which session? bowline export PATH|ID [--out FILE]".to_owned()));
    };
    let environment = Environment::read()?;
    let file = SettingsFile::read(&environment.home.join("settings.json"))?;
    let here = &environment.working_directory;
    let session = match startup::session_plan(arguments, &environment, start, &file).store {
        Some(store) => store.find(here, session)?,
        None => here.join(session),
    };
    let out = arguments.out.as_ref().map_or_else(|| PathBuf::from(default_name(&session)), PathBuf::from);
    let options = Options { title: arguments.name.clone(), leaf: None };
    let page = export_file(&session, &out, &options)?;
    say(&format!("{}\n", page.display()))
}
