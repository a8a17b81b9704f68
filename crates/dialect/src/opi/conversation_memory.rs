//! What opi's records show of a conversation beyond its messages: the text of arguments as the model wrote it, and the
//! figures of a compaction.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bowline_core::event::CompactionResult;
use bowline_core::message::{Arguments, Message, ToolCall};

/// Remembers facts of the current conversation; when a run ends, those of earlier conversations are dropped.
#[derive(Debug, Default)]
pub(super) struct ConversationMemory {
    /// The arguments of tool calls as the model wrote them, by the id of the call.
    arguments: HashMap<String, String>,
    /// The calls of the response being streamed, by the index of their blocks.
    streamed_calls: Vec<(usize, String)>,
    /// The newest compaction.
    compaction: Option<Arc<CompactionResult>>,
    /// The conversation at the end of the last attempt.
    conversation: Vec<Arc<Message>>,
}

impl ConversationMemory {
    /// Prepares for the calls of another model response.
    pub fn start_response(&mut self) {
        self.streamed_calls.clear();
    }

    pub fn start_call(&mut self, content_index: usize, id: &str) {
        self.streamed_calls.push((content_index, id.to_owned()));
        self.arguments.insert(id.to_owned(), String::new());
    }

    /// Appends to the arguments of a call that is being streamed.
    pub fn add_arguments(&mut self, content_index: usize, delta: &str) {
        let call = self.streamed_calls.iter().find(|(index, _)| *index == content_index);
        if let Some(written) = call.and_then(|(_, id)| self.arguments.get_mut(id)) {
            written.push_str(delta);
        }
    }

    /// Returns whether the model wrote any arguments for a call.
    pub fn has_arguments(&self, id: &str) -> bool {
        self.arguments.get(id).is_some_and(|written| !written.trim().is_empty())
    }

    /// Returns the arguments of a call as the model wrote them, if that is known, else as JSON.
    pub fn arguments<'a>(&'a self, call: &ToolCall) -> Cow<'a, str> {
        // Providers may reuse an id, so the text under it may belong to another call.
        match self.arguments.get(&call.id).filter(|text| is_same(text, &call.arguments)) {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(serde_json::to_string(&call.arguments).unwrap_or_default()),
        }
    }

    pub fn set_compaction(&mut self, result: &Arc<CompactionResult>) {
        self.compaction = Some(Arc::clone(result));
    }

    /// Returns the compaction that a summary comes from, if that is known.
    pub fn compaction(&self, summary: &str) -> Option<&CompactionResult> {
        self.compaction.as_deref().filter(|result| result.summary == summary)
    }

    pub fn set_conversation(&mut self, conversation: &[Arc<Message>]) {
        self.conversation = conversation.to_vec();
    }

    /// Returns the conversation at the end of the run, and drops the arguments of calls that are no longer in it.
    pub fn take_conversation(&mut self) -> Vec<Arc<Message>> {
        let conversation = std::mem::take(&mut self.conversation);
        let answers = conversation.iter().filter_map(|message| message.as_assistant());
        let ids: HashSet<_> =
            answers.flat_map(|answer| answer.tool_calls()).map(|call| call.id.as_str()).collect();
        self.arguments.retain(|id, _| ids.contains(id.as_str()));
        conversation
    }
}

fn is_same(text: &str, arguments: &Arguments) -> bool {
    serde_json::from_str::<Arguments>(text).is_ok_and(|written| written == *arguments)
}
