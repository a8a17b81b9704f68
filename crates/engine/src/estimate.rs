//! How many tokens a conversation holds.
//!
//! The model's own count decides; only what came after its last answer is estimated, at four bytes a token.

use std::sync::Arc;

use bowline_core::message::{AssistantContent, AssistantMessage, Content, Message, StopReason};

/// What an image counts for, in bytes of text.
const IMAGE_BYTES: u64 = 4800;
const BYTES_PER_TOKEN: u64 = 4;

/// Returns the tokens of the conversation, or `None` when no model has reported any yet. `fresh` is what came after
/// the newest compaction: a model's report from before it is about a conversation that is gone.
pub(crate) fn reported_tokens(fresh: &[Arc<Message>]) -> Option<u64> {
    let (index, reported) = fresh.iter().enumerate().rev().find_map(|(index, message)| {
        let answer = message.as_assistant()?;
        let counted = !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
        (counted && answer.usage.total_tokens > 0).then_some((index, answer.usage.total_tokens))
    })?;
    Some(reported.saturating_add(estimated_tokens(&fresh[index + 1..])))
}

/// Returns an estimate for messages that no model has counted.
pub(crate) fn estimated_tokens(messages: &[Arc<Message>]) -> u64 {
    messages.iter().map(|message| message_tokens(message)).sum()
}

/// Returns an estimate for a text.
pub(crate) fn text_tokens(text: &str) -> u64 {
    text_bytes(text).div_ceil(BYTES_PER_TOKEN)
}

pub(crate) fn message_tokens(message: &Message) -> u64 {
    let bytes = match message {
        Message::User(message) => content_bytes(&message.content),
        Message::ToolResult(message) => content_bytes(&message.content),
        Message::Custom(message) => content_bytes(&message.content),
        Message::BashExecution(message) => text_bytes(&message.command) + text_bytes(&message.output),
        Message::BranchSummary(message) => text_bytes(&message.summary),
        Message::CompactionSummary(message) => text_bytes(&message.summary),
        // Not sent to the model.
        Message::Assistant(AssistantMessage {
            stop_reason: StopReason::Error | StopReason::Aborted, ..
        }) => 0,
        Message::Assistant(message) => message.content.iter().map(block_bytes).sum(),
    };
    bytes.div_ceil(BYTES_PER_TOKEN)
}

fn content_bytes(content: &[Content]) -> u64 {
    let bytes = content.iter().map(|block| match block {
        Content::Text { text } => text_bytes(text),
        Content::Image { .. } => IMAGE_BYTES,
    });
    bytes.sum()
}

fn block_bytes(block: &AssistantContent) -> u64 {
    match block {
        AssistantContent::Text(block) => text_bytes(&block.text),
        AssistantContent::Thinking(block) => text_bytes(&block.thinking),
        AssistantContent::ToolCall(call) => {
            let arguments = call.arguments.iter().map(|(name, value)| text_bytes(name) + value_bytes(value));
            text_bytes(&call.name) + arguments.sum::<u64>()
        }
    }
}

/// An estimate will do, so a value is not written out only to be measured.
fn value_bytes(value: &serde_json::Value) -> u64 {
    match value {
        serde_json::Value::String(text) => text_bytes(text),
        serde_json::Value::Array(values) => values.iter().map(value_bytes).sum(),
        serde_json::Value::Object(fields) => {
            fields.iter().map(|(name, value)| text_bytes(name) + value_bytes(value)).sum()
        }
        _ => BYTES_PER_TOKEN,
    }
}

fn text_bytes(text: &str) -> u64 {
    text.len() as u64
}
