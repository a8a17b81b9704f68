//! What messages look like on the wire.

use std::borrow::Cow;
use std::sync::Arc;

use bowline_core::message::{
    Arguments, AssistantContent, AssistantMessage, Content, Message, StopReason, ToolCall, ToolResultMessage,
    join_text,
};
use bowline_core::usage::Usage;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// A message of a conversation.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Message")]
pub(super) struct Spoken<'message> {
    contents: Vec<Block<'message>>,
    /// Made of role and time, so that a message has the same one wherever it is shown.
    id: String,
    /// Seconds since 1970.
    timestamp: f64,
    #[schemars(extend("enum" = ["user", "assistant", "tool", "custom", "branch_summary", "compaction_summary"]))]
    role: &'static str,
    #[serde(flatten)]
    answer: Option<Answer<'message>>,
}

/// What the message of a model has besides.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Answer<'message> {
    /// Only answers of a model have it.
    usage: SpokenUsage,
    /// Only answers of a model have it.
    #[schemars(extend("enum" = ["stop", "length", "tool_calls", "error", "abort"]))]
    stop_reason: &'static str,
    /// Why the answer failed; empty if it did not.
    error: &'message str,
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
        /// As `data:` URLs.
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
        result: SpokenResult<'message>,
    },
}

/// What came of a call.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ToolResult")]
pub(super) struct SpokenResult<'message> {
    /// That of the call.
    id: &'message str,
    /// What the model sees.
    content: String,
    is_error: bool,
    /// Facts for the client that the model does not see; which, depends on the tool.
    metadata: Cow<'message, Value>,
    terminate: bool,
    terminate_message: Option<&'static str>,
}

/// Tokens by kind.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Usage")]
struct SpokenUsage {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
    cost: SpokenCost,
}

/// Dollars, by kind of token.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Cost")]
struct SpokenCost {
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
    total: f64,
}

impl From<&Usage> for SpokenUsage {
    fn from(usage: &Usage) -> Self {
        Self {
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read_tokens: usage.cache_read,
            cache_write_tokens: usage.cache_write,
            cost: SpokenCost {
                input: usage.cost.input,
                output: usage.cost.output,
                cache_read: usage.cost.cache_read,
                cache_write: usage.cost.cache_write,
                total: usage.cost.total,
            },
        }
    }
}

/// Returns a conversation; the results of one turn's calls are one message.
pub(super) fn conversation(messages: &[Arc<Message>]) -> Vec<Spoken<'_>> {
    let mut spoken: Vec<Spoken<'_>> = Vec::new();
    for message in messages {
        match (&**message, spoken.last_mut()) {
            (Message::ToolResult(result), Some(last)) if last.role == "tool" => {
                last.contents.extend(result_blocks(result));
            }
            _ => spoken.push(self::message(message)),
        }
    }
    // Messages that were queued can go into the conversation within the same millisecond.
    for index in 1..spoken.len() {
        if spoken[index - 1].timestamp == spoken[index].timestamp
            && spoken[index - 1].role == spoken[index].role
        {
            spoken[index].id = format!("{}-{index}", spoken[index].id);
        }
    }
    spoken
}

/// Returns the results of one turn's calls as the one message that they are here.
pub(super) fn tool_message(results: &[Arc<Message>]) -> Option<Spoken<'_>> {
    conversation(results).into_iter().next()
}

/// Returns a message.
pub(super) fn message(message: &Message) -> Spoken<'_> {
    match message {
        Message::Assistant(answer) => assistant(answer),
        Message::User(user) => spoken("user", user.timestamp, blocks(&user.content)),
        Message::ToolResult(result) => spoken("tool", result.timestamp, result_blocks(result).collect()),
        Message::Custom(custom) => spoken("custom", custom.timestamp, blocks(&custom.content)),
        Message::BashExecution(shell) => {
            let text = format!("$ {}\n{}", shell.command, shell.output);
            spoken("custom", shell.timestamp, vec![Block::Text { content: text.into() }])
        }
        Message::BranchSummary(branch) => {
            spoken("branch_summary", branch.timestamp, vec![text(&branch.summary)])
        }
        Message::CompactionSummary(compaction) => {
            spoken("compaction_summary", compaction.timestamp, vec![text(&compaction.summary)])
        }
    }
}

/// Returns the message of a model.
pub(super) fn assistant(answer: &AssistantMessage) -> Spoken<'_> {
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
    };
    Spoken { answer: Some(rest), ..spoken("assistant", answer.timestamp, contents.collect()) }
}

/// Returns a call of a tool.
pub(super) fn call<'message>(
    id: &'message str,
    name: &'message str,
    args: &'message Arguments,
) -> Block<'message> {
    Block::ToolCall { id, name, kind: None, args, metadata: Map::new() }
}

/// Returns what a tool has to show.
pub(super) fn result<'message>(
    id: &'message str,
    content: &[Content],
    details: Option<&'message Value>,
    is_error: bool,
) -> SpokenResult<'message> {
    let metadata = details.map_or_else(|| Cow::Owned(Value::Object(Map::new())), Cow::Borrowed);
    SpokenResult {
        id,
        content: join_text(content),
        is_error,
        metadata,
        terminate: false,
        terminate_message: None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 are far below 2^52")]
fn spoken<'message>(role: &'static str, timestamp: u64, contents: Vec<Block<'message>>) -> Spoken<'message> {
    let id = format!("{role}-{timestamp}");
    Spoken { contents, id, timestamp: timestamp as f64 / 1000.0, role, answer: None }
}

/// A result is a text here; the images that came with it stand beside it.
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
