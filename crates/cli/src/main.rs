//! bowline, the command line: arguments, wiring, subcommands. It holds no logic of the agent.

mod arguments;
mod auth;
mod demo;
mod dialect_choice;
#[cfg_attr(unix, path = "echo_unix.rs")]
#[cfg_attr(windows, path = "echo_windows.rs")]
mod echo;
mod environment;
mod export;
mod failure;
mod flags;
mod foreign_flags;
mod help;
mod hidden_input;
mod list_models;
mod local_time;
mod online_check;
mod rpc;
mod sessions;
mod settings_file;
mod settings_table;
#[cfg_attr(unix, path = "signals_unix.rs")]
#[cfg_attr(windows, path = "signals_windows.rs")]
mod signals;
mod similar;
mod startup;
mod table;
mod terminal;
mod tool_names;
mod transcript;

use std::process::ExitCode;

use arguments::{Action, Arguments};
use dialect_choice::Choice;
use failure::Failure;

#[expect(clippy::disallowed_methods, reason = "the one place that reads the command line")]
fn main() -> ExitCode {
    let mut words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let started_as = words.next().unwrap_or_default();
    let words: Vec<_> = words.collect();
    let choice = Choice::new(&started_as, &words);
    let report = |failure: Failure| failure.report(choice.start());
    let arguments = match Arguments::parse(words, choice.dialect(), choice.start().short_flags) {
        Ok(arguments) => arguments,
        Err(failure) => return report(failure),
    };
    let result = match arguments.action {
        Action::Help if arguments.words == ["settings"] => terminal::say(&settings_table::help()),
        Action::Help => terminal::say(&help::text()),
        Action::Version => terminal::say(&choice.version(arguments.verbose)),
        Action::Rpc => {
            return choice.entry().and_then(|entry| rpc::main(&arguments, entry)).unwrap_or_else(report);
        }
        Action::Demo => demo::main(),
        Action::Sessions => return finish(sessions::main(&arguments, choice.start())),
        Action::Auth => return finish(auth::main(&arguments)),
        Action::ListModels => return finish(list_models::main(&arguments)),
        Action::Schema => choice.entry().and_then(|entry| schema(&arguments, entry)),
        Action::Export => export::main(&arguments, choice.start()),
        Action::Nothing => {
            eprintln!("{}", help::usage());
            return ExitCode::from(2);
        }
    };
    finish(result.map(|()| ExitCode::SUCCESS))
}

/// Prints a dialect as JSON Schema.
fn schema(arguments: &Arguments, entry: &bowline_dialect::Entry) -> Result<(), Failure> {
    if let Some(word) = arguments.words.first() {
        let text =
            format!("what is \"{word}\"? bowline schema [--dialect NAME] prints a protocol as JSON Schema");
        return Err(Failure::Usage(text));
    }
    terminal::say(&format!("{:#}\n", entry.schema()))
}

/// Reports a failure, if it is one.
fn finish(result: Result<ExitCode, Failure>) -> ExitCode {
    match result {
        Ok(code) => code,
        // Whoever reads the help through a pipe may close it early.
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => failure.tell("bowline"),
    }
}
