//! Going from one session to another.

use std::path::Path;

use bowline_core::event::{Event, QueueCause};
use bowline_core::reply::{Answer, Refusal, RefusalCode};
use bowline_session::{EntryBody, Location, NewSession, Session};

use crate::conversation::Conversation;
use crate::engine::Engine;

impl Engine {
    pub(crate) fn new_session(&mut self, parent: Option<String>) -> Result<Answer, Refusal> {
        let location = match &self.session_plan.store {
            Some(store) => Location::Directory(store.directory_for(&self.working_directory)),
            None => Location::Memory,
        };
        let plan =
            NewSession { working_directory: self.working_directory.clone(), location, id: None, parent };
        let session = Session::create_by(plan, self.clock.clone()).map_err(unavailable)?;
        self.change_session(session)?;
        Ok(Answer::SessionSwitched)
    }

    /// Begins another session with what came before a message of the user.
    pub(crate) fn fork(&mut self, entry: &str) -> Result<Answer, Refusal> {
        let fork = self.session.fork(entry).map_err(unavailable)?;
        self.change_session(fork.session)?;
        Ok(Answer::Forked { text: fork.text })
    }

    /// Begins another session with the conversation as it is.
    pub(crate) fn clone_session(&mut self) -> Result<Answer, Refusal> {
        let session = self.session.clone_at_leaf().map_err(unavailable)?;
        self.change_session(session)?;
        Ok(Answer::SessionSwitched)
    }

    pub(crate) fn switch_session(&mut self, path: &Path) -> Result<Answer, Refusal> {
        let path = self.working_directory.join(path);
        if self.session.file().is_some_and(|current| is_same_file(current, &path)) {
            return Ok(Answer::SessionSwitched);
        }
        let session = Session::open(&path, &self.working_directory).map_err(unavailable)?;
        session.check_working_directory().map_err(unavailable)?;
        self.change_session(session.with_clock(self.clock.clone()))?;
        Ok(Answer::SessionSwitched)
    }

    /// Leaves the session for another. If that one cannot be used, everything stays as it was.
    fn change_session(&mut self, session: Session) -> Result<(), Refusal> {
        let previous = std::mem::replace(&mut self.session, session);
        if let Err(refusal) = self.enter_session() {
            self.session = previous;
            self.enter_session()?;
            return Err(refusal);
        }
        self.leave_nothing_queued();
        Ok(())
    }

    pub(crate) fn set_session_name(&mut self, name: &str) -> Result<Answer, Refusal> {
        let name = name
            .split(['\r', '\n'])
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" ");
        if name.is_empty() {
            return Err(Refusal::new(RefusalCode::InvalidArgument, "Session name cannot be empty"));
        }
        let entry = self.append(EntryBody::SessionInfo { name: name.clone() })?;
        self.session.persist_now().map_err(unavailable)?;
        self.emit(Event::SessionNameChanged { name, entry: Some(entry) });
        Ok(Answer::Done)
    }

    /// Takes conversation, model and thinking level from the session that is now open. What the user chose for this
    /// process comes first, then what the session had, then the default.
    pub(crate) fn enter_session(&mut self) -> Result<(), Refusal> {
        let context = self.session.context().map_err(unavailable)?;
        // A new session may have got its name already.
        let is_new =
            context.model.is_none() && context.thinking_level.is_none() && context.messages.is_empty();
        let (stored_model, stored_level) = (context.model.clone(), context.thinking_level);
        self.conversation = Conversation::new(context);
        self.futile_compaction = None;
        self.session.set_durability(self.session_plan.durability);
        let stored = stored_model.and_then(|(provider, id)| self.providers.find(&provider, &id));
        let usable = stored.filter(|model| self.providers.check_credentials(model).is_ok());
        self.model = self.chosen_model.clone().or(usable).or_else(|| self.default_model.clone());
        let level = self.chosen_thinking_level.or(stored_level).unwrap_or(self.default_thinking_level);
        self.thinking_level = level.clamp_to(&self.thinking_levels());
        if is_new && let Some(model) = self.model.clone() {
            self.append(EntryBody::ModelChange {
                provider: model.provider.clone(),
                model_id: model.id.clone(),
            })?;
            self.append(EntryBody::ThinkingLevelChange { level: self.thinking_level })?;
        }
        Ok(())
    }

    fn leave_nothing_queued(&mut self) {
        if self.queues.len() > 0 {
            self.queues.clear();
            let changed = self.queues.changed(QueueCause::Cleared);
            self.emit(changed);
        }
    }
}

pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
pub(crate) fn unavailable(error: bowline_session::Error) -> Refusal {
    Refusal::new(RefusalCode::SessionUnavailable, error.to_string())
}
