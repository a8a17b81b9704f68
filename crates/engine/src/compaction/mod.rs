//! Making room in the model's window: a summary takes the place of all but the newest messages.
//!
//! It happens when the user asks for it, when the window is nearly full (before a prompt, between turns, after a run)
//! and when the conversation is too long for the model ([`overflow`]). In each case what is to happen afterwards is kept as a
//! [`Then`]; nothing else of the run goes on meanwhile, and an abort ends it at once.

mod overflow;
mod plan;
mod summarizing;
mod summary;

use std::sync::Arc;

use bowline_core::command::{Draft, Origin};
use bowline_core::event::{
    CompactionOutcome, CompactionReason, CompactionResult, EntryName, Event, RunOutcome,
};
use bowline_core::policy::CompactionAnswer;
use bowline_core::reply::{Answer, Refusal, RefusalCode};
use bowline_core::stream::StreamError;
use bowline_session::{EntryBody, EntryId};
use serde_json::json;

use crate::conversation::Conversation;
use crate::engine::Engine;
use crate::estimate::{estimated_tokens, reported_tokens, text_tokens};
use crate::run::Phase;
use overflow::{CUT_OFF_AGAIN, CutOff};
use plan::{Nothing, Plan};
pub(crate) use summarizing::Summarizing;
pub use summarizing::SummaryStep;
pub(crate) use summary::Subject;
pub use summary::Summary;

/// A compaction that is under way.
#[derive(Debug)]
pub(crate) struct Compacting {
    summarizing: Summarizing,
    reason: CompactionReason,
    plan: Plan,
    then: Then,
}

/// Why a compaction at the threshold came to nothing. It is said once in a run, and not tried again at every turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Futile {
    NothingToCut,
    Failed,
}

/// How things go on after a compaction.
#[derive(Debug)]
pub(crate) enum Then {
    /// The command that asked for it is answered.
    Reply(Origin),
    /// Nothing waits for it.
    Nothing,
    /// The prompt that had to wait for it is admitted.
    Prompt { origin: Origin, message: Draft },
    /// The run takes its next turn.
    NextTurn { called_tools: bool },
    /// The model is asked again. If it cannot be, the run ends as `otherwise` says, with the answer that was cut off.
    CallAgain { otherwise: RunOutcome, cut_off: Option<CutOff> },
    /// The run is over.
    Settle(RunOutcome),
}

impl Engine {
    pub(crate) fn is_compacting(&self) -> bool {
        self.compacting.is_some()
    }

    /// Compacts because the user asks for it. A run was stopped before.
    pub(crate) fn compact(&mut self, origin: Origin, instructions: Option<String>) {
        if let Err(refusal) = self.check_model() {
            return self.reply(origin, Err(refusal));
        }
        let then = match self.policy.compaction_answer {
            CompactionAnswer::WhenDone => Then::Reply(origin),
            CompactionAnswer::WhenStarted => {
                self.reply(origin, Ok(Answer::Done));
                Then::Nothing
            }
        };
        self.start_compaction(CompactionReason::Manual, instructions, then);
    }

    /// Compacts if the window is nearly full, and returns whether it does. If it does not, `then` is given back.
    pub(crate) fn compact_if_full(&mut self, then: Then) -> Result<(), Then> {
        let Some(model) = &self.model else { return Err(then) };
        let settings = self.settings.compaction.for_model(&model.full_name());
        let limit = model.context_window.saturating_sub(settings.reserve_tokens);
        let tokens = self.context_tokens();
        let is_worth_it = self.settings.auto_compaction && !self.conversation.ends_with_compaction;
        if !is_worth_it || tokens <= limit || self.is_futile(settings.keep_recent_tokens) {
            return Err(then);
        }
        self.start_compaction(CompactionReason::Threshold, None, then);
        Ok(())
    }

    /// Tells whether another try at the threshold would come to nothing too.
    fn is_futile(&self, keep_recent: u64) -> bool {
        match self.futile_compaction {
            None => false,
            Some(Futile::Failed) => true,
            Some(Futile::NothingToCut) => Plan::new(&self.conversation, keep_recent).is_err(),
        }
    }

    /// Returns how much of the window is in use: what the model reported, or an estimate before it has.
    fn context_tokens(&self) -> u64 {
        reported_tokens(self.conversation.fresh())
            .unwrap_or_else(|| estimated_tokens(self.conversation.messages()))
    }

    pub(crate) fn start_compaction(
        &mut self,
        reason: CompactionReason,
        instructions: Option<String>,
        then: Then,
    ) {
        let Some(model) = self.model.clone() else { return };
        self.emit(Event::CompactionStart { reason });
        let settings = self.settings.compaction.for_model(&model.full_name());
        let plan = match Plan::new(&self.conversation, settings.keep_recent_tokens) {
            Ok(plan) => plan,
            Err(nothing) => return self.nothing_to_compact(reason, nothing, then),
        };
        let subject = Subject::Compaction {
            history: plan.history.clone(),
            turn_prefix: plan.turn_prefix.clone(),
            previous_summary: plan.previous_summary.clone(),
            instructions,
            files: plan.files.clone(),
        };
        let summarizing = self.summarize(subject, settings.reserve_tokens * 4 / 5);
        self.set_phase(Phase::Compacting);
        self.compacting = Some(Compacting { summarizing, reason, plan, then });
    }

    /// Takes in the summary of a compaction.
    fn compaction_summary_came(&mut self, result: Result<Summary, StreamError>) {
        let Some(Compacting { reason, plan, then, .. }) = self.compacting.take() else { return };
        self.set_phase(Phase::Deciding);
        let outcome = result
            .map_err(|error| {
                let text = format!("Summarization failed: {}", error.message);
                Refusal::new(RefusalCode::ModelFailed, text)
            })
            .and_then(|summary| self.apply_summary(plan, summary));
        let is_futile = outcome.is_err() && reason == CompactionReason::Threshold;
        self.futile_compaction = is_futile.then_some(Futile::Failed);
        self.end_compaction(reason, outcome, then);
    }

    /// Writes the summary down and takes the conversation from the file again, as anyone would who opens it.
    fn apply_summary(&mut self, plan: Plan, summary: Summary) -> Result<Arc<CompactionResult>, Refusal> {
        let entry = self.append(EntryBody::Compaction {
            summary: summary.text.clone(),
            first_kept: Some(EntryId::from(&*plan.first_kept)),
            tokens_before: plan.tokens_before,
            details: Some(json!({ "readFiles": plan.files.read, "modifiedFiles": plan.files.modified })),
            usage: Some(summary.usage),
            from_hook: false,
        })?;
        self.reload_conversation()?;
        let system = text_tokens(&self.system_prompt());
        Ok(Arc::new(CompactionResult {
            summary: summary.text,
            first_kept_entry: plan.first_kept,
            entry,
            tokens_before: plan.tokens_before,
            estimated_tokens_after: system + estimated_tokens(self.conversation.messages()),
            usage: summary.usage,
            files: plan.files,
        }))
    }

    /// Builds the conversation anew from the session.
    pub(crate) fn reload_conversation(&mut self) -> Result<(), Refusal> {
        let context = self
            .session
            .context()
            .map_err(|error| Refusal::new(RefusalCode::SessionUnavailable, error.to_string()))?;
        self.conversation = Conversation::new(context);
        Ok(())
    }

    /// Says that there is nothing to compact, where silence would leave a client guessing.
    fn nothing_to_compact(&mut self, reason: CompactionReason, nothing: Nothing, then: Then) {
        let text = match nothing {
            Nothing::AlreadyCompacted => "Already compacted",
            Nothing::TooSmall => "Nothing to compact (session too small)",
        };
        let is_futile = reason == CompactionReason::Threshold;
        self.futile_compaction = is_futile.then_some(Futile::NothingToCut);
        self.end_compaction(reason, Err(Refusal::new(RefusalCode::NothingToDo, text)), then);
    }

    /// Announces the outcome and lets things go on.
    fn end_compaction(
        &mut self,
        reason: CompactionReason,
        outcome: Result<Arc<CompactionResult>, Refusal>,
        then: Then,
    ) {
        let will_retry = matches!(then, Then::CallAgain { .. }) && outcome.is_ok();
        let announced = match &outcome {
            Ok(result) => CompactionOutcome::Done(Arc::clone(result)),
            Err(refusal) => CompactionOutcome::Failed(worded(reason, &refusal.message)),
        };
        self.emit(Event::CompactionEnd { reason, outcome: announced, will_retry });
        match then {
            Then::Reply(origin) => self.reply(origin, outcome.map(Answer::Compacted)),
            Then::Nothing => {}
            Then::Prompt { origin, message } => self.admit(origin, message),
            Then::NextTurn { called_tools } => self.next_turn(called_tools),
            Then::Settle(run_outcome) => self.settle(run_outcome),
            Then::CallAgain { otherwise, cut_off } if outcome.is_err() => {
                self.restore(cut_off);
                self.settle(otherwise);
            }
            Then::CallAgain { .. } => {
                self.emit(Event::RunStart);
                self.emit(Event::TurnStart);
                self.call_model();
            }
        }
    }

    /// Stops a compaction. What waited for it is over too.
    pub(crate) fn abort_compaction(&mut self) {
        let Some(Compacting { summarizing, reason, then, .. }) = self.compacting.take() else { return };
        self.set_phase(Phase::Deciding);
        self.abort_summary(&summarizing);
        self.emit(Event::CompactionEnd { reason, outcome: CompactionOutcome::Aborted, will_retry: false });
        let cancelled = || Err(Refusal::new(RefusalCode::Cancelled, "Compaction cancelled"));
        match then {
            Then::Reply(origin) | Then::Prompt { origin, .. } => self.reply(origin, cancelled()),
            Then::Nothing => {}
            Then::NextTurn { .. } => self.end_run(RunOutcome::Aborted),
            Then::CallAgain { cut_off, .. } => {
                self.restore(cut_off);
                self.settle(RunOutcome::Aborted);
            }
            Then::Settle(_) => self.settle(RunOutcome::Aborted),
        }
    }

    /// Returns the entry that a summary of a branch was written to.
    pub(crate) fn append_branch_summary(
        &mut self,
        from: Option<EntryId>,
        summary: Summary,
    ) -> Result<EntryName, Refusal> {
        self.append(EntryBody::BranchSummary {
            from,
            summary: summary.text,
            details: None,
            usage: Some(summary.usage),
            from_hook: false,
        })
    }
}

/// Words a failure as clients know it, by what the compaction was for.
fn worded(reason: CompactionReason, text: &str) -> String {
    let lead = match reason {
        CompactionReason::Manual => "Compaction failed",
        CompactionReason::Threshold => "Auto-compaction failed",
        CompactionReason::Overflow => "Context overflow recovery failed",
    };
    if text.starts_with(lead) || text == CUT_OFF_AGAIN { text.to_owned() } else { format!("{lead}: {text}") }
}
