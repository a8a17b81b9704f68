//! The session's file and the conversation in memory, kept in step. What clients see is on disk first.

use std::path::Path;
use std::sync::Arc;

use bowline_core::event::EntryName;
use bowline_core::message::Message;
use bowline_core::reply::{Refusal, RefusalCode, SessionDamage};
use bowline_session::{Context, Damage, EntryBody, EntryId, Navigation};

use crate::agent::session_unavailable;
use crate::conversation::Conversation;
use crate::session_notes::SessionNotes;

/// A session's file and the conversation of its current branch.
#[derive(Debug)]
pub(crate) struct Transcript {
    /// Shared only while the session is copied; nothing is added to it then.
    file: Arc<bowline_session::Session>,
    conversation: Conversation,
    damage: Option<SessionDamage>,
    /// The entries that were added and not asked for yet, if anybody wants them.
    appended: Option<Vec<EntryName>>,
}

/// A message and the entry that holds it, if it could be written.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    pub message: Arc<Message>,
    pub entry: Option<EntryName>,
}

impl Transcript {
    pub fn new(file: bowline_session::Session, context: Context) -> Self {
        let damage = damage(&file, &context);
        Self { file: Arc::new(file), conversation: Conversation::new(context), damage, appended: None }
    }

    /// Returns what could not be read of the file.
    pub fn damage(&self) -> Option<SessionDamage> {
        self.damage
    }

    /// Returns the file, for reading.
    pub fn file(&self) -> &bowline_session::Session {
        &self.file
    }

    /// Lends the file to whoever copies it. Nothing can be added until it is dropped.
    pub fn lend(&self) -> Arc<bowline_session::Session> {
        Arc::clone(&self.file)
    }

    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    pub fn messages(&self) -> &[Arc<Message>] {
        self.conversation.messages()
    }

    pub fn session_id(&self) -> &str {
        self.file.id()
    }

    pub fn working_directory(&self) -> &Path {
        self.file.working_directory()
    }

    /// Writes an entry that is not a message.
    pub fn append(&mut self, body: EntryBody) -> Result<EntryName, Refusal> {
        let chosen = match &body {
            EntryBody::ModelChange { provider, model_id } => Some((provider.clone(), model_id.clone())),
            _ => None,
        };
        let entry = self.file_mut()?.append(body).map_err(cannot_be_written)?;
        if let Some((provider, id)) = chosen {
            self.conversation.choose_model(&provider, &id);
        }
        let entry = EntryName::from(entry.as_str());
        if let Some(appended) = &mut self.appended {
            appended.push(Arc::clone(&entry));
        }
        Ok(entry)
    }

    /// Returns the entries that were added since the last call, and keeps those that follow.
    pub fn take_appended(&mut self) -> Vec<EntryName> {
        self.appended.replace(Vec::new()).unwrap_or_default()
    }

    /// Writes a message and adds it to the conversation.
    ///
    /// The entry of an extension's message has no time but its own, which the message then has too. Details that cannot be
    /// stored are left out: they come from tools and extensions, which must not end a run by them.
    pub fn add(&mut self, message: &mut Arc<Message>) -> Result<EntryName, Refusal> {
        if message.has_deep_details() {
            Arc::make_mut(message).omit_details();
        }
        let body = match &**message {
            Message::Custom(custom) => EntryBody::CustomMessage {
                custom_type: custom.custom_type.clone(),
                content: custom.content.clone(),
                display: custom.display,
                details: custom.details.clone(),
            },
            _ => EntryBody::Message(Arc::clone(message)),
        };
        let entry = self.append(body)?;
        if matches!(&**message, Message::Custom(_))
            && let Some(written) = self.file.written_message(&entry)
        {
            *message = Arc::new(written);
        }
        self.conversation.push(Arc::clone(message), Arc::clone(&entry));
        Ok(entry)
    }

    /// Takes the answer at the end out of the conversation, in the file too. Returns it with its entry and the entry
    /// that removed it.
    pub fn remove_answer(&mut self) -> Option<Result<RemovedAnswer, Refusal>> {
        let (message, entry) = self.conversation.pop_answer()?;
        let edit = EntryBody::ContextEdit { target: EntryId::from(&*entry), replacement: None };
        Some(match self.append(edit) {
            Ok(edit) => Ok(RemovedAnswer { message, entry, edit }),
            Err(refusal) => {
                self.conversation.push(message, entry);
                Err(refusal)
            }
        })
    }

    /// Calls `look` with the conversation as it is without the answer at its end.
    pub fn without_answer<R>(&mut self, look: impl FnOnce(&Conversation) -> R) -> Option<R> {
        let (message, entry) = self.conversation.pop_answer()?;
        let result = look(&self.conversation);
        self.conversation.push(message, entry);
        Some(result)
    }

    /// Rebuilds the conversation from the file, as anyone would who opens it. Returns what else the file says.
    pub fn reload(&mut self) -> Result<SessionNotes, Refusal> {
        let context = self.file.context().map_err(session_unavailable)?;
        let notes = SessionNotes::read(&self.file, &context).map_err(session_unavailable)?;
        self.damage = damage(&self.file, &context);
        self.conversation = Conversation::new(context);
        Ok(notes)
    }

    /// Moves the conversation to another entry of the file.
    pub fn move_to(&mut self, navigation: &Navigation) -> Result<(), Refusal> {
        self.file_mut()?.move_leaf(navigation.leaf.as_ref()).map_err(session_unavailable)
    }

    /// Writes the session to its file even if it has no message yet.
    pub fn persist_now(&mut self) -> Result<(), Refusal> {
        self.file_mut()?.persist_now().map_err(session_unavailable)
    }

    pub fn set_label(&mut self, entry: &str, label: Option<&str>) -> Result<EntryName, Refusal> {
        let entry = self.file_mut()?.label(entry, label).map_err(session_unavailable)?;
        Ok(EntryName::from(entry.as_str()))
    }

    /// Returns the entry that the conversation is at.
    pub fn leaf(&self) -> Option<EntryName> {
        self.file.leaf().map(|leaf| EntryName::from(leaf.as_str()))
    }

    fn file_mut(&mut self) -> Result<&mut bowline_session::Session, Refusal> {
        Arc::get_mut(&mut self.file).ok_or_else(|| {
            Refusal::new(RefusalCode::Busy, "the session is being copied; wait until that is done")
        })
    }
}

/// Returns what could not be read of a file and of its conversation.
pub(crate) fn damage(file: &bowline_session::Session, context: &Context) -> Option<SessionDamage> {
    let found = file.damage().unwrap_or_default();
    let damage = SessionDamage {
        unreadable_lines: found.unreadable_lines,
        relinked_entries: found.relinked_entries,
        unreadable_messages: context.unreadable.len(),
    };
    let is_whole = found == Damage::default() && context.unreadable.is_empty();
    (!is_whole).then_some(damage)
}

/// An answer that was taken out of the conversation.
#[derive(Debug)]
pub(crate) struct RemovedAnswer {
    pub message: Arc<Message>,
    pub entry: EntryName,
    /// The entry that removed it.
    pub edit: EntryName,
}

#[expect(clippy::needless_pass_by_value, reason = "the signature that map_err wants")]
fn cannot_be_written(error: bowline_session::Error) -> Refusal {
    Refusal::new(RefusalCode::StorageFailed, format!("the session cannot be written: {error}"))
}
