//! Which messages a compaction summarises and which it keeps.

use std::sync::Arc;

use bowline_core::event::{EntryName, FileOperations, TouchedFiles};
use bowline_core::message::Message;
use bowline_core::tool::ToolDisplay;

use super::prompts::without_file_lists;
use crate::conversation::Conversation;
use crate::estimate::{estimated_tokens, message_tokens, reported_tokens};

/// A compaction that was planned.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Whole turns to summarise.
    pub history: Vec<Arc<Message>>,
    /// The beginning of the turn that is split, summarised separately.
    pub turn_prefix: Vec<Arc<Message>>,
    pub previous_summary: Option<String>,
    /// The first entry that is kept.
    pub first_kept: EntryName,
    pub operations: FileOperations,
    pub files: TouchedFiles,
    pub tokens_before: u64,
}

/// Why there is nothing to compact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nothing {
    AlreadyCompacted,
    TooSmall,
}

impl Plan {
    /// Finds the split so that about `keep_recent` tokens of the newest messages are kept.
    pub fn new(conversation: &Conversation, keep_recent: u64) -> Result<Self, Nothing> {
        if conversation.ends_with_compaction() {
            return Err(Nothing::AlreadyCompacted);
        }
        let messages = conversation.messages();
        let previous = conversation.last_compaction();
        let start = previous.and_then(|compaction| compaction.position).map_or(0, |position| position + 1);
        let split = split_point(messages, start, keep_recent).ok_or(Nothing::TooSmall)?;
        let turn = turn_start(messages, start, split);
        // Only an extension knows the format of its own notes.
        let details = previous.filter(|compaction| !compaction.from_hook);
        let noted = details.and_then(|compaction| compaction.details.as_ref()).map(files_of);
        let previous_summary = previous.map(|compaction| match noted {
            Some(_) => without_file_lists(&compaction.summary).to_owned(),
            None => compaction.summary.clone(),
        });
        let mut operations = noted.unwrap_or_default();
        messages[start..split].iter().for_each(|message| note_files(&mut operations, message));
        Ok(Self {
            history: messages[start..turn].to_vec(),
            turn_prefix: messages[turn..split].to_vec(),
            previous_summary,
            first_kept: Arc::clone(&conversation.entries()[split]),
            files: operations.touched(),
            operations,
            tokens_before: reported_tokens(conversation.fresh())
                .unwrap_or_else(|| estimated_tokens(messages)),
        })
    }
}

/// Returns the first message to keep: about `keep_recent` tokens from the end, and never a tool result
/// without its call. `None` if that leaves nothing to summarise.
fn split_point(messages: &[Arc<Message>], start: usize, keep_recent: u64) -> Option<usize> {
    let mut kept = 0;
    let enough = (start..messages.len()).rev().find(|index| {
        kept += message_tokens(&messages[*index]);
        kept >= keep_recent
    })?;
    let is_result = |index: usize| matches!(*messages[index], Message::ToolResult(_));
    let after = (enough..messages.len()).find(|index| !is_result(*index));
    // When results are all that is left, their call stays with them, however long they are.
    let split = after.or_else(|| (start..enough).rev().find(|index| !is_result(*index)));
    split.filter(|split| *split > start)
}

/// Returns where the turn around `split` began; `split` itself if a turn begins there.
fn turn_start(messages: &[Arc<Message>], start: usize, split: usize) -> usize {
    let is_inside = matches!(*messages[split], Message::Assistant(_) | Message::ToolResult(_));
    if !is_inside {
        return split;
    }
    (start..split).rev().find(|index| matches!(*messages[*index], Message::User(_))).unwrap_or(start)
}

/// Notes which files the tools of an answer looked at and changed.
fn note_files(files: &mut FileOperations, message: &Message) {
    let Some(answer) = message.as_assistant() else { return };
    for call in answer.tool_calls() {
        let Some(traits) = bowline_tools::traits_of(&call.name) else { continue };
        let list = match traits.display {
            ToolDisplay::Read => &mut files.read,
            ToolDisplay::Write => &mut files.written,
            ToolDisplay::Edit => &mut files.edited,
            ToolDisplay::Command { .. } | ToolDisplay::Search | ToolDisplay::Generic => continue,
        };
        if let Some(path) = traits.path_in(&call.arguments)
            && !list.iter().any(|known| known == path)
        {
            list.push(path.to_owned());
        }
    }
}

/// Returns the files that an earlier compaction noted.
fn files_of(details: &serde_json::Value) -> FileOperations {
    let list = |name: &str| {
        let paths = details.get(name).and_then(|list| list.as_array()).into_iter().flatten();
        paths.filter_map(|path| path.as_str().map(ToOwned::to_owned)).collect()
    };
    FileOperations { read: list("readFiles"), written: Vec::new(), edited: list("modifiedFiles") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_core::message::{AssistantContent, AssistantMessage, Content, TextBlock, ToolResultMessage};
    use bowline_session::Context;
    use serde_json::json;

    fn user(text: &str) -> Arc<Message> {
        Arc::new(Message::user(text, Vec::new(), 0))
    }

    fn answer(text: &str) -> Arc<Message> {
        let mut message: AssistantMessage =
            serde_json::from_value(json!({"content": [], "timestamp": 0})).unwrap();
        message
            .content
            .push(AssistantContent::Text(TextBlock { text: text.to_owned(), text_signature: None }));
        Arc::new(Message::Assistant(message))
    }

    fn result(text: &str) -> Arc<Message> {
        Arc::new(Message::ToolResult(ToolResultMessage {
            tool_call_id: "t".to_owned(),
            tool_name: "bash".to_owned(),
            content: vec![Content::text(text)],
            details: None,
            usage: None,
            is_error: false,
            timestamp: 0,
        }))
    }

    /// Plans for a conversation and returns how many messages are history, turn prefix and kept.
    #[track_caller]
    fn check(
        messages: Vec<Arc<Message>>,
        keep_recent: u64,
        expected: Result<(usize, usize, usize), Nothing>,
    ) {
        let count = messages.len();
        let sources = (0..count).map(|index| format!("e{index}").into()).collect();
        let conversation = Conversation::new(Context { messages, sources, ..Context::default() });
        let plan = Plan::new(&conversation, keep_recent).map(|plan| {
            let (history, prefix) = (plan.history.len(), plan.turn_prefix.len());
            assert_eq!(*plan.first_kept, *format!("e{}", history + prefix));
            (history, prefix, count - history - prefix)
        });
        assert_eq!(plan, expected);
    }

    #[test]
    fn newest_messages_are_kept_and_calls_stay_with_their_results() {
        let long = "x".repeat(400);
        check(vec![], 50, Err(Nothing::TooSmall));
        check(vec![user("a"), answer("b")], 50, Err(Nothing::TooSmall));
        check(vec![user(&long), answer(&long), user("c"), answer("d")], 50, Ok((0, 1, 3)));
        check(vec![user(&long), answer(&long), user(&long), answer("d")], 50, Ok((2, 0, 2)));
        check(vec![user(&long), answer("call"), result(&long), answer("end")], 50, Ok((0, 3, 1)));
        check(vec![user(&long), answer("call"), result("short"), result(&long)], 50, Ok((0, 1, 3)));
        check(vec![answer("call"), result(&long)], 50, Err(Nothing::TooSmall));
    }
}
