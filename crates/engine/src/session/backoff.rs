//! Retrying a failed call of the model: the wait before it, and its end.

use std::sync::Arc;

use bowline_core::command::Origin;
use bowline_core::event::{Event, RunOutcome};
use bowline_core::message::Message;
use bowline_core::reply::Answer;
use bowline_core::stream::{FailureKind, StreamError};

use super::Session;
use crate::input::Step;
use crate::pending::{Awaited, PendingId};
use crate::run::{AfterAttempt, Phase, Run};

/// What clients read when a retry was cancelled.
const RETRY_CANCELLED: &str = "Retry cancelled";

impl Session {
    /// Ends a turn in which the model failed. The call is retried, or the run ends.
    pub(super) fn turn_failed(&mut self, message: &Arc<Message>, error: &StreamError) {
        self.emit(Event::TurnEnd { message: Arc::clone(message), tool_results: Vec::new() });
        if let Some(run) = self.run_mut() {
            run.set_failed_answer(Some(Arc::clone(message)));
        }
        let overflowed = error.kind == FailureKind::ContextOverflow;
        if overflowed && self.switches.auto_compaction && !self.has_storage_failed() {
            return self.compact_for_overflow(error.into());
        }
        let settings = self.retry_settings();
        let chance = self.agent.clock().chance();
        let Some(run) = self.run_mut() else { return };
        let attempt = run.retries() + 1;
        let is_stored = run.storage_failure().is_none();
        let delay = settings.delay(error, attempt, chance);
        let Some(delay) = delay.filter(|_| is_stored) else {
            return self.end_run(RunOutcome::Failed(error.into()));
        };
        run.set_retries(attempt);
        self.end_attempt(AfterAttempt::Retry);
        let max_attempts = settings.max_retries;
        self.emit(Event::RetryStart { attempt, max_attempts, delay, error: error.message.clone() });
        self.forget_failed_answer();
        self.record_held_commands();
        let id = self.pending.start(Awaited::Backoff, |reporter| async move {
            tokio::time::sleep(delay).await;
            reporter.send(Step::BackoffOver).await;
        });
        self.set_phase(Phase::Backoff(id));
    }

    /// Calls the model again after the wait.
    pub(super) fn backoff_over(&mut self, id: PendingId) {
        self.pending.remove(id);
        self.set_phase(Phase::Deciding);
        self.start_attempt();
    }

    /// Cancels a retry that waits for its time, which ends the run.
    pub(super) fn abort_retry(&mut self, origin: Origin) {
        let Some(&Phase::Backoff(id)) = self.run().map(Run::phase) else {
            return self.reply(origin, Ok(Answer::Done));
        };
        self.pending.remove(id);
        self.set_phase(Phase::Deciding);
        self.cancel_retries();
        self.reply(origin, Ok(Answer::Done));
        self.settle(RunOutcome::Aborted);
    }

    /// Ends a series of retries that was interrupted, if one is open.
    pub(super) fn cancel_retries(&mut self) {
        self.end_retries(RETRY_CANCELLED);
    }

    /// Ends a series of retries that did not succeed, if one is open.
    pub(super) fn end_retries(&mut self, error: &str) {
        let attempt = self.run_mut().map_or(0, Run::take_retries);
        if attempt > 0 {
            self.emit(Event::RetryEnd { success: false, attempt, final_error: Some(error.to_owned()) });
        }
    }

    pub(super) fn set_phase(&mut self, phase: Phase) {
        if let Some(run) = self.run_mut() {
            run.set_phase(phase);
        }
    }
}
