//! A command that is given an input and whose answer is read: its outputs are kept apart and only their beginnings are
//! kept. It runs as the bash tool's commands do, without the prefix that is for these.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::panics;
use crate::shell::{Ending, Event, Launch, Pipes, Shell};
use crate::toolbox::Options;

/// A command that is given an input.
#[derive(Debug, Clone)]
pub struct PipedCommand {
    pub command: String,
    /// What it reads from stdin.
    pub input: Arc<[u8]>,
    pub working_directory: PathBuf,
    /// Variables added to the environment.
    pub environment: Vec<(String, String)>,
    /// The options of the toolbox.
    pub options: Arc<Options>,
    /// When it is killed with all its descendants.
    pub timeout: Duration,
    /// How many bytes are kept of what it writes to stdout.
    pub output_limit: usize,
    /// How many bytes are kept of what it writes to stderr.
    pub errors_limit: usize,
    pub cancel: CancellationToken,
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipedOutcome {
    pub output: KeptOutput,
    pub errors: KeptOutput,
    pub ending: PipedEnding,
}

/// The beginning of an output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptOutput {
    pub text: String,
    /// Whether there was more.
    pub is_cut: bool,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PipedEnding {
    Exited { code: i32 },
    Signalled { signal: i32 },
    TimedOut,
    Cancelled,
}

/// Runs a command. Dropping the future kills it with all its descendants.
pub async fn run_piped(request: PipedCommand) -> Result<PipedOutcome, Error> {
    panics::catch(run(request)).await?
}

async fn run(request: PipedCommand) -> Result<PipedOutcome, Error> {
    let mut shell = Shell::start(Launch {
        command: request.command,
        working_directory: request.working_directory,
        environment: request.environment,
        options: request.options,
        has_prefix: false,
        pipes: Pipes::Separate { input: request.input },
        timeout: Some(request.timeout),
        cancel: request.cancel,
    })?;
    let (mut output, mut errors) = (KeptOutput::default(), KeptOutput::default());
    let ending = loop {
        match shell.next().await {
            Event::Output(text) => output.push(&text, request.output_limit),
            Event::Errors(text) => errors.push(&text, request.errors_limit),
            Event::Ended(ending) => break ending,
        }
    };
    let ending = match ending {
        Ending::Exited { code, .. } => PipedEnding::Exited { code },
        Ending::Signalled { signal } => PipedEnding::Signalled { signal },
        Ending::TimedOut => PipedEnding::TimedOut,
        Ending::Cancelled => PipedEnding::Cancelled,
    };
    Ok(PipedOutcome { output, errors, ending })
}

impl KeptOutput {
    fn push(&mut self, text: &str, limit: usize) {
        let end = text.floor_char_boundary(limit.saturating_sub(self.text.len()));
        // Once something was left out, a shorter piece must not follow it.
        if !self.is_cut {
            self.text.push_str(&text[..end]);
        }
        self.is_cut |= end < text.len();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::time::Instant;

    use tempfile::{TempDir, tempdir};

    use super::*;

    fn request(directory: &TempDir, command: &str) -> PipedCommand {
        PipedCommand {
            command: command.to_owned(),
            input: Arc::from(*b"{\"name\":\"world\"}"),
            working_directory: directory.path().to_owned(),
            environment: vec![("GREETING".to_owned(), "hello".to_owned())],
            options: Arc::new(Options {
                command_prefix: Some("echo prefix".to_owned()),
                ..Options::default()
            }),
            timeout: Duration::from_secs(60),
            output_limit: 100,
            errors_limit: 10,
            cancel: CancellationToken::new(),
        }
    }

    #[tokio::test]
    async fn input_is_read_and_outputs_are_kept_apart() {
        let directory = tempdir().unwrap();
        let command = "input=$(cat); echo \"$GREETING $input\"; echo no >&2; exit 2";
        let outcome = run_piped(request(&directory, command)).await.unwrap();
        assert_eq!(outcome.output.text, "hello {\"name\":\"world\"}\n");
        assert_eq!(outcome.errors.text, "no\n");
        assert_eq!(outcome.ending, PipedEnding::Exited { code: 2 });
    }

    #[tokio::test]
    async fn large_input_that_is_not_read_holds_nothing_up() {
        let directory = tempdir().unwrap();
        let request = PipedCommand { input: vec![b'x'; 10 << 20].into(), ..request(&directory, "echo done") };
        assert_eq!(run_piped(request).await.unwrap().output.text, "done\n");
    }

    #[tokio::test]
    async fn beginnings_of_long_outputs_are_kept_and_the_rest_is_read() {
        let directory = tempdir().unwrap();
        let command = "yes | head -c 3000000; yes ä | head -c 3000000 >&2";
        let outcome = run_piped(request(&directory, command)).await.unwrap();
        assert_eq!((outcome.output.text.len(), outcome.output.is_cut), (100, true));
        assert_eq!((outcome.errors.text.as_str(), outcome.errors.is_cut), ("ä\nä\nä\n", true));
        assert_eq!(outcome.ending, PipedEnding::Exited { code: 0 });
    }

    #[tokio::test]
    async fn command_is_killed_with_its_descendants_at_its_time_limit() {
        let directory = tempdir().unwrap();
        let command = "setsid sleep 300 & echo $!; sleep 300";
        let request = PipedCommand { timeout: Duration::from_millis(300), ..request(&directory, command) };
        let begin = Instant::now();
        let outcome = run_piped(request).await.unwrap();
        assert_eq!(outcome.ending, PipedEnding::TimedOut);
        assert!(begin.elapsed() < Duration::from_secs(20));
        let descendant = outcome.output.text.trim().to_owned();
        let status = std::fs::read_to_string(format!("/proc/{descendant}/stat")).unwrap_or_default();
        assert!(
            !cfg!(target_os = "linux")
                || status.is_empty()
                || status.contains(") Z")
                || status.contains(") X"),
            "{status}"
        );
    }
}
