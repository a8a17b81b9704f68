//! The form of messages.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use bowline_core::ErrorKind;
use bowline_core::event::ToolReport;
use bowline_core::message::{
    Arguments, AssistantContent, AssistantMessage, Content, Message, StopReason, ToolCall, ToolResultMessage,
    join_text,
};
use bowline_core::usage::Usage;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::message_ids::Numbering;

/// A message of a conversation.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Message")]
pub(super) struct MessageRecord<'message> {
    contents: Vec<Block<'message>>,
    /// Unique in the session, and the same in every record of the message.
    id: String,
    /// Seconds since the Unix epoch.
    timestamp: f64,
    #[schemars(extend("enum" = ["user", "assistant", "tool", "custom", "branch_summary", "compaction_summary"]))]
    role: &'static str,
    #[serde(flatten)]
    answer: Option<Answer<'message>>,
}

/// The members that only a model response has.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Answer<'message> {
    /// Only model responses have it.
    usage: UsageRecord,
    /// Only model responses have it.
    #[schemars(extend("enum" = ["stop", "length", "tool_calls", "error", "abort"]))]
    stop_reason: &'static str,
    /// Why the response failed; empty if it did not.
    error: &'message str,
    /// The same for programs; absent if the response did not fail and was not aborted.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_kind: Option<ErrorKind>,
}

/// A block of a message.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Content")]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'message> {
    Text {
        content: Cow<'message, str>,
    },
    Thinking {
        content: &'message str,
        signature: Option<&'message str>,
    },
    Image {
        /// The images, as `data:` URLs.
        images: Vec<String>,
    },
    ToolCall {
        id: &'message str,
        name: &'message str,
        kind: Option<&'static str>,
        args: &'message Arguments,
        metadata: Map<String, Value>,
    },
    ToolResult {
        #[serde(flatten)]
        result: ToolResultRecord<'message>,
    },
}

/// The result of a tool call.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ToolResult")]
pub(super) struct ToolResultRecord<'message> {
    /// The id of the call.
    id: &'message str,
    /// The output for the model.
    content: String,
    is_error: bool,
    /// Details for the client that the model does not see; they depend on the tool.
    metadata: Cow<'message, Value>,
    terminate: bool,
    terminate_message: Option<&'static str>,
}

/// Token counts by kind.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Usage")]
struct UsageRecord {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
    cost: CostRecord,
}

/// The cost in US dollars by kind of token.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Cost")]
struct CostRecord {
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
    total: f64,
}

impl From<&Usage> for UsageRecord {
    fn from(usage: &Usage) -> Self {
        Self {
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read_tokens: usage.cache_read,
            cache_write_tokens: usage.cache_write,
            cost: CostRecord {
                input: usage.cost.input,
                output: usage.cost.output,
                cache_read: usage.cost.cache_read,
                cache_write: usage.cost.cache_write,
                total: usage.cost.total,
            },
        }
    }
}

impl MessageRecord<'_> {
    /// Returns the message under another id.
    pub fn named(self, id: &str) -> Self {
        Self { id: id.to_owned(), ..self }
    }
}

/// Returns a conversation. The tool results of one turn are one message.
pub(super) fn conversation(messages: &[Arc<Message>]) -> Vec<MessageRecord<'_>> {
    let mut numbering = Numbering::default();
    joined(messages.iter().map(|message| &**message), |message| {
        let (role, timestamp) = role_and_time(message);
        numbering.next(role, timestamp)
    })
}

/// Returns a conversation whose messages have ids.
pub(super) fn identified(messages: &[(Arc<Message>, String)]) -> Vec<MessageRecord<'_>> {
    let mut ids: HashMap<_, _> = messages.iter().map(|(message, id)| (Arc::as_ptr(message), id)).collect();
    joined(messages.iter().map(|(message, _)| &**message), |message| {
        ids.remove(&std::ptr::from_ref(message)).cloned().unwrap_or_default()
    })
}

/// Returns messages in which the tool results of one turn are one message, which has the id of the first.
fn joined<'message>(
    messages: impl Iterator<Item = &'message Message>,
    mut id_of: impl FnMut(&Message) -> String,
) -> Vec<MessageRecord<'message>> {
    let mut records: Vec<MessageRecord<'_>> = Vec::new();
    for message in messages {
        match (message, records.last_mut()) {
            (Message::ToolResult(result), Some(last)) if last.role == "tool" => {
                last.contents.extend(result_blocks(result));
            }
            _ => records.push(self::message(message).named(&id_of(message))),
        }
    }
    records
}

/// Returns the tool results of one turn as one message, if there are any.
pub(super) fn tool_message<'message>(
    results: &'message [Arc<Message>],
    id: &str,
) -> Option<MessageRecord<'message>> {
    joined(results.iter().map(|message| &**message), |_| id.to_owned()).into_iter().next()
}

/// Returns the role of a message and when it was created.
pub(super) fn role_and_time(message: &Message) -> (&'static str, u64) {
    match message {
        Message::Assistant(answer) => ("assistant", answer.timestamp),
        Message::User(user) => ("user", user.timestamp),
        Message::ToolResult(result) => ("tool", result.timestamp),
        Message::Custom(custom) => ("custom", custom.timestamp),
        Message::BashExecution(shell) => ("custom", shell.timestamp),
        Message::BranchSummary(branch) => ("branch_summary", branch.timestamp),
        Message::CompactionSummary(compaction) => ("compaction_summary", compaction.timestamp),
    }
}

/// Returns a message.
fn message(message: &Message) -> MessageRecord<'_> {
    let contents = match message {
        Message::Assistant(answer) => return assistant(answer),
        Message::User(user) => blocks(&user.content),
        Message::ToolResult(result) => result_blocks(result).collect(),
        Message::Custom(custom) => blocks(&custom.content),
        Message::BashExecution(shell) => {
            let text = format!("$ {}\n{}", shell.command, shell.output);
            vec![Block::Text { content: text.into() }]
        }
        Message::BranchSummary(branch) => vec![text(&branch.summary)],
        Message::CompactionSummary(compaction) => vec![text(&compaction.summary)],
    };
    let (role, timestamp) = role_and_time(message);
    record(role, timestamp, contents)
}

/// Returns a model response, without an id.
pub(super) fn assistant(answer: &AssistantMessage) -> MessageRecord<'_> {
    let contents = answer.content.iter().map(|block| match block {
        AssistantContent::Text(block) => text(&block.text),
        AssistantContent::Thinking(block) => {
            Block::Thinking { content: &block.thinking, signature: block.thinking_signature.as_deref() }
        }
        AssistantContent::ToolCall(ToolCall { id, name, arguments, .. }) => call(id, name, arguments),
    });
    let rest = Answer {
        usage: (&answer.usage).into(),
        stop_reason: stop_reason(answer.stop_reason),
        error: answer.error_message.as_deref().unwrap_or_default(),
        error_kind: answer.error_kind,
    };
    MessageRecord { answer: Some(rest), ..record("assistant", answer.timestamp, contents.collect()) }
}

/// Returns a tool call.
pub(super) fn call<'message>(
    id: &'message str,
    name: &'message str,
    args: &'message Arguments,
) -> Block<'message> {
    Block::ToolCall { id, name, kind: None, args, metadata: Map::new() }
}

/// Returns the output of a running tool.
pub(super) fn partial_result<'message>(
    id: &'message str,
    report: &'message ToolReport,
) -> ToolResultRecord<'message> {
    let is_error = false;
    result(id, &report.content, report.details.as_ref(), is_error)
}

/// Returns the result of a tool call.
pub(super) fn result<'message>(
    id: &'message str,
    content: &[Content],
    details: Option<&'message Value>,
    is_error: bool,
) -> ToolResultRecord<'message> {
    let metadata = details.map_or_else(|| Cow::Owned(Value::Object(Map::new())), Cow::Borrowed);
    ToolResultRecord {
        id,
        content: join_text(content),
        is_error,
        metadata,
        terminate: false,
        terminate_message: None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 are far below 2^52")]
fn record<'message>(
    role: &'static str,
    timestamp: u64,
    contents: Vec<Block<'message>>,
) -> MessageRecord<'message> {
    MessageRecord { contents, id: String::new(), timestamp: timestamp as f64 / 1000.0, role, answer: None }
}

/// Returns a tool result, which is text only here, followed by its images.
fn result_blocks(message: &ToolResultMessage) -> impl Iterator<Item = Block<'_>> {
    let result = result(&message.tool_call_id, &message.content, message.details.as_ref(), message.is_error);
    let images = blocks(&message.content).into_iter().filter(|block| matches!(block, Block::Image { .. }));
    std::iter::once(Block::ToolResult { result }).chain(images)
}

fn blocks<'message>(content: &'message [Content]) -> Vec<Block<'message>> {
    let block = |content: &'message Content| match content {
        Content::Text { text } => self::text(text),
        Content::Image { data, mime_type } => {
            Block::Image { images: vec![format!("data:{mime_type};base64,{data}")] }
        }
    };
    content.iter().map(block).collect()
}

fn text(content: &str) -> Block<'_> {
    Block::Text { content: content.into() }
}

fn stop_reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Pending | StopReason::Stop | StopReason::Deferred => "stop",
        StopReason::Length => "length",
        StopReason::ToolUse => "tool_calls",
        StopReason::Error => "error",
        StopReason::Aborted => "abort",
    }
}
