//! A user-initiated command, outside any model's turn. It runs as the bash tool's commands do; its output is cleaned for
//! clients that are not terminals.

use std::path::PathBuf;
use std::sync::Arc;

use bowline_core::sandbox::ProtectedChange;
use tokio_util::sync::CancellationToken;

use crate::capture::Capture;
use crate::command_logs::LogPlace;
use crate::confinement::OutputSink;
use crate::error::Error;
use crate::panics;
use crate::shell::{Ending, Event, Launch, Pipes, Shell};
use crate::terminal_text::Cleaner;
use crate::toolbox::Options;

/// A user-initiated command.
#[derive(Debug, Clone)]
pub struct CommandRequest {
    pub command: String,
    pub working_directory: PathBuf,
    /// Variables added to the environment.
    pub environment: Vec<(String, String)>,
    /// The session that long output is kept for.
    pub session_id: Option<String>,
    /// The options of the toolbox, whose shell and prefix apply here too.
    pub options: Arc<Options>,
    pub cancel: CancellationToken,
}

/// The result of a user-initiated command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    /// The tail of the output, without escape sequences and control characters.
    pub output: String,
    /// Absent when the command was cancelled or killed by a signal.
    pub exit_code: Option<i32>,
    pub cancelled: bool,
    /// Whether `output` is only the tail.
    pub truncated: bool,
    /// The file with the full output, when it was truncated.
    pub full_output_path: Option<PathBuf>,
    /// Protected paths of the workspace that the command changed, and that were restored.
    pub protected: Vec<ProtectedChange>,
}

impl CommandOutcome {
    /// Returns the outcome of a command that was cancelled before it began.
    pub fn cancelled() -> Self {
        Self {
            output: String::new(),
            exit_code: None,
            cancelled: true,
            truncated: false,
            full_output_path: None,
            protected: Vec::new(),
        }
    }
}

/// Runs a user-initiated command and passes its cleaned output to `on_output` as it arrives. No more output is read until
/// `on_output` has finished with a piece, so the consumer sets the pace; cancelling does not wait for it.
pub async fn run_command<Taken: Future<Output = ()> + Send>(
    request: CommandRequest,
    on_output: impl FnMut(String) -> Taken + Send,
) -> Result<CommandOutcome, Error> {
    match request.options.confinement.clone().filter(|confinement| confinement.is_active()) {
        Some(confinement) => {
            let mut on_output = on_output;
            let sink: OutputSink<'_> = Box::new(move |piece| Box::pin(on_output(piece)));
            confinement.run_command(request, sink).await
        }
        None => panics::catch(run(request, on_output)).await?,
    }
}

async fn run<Taken: Future<Output = ()> + Send>(
    request: CommandRequest,
    mut on_output: impl FnMut(String) -> Taken + Send,
) -> Result<CommandOutcome, Error> {
    let cancel = request.cancel.clone();
    let mut shell = Shell::start(Launch {
        command: request.command,
        working_directory: request.working_directory,
        environment: request.environment,
        options: Arc::clone(&request.options),
        has_prefix: true,
        pipes: Pipes::Joined,
        timeout: None,
        cancel: request.cancel,
    })?;
    let mut cleaner = Cleaner::default();
    let mut capture = Capture::new(LogPlace {
        directory: request.options.temporary_directory.clone(),
        session_id: request.session_id,
        ends_with_process: request.options.sessions_end_with_process,
    });
    let ending = loop {
        match shell.next().await {
            Event::Output(piece) | Event::Errors(piece) => {
                let text = cleaner.push(piece);
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
        protected: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::time::{Duration, Instant};

    use tempfile::{TempDir, tempdir};

    use super::*;

    fn request(directory: &TempDir, command: &str) -> CommandRequest {
        let options = Options {
            command_prefix: Some("name=world".to_owned()),
            temporary_directory: Some(directory.path().to_owned()),
            ..Options::default()
        };
        CommandRequest {
            command: command.to_owned(),
            working_directory: directory.path().to_owned(),
            environment: vec![("GREETING".to_owned(), "hello".to_owned())],
            session_id: Some("s1".to_owned()),
            options: Arc::new(options),
            cancel: CancellationToken::new(),
        }
    }

    #[tokio::test]
    async fn output_is_cleaned_and_passed_on_as_it_arrives() {
        let directory = tempdir().unwrap();
        let mut pieces = Vec::new();
        let command = r"printf '\033[31m%s\033' $GREETING; sleep 0.05; printf '[0m %s\r\n' $name; exit 4";
        let outcome = run_command(request(&directory, command), |piece| {
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
            protected: Vec::new(),
        };
        assert_eq!(outcome, expected);
    }

    #[tokio::test]
    async fn cancel_ends_the_command_at_once_without_an_exit_code() {
        let directory = tempdir().unwrap();
        let request = request(&directory, "echo begun; sleep 300");
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
    async fn cancel_does_not_wait_for_the_consumer_of_the_output() {
        let directory = tempdir().unwrap();
        let request = request(&directory, "echo begun; sleep 300");
        let cancel = request.cancel.clone();
        let taken = |_| {
            cancel.cancel();
            pending()
        };
        assert!(run_command(request, taken).await.unwrap().cancelled);
    }

    #[tokio::test]
    async fn long_output_is_truncated_and_kept_clean_in_a_file() {
        let directory = tempdir().unwrap();
        let command = r"for i in $(seq 3000); do printf '\033[1m%s\033[0m\n' $i; done";
        let outcome = run_command(request(&directory, command), |_| ready(())).await.unwrap();
        assert!(
            outcome.truncated && outcome.output.starts_with("1001\n") && outcome.output.ends_with("\n3000")
        );
        let path = outcome.full_output_path.unwrap();
        let whole: String = (1..=3000).map(|line| format!("{line}\n")).collect();
        assert_eq!(std::fs::read_to_string(path).unwrap(), whole);
    }

    #[tokio::test]
    async fn panic_of_the_consumer_is_an_error() {
        let directory = tempdir().unwrap();
        let panicking = |_| -> std::future::Ready<()> { panic!("a bug") };
        let result = run_command(request(&directory, "echo begun"), panicking).await;
        assert!(matches!(result, Err(Error::Internal)), "{result:?}");
    }
}
