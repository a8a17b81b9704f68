//! A summary that was asked for, from the request to what comes of it.

use std::time::Duration;

use bowline_core::event::{Event, SummaryPurpose};
use bowline_core::stream::StreamError;

use super::summary::{Subject, Summarizer, Summary};
use crate::engine::Engine;
use crate::task::Task;

/// A summary that is waited for.
#[derive(Debug)]
pub(crate) struct Summarizing {
    number: u64,
    /// Whether clients were told of a retry and not yet that it is over.
    is_retrying: bool,
    /// Dropping it ends the request.
    _task: Task,
}

/// What the task that asks for a summary has to tell.
#[derive(Debug)]
pub enum SummaryStep {
    /// A request failed and is made again after a wait.
    RetryScheduled {
        attempt: u32,
        delay: Duration,
        error: String,
    },
    /// It is made again.
    RetryStart,
    /// It succeeded in the end, or is given up.
    RetryEnd,
    Done(Box<Result<Summary, StreamError>>),
}

impl Engine {
    /// Asks the model for a summary in a task of its own.
    pub(crate) fn summarize(&mut self, subject: Subject, max_tokens: u64) -> Summarizing {
        let number = self.next_number();
        let inputs = self.inputs.clone();
        let summarizer = self.model.clone().map(|model| Summarizer {
            number,
            inputs,
            providers: self.providers.clone(),
            max_tokens: max_tokens.min(model.max_tokens),
            model,
            thinking: self.thinking_level,
            session_id: self.session.id().to_owned(),
            retry: self.settings.retry.clone(),
            clock: self.clock.clone(),
        });
        let task = Task::spawn(async move {
            let Some(summarizer) = summarizer else { return };
            let result = summarizer.summarize(subject).await;
            summarizer.tell(SummaryStep::Done(Box::new(result))).await;
        });
        Summarizing { number, is_retrying: false, _task: task }
    }

    /// Takes in a step of a summary, unless it is no longer waited for.
    pub(crate) fn summary_step(&mut self, number: u64, step: SummaryStep) {
        let max_attempts = self.settings.retry.max_retries;
        let Some((summarizing, purpose)) = self.summarizing(number) else { return };
        match step {
            SummaryStep::RetryScheduled { attempt, delay, error } => {
                summarizing.is_retrying = true;
                self.emit(Event::SummaryRetryScheduled { attempt, max_attempts, delay, error });
            }
            SummaryStep::RetryStart => self.emit(Event::SummaryRetryStart(purpose)),
            SummaryStep::RetryEnd => {
                summarizing.is_retrying = false;
                self.emit(Event::SummaryRetryEnd);
            }
            SummaryStep::Done(result) => match purpose {
                SummaryPurpose::Compaction(_) => self.compaction_summary_came(*result),
                SummaryPurpose::Branch => self.branch_summary_came(*result),
            },
        }
    }

    /// Returns the summary with this number and what it is for, if it is waited for.
    fn summarizing(&mut self, number: u64) -> Option<(&mut Summarizing, SummaryPurpose)> {
        let compacting = self.compacting.as_mut();
        let compaction = compacting.map(|it| (&mut it.summarizing, SummaryPurpose::Compaction(it.reason)));
        let navigating = self.navigating.as_mut();
        let branch = navigating.map(|it| (&mut it.summarizing, SummaryPurpose::Branch));
        compaction.into_iter().chain(branch).find(|(summarizing, _)| summarizing.number == number)
    }

    /// Stops asking for a summary.
    pub(crate) fn abort_summary(&mut self, summarizing: &Summarizing) {
        if summarizing.is_retrying {
            self.emit(Event::SummaryRetryEnd);
        }
    }
}
