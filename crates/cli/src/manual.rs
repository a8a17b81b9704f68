//! `bowline man`: manual pages, from the tables that also make the help.

mod pages;
mod roff;

use std::fs;

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::subcommands;
use crate::terminal::{say, say_exactly};

pub(crate) const USAGE: &str = "\
bowline man                 print the manual page of bowline, for: man -l -
bowline man SUBCOMMAND      print that of a subcommand
bowline man settings        print that of the settings
bowline man --out FOLDER    write all pages below a folder of manual pages, and print their paths
";

/// Prints a page, or writes all of them.
pub(crate) fn main(arguments: &Arguments) -> Result<(), Failure> {
    match (&arguments.words[..], &arguments.out) {
        ([], Some(folder)) => write_all(folder, arguments),
        ([], None) => say_exactly(&pages::of_program()),
        ([topic], None) => match (topic.as_str(), subcommands::find(topic)) {
            ("settings", _) => say_exactly(&pages::of_settings()),
            (_, Some(subcommand)) => say_exactly(&pages::of_subcommand(subcommand)),
            (topic, None) => {
                Err(Failure::Usage(format!("there is no manual page for \"{topic}\" (see bowline help)")))
            }
        },
        _ => Err(Failure::Usage(
            "one page, or all of them? bowline man [SUBCOMMAND|settings] | --out FOLDER".to_owned(),
        )),
    }
}

fn write_all(folder: &str, arguments: &Arguments) -> Result<(), Failure> {
    let folder = Environment::read(arguments.working_directory.as_deref())?.expand(folder);
    let mut written = String::new();
    for (name, page) in pages::all() {
        let path = folder.join(name);
        if let Some(section) = path.parent() {
            fs::create_dir_all(section).map_err(Failure::io("creating the folder of the manual pages"))?;
        }
        fs::write(&path, page).map_err(Failure::io("writing a manual page"))?;
        written.push_str(&format!("{}\n", path.display()));
    }
    say(&written)
}
