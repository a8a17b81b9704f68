//! Running a program to see whether it works: as commands run, outside of every project, and no longer than a few seconds.

use std::sync::Arc;
use std::time::Duration;

use bowline_tools::{PipedCommand, PipedEnding, run_piped};
use tokio_util::sync::CancellationToken;

use super::facts::Facts;

/// How long a program may take to say its version.
const LONGEST: Duration = Duration::from_secs(5);

/// How much of what it says is kept.
const KEPT: usize = 4096;

/// Runs a line in the shell of commands. Returns what it printed, or why it did not work.
pub(super) async fn run(facts: &Facts, line: String) -> Result<String, String> {
    let outcome = run_piped(PipedCommand {
        command: line,
        input: Arc::from([]),
        // A project, or others in a shared folder, could have a file that a program reads when it starts.
        working_directory: facts.own_folder(),
        environment: Vec::new(),
        options: Arc::clone(&facts.tools),
        timeout: LONGEST,
        output_limit: KEPT,
        errors_limit: KEPT,
        cancel: CancellationToken::new(),
    })
    .await
    .map_err(|error| error.to_string())?;
    match outcome.ending {
        PipedEnding::Exited { code: 0 } => Ok(outcome.output.text.trim().to_owned()),
        PipedEnding::Exited { code } => {
            let first = outcome.errors.text.lines().next().unwrap_or_default().to_owned();
            Err(format!("it exits with {code}: {first}"))
        }
        PipedEnding::Signalled { signal } => Err(format!("it was ended by signal {signal}")),
        PipedEnding::TimedOut => Err(format!("it did not answer within {} s", LONGEST.as_secs())),
        PipedEnding::Cancelled => Err("it was cancelled".to_owned()),
    }
}
