//! `bowline extension`: creates, tries out and lists extensions.

mod new;

use std::process::ExitCode;

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::similar::nearest;
use crate::terminal::{note, say};

pub(crate) const USAGE: &str = "\
bowline extension new NAME           create an extension in the folder NAME
bowline extension new NAME --lang L  in python (the default), typescript or sh; --out FOLDER puts it elsewhere

--json prints JSON instead of text. docs/extensions.md explains how to write an extension.
";

/// Runs a subcommand.
pub(crate) fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let words: Vec<&str> = arguments.words.iter().map(String::as_str).collect();
    let (verb, named) = match words.split_first() {
        Some((verb, named)) => (*verb, named),
        None => return say(USAGE).map(|()| ExitCode::from(2)),
    };
    for warning in &arguments.warnings {
        note(format_args!("bowline: {warning}"));
    }
    let environment = Environment::read(arguments.working_directory.as_deref())?;
    match (verb, named) {
        ("new", [name]) => new::create(name, arguments, &environment),
        ("new", _) => Err(Failure::Usage("which name? bowline extension new NAME".to_owned())),
        _ => {
            let near = nearest(verb, ["new"].into_iter());
            let hint = near.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
            Err(Failure::Usage(format!("unknown subcommand \"{verb}\"{hint} (see bowline extension)")))
        }
    }
}
