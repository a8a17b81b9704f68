//! What extensions decide about compactions and moves to another entry: they can cancel them and write the summary.

use std::sync::Arc;

use bowline_core::command::SummaryInstructions;
use bowline_core::event::{CompactionOutcome, CompactionReason, CompactionResult, Event};
use bowline_core::hook::{
    CompactionPreparation, HookEvent, HookKind, HookResult, SummaryDraft, TreePreparation,
};
use bowline_core::reply::{Answer, CancelledChange, Refusal, RefusalCode};
use bowline_session::Navigation;

use super::compacting::Futile;
use super::hook_points::HookPoint;
use super::{Continuation, Session};
use crate::activity::{Summarizing, SummarySubject};
use crate::compaction::{Plan, Summary};
use crate::hook_chain::HookOutcome;

impl Session {
    /// Lets extensions decide about a compaction, and then makes it.
    pub(super) fn hook_compaction(
        &mut self,
        reason: CompactionReason,
        plan: Plan,
        instructions: Option<String>,
        then: Continuation,
    ) {
        if !self.is_hooked(HookKind::SessionBeforeCompact) {
            return self.summarize_plan(reason, plan, instructions, then);
        }
        let limits = self.active_model().map(|model| self.compaction_limits(model)).unwrap_or_default();
        let event = HookEvent::SessionBeforeCompact(Box::new(CompactionPreparation {
            first_kept: Arc::clone(&plan.first_kept),
            messages: plan.history.clone(),
            turn_prefix: plan.turn_prefix.clone(),
            tokens_before: plan.tokens_before,
            previous_summary: plan.previous_summary.clone(),
            files: plan.operations.clone(),
            reserve_tokens: limits.reserve_tokens,
            keep_recent_tokens: limits.keep_recent_tokens,
            instructions: instructions.clone(),
            reason,
            will_retry: matches!(then, Continuation::CallAgain { .. }),
        }));
        self.tell_extensions(&event);
        if !self.is_awaited(HookKind::SessionBeforeCompact, None) {
            return self.summarize_plan(reason, plan, instructions, then);
        }
        let id = self.call_extensions(event, HookPoint::Compaction { instructions });
        let subject = SummarySubject::Compaction { reason, plan: Box::new(plan) };
        self.activity.start_summarizing(Summarizing { id, subject, then, is_retrying: false });
    }

    /// Makes the compaction that extensions have decided about.
    pub(super) fn compaction_hooked(&mut self, instructions: Option<String>, outcome: HookOutcome) {
        let Some(Summarizing { subject, then, .. }) = self.activity.take_summarizing() else { return };
        let SummarySubject::Compaction { reason, plan } = subject else { return };
        if outcome.is_cancelled() {
            return self.compaction_cancelled(reason, then);
        }
        let draft = outcome.results.into_iter().rev().find_map(|result| match result {
            HookResult::Compaction(draft) => Some(draft),
            _ => None,
        });
        match draft {
            None => self.summarize_plan(reason, *plan, instructions, then),
            Some(draft) => {
                let result = self.apply_drafted_summary(*plan, draft);
                self.end_compaction(reason, result, then);
            }
        }
    }

    /// Goes on without the compaction, because an extension cancelled it.
    fn compaction_cancelled(&mut self, reason: CompactionReason, then: Continuation) {
        self.futile_compaction = (reason == CompactionReason::Threshold).then_some(Futile::Failed);
        self.emit(Event::CompactionEnd { reason, outcome: CompactionOutcome::Aborted, will_retry: false });
        self.show_failed_compaction(reason, None, true);
        self.proceed(then, Err(Refusal::new(RefusalCode::Cancelled, "Compaction cancelled")));
    }

    fn apply_drafted_summary(
        &mut self,
        mut plan: Plan,
        draft: SummaryDraft,
    ) -> Result<Arc<CompactionResult>, Refusal> {
        if let Some(first_kept) = draft.first_kept {
            if !self.transcript.file().has_entry(&first_kept) {
                let text = format!("Compaction failed: there is no entry {first_kept} to keep");
                return Err(Refusal::new(RefusalCode::InvalidArgument, text));
            }
            plan.first_kept = first_kept.into();
        }
        plan.tokens_before = draft.tokens_before.unwrap_or(plan.tokens_before);
        let summary = Summary { text: draft.summary, usage: draft.usage.unwrap_or_default() };
        self.apply_summary(plan, summary, draft.details, true)
    }

    /// Tells extensions how a compaction ended.
    pub(super) fn show_compaction(
        &mut self,
        reason: CompactionReason,
        outcome: &Result<Arc<CompactionResult>, Refusal>,
        will_retry: bool,
    ) {
        if self.extensions.is_empty() {
            return;
        }
        match outcome {
            Ok(result) => {
                if let Ok(entry) = self.transcript.file().written_entry(&result.entry) {
                    let (entry, from_extension) = (entry.get().into(), result.from_extension);
                    self.show_to_extensions(HookEvent::SessionCompact {
                        entry,
                        from_extension,
                        reason,
                        will_retry,
                    });
                }
            }
            Err(refusal) => self.show_failed_compaction(reason, Some(refusal.message.clone()), false),
        }
    }

    pub(super) fn show_failed_compaction(
        &mut self,
        reason: CompactionReason,
        error: Option<String>,
        aborted: bool,
    ) {
        if !self.extensions.is_empty() {
            let (will_retry, from_extension) = (false, false);
            let event =
                HookEvent::SessionCompactFailed { reason, error, aborted, will_retry, from_extension };
            self.show_to_extensions(event);
        }
    }

    /// Lets extensions decide about a move to another entry, and then makes it.
    pub(super) fn hook_navigation(
        &mut self,
        target: &str,
        navigation: Navigation,
        summarize: bool,
        instructions: Option<SummaryInstructions>,
        then: Continuation,
    ) {
        if !self.is_hooked(HookKind::SessionBeforeTree) {
            return self.carry_out_navigation(navigation, summarize, instructions, then);
        }
        let event = HookEvent::SessionBeforeTree(Box::new(TreePreparation {
            target: target.to_owned(),
            old_leaf: self.transcript.leaf(),
            abandoned: navigation.abandoned.clone(),
            wants_summary: summarize,
            instructions: instructions.clone(),
        }));
        self.tell_extensions(&event);
        if !self.is_awaited(HookKind::SessionBeforeTree, None) {
            return self.carry_out_navigation(navigation, summarize, instructions, then);
        }
        let id = self.call_extensions(event, HookPoint::Navigation { summarize, instructions });
        let subject = SummarySubject::Branch { navigation: Box::new(navigation) };
        self.activity.start_summarizing(Summarizing { id, subject, then, is_retrying: false });
    }

    /// Makes the move that extensions have decided about.
    pub(super) fn navigation_hooked(
        &mut self,
        summarize: bool,
        mut instructions: Option<SummaryInstructions>,
        outcome: HookOutcome,
    ) {
        let Some(Summarizing { subject, then, .. }) = self.activity.take_summarizing() else { return };
        let SummarySubject::Branch { navigation } = subject else { return };
        if outcome.is_cancelled() {
            return self.proceed(then, Ok(Answer::Cancelled(CancelledChange::Navigation)));
        }
        let (mut drafted, mut wanted_label) = (None, None);
        for result in outcome.results {
            if let HookResult::Tree(change) = result {
                instructions = change.instructions_for(instructions);
                drafted = change.summary.or(drafted);
                wanted_label = change.label.or(wanted_label);
            }
        }
        let target = navigation.leaf.clone();
        match drafted {
            Some(SummaryDraft { summary, usage, details, .. }) => {
                let summary = Summary { text: summary, usage: usage.unwrap_or_default() };
                let result = self.go_to(&navigation, Some(summary), details, true);
                self.proceed(then, result);
            }
            None => self.carry_out_navigation(*navigation, summarize, instructions, then),
        }
        if let (Some(label), Some(target)) = (wanted_label, target)
            && let Err(refusal) = self.transcript.set_label(target.as_str(), Some(&label))
        {
            self.extension_failed("<runtime>", HookKind::SessionBeforeTree.as_str(), refusal.message);
        }
    }
}
