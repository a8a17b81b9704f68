//! `bowline sandbox run`: one command, confined as the commands of tools are.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use bowline_core::sandbox::{ProtectedChange, SandboxMode};
use bowline_dialect::Start;
use bowline_server::Interruption;
use bowline_tools::{CommandOutcome, CommandRequest, Options, run_command};
use tokio_util::sync::CancellationToken;

use super::{CANNOT_RUN, SubcommandContext};
use crate::arguments::Arguments;
use crate::blocking::block_on;
use crate::failure::Failure;
use crate::shell_word::quoted;
use crate::signals;
use crate::terminal::{note, plain_line, say_exactly};

/// The exit code if a signal ended the command and nobody says which: that of SIGKILL.
const KILLED: u8 = 128 + 9;

/// Runs the command after `--` and returns its exit code.
pub(super) fn run(arguments: &Arguments, start: &Start) -> ExitCode {
    let run = || {
        let command = command_line(arguments)?;
        let context = SubcommandContext::read(arguments, start, Some(SandboxMode::WorkspaceWrite))?;
        if !context.wishes.mode.is_confined() {
            let mode = context.wishes.mode.as_str();
            let text =
                format!("{mode} does not confine anything; choose --sandbox read-only or workspace-write");
            return Err(Failure::Usage(text));
        }
        block_on(run_confined(context, command))?
    };
    run().unwrap_or_else(|failure: Failure| failure.tell("bowline", ExitCode::from(CANNOT_RUN)))
}

/// Returns the command as a line for the shell, which is what runs the commands of tools.
fn command_line(arguments: &Arguments) -> Result<String, Failure> {
    let which = || Failure::Usage("which command? bowline sandbox run -- COMMAND [ARGUMENT...]".to_owned());
    if arguments.words.len() > 1 {
        return Err(Failure::Usage(format!(
            "write -- before the command: bowline sandbox run -- {}",
            arguments.words[1..].join(" ")
        )));
    }
    let words = arguments.command.as_ref().filter(|words| !words.is_empty()).ok_or_else(which)?;
    if words.iter().any(|word| word.contains('\0')) {
        return Err(Failure::Usage("an argument has a NUL character".to_owned()));
    }
    Ok(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
}

async fn run_confined(context: SubcommandContext, command: String) -> Result<ExitCode, Failure> {
    let confinement = context.confinement()?;
    let folder = bowline_files::canonical(&context.environment.working_directory);
    // Before the command runs, so that an unavailable sandbox is not taken for a command that failed.
    confinement.prove(None).await.map_err(Failure::Sandbox)?;
    let (mut interruptions, _watch) = signals::listen().map_err(Failure::io("listening for signals"))?;
    let cancel = CancellationToken::new();
    let options = Options {
        confinement: Some(confinement),
        // Everything is printed, so nothing is kept.
        temporary_directory: None,
        ..context.options
    };
    let request = CommandRequest {
        command,
        working_directory: context.environment.working_directory,
        environment: Vec::new(),
        session_id: None,
        options: Arc::new(options),
        cancel: cancel.clone(),
    };
    let mut printed = Ok(());
    let print = |text: String| {
        if printed.is_ok() {
            printed = say_exactly(&text);
            if printed.is_err() {
                cancel.cancel();
            }
        }
        std::future::ready(())
    };
    let mut signal = None;
    let outcome = {
        let mut running = std::pin::pin!(run_command(request, print));
        loop {
            tokio::select! {
                outcome = &mut running => break outcome?,
                Some(interruption) = interruptions.recv() => {
                    signal = Some(signal_of(interruption));
                    cancel.cancel();
                }
            }
        }
    };
    printed?;
    for change in &outcome.protected {
        note(restored(change, &folder));
    }
    Ok(exit_code(&outcome, signal))
}

/// Says that a path was restored, and where what the command left there is.
fn restored(change: &ProtectedChange, folder: &Path) -> String {
    let path = change.path.strip_prefix(folder).unwrap_or(&change.path).display();
    let effect = match &change.quarantine {
        Some(quarantine) => format!("what the command left is in {}", quarantine.display()),
        None => "it was restored".to_owned(),
    };
    plain_line(&format!("bowline: {path} is protected; {effect}"))
}

/// Returns the exit code that a signal stands for.
fn signal_of(interruption: Interruption) -> u8 {
    match interruption {
        Interruption::Stop(code) | Interruption::Abort { exit_code: code } => code,
    }
}

fn exit_code(outcome: &CommandOutcome, signal: Option<u8>) -> ExitCode {
    if let Some(code) = signal {
        return ExitCode::from(code);
    }
    match outcome.exit_code.map(u8::try_from) {
        Some(Ok(code)) => ExitCode::from(code),
        _ => {
            note("bowline: the command was killed by a signal");
            ExitCode::from(KILLED)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str]) -> Result<String, String> {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let arguments = Arguments::parse(words, "pi", &[], false).map_err(|failure| failure.to_string())?;
        command_line(&arguments).map_err(|failure| failure.to_string())
    }

    #[test]
    fn shell_sees_the_words_as_they_are() {
        assert_eq!(
            line(&["sandbox", "run", "--", "echo", "it's", "$HOME", "--help", "--", ""]).unwrap(),
            r"'echo' 'it'\''s' '$HOME' '--help' '--' ''"
        );
    }

    #[test]
    fn missing_commands_are_refused() {
        let which = "which command? bowline sandbox run -- COMMAND [ARGUMENT...]";
        assert_eq!(line(&["sandbox", "run"]).unwrap_err(), which);
        assert_eq!(line(&["sandbox", "run", "--"]).unwrap_err(), which);
        assert_eq!(
            line(&["sandbox", "run", "ls", "x"]).unwrap_err(),
            "write -- before the command: bowline sandbox run -- ls x"
        );
    }
}
