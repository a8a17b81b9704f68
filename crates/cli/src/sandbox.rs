//! `bowline sandbox`: what confines tools, outside of any session.

use std::process::ExitCode;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::sandbox_check;
use crate::similar::nearest;
use crate::terminal::{note, say};

pub(crate) const USAGE: &str = "\
bowline sandbox check               try over a hundred ways out of the sandbox, and show which are closed

Everything is tried in a temporary folder, on files, sockets and a process that are made for it, and looked at from outside.
--level chooses full, landlock, or none for what gets through unconfined. --json prints one JSON object per attempt.
The exit code is 0 if every promise holds, 1 if one is broken, and 2 if there is no sandbox to be had.
";

/// Runs a subcommand.
pub(crate) fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let words: Vec<&str> = arguments.words.iter().map(String::as_str).collect();
    for warning in &arguments.warnings {
        note(format_args!("bowline: {warning}"));
    }
    match words[..] {
        [] => say(USAGE).map(|()| ExitCode::from(2)),
        ["check"] => sandbox_check::main(arguments),
        ["check", ..] => Err(Failure::Usage("check takes no words (see bowline sandbox)".to_owned())),
        [verb, ..] => {
            let near = nearest(verb, ["check"].into_iter());
            let hint = near.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
            Err(Failure::Usage(format!("unknown subcommand \"{verb}\"{hint} (use check)")))
        }
    }
}
