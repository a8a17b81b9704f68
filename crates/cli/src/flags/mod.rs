//! The flags: one definition each feeds the parser and the help. A file has those of a heading of the help.

mod general;
mod instructions;
mod model;
mod sandbox;
mod session;
mod subcommands;
mod tools;

use crate::arguments::Arguments;

/// A flag of the command line.
#[derive(Debug)]
pub(crate) struct Flag {
    pub long: &'static str,
    pub short: Option<&'static str>,
    pub takes: Takes,
    pub about: &'static str,
    /// Its heading in the help.
    pub group: Group,
    pub apply: fn(&mut Arguments, String) -> Result<(), String>,
}

/// Whether a flag has a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Takes {
    Nothing,
    /// A value, and how the help names it.
    Value(&'static str),
    /// An optional value.
    Optional(&'static str),
}

/// The headings of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Mode,
    Model,
    Session,
    Tools,
    Sandbox,
    Prompt,
    Subcommand,
}

const fn flag(
    group: Group,
    long: &'static str,
    short: Option<&'static str>,
    takes: Takes,
    about: &'static str,
    apply: fn(&mut Arguments, String) -> Result<(), String>,
) -> Flag {
    Flag { long, short, takes, about, group, apply }
}

/// The flags by heading, in the order of the help.
const HEADINGS: &[&[Flag]] = &[
    general::FLAGS,
    model::FLAGS,
    session::FLAGS,
    tools::FLAGS,
    sandbox::FLAGS,
    instructions::FLAGS,
    subcommands::FLAGS,
];

/// Returns every flag, in the order of the help.
pub(crate) fn flags() -> impl Iterator<Item = &'static Flag> {
    HEADINGS.iter().copied().flatten()
}

fn set<T>(place: &mut Option<T>, value: T) -> Result<(), String> {
    *place = Some(value);
    Ok(())
}

fn list(names: &str) -> Vec<String> {
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(ToOwned::to_owned).collect()
}

impl Group {
    /// The groups in the order of the help, with their headings.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Mode, "General"),
        (Self::Model, "Model"),
        (Self::Session, "Session"),
        (Self::Tools, "Tools"),
        (Self::Sandbox, "Sandbox"),
        (Self::Prompt, "Instructions"),
        (Self::Subcommand, "For subcommands"),
    ];
}
