//! A conversation that has become too long for the model is compacted and the model called again, once for each
//! message of the user.
//!
//! Some providers refuse such a conversation. Others answer as far as the window goes, so that the answer is truncated
//! although it has not reached the model's own limit.

use bowline_core::event::{CompactionReason, Event, Failure, RunOutcome};
use bowline_core::message::{Message, StopReason};
use bowline_core::policy::TruncatedAnswers;
use bowline_core::reply::{Refusal, RefusalCode};
use bowline_session::{EntryBody, EntryId};
use serde_json::json;

use super::{Continuation, Session};
use crate::compaction::Plan;
use crate::run::{AfterAttempt, Run};
use crate::transcript::RemovedAnswer;

/// What clients read when compaction did not help.
const REFUSED_AGAIN: &str = "Context overflow recovery failed after one compact-and-retry attempt. Try reducing context or switching to a larger-context model.";
pub(super) const TRUNCATED_AGAIN: &str =
    "Truncated response recovery failed after one compact-and-retry attempt.";

impl Session {
    /// Compacts because the provider refused the conversation.
    pub(super) fn compact_for_overflow(&mut self, failure: Failure) {
        let Some(run) = self.run_mut() else { return };
        let is_second_time = run.handle_overflow();
        self.end_attempt(if is_second_time { AfterAttempt::RunEnd } else { AfterAttempt::Retry });
        let then = Continuation::CallAgain { otherwise: RunOutcome::Failed(failure), removed: None };
        if is_second_time {
            return self.fail_recovery(REFUSED_AGAIN, then);
        }
        self.forget_failed_answer();
        self.start_compaction(CompactionReason::Overflow, None, then);
    }

    /// Tells whether an answer ended at a limit that is not the model's own.
    pub(super) fn was_truncated_by_window(&self, message: &Message) -> bool {
        let (Some(answer), Some(model)) = (message.as_assistant(), self.run().map(Run::model)) else {
            return false;
        };
        // Without token counts nothing is known of the limit.
        let is_counted = answer.usage.total_tokens > 0;
        // A change of model has taken its own decision about the window.
        let is_current = self.models.current().is_some_and(|current| {
            let is_same = current.provider == model.provider && current.id == model.id;
            is_same || self.agent.providers().is_virtual(current)
        });
        self.agent.policy().truncated_answers == TruncatedAnswers::Retried
            && self.switches.auto_compaction
            && is_current
            && is_counted
            && answer.stop_reason == StopReason::Length
            && answer.usage.output < model.max_tokens
    }

    /// Tells whether a truncated answer is asked for again, or was and is truncated again. Where nothing can be
    /// summarised, its length is not the reason, and the answer stands.
    pub(super) fn can_recover_from_truncation(&mut self) -> bool {
        let Some(run) = self.run() else { return false };
        if run.is_overflow_handled() {
            return true;
        }
        let Some(limits) = self.active_model().map(|model| self.compaction_limits(model)) else {
            return false;
        };
        let can_plan = |conversation: &_| Plan::new(conversation, limits.keep_recent_tokens).is_ok();
        self.transcript.without_answer(can_plan).unwrap_or(false)
    }

    /// Compacts because the last answer was truncated, and calls the model again.
    pub(super) fn recover_from_truncation(&mut self) {
        let Some(run) = self.run_mut() else { return };
        if run.is_overflow_handled() {
            self.end_attempt(AfterAttempt::RunEnd);
            let then = Continuation::CallAgain { otherwise: RunOutcome::Done, removed: None };
            return self.fail_recovery(TRUNCATED_AGAIN, then);
        }
        let removed = match self.transcript.remove_answer() {
            Some(Ok(removed)) => removed,
            Some(Err(refusal)) => {
                self.storage_failed(refusal);
                self.emit(Event::TurnStart);
                return self.fail_for_storage();
            }
            None => return self.end_run(RunOutcome::Done),
        };
        if let Some(run) = self.run_mut() {
            run.handle_overflow();
        }
        self.end_attempt(AfterAttempt::Retry);
        self.announce_entry(&removed.edit);
        let then = Continuation::CallAgain { otherwise: RunOutcome::Done, removed: Some(removed) };
        self.start_compaction(CompactionReason::Overflow, None, then);
    }

    /// Reports that compaction did not help.
    fn fail_recovery(&mut self, text: &str, then: Continuation) {
        let reason = CompactionReason::Overflow;
        self.emit(Event::CompactionStart { reason });
        self.end_compaction(reason, Err(Refusal::new(RefusalCode::ModelFailed, text)), then);
    }

    /// Puts an answer back, because the model is not called again: a truncated answer is better than none.
    pub(super) fn restore_answer(&mut self, removed: Option<RemovedAnswer>) {
        let Some(RemovedAnswer { message, entry, .. }) = removed else { return };
        let Some(answer) = message.as_assistant() else { return };
        let replacement = Some(json!(answer.content));
        let edit = EntryBody::ContextEdit { target: EntryId::from(&*entry), replacement };
        // If it cannot be written, the conversation is what the file says: without the answer.
        if let Ok(edit) = self.transcript.append(edit)
            && self.transcript.reload().is_ok()
        {
            self.announce_entry(&edit);
        }
    }
}
