//! bowline, the command line: arguments in, wiring, subcommands. It holds no logic of the agent.

mod arguments;
mod auth;
mod demo;
mod export;
mod failure;
mod flags;
mod help;
mod hidden_input;
mod home;
mod list_models;
mod online_check;
mod rpc;
mod sessions;
mod settings_file;
mod signals;
mod startup;
mod table;
mod terminal;

use std::process::ExitCode;

use arguments::{Action, Arguments};
use failure::Failure;

fn main() -> ExitCode {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let arguments = match Arguments::parse(words) {
        Ok(arguments) => arguments,
        Err(failure) => return failure.report(),
    };
    let result = match arguments.action {
        Action::Help => terminal::say(&help::text()),
        Action::Version => terminal::say(&format!("{}\n", env!("CARGO_PKG_VERSION"))),
        Action::Rpc => return rpc::main(&arguments).unwrap_or_else(Failure::report),
        Action::Demo => demo::main(),
        Action::Sessions => return finish(sessions::main(&arguments)),
        Action::Auth => return finish(auth::main(&arguments)),
        Action::ListModels => return finish(list_models::main(&arguments)),
        Action::Export => export::main(&arguments),
        Action::Nothing => {
            eprintln!("{}", help::usage());
            return ExitCode::from(2);
        }
    };
    finish(result.map(|()| ExitCode::SUCCESS))
}

/// Reports a failure, if it is one.
fn finish(result: Result<ExitCode, Failure>) -> ExitCode {
    match result {
        Ok(code) => code,
        // Whoever reads the help through a pipe may close it early.
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => failure.tell(),
    }
}
