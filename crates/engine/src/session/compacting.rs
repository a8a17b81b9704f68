//! Making room in the model's window: a summary replaces all but the newest messages.
//!
//! It happens when the user asks for it, when the window is nearly full (before a prompt, between turns, after a run)
//! and when the conversation is too long for the model ([`super::overflow`]).

use std::sync::Arc;

use bowline_core::command::Origin;
use bowline_core::event::{CompactionOutcome, CompactionReason, CompactionResult, Event};
use bowline_core::model::Model;
use bowline_core::policy::CompactionAnswer;
use bowline_core::reply::{Answer, Refusal, RefusalCode};
use bowline_core::stream::StreamError;
use bowline_session::{EntryBody, EntryId};
use serde_json::{Value, json};

use super::overflow::TRUNCATED_AGAIN;
use super::{Continuation, Session};
use crate::activity::SummarySubject;
use crate::compaction::{Nothing, Plan, Subject, Summary};
use crate::estimate::{estimated_tokens, reported_tokens, text_tokens};
use crate::instructions::Prompt;
use crate::run::Run;
use crate::settings::CompactionLimits;

/// Why compaction at the threshold failed. It is reported once in a run, and not tried again at every turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Futile {
    NothingToSummarize,
    Failed,
}

impl Session {
    /// Compacts because the user asks for it. A run was stopped before.
    pub(super) fn compact(&mut self, origin: Origin, instructions: Option<String>) {
        if let Err(refusal) = self.check_model().and_then(|()| self.check_budget()) {
            return self.reply(origin, Err(refusal));
        }
        let then = match self.agent.policy().compaction_answer {
            CompactionAnswer::WhenDone => Continuation::Reply(origin),
            CompactionAnswer::WhenStarted => {
                self.reply(origin, Ok(Answer::Done));
                Continuation::Nothing
            }
        };
        self.start_compaction(CompactionReason::Manual, instructions, then);
    }

    /// Compacts if the window is nearly full, and then goes on; else goes on at once.
    pub(super) fn compact_if_full(&mut self, then: Continuation) {
        if self.is_worth_compacting() {
            self.start_compaction(CompactionReason::Threshold, None, then);
        } else {
            self.proceed(then, Ok(Answer::Done));
        }
    }

    fn is_worth_compacting(&self) -> bool {
        self.limiting_model().is_some_and(|model| self.is_worth_compacting_for(&model))
    }

    /// Tells whether the conversation is too long for a model and could be made shorter.
    pub(super) fn is_worth_compacting_for(&self, model: &Model) -> bool {
        // The settings are those of the chosen model.
        let limits = self.compaction_limits(self.active_model().map_or(model, |active| active));
        let limit = model.context_window.saturating_sub(limits.reserve_tokens);
        // A virtual model may not say how much it takes.
        model.context_window > 0
            && self.switches.auto_compaction
            && !self.transcript.conversation().ends_with_compaction()
            && self.context_tokens() > limit
            && self.budget.refuse_model().is_none()
            && !self.is_futile(limits.keep_recent_tokens)
    }

    /// Tells whether compaction at the threshold would fail again.
    fn is_futile(&self, keep_recent: u64) -> bool {
        match self.futile_compaction {
            None => false,
            Some(Futile::Failed) => true,
            Some(Futile::NothingToSummarize) => {
                Plan::new(self.transcript.conversation(), keep_recent).is_err()
            }
        }
    }

    /// Returns how much of the window is in use: what the model reported, or an estimate before it has.
    fn context_tokens(&self) -> u64 {
        reported_tokens(self.transcript.conversation().fresh())
            .unwrap_or_else(|| estimated_tokens(self.transcript.messages()))
    }

    /// Returns the model that the next call goes to.
    pub(super) fn active_model(&self) -> Option<&Arc<Model>> {
        self.models.current().or_else(|| self.run().map(Run::model))
    }

    pub(super) fn compaction_limits(&self, model: &Model) -> CompactionLimits {
        self.agent.settings().compaction.for_model(&model.full_name())
    }

    pub(super) fn start_compaction(
        &mut self,
        reason: CompactionReason,
        instructions: Option<String>,
        then: Continuation,
    ) {
        self.emit(Event::CompactionStart { reason });
        let Some(model) = self.active_model().cloned() else {
            let refusal = Refusal::new(RefusalCode::NoModel, "No model selected");
            return self.end_compaction(reason, Err(refusal), then);
        };
        let limits = self.compaction_limits(&model);
        let plan = match Plan::new(self.transcript.conversation(), limits.keep_recent_tokens) {
            Ok(plan) => plan,
            Err(nothing) => return self.nothing_to_compact(reason, nothing, then),
        };
        self.hook_compaction(reason, plan, instructions, then);
    }

    /// Asks the model for the summary of a compaction.
    pub(super) fn summarize_plan(
        &mut self,
        reason: CompactionReason,
        plan: Plan,
        instructions: Option<String>,
        then: Continuation,
    ) {
        let Some(model) = self.active_model().cloned() else {
            let refusal = Refusal::new(RefusalCode::NoModel, "No model selected");
            return self.end_compaction(reason, Err(refusal), then);
        };
        let limits = self.compaction_limits(&model);
        let subject = Subject::Compaction {
            history: plan.history.clone(),
            turn_prefix: plan.turn_prefix.clone(),
            previous_summary: plan.previous_summary.clone(),
            instructions,
            files: plan.files.clone(),
        };
        let max_tokens = limits.reserve_tokens * 4 / 5;
        self.summarize(
            model,
            subject,
            max_tokens,
            SummarySubject::Compaction { reason, plan: Box::new(plan) },
            then,
        );
    }

    /// Goes on with the summary of a compaction.
    pub(super) fn compaction_summarized(
        &mut self,
        reason: CompactionReason,
        plan: Plan,
        result: Result<Summary, StreamError>,
        then: Continuation,
    ) {
        let outcome = result
            .map_err(summarization_failed)
            .and_then(|summary| self.apply_summary(plan, summary, None, false));
        let is_futile = outcome.is_err() && reason == CompactionReason::Threshold;
        self.futile_compaction = is_futile.then_some(Futile::Failed);
        self.end_compaction(reason, outcome, then);
    }

    /// Writes the summary and rebuilds the conversation from the file, as anyone would who opens it.
    pub(super) fn apply_summary(
        &mut self,
        plan: Plan,
        summary: Summary,
        details: Option<Value>,
        from_extension: bool,
    ) -> Result<Arc<CompactionResult>, Refusal> {
        let files = || json!({ "readFiles": plan.files.read, "modifiedFiles": plan.files.modified });
        let entry = self.transcript.append(EntryBody::Compaction {
            summary: summary.text.clone(),
            first_kept: Some(EntryId::from(&*plan.first_kept)),
            tokens_before: plan.tokens_before,
            details: Some(details.unwrap_or_else(files)),
            usage: Some(summary.usage),
            from_hook: from_extension,
        })?;
        self.transcript.reload()?;
        let system = match self.system_prompt() {
            Prompt::Built(prompt) => text_tokens(&prompt.text),
            Prompt::Unbuilt(_) => 0,
        };
        Ok(Arc::new(CompactionResult {
            summary: summary.text,
            first_kept_entry: plan.first_kept,
            entry,
            tokens_before: plan.tokens_before,
            estimated_tokens_after: system + estimated_tokens(self.transcript.messages()),
            usage: summary.usage,
            files: plan.files,
            from_extension,
        }))
    }

    /// Reports that there is nothing to compact.
    fn nothing_to_compact(&mut self, reason: CompactionReason, nothing: Nothing, then: Continuation) {
        let text = match nothing {
            Nothing::AlreadyCompacted => "Already compacted",
            Nothing::TooSmall => "Nothing to compact (session too small)",
        };
        let is_futile = reason == CompactionReason::Threshold;
        self.futile_compaction = is_futile.then_some(Futile::NothingToSummarize);
        self.end_compaction(reason, Err(Refusal::new(RefusalCode::NothingToDo, text)), then);
    }

    /// Announces the outcome and goes on.
    pub(super) fn end_compaction(
        &mut self,
        reason: CompactionReason,
        outcome: Result<Arc<CompactionResult>, Refusal>,
        then: Continuation,
    ) {
        let will_retry = matches!(then, Continuation::CallAgain { .. }) && outcome.is_ok();
        let announced = match &outcome {
            Ok(result) => CompactionOutcome::Done(Arc::clone(result)),
            Err(refusal) => CompactionOutcome::Failed(worded(reason, &refusal.message)),
        };
        self.show_compaction(reason, &outcome, will_retry);
        self.emit(Event::CompactionEnd { reason, outcome: announced, will_retry });
        self.proceed(then, outcome.map(Answer::Compacted));
    }

    /// Announces that a compaction was aborted, and gives up what waited for it.
    pub(super) fn compaction_aborted(&mut self, reason: CompactionReason, then: Continuation) {
        self.show_failed_compaction(reason, None, true);
        self.emit(Event::CompactionEnd { reason, outcome: CompactionOutcome::Aborted, will_retry: false });
        self.abandon(then, "Compaction");
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the signature that map_err wants")]
pub(super) fn summarization_failed(error: StreamError) -> Refusal {
    Refusal::new(RefusalCode::ModelFailed, format!("Summarization failed: {}", error.message))
}

/// Returns the text of a failure as clients know it, by what the compaction was for.
fn worded(reason: CompactionReason, text: &str) -> String {
    let lead = match reason {
        CompactionReason::Manual => "Compaction failed",
        CompactionReason::Threshold => "Auto-compaction failed",
        CompactionReason::Overflow => "Context overflow recovery failed",
    };
    if text.starts_with(lead) || text == TRUNCATED_AGAIN {
        text.to_owned()
    } else {
        format!("{lead}: {text}")
    }
}
