//! What extensions add at the end of a turn and of a run: entries of the file, and one more turn.

use std::sync::Arc;

use bowline_core::event::{Event, RunOutcome};
use bowline_core::hook::{Boundary, EntryDraft, HookEvent, HookKind, TurnOutcome};
use bowline_core::message::Message;
use bowline_session::{EntryBody, EntryId};
use serde_json::{Value, json};

use super::hook_points::HookPoint;
use super::{Continuation, Session};
use crate::estimate::{estimated_tokens, reported_tokens};
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
        if let Some(failure) = self.missing_output(&outcome) {
            return self.fail_turn(&failure);
        }
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
            let appended = self
                .entry_body(draft)
                .and_then(|body| self.transcript.append(body).map_err(|refusal| refusal.message));
            match appended {
                Ok(entry) => self.announce_entry(&entry),
                Err(problem) => {
                    let error = format!("an entry could not be added: {problem}");
                    self.extension_failed("<runtime>", "boundary", error);
                }
            }
        }
        if changes_context && let Err(refusal) = self.transcript.reload() {
            self.storage_failed(refusal);
        }
    }

    /// Returns the entry that a draft means. An edit or a summary of what is not there would only damage the file.
    fn entry_body(&self, draft: EntryDraft) -> Result<EntryBody, String> {
        Ok(match draft {
            EntryDraft::Custom { custom_type, data } => EntryBody::Custom { custom_type, data },
            EntryDraft::Message(message) => EntryBody::CustomMessage {
                custom_type: message.custom_type,
                content: message.content,
                display: message.display,
                details: message.details,
            },
            EntryDraft::ContextEdit { target, replacement } => {
                let conversation = self.transcript.conversation();
                let place = conversation.entries().iter().position(|entry| **entry == *target);
                let edited = place.and_then(|place| conversation.messages().get(place));
                let Some(edited) = edited.filter(|message| is_editable(message)) else {
                    return Err(format!("the conversation has no message {target} that can be edited"));
                };
                if let Some(content) = &replacement {
                    bowline_session::with_content(edited, content)
                        .map_err(|error| format!("it is no content for {target}: {error}"))?;
                }
                // Old readers expect a text only where a client can write one.
                let is_of_user = matches!(**edited, Message::User(_) | Message::Custom(_));
                let replacement = replacement.map(|content| match content {
                    Value::String(text) if !is_of_user => json!([{ "type": "text", "text": text }]),
                    content => content,
                });
                EntryBody::ContextEdit { target: EntryId::from(target), replacement }
            }
            EntryDraft::Compaction { summary, first_kept, details, usage } => {
                if let Some(entry) = &first_kept
                    && !self.transcript.file().has_entry(entry)
                {
                    return Err(format!("there is no entry {entry} to keep"));
                }
                let conversation = self.transcript.conversation();
                let tokens_before = reported_tokens(conversation.fresh())
                    .unwrap_or_else(|| estimated_tokens(conversation.messages()));
                EntryBody::Compaction {
                    summary,
                    first_kept: first_kept.map(EntryId::from),
                    tokens_before,
                    details,
                    usage,
                    from_hook: true,
                }
            }
        })
    }
}

/// Tells whether a message has a content that can be replaced.
fn is_editable(message: &Message) -> bool {
    matches!(message, Message::User(_) | Message::Custom(_) | Message::Assistant(_) | Message::ToolResult(_))
}
