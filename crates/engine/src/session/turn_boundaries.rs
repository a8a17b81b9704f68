//! What extensions add at the end of a turn and of a run: entries of the file, and one more turn.

use std::sync::Arc;

use bowline_core::event::{Event, RunOutcome};
use bowline_core::hook::{Boundary, EntryDraft, HookEvent, HookKind, TurnOutcome};
use bowline_core::message::Message;
use bowline_session::{EntryBody, EntryId};

use super::hook_points::HookPoint;
use super::{Continuation, Session};
use crate::hook_chain::HookOutcome;
use crate::run::{Run, TurnEnd};

impl Session {
    /// Lets extensions see the end of a turn, announces it and decides how the run goes on.
    pub(super) fn hook_turn_end(
        &mut self,
        end: TurnEnd,
        message: Arc<Message>,
        tool_results: Vec<Arc<Message>>,
    ) {
        let event = self.turn_end_event(message, tool_results, TurnOutcome::Completed);
        if self.is_awaited(HookKind::TurnEnd, None) {
            self.call_extensions(event, HookPoint::TurnEnd { end });
        } else {
            self.turn_end_hooked(end, HookOutcome::unchanged(event));
        }
    }

    pub(super) fn turn_end_event(
        &self,
        message: Arc<Message>,
        tool_results: Vec<Arc<Message>>,
        outcome: TurnOutcome,
    ) -> HookEvent {
        let conversation = self.transcript.conversation();
        let entry_of = |wanted: &Arc<Message>| {
            let place = conversation.messages().iter().rposition(|message| Arc::ptr_eq(message, wanted))?;
            conversation.entries().get(place).cloned()
        };
        HookEvent::TurnEnd {
            index: self.turn_index(),
            message_entry: entry_of(&message),
            tool_result_entries: tool_results.iter().filter_map(entry_of).collect(),
            message,
            tool_results,
            outcome,
            boundary: Boundary { can_continue: outcome == TurnOutcome::Completed, ..Boundary::default() },
        }
    }

    /// Announces the end of a turn that extensions have seen.
    pub(super) fn turn_end_hooked(&mut self, end: TurnEnd, outcome: HookOutcome) {
        let stops = outcome.stops_run();
        self.tell_extensions(&outcome.event);
        let HookEvent::TurnEnd { message, tool_results, boundary, .. } = outcome.event else { return };
        self.emit_unobserved(Event::TurnEnd { message: Arc::clone(&message), tool_results });
        self.add_entries(boundary.entries);
        if stops && let Some(run) = self.run_mut() {
            run.stop();
        }
        self.turn_over(end, &message, boundary.continues);
    }

    /// Lets extensions see that the run is about to end, unless it was aborted.
    pub(super) fn settle(&mut self, outcome: RunOutcome) {
        let is_stopped = self.run().is_some_and(Run::is_aborted);
        let is_due =
            !is_stopped && outcome != RunOutcome::Aborted && self.is_hooked(HookKind::AgentBeforeSettle);
        // Queued messages go on with the run, which is then not about to end.
        if !is_due || self.next_queue(TurnEnd::Answer).is_some() {
            return self.settle_now(outcome);
        }
        let turn_outcome =
            if outcome == RunOutcome::Done { TurnOutcome::Completed } else { TurnOutcome::Error };
        let boundary = Boundary { can_continue: outcome == RunOutcome::Done, ..Boundary::default() };
        let event = HookEvent::AgentBeforeSettle { outcome: turn_outcome, boundary };
        self.hook(event, HookPoint::Settle { outcome });
    }

    /// Ends the run, or goes on with it because an extension wants that.
    pub(super) fn settle_hooked(&mut self, outcome: RunOutcome, hooked: HookOutcome) {
        let HookEvent::AgentBeforeSettle { boundary, .. } = hooked.event else { return };
        self.add_entries(boundary.entries);
        if self.run().is_some_and(|run| run.is_aborted() && run.stop_failure().is_none()) {
            return self.settle_now(RunOutcome::Aborted);
        }
        let is_stopped = self.run().is_some_and(Run::is_aborted);
        if boundary.continues && outcome == RunOutcome::Done && !is_stopped {
            self.emit(Event::RunStart);
            return self.compact_if_full(Continuation::NextTurn(TurnEnd::ToolResults));
        }
        self.settle_now(outcome);
    }

    /// Adds the entries that extensions want, and announces them.
    fn add_entries(&mut self, drafts: Vec<EntryDraft>) {
        let mut changes_context = false;
        for draft in drafts {
            changes_context |= !matches!(draft, EntryDraft::Custom { .. });
            match self.transcript.append(entry_body(draft)) {
                Ok(entry) => self.announce_entry(&entry),
                Err(refusal) => {
                    let error = format!("an entry could not be added: {}", refusal.message);
                    self.extension_failed("<runtime>", "boundary", error);
                }
            }
        }
        if changes_context && let Err(refusal) = self.transcript.reload() {
            self.storage_failed(refusal);
        }
    }
}

fn entry_body(draft: EntryDraft) -> EntryBody {
    match draft {
        EntryDraft::Custom { custom_type, data } => EntryBody::Custom { custom_type, data },
        EntryDraft::Message(message) => EntryBody::CustomMessage {
            custom_type: message.custom_type,
            content: message.content,
            display: message.display,
            details: message.details,
        },
        EntryDraft::ContextEdit { target, replacement } => {
            EntryBody::ContextEdit { target: EntryId::from(target), replacement }
        }
        EntryDraft::Compaction { summary, first_kept, details } => EntryBody::Compaction {
            summary,
            first_kept: first_kept.map(EntryId::from),
            tokens_before: 0,
            details,
            usage: None,
            from_hook: true,
        },
    }
}
