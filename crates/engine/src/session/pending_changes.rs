//! Changes of a workspace that is an overlay: telling clients what is pending, accepting it, and throwing it away.

use std::sync::Arc;

use bowline_core::command::Origin;
use bowline_core::event::{Event, RunOutcome};
use bowline_core::message::{Content, CustomMessage};
use bowline_core::pending_changes::{DiscardReport, PendingQuery, PendingReport, PendingSelection};
use bowline_core::reply::{Answer, Refusal, RefusalCode};
use bowline_core::tool::ToolTraits;
use bowline_tools::{Confinement, NOT_AN_OVERLAY, not_an_overlay};

use super::Session;
use crate::input::Step;
use crate::pending::{Awaited, JobOrder, PendingId};

/// The type of the message that tells the model that changes were thrown away.
const DISCARDED_MESSAGE: &str = "bowline.changes_discarded";

/// The most paths that it names.
const MAX_NAMED: usize = 100;

/// What a session has told of its pending changes.
#[derive(Debug, Default)]
pub(crate) struct PendingNotes {
    /// Whether a call of this run may have changed something.
    is_touched: bool,
    /// What clients were told last.
    told: Option<Arc<PendingReport>>,
    /// Whether they belong to the session that started this one.
    is_shared: bool,
}

impl Session {
    /// Has this session, which is a subagent's, work on the pending changes of the one that started it.
    pub(crate) fn share_changes_of(&mut self, parent: &str) {
        if let Some(confinement) = self.confinement() {
            confinement.share_changes(self.transcript.session_id(), parent);
            self.pending_notes.is_shared = true;
        }
    }

    /// Notes that a call may change something.
    pub(super) fn note_touch(&mut self, traits: Option<&ToolTraits>) {
        self.pending_notes.is_touched |= traits.is_none_or(|traits| traits.mutates);
    }

    /// Waits for what is pending before a run ends, if the run may have changed something. Returns whether it does. An abort
    /// does not wait.
    pub(super) fn waits_for_pending(&mut self, outcome: &RunOutcome) -> bool {
        let is_touched = std::mem::take(&mut self.pending_notes.is_touched);
        let Some(confinement) = self.overlay().filter(|_| is_touched && !self.pending_notes.is_shared) else {
            return false;
        };
        let waits = *outcome != RunOutcome::Aborted && !self.shutting_down;
        let settles = waits.then(|| outcome.clone());
        let report = confinement.pending_changes(self.transcript.session_id(), PendingQuery::default());
        self.pending.start(Awaited::FileChanges(settles), |reporter| async move {
            reporter.send(Step::PendingChanges(report.await.ok().map(Box::new))).await;
        });
        waits
    }

    /// Tells clients what is pending, if that has changed, and ends the run if it waited for that.
    pub(super) fn pending_listed(&mut self, id: PendingId, report: Option<Box<PendingReport>>) {
        let Some(Awaited::FileChanges(settles)) = self.pending.remove(id) else { return };
        if let Some(report) = report {
            let report = Arc::new(*report);
            let has_changed = match &self.pending_notes.told {
                Some(told) => *told != report,
                None => !report.changes.is_empty(),
            };
            if has_changed {
                self.pending_notes.told = Some(Arc::clone(&report));
                self.emit(Event::PendingChanges(report));
            }
        }
        self.settle_after_files(settles);
    }

    /// Replies with what is pending.
    pub(super) fn get_pending_changes(&mut self, origin: Origin, query: PendingQuery) {
        match self.confinement() {
            Some(confinement) => {
                let report = confinement.pending_changes(self.transcript.session_id(), query);
                self.reply_later(origin, JobOrder::Beside, async move {
                    Ok(Answer::PendingChanges(Box::new(report.await?)))
                });
            }
            None => {
                let reason = Some(NOT_AN_OVERLAY.to_owned());
                let report = PendingReport { reason, ..PendingReport::default() };
                self.reply(origin, Ok(Answer::PendingChanges(Box::new(report))));
            }
        }
    }

    /// Applies pending changes to the real workspace.
    pub(super) fn accept_changes(&mut self, origin: Origin, selection: PendingSelection) {
        let confinement = match self.may_settle() {
            Ok(confinement) => confinement,
            Err(refusal) => return self.reply(origin, Err(refusal)),
        };
        let report = confinement.accept_changes(self.transcript.session_id(), selection);
        self.reply_later(origin, JobOrder::Exclusive, async move {
            Ok(Answer::ChangesAccepted(Box::new(report.await?)))
        });
    }

    /// Throws pending changes away.
    pub(super) fn discard_changes(&mut self, origin: Origin, selection: PendingSelection) {
        let confinement = match self.may_settle() {
            Ok(confinement) => confinement,
            Err(refusal) => return self.reply(origin, Err(refusal)),
        };
        let report = confinement.discard_changes(self.transcript.session_id(), selection);
        self.reply_later(origin, JobOrder::Exclusive, async move {
            Ok(Answer::ChangesDiscarded(Box::new(report.await?)))
        });
    }

    /// Records that pending changes were accepted or discarded, and tells the model which were discarded.
    pub(super) fn note_settled(&mut self, answer: &Answer) {
        match answer {
            Answer::ChangesAccepted(_) => self.pending_notes.told = None,
            Answer::ChangesDiscarded(report) => {
                self.pending_notes.told = None;
                if !report.discarded.is_empty() {
                    let timestamp = self.now();
                    self.record_hidden(discarded_message(report, timestamp));
                }
            }
            _ => {}
        }
    }

    /// Returns what keeps pending changes, unless a run is in progress or there is nothing of the kind.
    fn may_settle(&self) -> Result<Arc<dyn Confinement>, Refusal> {
        if !self.activity.is_idle() {
            let text = "A run is in progress; wait until it has ended, or abort it";
            return Err(Refusal::new(RefusalCode::Busy, text));
        }
        self.overlay().ok_or_else(not_an_overlay)
    }

    /// Returns what keeps pending changes, if the workspace is an overlay.
    fn overlay(&self) -> Option<Arc<dyn Confinement>> {
        self.confinement().filter(|confinement| confinement.summary().is_overlay())
    }
}

fn discarded_message(report: &DiscardReport, timestamp: u64) -> CustomMessage {
    let named: Vec<_> = report.discarded.iter().take(MAX_NAMED).map(|path| format!("- {path}")).collect();
    let more = match report.discarded.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!("\n- and {more} more"),
    };
    let text = format!(
        "<system-reminder>\nThe user threw away changes that were made earlier in this conversation. These paths are as they were \
         before:\n{}{more}\n\nRead a file again before you rely on its content.\n</system-reminder>",
        named.join("\n")
    );
    CustomMessage {
        custom_type: DISCARDED_MESSAGE.to_owned(),
        content: vec![Content::text(text)].into(),
        display: false,
        details: None,
        timestamp,
    }
}
