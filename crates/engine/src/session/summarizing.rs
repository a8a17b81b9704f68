//! A summary from the request to what it is used for.

use std::sync::Arc;

use bowline_core::event::Event;
use bowline_core::model::Model;
use bowline_core::stream::StreamError;

use super::{Continuation, Session};
use crate::activity::{Summarizing, SummarySubject};
use crate::compaction::{Subject, Summarizer, Summary, SummaryStep};
use crate::pending::Awaited;

impl Session {
    /// Asks the model for a summary, and goes on with `then` when it has been used.
    pub(super) fn summarize(
        &mut self,
        model: Arc<Model>,
        request: Subject,
        max_tokens: u64,
        subject: SummarySubject,
        then: Continuation,
    ) {
        let providers = self.agent.providers().clone();
        // The limit of the model that a virtual one chooses is kept when it is known.
        let is_virtual = providers.is_virtual(&model);
        let max_tokens = if is_virtual { max_tokens } else { max_tokens.min(model.max_tokens) };
        let (thinking, retry) = (self.models.level(), self.retry_settings());
        let options = self.agent.settings().request_options;
        let session_id = self.transcript.session_id().to_owned();
        let clock = self.agent.clock().clone();
        let system = self.system_prompt();
        let id = self.pending.start(Awaited::Summary, |reporter| async move {
            // The size of the conversation afterwards includes it.
            system.text(&reporter).await;
            let summarizer = Summarizer {
                reporter,
                providers,
                max_tokens,
                model,
                thinking,
                options,
                session_id,
                retry,
                clock,
            };
            let result = summarizer.summarize(request).await;
            summarizer.report(SummaryStep::Done(Box::new(result))).await;
        });
        self.activity.start_summarizing(Summarizing { id, subject, then, is_retrying: false });
    }

    /// Handles a step of the summary.
    pub(super) fn summary_step(&mut self, step: SummaryStep) {
        let max_attempts = self.agent.settings().retry.max_retries;
        let Some(summarizing) = self.activity.summarizing_mut() else { return };
        match step {
            SummaryStep::RetryScheduled { attempt, delay, error } => {
                summarizing.is_retrying = true;
                self.emit(Event::SummaryRetryScheduled { attempt, max_attempts, delay, error });
            }
            SummaryStep::RetryStart => {
                let purpose = summarizing.subject.purpose();
                self.emit(Event::SummaryRetryStart(purpose));
            }
            SummaryStep::RetryEnd => {
                summarizing.is_retrying = false;
                self.emit(Event::SummaryRetryEnd);
            }
            SummaryStep::Done(result) => self.summarized(*result),
        }
    }

    /// Uses a summary, or reports why there is none.
    pub(super) fn summarized(&mut self, result: Result<Summary, StreamError>) {
        let Some((subject, then)) = self.end_summary() else { return };
        match subject {
            SummarySubject::Compaction { reason, plan } => {
                self.compaction_summarized(reason, *plan, result, then);
            }
            SummarySubject::Branch { navigation } => self.branch_summarized(&navigation, result, then),
        }
    }

    /// Stops the summary in progress. What waited for it is given up.
    pub(super) fn abort_summary(&mut self) {
        let Some((subject, then)) = self.end_summary() else { return };
        match subject {
            SummarySubject::Compaction { reason, .. } => self.compaction_aborted(reason, then),
            SummarySubject::Branch { .. } => self.abandon(then, "Navigation"),
        }
    }

    /// Ends the task of the summary and returns what it was for.
    fn end_summary(&mut self) -> Option<(SummarySubject, Continuation)> {
        let Summarizing { id, subject, then, is_retrying } = self.activity.take_summarizing()?;
        self.pending.remove(id);
        if is_retrying {
            self.emit(Event::SummaryRetryEnd);
        }
        Some((subject, then))
    }
}
