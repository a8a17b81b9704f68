//! A conversation that has become too long for the model: room is made and the model asked again, once for each message
//! of the user.
//!
//! Some providers refuse such a conversation. Others answer it as far as the window goes, so that the answer is cut off
//! although it has not come to the model's own limit.

use std::sync::Arc;

use bowline_core::event::{CompactionReason, EntryName, Event, RunOutcome};
use bowline_core::message::{Message, StopReason};
use bowline_core::policy::CutOffAnswers;
use bowline_core::reply::{Refusal, RefusalCode};
use bowline_session::{EntryBody, EntryId};
use serde_json::json;

use super::Then;
use super::plan::Plan;
use crate::engine::Engine;

/// What clients read when there was not room enough after all.
const REFUSED_AGAIN: &str = "Context overflow recovery failed after one compact-and-retry attempt. Try reducing context or switching to a larger-context model.";
pub(super) const CUT_OFF_AGAIN: &str =
    "Truncated response recovery failed after one compact-and-retry attempt.";

/// An answer that was taken out of the conversation, so that the model is asked again.
#[derive(Debug)]
pub(crate) struct CutOff {
    message: Arc<Message>,
    entry: EntryName,
}

impl Engine {
    /// Makes room because the provider refused the conversation.
    pub(crate) fn compact_for_overflow(&mut self, error: String) {
        let Some(run) = &mut self.run else { return };
        let again = std::mem::replace(&mut run.overflow_handled, true);
        self.end_stretch(!again);
        let then = Then::CallAgain { otherwise: RunOutcome::Failed(error), cut_off: None };
        if again {
            return self.fail_again(REFUSED_AGAIN, then);
        }
        self.forget_failed_answer();
        self.start_compaction(CompactionReason::Overflow, None, then);
    }

    /// Tells whether an answer ended at a limit that is not the model's own.
    pub(crate) fn was_cut_off(&self, message: &Message) -> bool {
        let (Some(answer), Some(model)) = (message.as_assistant(), &self.model) else { return false };
        // What another model could not take says nothing of this one, nor do tokens that nobody counted.
        let is_from_this_model = answer.provider == model.provider && answer.model == model.id;
        let is_counted = answer.usage.total_tokens > 0;
        self.policy.cut_off_answers == CutOffAnswers::AskedAgain
            && self.settings.auto_compaction
            && is_from_this_model
            && is_counted
            && answer.stop_reason == StopReason::Length
            && answer.usage.output < model.max_tokens
    }

    /// Makes room because the last answer was cut off, and returns whether the run is taken care of. Where nothing can
    /// be left out of the conversation, it is not for its length, and the answer stands.
    pub(crate) fn compact_for_cut_off(&mut self) -> bool {
        let Some(run) = &self.run else { return false };
        if run.overflow_handled {
            self.end_stretch(false);
            self.fail_again(CUT_OFF_AGAIN, Then::CallAgain { otherwise: RunOutcome::Done, cut_off: None });
            return true;
        }
        let Some((message, entry)) = self.conversation.pop_answer() else { return false };
        if !self.has_something_to_cut() {
            self.conversation.push(message, entry);
            return false;
        }
        let edit = EntryBody::ContextEdit { target: EntryId::from(&*entry), replacement: None };
        let edit = match self.append(edit) {
            Ok(edit) => edit,
            Err(refusal) => {
                self.conversation.push(message, entry);
                self.storage_failed(refusal);
                self.emit(Event::TurnStart);
                self.fail_for_storage();
                return true;
            }
        };
        if let Some(run) = &mut self.run {
            run.overflow_handled = true;
        }
        self.end_stretch(true);
        self.announce_entry(&edit);
        let cut_off = Some(CutOff { message, entry });
        let then = Then::CallAgain { otherwise: RunOutcome::Done, cut_off };
        self.start_compaction(CompactionReason::Overflow, None, then);
        true
    }

    fn has_something_to_cut(&self) -> bool {
        let Some(model) = &self.model else { return false };
        let settings = self.settings.compaction.for_model(&model.full_name());
        Plan::new(&self.conversation, settings.keep_recent_tokens).is_ok()
    }

    /// Says that making room did not help.
    fn fail_again(&mut self, text: &str, then: Then) {
        let reason = CompactionReason::Overflow;
        self.emit(Event::CompactionStart { reason });
        self.end_compaction(reason, Err(Refusal::new(RefusalCode::ModelFailed, text)), then);
    }

    /// Puts an answer back, because the model is not asked again: half an answer is better than none.
    pub(super) fn restore(&mut self, cut_off: Option<CutOff>) {
        let Some(CutOff { message, entry }) = cut_off else { return };
        let Some(answer) = message.as_assistant() else { return };
        let replacement = Some(json!(answer.content));
        let edit = EntryBody::ContextEdit { target: EntryId::from(&*entry), replacement };
        // If it cannot be written, the conversation is what the file says: without the answer.
        if let Ok(edit) = self.append(edit)
            && self.reload_conversation().is_ok()
        {
            self.announce_entry(&edit);
        }
    }
}
