//! `bowline extension`: creates, tries out and lists extensions.

mod check;
pub(crate) mod list;
mod new;
mod report;
mod sample_arguments;
mod sample_events;
mod sample_requests;
mod trial;

use std::process::ExitCode;

use bowline_dialect::Entry;

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::{note, say};

pub(crate) use new::languages;

pub(crate) const USAGE: &str = "\
bowline extension new NAME           create an extension in the folder NAME
bowline extension new NAME --lang L  in python (the default), typescript or sh; --out FOLDER puts it elsewhere

bowline extension check PATH         start it, call its hooks, tools and commands with samples, show what came back
bowline extension list               show the extensions of this folder and yours, and what they offer

check works in an empty folder, unless --cwd names one, answers dialogs as somebody who agrees, and exits with 1 if a hook
fails or the protocol is violated; --verbose shows every line. list starts the extensions to ask them.
--json prints JSON instead of text. docs/extensions.md explains how to write an extension.
";

/// Runs a subcommand.
pub(crate) fn main(arguments: &Arguments, entry: &Entry) -> Result<ExitCode, Failure> {
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
        ("check", [path]) => check::check(path, arguments, &environment, entry),
        ("check", _) => Err(Failure::Usage("which one? bowline extension check PATH".to_owned())),
        ("list", _) => list::list(arguments, &environment, entry),
        ("new", _) => Err(Failure::Usage("which name? bowline extension new NAME".to_owned())),
        // Other words are refused with the command line.
        _ => say(USAGE).map(|()| ExitCode::from(2)),
    }
}

#[cfg(test)]
mod tests {
    use bowline_core::hook::{HookKind, HookRole};

    #[test]
    fn guide_lists_every_hook_with_what_it_can_do() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/extensions.md");
        let guide = std::fs::read_to_string(path).unwrap();
        let (_, section) = guide.split_once("## Hooks").unwrap();
        let (section, _) = section.split_once("\n## ").unwrap();
        let listed: Vec<String> = section
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
            .filter_map(|(name, rest)| Some(format!("{name} {}", rest.split_once(" |")?.0)))
            .filter(|row| !row.starts_with('@'))
            .collect();
        let expected: Vec<String> = HookKind::ALL
            .iter()
            .map(|hook| {
                let role = match hook.role() {
                    HookRole::Decides => "decides",
                    HookRole::Observes => "observes",
                    HookRole::Streams => "streams",
                };
                format!("{} {role}", hook.as_str())
            })
            .collect();
        assert_eq!(listed, expected);
    }
}
