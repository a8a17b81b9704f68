//! Runs the commands of an event at the same time.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bowline_tools::{Options, PipedCommand, run_piped};
use futures_util::future::join_all;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::answer::Answer;
use super::config::HookCommand;
use super::event::{Ability, HookEventName};

/// How many bytes are kept of what a command writes to stdout.
const OUTPUT_LIMIT: usize = 1 << 20;

/// How many bytes are kept of what a command writes to stderr.
const ERRORS_LIMIT: usize = 64 << 10;

/// How many commands run that nobody waits for.
const MOST_IN_BACKGROUND: usize = 8;

/// What runs commands for a session.
#[derive(Debug)]
pub(super) struct Runner {
    pub options: Arc<Options>,
    /// Cancelled when the session is over.
    pub ended: CancellationToken,
    places: Arc<Semaphore>,
}

/// What commands are run for.
#[derive(Debug, Clone)]
pub(super) struct Occasion {
    pub directory: PathBuf,
    /// What they read.
    pub input: Map<String, Value>,
    /// None takes longer.
    pub limit: Duration,
}

/// A command and what it answered.
#[derive(Debug)]
pub(super) struct Answered {
    pub command: Arc<HookCommand>,
    pub answer: Answer,
}

impl Runner {
    pub fn new(options: Arc<Options>, ended: CancellationToken) -> Self {
        Self { options, ended, places: Arc::new(Semaphore::new(MOST_IN_BACKGROUND)) }
    }

    /// Runs commands and waits for all of them.
    pub async fn run(
        &self,
        event: HookEventName,
        commands: Vec<Arc<HookCommand>>,
        occasion: &Occasion,
        cancel: &CancellationToken,
    ) -> Vec<Answered> {
        // Line by line readers wait for the end of the line.
        let input: Arc<[u8]> =
            (serde_json::to_string(&occasion.input).unwrap_or_default() + "\n").into_bytes().into();
        let runs = commands.into_iter().map(|command| {
            let request = self.request(&command, Arc::clone(&input), occasion, cancel);
            async move {
                let mut answer = match run_piped(request).await {
                    Ok(outcome) => Answer::new(event, &outcome),
                    Err(error) => Answer::failed(format!("could not be run: {error}")),
                };
                if answer.is_failure() && command.blocks_on_failure && event.ability() == Ability::Decides {
                    answer.block(event);
                }
                Answered { command, answer }
            }
        });
        tokio::select! {
            answered = join_all(runs) => answered,
            () = self.ended.cancelled() => Vec::new(),
        }
    }

    /// Starts work that nobody waits for. Returns whether there was room for it.
    pub fn start(&self, work: impl Future<Output = ()> + Send + 'static) -> bool {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else { return false };
        let ended = self.ended.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = work => {}
                () = ended.cancelled() => {}
            }
            drop(place);
        });
        true
    }

    fn request(
        &self,
        command: &HookCommand,
        input: Arc<[u8]>,
        occasion: &Occasion,
        cancel: &CancellationToken,
    ) -> PipedCommand {
        let directory = occasion.directory.to_string_lossy().into_owned();
        PipedCommand {
            command: command.command.clone(),
            input,
            working_directory: occasion.directory.clone(),
            environment: vec![
                ("CLAUDE_PROJECT_DIR".to_owned(), directory.clone()),
                ("BOWLINE_PROJECT_DIR".to_owned(), directory),
            ],
            options: Arc::clone(&self.options),
            timeout: command.timeout.min(occasion.limit),
            output_limit: OUTPUT_LIMIT,
            errors_limit: ERRORS_LIMIT,
            cancel: cancel.clone(),
        }
    }
}
