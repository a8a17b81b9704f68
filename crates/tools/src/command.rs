//! A command that the user runs by hand, outside of any model's turn: the same machinery as the bash tool, with the
//! output cleaned for people and clients that are no terminals.

use std::path::PathBuf;

use tokio_util::sync::CancellationToken;

use crate::capture::Capture;
use crate::error::Error;
use crate::shell::{Ending, Event, Launch, Shell};
use crate::terminal_text::Cleaner;

/// A command to run by hand.
#[derive(Debug, Clone)]
pub struct CommandRequest {
    pub command: String,
    pub working_directory: PathBuf,
    /// Variables added to the environment.
    pub environment: Vec<(String, String)>,
    /// The shell; `/bin/bash`, or else `sh`, when absent.
    pub shell: Option<PathBuf>,
    /// Lines put in front of the command.
    pub command_prefix: Option<String>,
    pub cancel: CancellationToken,
}

/// What a command run by hand came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    /// The tail of the output, without escape sequences and control characters.
    pub output: String,
    /// Absent when the command was cancelled or died of a signal.
    pub exit_code: Option<i32>,
    pub cancelled: bool,
    /// Whether `output` is less than there was.
    pub truncated: bool,
    /// The file with the whole output, when it was truncated.
    pub full_output_path: Option<PathBuf>,
}

/// Runs a shell command by hand, and hands out its cleaned output as it comes.
pub async fn run_command(
    request: CommandRequest,
    mut on_output: impl FnMut(String) + Send,
) -> Result<CommandOutcome, Error> {
    let mut shell = Shell::start(Launch {
        command: request.command,
        working_directory: request.working_directory,
        environment: request.environment,
        shell: request.shell,
        command_prefix: request.command_prefix,
        timeout: None,
        cancel: request.cancel,
    })?;
    let mut cleaner = Cleaner::default();
    let mut capture = Capture::default();
    let ending = loop {
        match shell.next().await {
            Event::Output(piece) => {
                let text = cleaner.push(&piece);
                if !text.is_empty() {
                    capture.push(&text).await;
                    on_output(text);
                }
            }
            Event::Ended(ending) => break ending,
        }
    };
    capture.finish().await;
    let tail = capture.tail();
    Ok(CommandOutcome {
        truncated: tail.limit.is_some(),
        output: tail.content,
        exit_code: if let Ending::Exited { code, .. } = ending { Some(code) } else { None },
        cancelled: ending == Ending::Cancelled,
        full_output_path: capture.log_path().map(PathBuf::from),
    })
}
