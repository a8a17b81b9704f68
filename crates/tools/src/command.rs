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

/// Runs a shell command by hand, and hands out its cleaned output as it comes. The command is read no further until
/// `on_output` is done with a piece, so whoever takes the output sets the pace; a cancel does not wait for that.
pub async fn run_command<Taken: Future<Output = ()> + Send>(
    request: CommandRequest,
    mut on_output: impl FnMut(String) -> Taken + Send,
) -> Result<CommandOutcome, Error> {
    let cancel = request.cancel.clone();
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
                    tokio::select! {
                        () = on_output(text) => {}
                        () = cancel.cancelled() => {}
                    }
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

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::time::{Duration, Instant};

    use super::*;

    fn request(command: &str) -> CommandRequest {
        CommandRequest {
            command: command.to_owned(),
            working_directory: std::env::temp_dir(),
            environment: vec![("GREETING".to_owned(), "hello".to_owned())],
            shell: None,
            command_prefix: Some("name=world".to_owned()),
            cancel: CancellationToken::new(),
        }
    }

    #[tokio::test]
    async fn output_is_cleaned_and_handed_out_as_it_comes() {
        let mut pieces = Vec::new();
        let command = r"printf '\033[31m%s\033' $GREETING; sleep 0.05; printf '[0m %s\r\n' $name; exit 4";
        let outcome = run_command(request(command), |piece| {
            pieces.push(piece);
            ready(())
        })
        .await
        .unwrap();
        assert_eq!(pieces.concat(), "hello world\n");
        let expected = CommandOutcome {
            output: "hello world\n".to_owned(),
            exit_code: Some(4),
            cancelled: false,
            truncated: false,
            full_output_path: None,
        };
        assert_eq!(outcome, expected);
    }

    #[tokio::test]
    async fn a_cancel_ends_it_at_once_without_an_exit_code() {
        let request = request("echo begun; sleep 300");
        let cancel = request.cancel.clone();
        let begin = Instant::now();
        let outcome = run_command(request, |_| {
            cancel.cancel();
            ready(())
        })
        .await
        .unwrap();
        assert!(begin.elapsed() < Duration::from_secs(5));
        assert_eq!((outcome.output.as_str(), outcome.exit_code, outcome.cancelled), ("begun\n", None, true));
    }

    #[tokio::test]
    async fn a_cancel_does_not_wait_for_whoever_takes_the_output() {
        let request = request("echo begun; sleep 300");
        let cancel = request.cancel.clone();
        let taken = |_| {
            cancel.cancel();
            pending()
        };
        assert!(run_command(request, taken).await.unwrap().cancelled);
    }

    #[tokio::test]
    async fn long_output_is_cut_and_kept_clean_in_a_file() {
        let command = r"for i in $(seq 3000); do printf '\033[1m%s\033[0m\n' $i; done";
        let outcome = run_command(request(command), |_| ready(())).await.unwrap();
        assert!(
            outcome.truncated && outcome.output.starts_with("1001\n") && outcome.output.ends_with("\n3000")
        );
        let path = outcome.full_output_path.unwrap();
        let whole: String = (1..=3000).map(|line| format!("{line}\n")).collect();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
        std::fs::remove_file(path).unwrap();
    }
}
