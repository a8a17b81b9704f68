//! Recording messages and announcing them. What clients see is on disk first.

use std::sync::Arc;

use bowline_core::event::{EntryName, Event};
use bowline_core::hook::HookEvent;
use bowline_core::message::{BashExecutionMessage, CustomMessage, Message};
use bowline_core::reply::Refusal;
use bowline_session::EntryBody;

use super::Session;
use super::todos::Todos;
use crate::rule_watch::RuleWatch;
use crate::session_notes::SessionNotes;
use crate::transcript::Recorded;

impl Session {
    /// Records a message outside a run, or refuses it.
    pub(super) fn store(&mut self, message: Message) -> Result<Recorded, Refusal> {
        let mut message = Arc::new(message);
        let entry = self.transcript.add(&mut message)?;
        Ok(Recorded { message, entry: Some(entry) })
    }

    /// Records a message of the run. If it cannot be written, the run ends at its next decision: clients still see the
    /// message, but neither it nor what follows it in this run becomes part of the conversation, so that the file never
    /// holds a result without its call.
    pub(super) fn record(&mut self, message: Message) -> Recorded {
        let mut message = Arc::new(message);
        let mut entry = None;
        if !self.has_storage_failed() {
            match self.transcript.add(&mut message) {
                Ok(written) => entry = Some(written),
                Err(refusal) => self.storage_failed(refusal),
            }
        }
        if let Some(run) = self.run_mut() {
            run.add_message(Arc::clone(&message));
        }
        Recorded { message, entry }
    }

    /// Adds a message to the conversation that no event shows. If it cannot be written, the run ends at its next decision.
    pub(super) fn record_hidden(&mut self, message: CustomMessage) {
        if self.has_storage_failed() {
            return;
        }
        match self.transcript.add(&mut Arc::new(Message::Custom(message))) {
            Ok(entry) => self.announce_entry(&entry),
            Err(refusal) => self.storage_failed(refusal),
        }
    }

    /// Writes an entry that the model does not see. Returns whether it could be written.
    pub(super) fn append_note(&mut self, body: EntryBody) -> bool {
        if self.has_storage_failed() {
            return false;
        }
        let written = self.transcript.append(body);
        let is_written = written.is_ok();
        if let Err(refusal) = written {
            self.storage_failed(refusal);
        }
        is_written
    }

    /// Takes what the file of a session says beside the conversation.
    pub(super) fn take_notes(&mut self, notes: SessionNotes) {
        self.rules = RuleWatch::restored(notes.rules);
        self.todos = Todos::restored(notes.todos);
    }

    /// Announces a message that is complete from the start.
    pub(super) fn announce(&mut self, recorded: &Recorded) {
        self.emit(Event::MessageStart(Arc::clone(&recorded.message)));
        self.announce_end(recorded);
    }

    /// Announces a message whose end extensions have seen already.
    pub(super) fn announce_hooked(&mut self, recorded: &Recorded) {
        self.emit(Event::MessageStart(Arc::clone(&recorded.message)));
        self.announce_hooked_end(recorded);
    }

    pub(super) fn announce_hooked_end(&mut self, recorded: &Recorded) {
        if !self.extensions.is_empty() {
            self.tell_extensions(&HookEvent::MessageEnd(Arc::clone(&recorded.message)));
        }
        self.emit_unobserved(Event::MessageEnd {
            message: Arc::clone(&recorded.message),
            entry: recorded.entry.clone(),
        });
    }

    pub(super) fn announce_end(&mut self, recorded: &Recorded) {
        self.emit(Event::MessageEnd {
            message: Arc::clone(&recorded.message),
            entry: recorded.entry.clone(),
        });
    }

    /// Announces an entry that no other event announces.
    pub(super) fn announce_entry(&mut self, entry: &EntryName) {
        if let Ok(written) = self.transcript.file().written_entry(entry) {
            self.emit(Event::EntryAppended { entry: written.get().into() });
        }
    }

    /// Tells whether a message of the run could not be written.
    pub(super) fn has_storage_failed(&self) -> bool {
        self.run().is_some_and(|run| run.storage_failure().is_some())
    }

    pub(super) fn storage_failed(&mut self, refusal: Refusal) {
        let Some(run) = self.run_mut() else { return };
        run.fail_storage(refusal.message.clone());
        self.emit(Event::StorageFailed { error: refusal.message });
    }

    /// Takes the failed answer at the end out of the conversation, in the file too, before a retry.
    pub(super) fn forget_failed_answer(&mut self) {
        match self.transcript.remove_answer() {
            Some(Ok(removed)) => self.announce_entry(&removed.edit),
            Some(Err(refusal)) => self.storage_failed(refusal),
            None => {}
        }
    }

    /// Records a user-initiated command: now, or, during a run, at the end of the turn, because the model has not seen it
    /// when it answers, and a call and its result must not be separated. While the session is copied it waits as well,
    /// because nothing can be written.
    pub(super) fn record_command(&mut self, message: BashExecutionMessage) -> Result<(), Refusal> {
        if self.run().is_some() || self.activity.is_copying_session() {
            self.held_command_results.push(message);
            return Ok(());
        }
        self.store(Message::BashExecution(message)).map(|_| ())
    }

    /// Records the commands that waited for the end of the turn or of the copy.
    pub(super) fn record_held_commands(&mut self) {
        for message in std::mem::take(&mut self.held_command_results) {
            self.record(Message::BashExecution(message));
        }
    }
}
