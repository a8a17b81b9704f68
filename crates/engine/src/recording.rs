//! Keeping the session's file and the conversation in memory in step. What is said is on disk first.

use std::sync::Arc;

use bowline_core::event::{EntryName, Event};
use bowline_core::message::{BashExecutionMessage, Message};
use bowline_core::reply::{Refusal, RefusalCode};
use bowline_session::{EntryBody, EntryId};

use crate::engine::Engine;
use crate::run::Phase;

/// A message and the entry that holds it, if it could be written.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    pub message: Arc<Message>,
    pub entry: Option<EntryName>,
}

impl Engine {
    /// Writes a message to the session and adds it to the conversation.
    pub(crate) fn store(&mut self, message: Message) -> Result<Recorded, Refusal> {
        let message = Arc::new(message);
        let entry = self.append(EntryBody::Message(Arc::clone(&message)))?;
        self.conversation.push(Arc::clone(&message), Arc::clone(&entry));
        Ok(Recorded { message, entry: Some(entry) })
    }

    /// Stores a message of the run that is under way. If it cannot be written the run goes on to its next decision,
    /// which is then to end: clients still see the message, but neither it nor what follows it in this run becomes
    /// part of the conversation, so that the file never holds a result without its call.
    pub(crate) fn record(&mut self, message: Message) -> Recorded {
        let message = Arc::new(message);
        let mut entry = None;
        if !self.storage_has_failed() {
            match self.append(EntryBody::Message(Arc::clone(&message))) {
                Ok(written) => {
                    self.conversation.push(Arc::clone(&message), Arc::clone(&written));
                    entry = Some(written);
                }
                Err(refusal) => self.storage_failed(refusal),
            }
        }
        if let Some(run) = &mut self.run {
            run.messages.push(Arc::clone(&message));
        }
        Recorded { message, entry }
    }

    /// Tells clients of a message that is complete from the start.
    pub(crate) fn announce(&mut self, recorded: &Recorded) {
        self.emit(Event::MessageStart(Arc::clone(&recorded.message)));
        self.announce_end(recorded);
    }

    pub(crate) fn announce_end(&mut self, recorded: &Recorded) {
        self.emit(Event::MessageEnd {
            message: Arc::clone(&recorded.message),
            entry: recorded.entry.clone(),
        });
    }

    /// Tells whether something of the run that is under way could not be written.
    pub(crate) fn storage_has_failed(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.storage_failure.is_some())
    }

    pub(crate) fn storage_failed(&mut self, refusal: Refusal) {
        if let Some(run) = &mut self.run {
            run.storage_failure.get_or_insert(refusal.message);
        }
    }

    /// Takes the failed answer at the end of the conversation out of it, on disk too, before another try.
    pub(crate) fn forget_failed_answer(&mut self) {
        let Some((_, entry)) = self.conversation.pop_answer() else { return };
        let edit = EntryBody::ContextEdit { target: EntryId::from(&*entry), replacement: None };
        match self.append(edit) {
            Ok(entry) => self.announce_entry(&entry),
            Err(refusal) => self.storage_failed(refusal),
        }
    }

    /// Tells clients of an entry that no other event tells of.
    pub(crate) fn announce_entry(&mut self, entry: &EntryName) {
        if let Ok(written) = self.session.written_entry(entry) {
            self.emit(Event::EntryAppended { entry: written.get().into() });
        }
    }

    /// Adds the output of commands that were run by hand during the turn.
    pub(crate) fn record_finished_shells(&mut self) {
        for message in self.shells.take_finished() {
            self.record(Message::BashExecution(message));
        }
    }

    /// Records a command that was run by hand: now, or, while tools are running, at the end of the turn, because a
    /// call and its result must not be parted.
    pub(crate) fn record_shell(&mut self, message: BashExecutionMessage) -> Result<(), Refusal> {
        let are_tools_running = matches!(self.run.as_ref().map(|run| &run.phase), Some(Phase::Tools(_)));
        if are_tools_running {
            self.shells.keep_finished(message);
            return Ok(());
        }
        self.store(Message::BashExecution(message)).map(|_| ())
    }

    pub(crate) fn append(&mut self, body: EntryBody) -> Result<EntryName, Refusal> {
        let entry = self.session.append(body).map_err(|error| {
            Refusal::new(RefusalCode::StorageFailed, format!("the session cannot be written: {error}"))
        })?;
        Ok(EntryName::from(entry.as_str()))
    }
}
