//! bowline, the command line: arguments, wiring, subcommands. It holds no logic of the agent.

mod arguments;
mod auth;
mod blocking;
mod chat;
mod completions;
mod config;
mod configuration;
#[cfg_attr(target_os = "linux", path = "confinement_linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "confinement_other.rs")]
mod confinement;
mod demo;
mod detached_extensions;
mod dialect_choice;
mod doctor;
#[cfg_attr(unix, path = "echo_unix.rs")]
#[cfg_attr(windows, path = "echo_windows.rs")]
mod echo;
mod environment;
mod export;
mod extension;
mod failure;
mod flags;
mod foreign_flags;
#[cfg_attr(target_os = "linux", path = "hardening_linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "hardening_other.rs")]
mod hardening;
mod help;
mod hidden_input;
mod hosts;
mod inspect;
mod list_models;
mod local_time;
mod manual;
mod mcp;
mod mcp_servers;
mod models;
mod one_shot;
mod online_check;
mod packages;
mod pi_folder;
mod resources;
mod rpc;
mod sandbox;
mod sandbox_wishes;
mod serving;
mod session_undo;
mod sessions;
mod settings;
mod shell_word;
#[cfg_attr(unix, path = "signals_unix.rs")]
#[cfg_attr(windows, path = "signals_windows.rs")]
mod signals;
mod similar;
mod startup;
mod subcommands;
mod table;
mod terminal;
mod tool_names;
mod toolboxes;
mod transcript;
mod trust;

use std::process::ExitCode;

use arguments::{Action, Arguments};
use dialect_choice::Choice;
use failure::Failure;

/// The exit code for a command line that does not say what to do.
const USAGE: u8 = 2;

#[expect(clippy::disallowed_methods, reason = "the one place that reads the command line")]
fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let started_as = words.next().unwrap_or_default();
    let words: Vec<_> = words.collect();
    #[cfg(target_os = "linux")]
    if let Some((role, words)) = words.split_first()
        && role == bowline_sandbox::KEEPER_ROLE
    {
        let words: Vec<_> = words.iter().filter_map(|word| word.to_str()).collect();
        return bowline_sandbox::keeper_main(&words);
    }
    // An attempt to leave the sandbox is made by a program like any other, not by one that hides from others.
    #[cfg(target_os = "linux")]
    if let Some(code) = sandbox::attempt(&words) {
        return code;
    }
    if !environment::is_debuggable() {
        hardening::close_to_others();
    }
    if words == [bowline_tools::WATCH_ROLE] {
        hardening::become_watcher();
        bowline_tools::watch(std::io::stdin().lock());
        return ExitCode::SUCCESS;
    }
    let readable = written_out(words.iter().map(|word| word.to_string_lossy().into_owned()).collect());
    let choice = Choice::new(&started_as.to_string_lossy(), &readable);
    let report = |failure: Failure| failure.report(choice.start());
    let parsed = match words.iter().position(|word| word.to_str().is_none()) {
        Some(index) => Err(Failure::NotText(index + 1)),
        None => {
            Arguments::parse(readable.clone(), choice.dialect(), choice.start().short_flags, choice.is_pi())
        }
    };
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(failure) if choice.is_serving() => return report(failure),
        Err(failure) if choice.is_pi() => return failure.tell("Error", ExitCode::FAILURE),
        Err(failure) => {
            let code = if sandbox::is_run(&readable) { sandbox::CANNOT_RUN } else { USAGE };
            return failure.tell("bowline", ExitCode::from(code));
        }
    };
    if arguments.login {
        return finish(auth::interactive::main(&arguments));
    }
    let result = match arguments.action {
        Action::Help => help::about(arguments.help_topic()).and_then(|text| terminal::say(&text)),
        Action::Version => terminal::say(&choice.version(arguments.verbose)),
        Action::Rpc => {
            return choice.entry().and_then(|entry| rpc::main(&arguments, entry)).unwrap_or_else(report);
        }
        Action::OneShot => {
            let called = if choice.is_pi() { "Error" } else { "bowline" };
            let result = choice.entry().and_then(|entry| one_shot::main(&arguments, entry, choice.is_pi()));
            return result.unwrap_or_else(|failure| failure.tell(called, ExitCode::FAILURE));
        }
        Action::Chat => return finish(chat::main(&arguments)),
        Action::Demo => demo::main(),
        Action::Doctor => {
            return finish(choice.entry().and_then(|entry| doctor::main(&arguments, entry)));
        }
        Action::Sessions => return finish(sessions::main(&arguments, choice.start())),
        Action::Auth => {
            return finish(choice.entry().and_then(|entry| auth::main(&arguments, entry)));
        }
        Action::ListModels => return finish(list_models::main(&arguments)),
        Action::Completions => completions::main(&arguments),
        Action::Man => manual::main(&arguments),
        Action::Schema => choice.entry().and_then(|entry| schema(&arguments, entry)),
        Action::Extension => {
            return finish(choice.entry().and_then(|entry| extension::main(&arguments, entry)));
        }
        Action::Inspect => return finish(inspect::main(&arguments)),
        Action::Export => export::main(&arguments, choice.start()),
        Action::Mcp => return finish(mcp::main(&arguments)),
        Action::Sandbox => return finish(sandbox::main(&arguments, choice.start())),
        Action::Packages(verb) => return finish(packages::main(verb, &arguments)),
        Action::Config => {
            return finish(choice.entry().and_then(|entry| config::main(&arguments, entry)));
        }
        Action::Trust => return finish(trust::main(&arguments)),
        Action::Nothing => {
            terminal::note(arguments.nothing_to_do());
            return ExitCode::from(USAGE);
        }
    };
    finish(result.map(|()| ExitCode::SUCCESS))
}

/// Returns the words with `acp`, as the first of them, written out as the flags that it stands for.
fn written_out(mut words: Vec<String>) -> Vec<String> {
    let asks_for_help = words.iter().any(|word| matches!(word.as_str(), "--help" | "-h"));
    if words.first().is_some_and(|first| first == "acp") && !asks_for_help {
        words.splice(..1, ["--mode", "rpc", "--dialect", "acp"].map(ToOwned::to_owned));
    }
    words
}

/// Prints a dialect or the protocol of extensions as JSON Schema.
fn schema(arguments: &Arguments, entry: &bowline_dialect::Entry) -> Result<(), Failure> {
    let name = match arguments.words.first().map(String::as_str) {
        None => entry.name,
        Some(name @ "extension") => name,
        Some(word) => {
            let text = format!(
                "what is \"{word}\"? bowline schema [--dialect NAME | extension] prints a protocol as JSON Schema"
            );
            return Err(Failure::Usage(text));
        }
    };
    terminal::say(&bowline_dialect::published(name).unwrap_or_default())
}

/// Reports a failure, if it is one.
fn finish(result: Result<ExitCode, Failure>) -> ExitCode {
    match result {
        Ok(code) => code,
        // Whoever reads the help through a pipe may close it early.
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => failure.tell("bowline", ExitCode::FAILURE),
    }
}
