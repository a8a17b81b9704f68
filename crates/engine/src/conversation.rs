//! The conversation as the model sees it: the messages of the current branch, each with its entry in the file.

use std::sync::Arc;

use bowline_core::event::EntryName;
use bowline_core::message::Message;
use bowline_session::{CompactionEntry, Context};

/// The provider and the id of a model.
pub(crate) type ModelName = (String, String);

/// The messages of the current branch.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    messages: Vec<Arc<Message>>,
    /// The entry of each message, in step with `messages`.
    entries: Vec<EntryName>,
    /// The provider and the id of the model that was last chosen on the branch.
    chosen_model: Option<ModelName>,
    /// Those of the model in use at the end of it: the one that answered last, or one that was chosen after it.
    last_model: Option<ModelName>,
    /// The newest compaction of the branch.
    last_compaction: Option<CompactionEntry>,
    /// The first message after that compaction. Token counts reported before it are about another conversation.
    first_after_compaction: usize,
    /// Whether nothing follows that compaction.
    ends_with_compaction: bool,
}

impl Conversation {
    pub fn new(context: Context) -> Self {
        let first_after = context.last_compaction.as_ref().map_or(0, |compaction| compaction.first_after);
        Self {
            messages: context.messages,
            chosen_model: context.chosen_model,
            last_model: context.model,
            entries: context.sources.iter().map(|id| EntryName::from(id.as_str())).collect(),
            last_compaction: context.last_compaction,
            first_after_compaction: first_after,
            ends_with_compaction: context.ends_with_compaction,
        }
    }

    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    pub fn entries(&self) -> &[EntryName] {
        &self.entries
    }

    pub fn last_compaction(&self) -> Option<&CompactionEntry> {
        self.last_compaction.as_ref()
    }

    /// Tells whether nothing follows the newest compaction.
    pub fn ends_with_compaction(&self) -> bool {
        self.ends_with_compaction
    }

    /// Returns the messages that came after the newest compaction.
    pub fn fresh(&self) -> &[Arc<Message>] {
        &self.messages[self.first_after_compaction.min(self.messages.len())..]
    }

    /// Returns the model that was last chosen on the branch, and the one in use at the end of it.
    pub fn models(&self) -> (Option<&ModelName>, Option<&ModelName>) {
        (self.chosen_model.as_ref(), self.last_model.as_ref())
    }

    /// Notes that a model was chosen.
    pub fn choose_model(&mut self, provider: &str, id: &str) {
        self.chosen_model = Some((provider.to_owned(), id.to_owned()));
        self.last_model.clone_from(&self.chosen_model);
    }

    pub fn push(&mut self, message: Arc<Message>, entry: EntryName) {
        if let Some(answer) = message.as_assistant() {
            self.last_model = Some((answer.provider.clone(), answer.model.clone()));
        }
        self.messages.push(message);
        self.entries.push(entry);
        self.ends_with_compaction = false;
    }

    /// Takes the last message out, if it is an answer of the model.
    pub fn pop_answer(&mut self) -> Option<(Arc<Message>, EntryName)> {
        self.messages.last()?.as_assistant()?;
        self.messages.pop().zip(self.entries.pop())
    }
}
